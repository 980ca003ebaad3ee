"""Groups: one item in the making each, a file with its shown ranges or a record."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from operator import itemgetter

from satchel.answer.candidates import Candidate, Step
from satchel.answer.source_lines import Lines, joined
from satchel.types import Kind, Range

JOIN_LINES = 3
"""Most lines between two ranges that are joined: the lines cost less than another range marker."""

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
        first = min(start for start, _ in step.ranges) - 1 - JOIN_LINES
        last = max(end for _, end in step.ranges) + 1 + JOIN_LINES
        return slice(
            bisect_left(self.ranges, first, key=itemgetter(1)), bisect_right(self.ranges, last, key=itemgetter(0))
        )

    def _joined(self, ranges: Sequence[Range]) -> list[Range]:
        """Return joined ranges; a gap over lines that the session has is not closed."""
        together = joined(ranges, JOIN_LINES)
        return subtract(together, self.lines.sent) if self.lines is not None and self.lines.sent else together


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
