"""Twins: candidates with the same text, of which only one is shown and lists the others as further origins."""

from __future__ import annotations

from satchel.answer.candidates import Candidate
from satchel.answer.sections import Section
from satchel.types import Kind


def full_text(section: Section, candidate: Candidate) -> str:
    """Return the full text of a candidate, without labels."""
    if candidate.chunk.location is None:
        return candidate.body or next((step.text for step in candidate.steps), "")
    lines = section.lines.get(candidate.group)
    ranges = candidate.steps[0].ranges if candidate.steps else ()
    return "".join(lines.text(*span) for span in ranges) if lines is not None else ""


def key_of(section: Section, candidate: Candidate) -> str:
    """Return a key of equal texts: only white space is folded, because one sign may make another meaning."""
    return " ".join(full_text(section, candidate).split())


def ends_of(section: Section, candidate: Candidate) -> tuple[str, ...]:
    """Return the first and the last word of the key, without making it; none if it is empty."""
    lines = section.lines.get(candidate.group) if candidate.kind is Kind.CODE else None
    key = ends_of, candidate.steps[0].ranges if candidate.steps else ()
    ends: tuple[str, ...] | None = lines.derived.get(key) if lines is not None else None
    if ends is None:
        text = full_text(section, candidate)
        ends = (*text.split(None, 1)[:1], *text.rsplit(None, 1)[-1:])
        if lines is not None:
            lines.derived[key] = ends
    return ends


def may_be_twins(one: Candidate, other: Candidate) -> bool:
    """Return whether candidates may be twins: not one chunk, and not two places of one code file."""
    if one.chunk.id == other.chunk.id:
        return False
    return one.kind is not Kind.CODE or other.kind is not Kind.CODE or one.group != other.group
