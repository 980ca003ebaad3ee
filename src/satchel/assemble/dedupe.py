"""The same thing seen twice is one thing, with two origins.

Prose of records and docs is the same when the Jaccard similarity of its 5-character shingles reaches the threshold
calibrated on 400 labelled pairs (F1 .99; a 90 % edit ratio misses a third of them). Code and texts of one line are the
same only when they are equal after white space is normalised, and two places of one code file are never the same.
Between kinds the more relevant of two records stays. What is not shown is the twin of nothing, so a text is never lost
to one that did not fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from satchel.assemble.candidates import Candidate
from satchel.assemble.section import Section
from satchel.similarity import SAME_PROSE, may_be_same, sampled, shingles, similarity
from satchel.types import CONTEXT_TYPES, Kind

ONE_LINE = 100
"""Characters of a text that is one line: two commits that differ in a version number share nine tenths of theirs. A
paragraph without a line break is longer; the shortest of those that the threshold was calibrated on has 120."""

_ORDER = {kind: number for number, kind in enumerate(CONTEXT_TYPES.values())}


@dataclass(frozen=True, slots=True)
class Marks:
    """The shingles of a text, and a sample of them that tells most other texts apart from it."""

    all: frozenset[str]
    sample: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Known:
    """A candidate that was admitted at some time, and where it stands. Only prose has `marks`."""

    section: Section
    candidate: Candidate
    folded: str
    marks: Marks | None

    @property
    def is_shown(self) -> bool:
        return self.candidate in self.section.shown

    def says(self, folded: str, marks: Marks | None) -> bool:
        """Whether it says the same as this text."""
        return self.folded == folded or (marks is not None and self.is_alike(marks))

    def is_alike(self, marks: Marks) -> bool:
        """Whether it is prose that is nearly this prose."""
        return self.marks is not None and is_same_prose(marks, self.marks)

    def take(self, twin: Candidate) -> None:
        """Note another origin of it; an item made of it before is made anew."""
        if twin not in self.candidate.twins:
            self.candidate.twins.append(twin)
        group = self.section.groups.get(self.candidate.group)
        if group is not None:
            group.item = None


@dataclass(slots=True)
class Seen:
    """What was admitted so far, for one request."""

    exact: dict[str, list[_Known]] = field(default_factory=dict)
    prose: list[_Known] = field(default_factory=list)
    _texts: dict[Candidate, tuple[str, Marks | None]] = field(default_factory=dict)

    def forget(self, candidate: Candidate) -> None:
        """Note a candidate as another origin no more."""
        for row in (row for rows in self.exact.values() for row in rows if candidate in row.candidate.twins):
            row.candidate.twins.remove(candidate)
            group = row.section.groups.get(row.candidate.group)
            if group is not None:
                group.item = None

    def is_duplicate(self, section: Section, candidate: Candidate) -> bool:
        """Whether a shown document says the same at its fullest, which then notes this one as another origin.

        A text without a twin counts as admitted from now on.
        """
        folded, marks = self._text(section, candidate)
        known = (row for row in self.exact.get(folded, ()) if row.is_shown and _may_be_twins(row.candidate, candidate))
        twin = next(known, None)
        if twin is None and marks is not None:
            alike = (row for row in self.prose if row.is_shown and row.candidate.document.id != candidate.document.id)
            twin = next((row for row in alike if row.is_alike(marks)), None)
        if twin is not None:
            twin.take(candidate)
            return True
        rows = self.exact.setdefault(folded, [])
        if not any(row.candidate is candidate for row in rows):
            rows.append(_Known(section, candidate, folded, marks))
            if marks is not None:
                self.prose.append(rows[-1])
        return False

    def _text(self, section: Section, candidate: Candidate) -> tuple[str, Marks | None]:
        known = self._texts.get(candidate)
        if known is None:
            step = candidate.steps[0]
            lines = section.lines.get(candidate.group)
            text = step.text if lines is None else "".join(lines.text(start, end) for start, end in step.ranges)
            known = self._texts[candidate] = _normalised(candidate.kind, text)
        return known


def _normalised(kind: Kind, text: str) -> tuple[str, Marks | None]:
    """The text with its white space folded, and the shingles of what is prose."""
    folded = " ".join(text.split())
    return folded, marks_of(text) if is_prose(kind, folded) else None


def marks_of(text: str) -> Marks:
    """What a text is compared by."""
    marks = shingles(text)
    return Marks(marks, sampled(marks))


def _may_be_twins(one: Candidate, other: Candidate) -> bool:
    """Not what is the same document, and not two places of one code file: each of them is one to look at."""
    if one.document.id == other.document.id:
        return False
    return one.kind is not Kind.CODE or other.kind is not Kind.CODE or one.group != other.group


def is_prose(kind: Kind, folded: str) -> bool:
    """Whether likeness counts for a text, and not only equality; its white space is folded."""
    return kind is not Kind.CODE and len(folded) > ONE_LINE


def is_same_prose(one: Marks, other: Marks) -> bool:
    """Whether two texts say the same, by their shingles."""
    # Two sets whose sizes differ more cannot have that much in common; sizes are compared far faster than sets.
    fewer, more = sorted((len(one.all), len(other.all)))
    if fewer < SAME_PROSE * more or not may_be_same(one.sample, other.sample):
        return False
    return similarity(one.all, other.all) >= SAME_PROSE


@dataclass(frozen=True, slots=True)
class Aside:
    """A record that was taken out of the choice, because a more relevant one of another kind says the same."""

    section: Section
    index: int
    kept: _Known


def set_aside(sections: Sequence[Section]) -> list[Aside]:
    """Take out of the choice what a more relevant record of another kind says as well.

    Only the records that a section would try first are compared, as many as it may show.
    """
    rows = [(section, index, candidate) for section in sections for index, candidate in _first_records(section)]
    if len({section.kind for section, _, _ in rows}) < 2:
        return []
    rows.sort(key=lambda row: (-row[2].hit.relevance, _ORDER[row[2].kind], row[2].document.id))
    kept: list[_Known] = []
    aside = []
    for section, index, candidate in rows:
        folded, marks = _normalised(candidate.kind, candidate.steps[0].text)
        others = (row for row in kept if row.section.kind is not section.kind)
        twin = next((row for row in others if row.says(folded, marks)), None)
        if twin is None:
            kept.append(_Known(section, candidate, folded, marks))
            continue
        section.taken.add(index)
        twin.take(candidate)
        aside.append(Aside(section, index, twin))
    return aside


def give_back(aside: Sequence[Aside]) -> bool:
    """Put back what was set aside for something that is not shown after all. Returns whether there was any."""
    back = [row for row in aside if not row.kept.is_shown]
    for row in back:
        row.section.taken.discard(row.index)
        row.kept.candidate.twins.remove(row.section.candidates[row.index])
    return bool(back)


def _first_records(section: Section) -> Iterator[tuple[int, Candidate]]:
    records = ((i, c) for i, c in section.remaining() if c.document.location is None and not c.pinned)
    return islice(records, section.item_limit)
