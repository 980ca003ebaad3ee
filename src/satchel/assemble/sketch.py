"""What a choice would be worth, roughly and fast: which of the smaller budgets are worth a real choice.

Candidates are taken as they are in `satchel.assemble.fit`, by shares and by estimates, but nothing is rendered, and
every candidate costs what it costs alone. It takes half a millisecond where a choice takes ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from satchel.assemble.price import FILE_FRAME_TOKENS, RANGE_TOKENS, SMALLEST_PIECE_TOKENS
from satchel.assemble.section import Section, density, order

PATH_TOKENS = 6
"""Of a path of the usual length."""

FAR_LESS = 0.5
"""What is worth less than this share, by token, of something that did not fit waits until that was shrunk: a
declaration of the best function says more than the whole of one that hardly answers."""


SMALL_BUDGET = 1_000
"""Below it what does not fit is shrunk before much less is shown whole. Above it is shrunk at the end: on 296 issues
shrinking first takes .003 of the files and spans at 4,000 tokens."""


@dataclass(frozen=True, slots=True)
class _Row:
    """One candidate: what a token of it is worth, its tokens, its item by number, and what it costs there."""

    worth: float
    tokens: float
    item: int
    cost: int


@dataclass(frozen=True, slots=True)
class _Kind:
    """The candidates of one section in the order in which they are tried."""

    weight: float
    most_items: int
    rows: Sequence[_Row]


class Sketch:
    """The candidates of one request as numbers."""

    def __init__(self, sections: Sequence[Section], frame: int, factor: float) -> None:
        """`frame` is what an answer without items takes, `factor` what an estimated token of lines costs."""
        self._frame = frame
        self._kinds = [_kind(section, factor) for section in sections if section.candidates]

    def worth(self, budget: int) -> float:
        """About what the choice made for a budget is worth."""
        available = budget - self._frame
        total = 0.0
        taken: list[set[int]] = [set() for _ in self._kinds]
        items: list[set[int]] = [set() for _ in self._kinds]
        active = list(range(len(self._kinds)))
        while active and available >= SMALLEST_PIECE_TOKENS:
            weights = sum(self._kinds[number].weight for number in active)
            progress = 0
            for number in active:
                kind = self._kinds[number]
                share = int(available * kind.weight / weights)
                spent, worth = _admitted(kind, share, taken[number], items[number], waits=budget < SMALL_BUDGET)
                progress += spent
                total += worth
            if not progress:
                break
            available -= progress
            active = [number for number in active if len(taken[number]) < len(self._kinds[number].rows)]
        waiting = (row.worth for kind, known in zip(self._kinds, taken, strict=True) for row in _first(kind, known))
        return total + max(available, 0) * max(waiting, default=0.0)


def _kind(section: Section, factor: float) -> _Kind:
    numbers: dict[str, int] = {}
    rows = []
    for candidate in sorted((one for _, one in section.remaining()), key=order):
        frame = RANGE_TOKENS if candidate.document.location is not None else 0
        item = numbers.setdefault(candidate.group, len(numbers))
        rows.append(_Row(math.exp(density(candidate)), candidate.size, item, int(candidate.size * factor) + frame))
    return _Kind(section.weight, section.item_limit, rows)


def _first(kind: _Kind, taken: AbstractSet[int]) -> Sequence[_Row]:
    """The best that was not taken: what is left over goes to a part of it."""
    return next(([row] for number, row in enumerate(kind.rows) if number not in taken), [])


def _admitted(kind: _Kind, budget: int, taken: set[int], items: set[int], *, waits: bool) -> tuple[int, float]:
    """What a share is spent on: tokens and worth."""
    spent, worth, least = 0, 0.0, 0.0
    for number, row in enumerate(kind.rows):
        if number in taken:
            continue
        if row.worth < least:
            break
        cost = row.cost
        if row.item not in items:
            if len(items) >= kind.most_items:
                continue
            cost += FILE_FRAME_TOKENS + PATH_TOKENS
        if cost > budget - spent:
            least = max(least, row.worth * FAR_LESS) if waits else 0.0
            continue
        taken.add(number)
        items.add(row.item)
        spent += cost
        worth += row.worth * row.tokens
        if budget - spent < SMALLEST_PIECE_TOKENS:
            break
    return spent, worth
