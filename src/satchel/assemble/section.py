"""The candidates of one kind, and what is shown of them so far."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from satchel.assemble.candidates import Candidate, Step
from satchel.assemble.read import Lines
from satchel.assemble.shown import Group
from satchel.types import Kind

COST_EXPONENT = 0.42
"""Candidates are tried by value over cost to this power. Measured flat from 0.35 to 0.5 at 4,000 tokens."""

COST_OFFSET = 60.0
"""Tokens added to every cost before the power, so that tiny windows do not win by being tiny. Anything from 8 to 60
measures the same on 296 issues; with 60 fewer one-line pieces are shown between the ranges that answer."""


@dataclass(slots=True)
class Section:
    """The candidates of one kind.

    `weight` is its share of the budget where the kinds were named. `level` is added to the values of its candidates
    (log scale), which makes them comparable with those of other sections. `reserve` is what the kind gets in any case,
    in tokens, if it can fill it. `follow` gives what may be shown beside a step of a candidate that is shown, such as
    imports and the rest of its function. `title` is the heading above it, empty for the one of the kind. `best` is the
    value of the best candidate that was found, also if the session has it already. `left` maps what is not shown to the
    reason.
    """

    kind: Kind
    weight: float
    candidates: list[Candidate]
    lines: Mapping[str, Lines]
    item_limit: int
    reserve: int = 0
    follow: Callable[[Candidate, Step, Group], Sequence[Candidate]] | None = None
    title: str = ""
    level: float = 0.0
    best: float = -math.inf
    shown: set[Candidate] = field(default_factory=set)
    groups: dict[str, Group] = field(default_factory=dict)
    left: dict[Candidate, str] = field(default_factory=dict)
    tokens: int = 0

    def value(self, candidate: Candidate) -> float:
        """The value of a candidate on the scale of the request (log)."""
        return self.level + candidate.value

    def highest_value(self) -> float:
        """The value of the best candidate of the ranking, apart from what is shown in any case."""
        ranked = (one for one in self.candidates if not (one.pinned or one.is_lifted))
        return max([self.best, *map(self.value, ranked)])

    def remaining(self) -> Iterator[Candidate]:
        """Candidates that are not shown, in their order, without those that say the same as something shown."""
        return (one for one in self.candidates if one in self.left)


def priority(candidate: Candidate, level: float = 0.0) -> float:
    """Value over a power of the cost, on the log scale: what is tried first."""
    return level + candidate.value - COST_EXPONENT * math.log(candidate.size + COST_OFFSET)


def by_priority(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates of one section in the order in which they are tried."""
    return sorted(candidates, key=lambda one: (not one.pinned, -priority(one), one.document.id, one.place))
