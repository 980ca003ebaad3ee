"""What is shown so far: per file the line ranges that were admitted, per record its text."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import itemgetter

from satchel.assemble.candidates import Candidate, Range, Step
from satchel.assemble.read import Lines
from satchel.types import Kind

JOIN_LINES = 3
"""Two ranges this few lines apart are shown as one: the lines cost less than another range marker."""


@dataclass(slots=True)
class Group:
    """One item in the making: a file with its ranges, or a record. `picks` are in the order of admission.

    `title` is that of its section, empty for that of its kind.
    """

    kind: Kind
    key: str
    lines: Lines | None
    ranges: list[Range] = field(default_factory=list)
    picks: list[tuple[Candidate, Step]] = field(default_factory=list)
    tokens: int = 0
    title: str = ""

    def added(self, step: Step) -> tuple[list[Range], int]:
        """What the step adds: the ranges that are not shown yet, joined over tiny gaps to what is, and range markers.

        The number of markers is negative when the step closes a gap.
        """
        before = self.ranges[self._near(step)]
        merged = self._joined([*before, *step.ranges])
        return subtract(merged, before), len(merged) - len(before)

    def admit(self, candidate: Candidate, step: Step, tokens: int) -> None:
        """Show this step from now on."""
        near = self._near(step)
        self.ranges[near] = self._joined([*self.ranges[near], *step.ranges])
        self.picks.append((candidate, step))
        self.tokens += tokens

    def withdraw(self, tokens: int) -> None:
        """Take the last admission back; `ranges` are true again after `rejoin`."""
        self.picks.pop()
        self.tokens -= tokens

    def rejoin(self) -> None:
        """Work the ranges out again from what is admitted."""
        self.ranges = self._joined([piece for _, step in self.picks for piece in step.ranges])

    def _near(self, step: Step) -> slice:
        """Which of the ranges the step may be joined with: a file may have thousands, and a step touches few."""
        if not step.ranges:
            return slice(0, 0)
        first = min(start for start, _ in step.ranges) - 1 - JOIN_LINES
        last = max(end for _, end in step.ranges) + 1 + JOIN_LINES
        return slice(
            bisect_left(self.ranges, first, key=itemgetter(1)), bisect_right(self.ranges, last, key=itemgetter(0))
        )

    def _joined(self, ranges: Sequence[Range]) -> list[Range]:
        """The ranges as one shows them; a gap is not closed over lines that the session has."""
        together = joined(ranges)
        return subtract(together, self.lines.sent) if self.lines is not None and self.lines.sent else together


def joined(ranges: Sequence[Range]) -> list[Range]:
    """The union of line ranges in order, joined where at most `JOIN_LINES` lines lie between them."""
    if len(ranges) < 2:
        return list(ranges)
    merged: list[Range] = []
    for start, end in sorted(ranges):
        if merged and start <= merged[-1][1] + 1 + JOIN_LINES:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def subtract(ranges: Sequence[Range], excluded: Sequence[Range]) -> list[Range]:
    """The parts of `ranges` outside `excluded`; both in order and without overlaps."""
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
