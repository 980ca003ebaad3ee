"""What is shown so far: per file the line ranges that were admitted, per record its text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from satchel.assemble.candidates import Candidate, Range, Step
from satchel.assemble.read import Lines
from satchel.types import ContextItem, Kind

JOIN_LINES = 2
"""Two ranges this few lines apart are shown as one: the lines cost less than another range marker."""


@dataclass(slots=True)
class Group:
    """One item in the making: a file with its ranges, or a record. `picks` are in the order of admission.

    `title` is that of the section it stands in, empty for that of its kind.
    """

    kind: Kind
    key: str
    lines: Lines | None
    ranges: list[Range] = field(default_factory=list)
    picks: list[tuple[Candidate, Step]] = field(default_factory=list)
    tokens: int = 0
    title: str = ""
    item: ContextItem | None = None
    """The item made of what is shown, kept until something is admitted or withdrawn."""
    worth: float | None = None
    """The value of what is shown, kept as long."""
    documents: frozenset[str] | None = None
    """The ids of what is shown, kept as long."""
    state: frozenset[int] | None = None
    """The steps that are shown, by identity, kept as long."""

    def copy(self) -> Group:
        """The same, to be changed apart."""
        return replace(self, ranges=list(self.ranges), picks=list(self.picks))

    def shows(self, identity: str) -> bool:
        """Whether something of a document is shown."""
        if self.documents is None:
            self.documents = frozenset([candidate.document.id for candidate, _ in self.picks])
        return identity in self.documents

    def steps(self) -> frozenset[int]:
        """The steps that are shown, by identity: what a step adds depends on them, not on their order."""
        if self.state is None:
            self.state = frozenset([id(step) for _, step in self.picks])
        return self.state

    def added(self, step: Step) -> list[Range]:
        """The parts of the step's ranges that are not shown yet, joined over tiny gaps to what is."""
        if not self.ranges:
            return self._joined(step.ranges)
        merged = self._joined([*self.ranges, *step.ranges])
        return subtract(merged, self.ranges)

    def is_apart(self, ranges: Sequence[Range]) -> bool:
        """Whether these ranges stand apart from all that is shown, so that they add what they would add alone."""
        for start, end in ranges:
            position = bisect_left(self.ranges, (start, end))
            if position and self.ranges[position - 1][1] + 1 + JOIN_LINES >= start:
                return False
            if position < len(self.ranges) and end + 1 + JOIN_LINES >= self.ranges[position][0]:
                return False
        return True

    def new_markers(self, step: Step) -> int:
        """How many range markers the step adds; negative when it closes a gap."""
        return len(self._joined([*self.ranges, *step.ranges])) - len(self.ranges)

    def admit(self, candidate: Candidate, step: Step, tokens: int) -> None:
        """Show this step from now on."""
        self.ranges = self._joined([*self.ranges, *step.ranges])
        self.picks.append((candidate, step))
        self.tokens += tokens
        self.item = self.worth = self.documents = self.state = None

    def withdraw(self, tokens: int) -> None:
        """Take the last admission back."""
        self.picks.pop()
        self.ranges = self._joined([piece for _, step in self.picks for piece in step.ranges])
        self.tokens -= tokens
        self.item = self.worth = self.documents = self.state = None

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


def subtract(ranges: Sequence[Range], known: Sequence[Range]) -> list[Range]:
    """The parts of `ranges` outside `known`; both in order and without overlaps."""
    rest: list[Range] = []
    for start, end in ranges:
        position = start
        for known_start, known_end in known:
            if known_end < position or known_start > end:
                continue
            if known_start > position:
                rest.append((position, known_start - 1))
            position = max(position, known_end + 1)
        if position <= end:
            rest.append((position, end))
    return rest
