"""Sections: the candidates of one kind, and the order in which candidates are tried."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from satchel.answer.candidates import Candidate, Step
from satchel.answer.groups import Group
from satchel.answer.source_lines import Lines
from satchel.types import Hit, Kind

MOST_OMISSIONS = 20
"""Candidates that are not shown but listed, for each kind, the best first."""

COST_EXPONENT = 0.42
"""Candidates are ordered by value over cost to this power. Measured flat from 0.35 to 0.5 at 4,000 tokens."""

COST_OFFSET = 60.0
"""Tokens added to every cost before the power, so that tiny spans do not win by being tiny. Anything from 8 to 60
measures the same on 296 issues; with 60 fewer one-line pieces are shown between the ranges that answer."""

Follow = Callable[[Candidate, Step, Group], Sequence[Candidate]]
"""Returns the companions of a shown step, such as imports and the rest of its function."""


@dataclass(frozen=True, eq=False)
class Section:
    """The candidates of one kind, in the order in which they are tried.

    `weight` is its share of the budget where the kinds were named, `share` the same in tokens. `level` is what was
    added to the values of its candidates (log scale) to make them comparable with those of other sections. `reserve` is
    the part of the budget for this kind alone (tokens). `title` is the heading above it, empty for the one of the kind.
    `best` is the value of the best candidate of the search, also if the session has it already.
    """

    kind: Kind
    weight: float
    candidates: tuple[Candidate, ...]
    lines: Mapping[str, Lines]
    item_limit: int
    reserve: int = 0
    follow: Follow | None = None
    title: str = ""
    level: float = 0.0
    best: float = -math.inf
    share: float = 0.0

    @property
    def highest_value(self) -> float:
        """The value of the best candidate of the ranking, except pinned and lifted ones."""
        ranked = (one.value for one in self.candidates if not (one.pinned or one.is_lifted))
        return max([self.best, *ranked])

    @cached_property
    def ranked(self) -> list[Candidate]:
        """The candidates by priority, whether pinned or not."""
        return sorted(self.candidates, key=lambda one: (-priority(one), one.chunk.id, one.place))


def priority(candidate: Candidate) -> float:
    """Return value over a power of the cost, on the log scale: higher ones are tried first."""
    return candidate.value - COST_EXPONENT * math.log(candidate.size + COST_OFFSET)


def highest_priority(hit: Hit) -> float:
    """Return a priority that no candidate of this hit exceeds."""
    return max([hit.score, *(span.value for span in hit.spans)]) - COST_EXPONENT * math.log(COST_OFFSET)


def by_priority(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Return candidates of one section in the order in which they are tried."""
    return tuple(sorted(candidates, key=lambda one: (not one.pinned, -priority(one), one.chunk.id, one.place)))
