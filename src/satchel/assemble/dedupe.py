"""The same thing seen twice is one item with two origins.

Two texts are the same when they are equal after case, punctuation and white space are normalised. Sections of
documents and notes are also the same when the Jaccard similarity of their 5-character shingles reaches the threshold
calibrated on 400 labelled pairs (F1 .99). Records with different ids are never merged by similarity: two experiences
that begin alike may end differently. Two places of one code file are never the same. What is not shown is the twin of
nothing, so a text is never lost to one that did not fit.
"""

from __future__ import annotations

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from satchel.assemble.candidates import Candidate
from satchel.assemble.section import Section
from satchel.similarity import SAME_PROSE, may_be_same, sampled, shingles, similarity
from satchel.types import Kind

ONE_LINE = 100
"""Characters of a text that is one line: two of them that differ in a version number share nine tenths of their
shingles. The shortest paragraph that the threshold was calibrated on has 120."""

_PROSE_KINDS = frozenset({Kind.DOC, Kind.NOTE})
_INSIGNIFICANT = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Marks:
    """The shingles of a text, and a sample of them that tells most other texts apart from it."""

    all: frozenset[str]
    sample: frozenset[str]


@dataclass(slots=True)
class Seen:
    """The texts of what was tried so far, for one request."""

    exact: dict[str, list[tuple[Section, Candidate]]] = field(default_factory=dict)
    prose: list[tuple[Section, Candidate, Marks]] = field(default_factory=list)

    def is_twin(self, section: Section, candidate: Candidate) -> bool:
        """Whether a shown candidate says the same at its fullest, which then notes this one as another origin.

        A text without a twin is compared with from now on.
        """
        text = _full_text(section, candidate)
        key = _key(candidate.kind, text)
        if not key:
            return False
        rows = self.exact.setdefault(key, [])
        twin = next((one for own, one in rows if one in own.shown and _may_be_twins(one, candidate)), None)
        marks = None
        if twin is None and candidate.kind in _PROSE_KINDS and len(text) > ONE_LINE:
            marks = marks_of(text)
            alike = (
                row for row in self.prose if row[1] in row[0].shown and row[1].document.id != candidate.document.id
            )
            twin = next((one for _, one, other in alike if is_same_prose(marks, other)), None)
        if twin is not None:
            twin.twins.append(candidate)
            return True
        rows.append((section, candidate))
        if marks is not None:
            self.prose.append((section, candidate, marks))
        return False

    def forget(self, candidates: AbstractSet[Candidate]) -> None:
        """Compare no longer with candidates that were taken back."""
        for rows in self.exact.values():
            rows[:] = [row for row in rows if row[1] not in candidates]
        self.prose[:] = [row for row in self.prose if row[1] not in candidates]


def _full_text(section: Section, candidate: Candidate) -> str:
    """All that a candidate says, without labels."""
    if candidate.document.location is None:
        return candidate.body or next((step.text for step in candidate.steps), "")
    lines = section.lines.get(candidate.group)
    ranges = candidate.steps[0].ranges if candidate.steps else ()
    return "".join(lines.text(*span) for span in ranges) if lines is not None else ""


def _key(kind: Kind, text: str) -> str:
    """What is equal for equal texts: of code only white space is folded, of prose case and punctuation too."""
    if kind is Kind.CODE:
        return " ".join(text.split())
    return _INSIGNIFICANT.sub(" ", text.casefold()).strip()


def _may_be_twins(one: Candidate, other: Candidate) -> bool:
    """Not the same document, and not two places of one code file: each of them is one to look at."""
    if one.document.id == other.document.id:
        return False
    return one.kind is not Kind.CODE or other.kind is not Kind.CODE or one.group != other.group


def marks_of(text: str) -> Marks:
    """What a text is compared by."""
    marks = shingles(text)
    return Marks(marks, sampled(marks))


def is_same_prose(one: Marks, other: Marks) -> bool:
    """Whether two texts say the same, by their shingles."""
    # Two sets whose sizes differ more cannot have that much in common; sizes are compared far faster than sets.
    fewer, more = sorted((len(one.all), len(other.all)))
    if fewer < SAME_PROSE * more or not may_be_same(one.sample, other.sample):
        return False
    return similarity(one.all, other.all) >= SAME_PROSE
