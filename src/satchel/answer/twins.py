"""Twins: candidates with the same text, of which only one is shown and lists the others as further origins."""

from __future__ import annotations

import re
from typing import NamedTuple

from satchel.answer.candidates import Candidate
from satchel.answer.sections import Section
from satchel.text import SAME_PROSE, may_be_same, sampled, shingles, similarity
from satchel.types import Kind

ONE_LINE = 100
"""Longest text (characters) that counts as one line: two such texts with different version numbers share nine tenths of
their shingles. The threshold was calibrated on paragraphs of 120 characters and more."""

_PROSE_KINDS = frozenset({Kind.DOC, Kind.NOTE})
_INSIGNIFICANT = re.compile(r"[\W_]+")


class Marks(NamedTuple):
    """The shingles of a text, and a sample of them that tells most other texts apart from it."""

    all: frozenset[str]
    sample: frozenset[str]


def prose_marks(section: Section, candidate: Candidate) -> Marks | None:
    """Return the marks of prose that is longer than a line; None for anything else."""
    text = full_text(section, candidate) if candidate.kind in _PROSE_KINDS else ""
    if len(text) <= ONE_LINE:
        return None
    every = shingles(text)
    return Marks(every, sampled(every))


def full_text(section: Section, candidate: Candidate) -> str:
    """Return the full text of a candidate, without labels."""
    if candidate.chunk.location is None:
        return candidate.body or next((step.text for step in candidate.steps), "")
    lines = section.lines.get(candidate.group)
    ranges = candidate.steps[0].ranges if candidate.steps else ()
    return "".join(lines.text(*span) for span in ranges) if lines is not None else ""


def key_of(section: Section, candidate: Candidate) -> str:
    """Return a key of equal texts: white space is folded, in prose also case and punctuation."""
    text = full_text(section, candidate)
    if candidate.kind is Kind.CODE:
        return " ".join(text.split())
    return _INSIGNIFICANT.sub(" ", text.casefold()).strip()


def ends_of(section: Section, candidate: Candidate) -> tuple[str, ...]:
    """Return the first and the last word of the key, without making that of code; none if it is empty."""
    lines = section.lines.get(candidate.group) if candidate.kind is Kind.CODE else None
    key = ends_of, candidate.steps[0].ranges if candidate.steps else ()
    ends: tuple[str, ...] | None = lines.derived.get(key) if lines is not None else None
    if ends is None:
        text = full_text(section, candidate) if lines is not None else key_of(section, candidate)
        ends = (*text.split(None, 1)[:1], *text.rsplit(None, 1)[-1:])
        if lines is not None:
            lines.derived[key] = ends
    return ends


def may_be_twins(one: Candidate, other: Candidate) -> bool:
    """Return whether candidates may be twins: not one chunk, and not two places of one code file."""
    if one.chunk.id == other.chunk.id:
        return False
    return one.kind is not Kind.CODE or other.kind is not Kind.CODE or one.group != other.group


def is_same_prose(one: Marks, other: Marks) -> bool:
    """Return whether two texts are nearly equal, by their shingles."""
    # Two sets whose sizes differ more cannot have that much in common; sizes are compared far faster than sets.
    fewer, more = sorted((len(one.all), len(other.all)))
    if fewer < SAME_PROSE * more or not may_be_same(one.sample, other.sample):
        return False
    return similarity(one.all, other.all) >= SAME_PROSE
