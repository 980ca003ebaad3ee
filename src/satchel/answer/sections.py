"""Sections: the candidates of a kind in the order in which they are tried. Groups: one item in the making each."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter

from satchel.answer import weights
from satchel.answer.candidates import Candidate, Step
from satchel.answer.source_lines import Lines, joined
from satchel.system.properties import unlocked_cached_property
from satchel.types import Hit, Kind, Range

Pick = tuple[Candidate, Step]
"""A shown candidate, and the step in which it is shown."""


@dataclass(frozen=True, eq=False)
class Group:
    """What is shown of a file or a record. `picks` are in the order of admission.

    `title` is that of its section, empty for that of its kind. `twins` are pairs: a shown candidate, and one with the
    same text that is not shown.
    """

    kind: Kind
    key: str
    lines: Lines | None
    title: str = ""
    ranges: tuple[Range, ...] = ()
    picks: tuple[Pick, ...] = ()
    tokens: int = 0
    twins: tuple[tuple[Candidate, Candidate], ...] = ()

    def added(self, step: Step) -> tuple[list[Range], int]:
        """Return the new ranges of a step, joined over tiny gaps to shown ones, and how many range markers it adds.

        The number is negative if the step closes a gap.
        """
        before = self.ranges[self._near(step)]
        merged = self._joined([*before, *step.ranges])
        return subtract(merged, before), len(merged) - len(before)

    def admitted(self, candidate: Candidate, step: Step, tokens: int) -> Group:
        """Return the group with one more step."""
        near = self._near(step)
        between = self._joined([*self.ranges[near], *step.ranges])
        ranges = (*self.ranges[: near.start], *between, *self.ranges[near.stop :])
        return replace(self, ranges=ranges, picks=(*self.picks, (candidate, step)), tokens=self.tokens + tokens)

    def withdrawn(self, tokens: int) -> Group:
        """Return the group without the last admission; its ranges are right again after `rejoined`."""
        return replace(self, picks=self.picks[:-1], tokens=self.tokens - tokens)

    def rejoined(self) -> Group:
        """Return the group with the ranges of the admitted steps."""
        ranges = tuple(self._joined([piece for _, step in self.picks for piece in step.ranges]))
        return self if ranges == self.ranges else replace(self, ranges=ranges)

    def twins_of(self, candidate: Candidate) -> list[Candidate]:
        """Return the candidates with the text of this shown one."""
        return [twin for shown, twin in self.twins if shown is candidate]

    def _near(self, step: Step) -> slice:
        """Return the ranges that a step may be joined with: a file may have thousands, and a step touches few."""
        if not step.ranges:
            return slice(0, 0)
        (first, last), reach = outer_range(step.ranges), 1 + weights.JOIN_LINES
        begin = bisect_left(self.ranges, first - reach, key=itemgetter(1))
        return slice(begin, bisect_right(self.ranges, last + reach, key=itemgetter(0)))

    def _joined(self, ranges: Sequence[Range]) -> list[Range]:
        """Return joined ranges; a gap over lines that the session has is not closed."""
        together = joined(ranges, weights.JOIN_LINES)
        return subtract(together, self.lines.sent) if self.lines is not None and self.lines.sent else together


FindCompanions = Callable[[Candidate, Step, Group], Sequence[Candidate]]
"""Returns the companions of a shown step, such as imports and the rest of its function."""


def outer_range(ranges: Iterable[Range]) -> Range:
    """Return the first and the last line of ranges, of which there is at least one, in any order."""
    starts, ends = zip(*ranges, strict=True)
    return min(starts), max(ends)


def subtract(ranges: Sequence[Range], excluded: Sequence[Range]) -> list[Range]:
    """Return the parts of `ranges` outside `excluded`; both in order and without overlaps."""
    rest: list[Range] = []
    behind = 0
    for start, end in ranges:
        position = start
        behind = bisect_left(excluded, start, lo=behind, key=itemgetter(1))
        for first, last in islice(excluded, behind, None):
            if first > end:
                break
            if first > position:
                rest.append((position, first - 1))
            position = max(position, last + 1)
        if position <= end:
            rest.append((position, end))
    return rest


@dataclass(frozen=True, eq=False)
class Section:
    """The candidates of one kind: pinned ones, others by priority, last by value those that are yet to be measured.

    `weight` is its share of the budget where the kinds were named, `share` the same in tokens. `level` is what was
    added to the values of its candidates (log scale) to make them comparable with those of other sections. `reserve` is
    the part of the budget for this kind alone (tokens). `title` is the heading above it, empty for the one of the kind.
    `best` is the value of the best candidate of the search, also if the session has it already. `others` are the hits
    that are worth less than anything shown, of which no candidates were made, by the most that they may be worth.
    """

    kind: Kind
    weight: float
    candidates: tuple[Candidate, ...]
    lines: Mapping[str, Lines]
    item_limit: int
    reserve: int = 0
    find_companions: FindCompanions | None = None
    title: str = ""
    level: float = 0.0
    best: float = -math.inf
    share: float = 0.0
    others: Sequence[Hit] = ()

    @unlocked_cached_property
    def highest_value(self) -> float:
        """The value of the best candidate of the ranking, except pinned and lifted ones."""
        ranked = (candidate.value for candidate in self.candidates if not (candidate.pinned or candidate.is_lifted))
        return max([self.best, *ranked])


def priority(candidate: Candidate) -> float:
    """Return value over a power of the cost, on the log scale: higher ones are tried first."""
    return candidate.value - weights.COST_EXPONENT * math.log(candidate.size + weights.COST_OFFSET)


def priority_limit(candidate: Candidate) -> float:
    """Return the priority of a candidate; of one that is not measured a number that its priority is not above."""
    if candidate.is_measured:
        return priority(candidate)
    return candidate.value - weights.COST_EXPONENT * math.log(weights.COST_OFFSET)


def in_turn(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Return candidates by priority, whether pinned or not; last those that were never measured, by value."""
    return sorted(candidates, key=_turn)


def by_priority(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return the pinned candidates of one section, then the others, each in turn."""
    return tuple(sorted(candidates, key=lambda candidate: (not candidate.pinned, *_turn(candidate))))


def _turn(candidate: Candidate) -> tuple[bool, float, str, int]:
    is_measured = candidate.is_measured
    value = priority(candidate) if is_measured else candidate.value
    return not is_measured, -value, candidate.hit.chunk.id, candidate.first_line


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


def may_be_twins(candidate: Candidate, other: Candidate) -> bool:
    """Return whether candidates may be twins: not one chunk, and not two places of one code file."""
    if candidate.chunk.id == other.chunk.id:
        return False
    return candidate.kind is not Kind.CODE or other.kind is not Kind.CODE or candidate.group != other.group
