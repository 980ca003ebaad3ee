"""What a choice would be worth, roughly and fast: which of the smaller budgets are worth a real choice.

Candidates are taken as they are in `satchel.assemble.fit`, by shares and by estimates, but nothing is rendered, and
every candidate costs what it costs alone. It takes half a millisecond where a choice takes ten.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from satchel.assemble.price import SMALLEST_PIECE_TOKENS, Prices
from satchel.assemble.section import Section, density, order
from satchel.assemble.worth import PLACE_TOKENS

PATH_TOKENS = 6
"""Of a path of the usual length."""

FAR_LESS = 0.5
"""What is worth less than this share, by token, of something that did not fit waits until that was shrunk: a
declaration of the best function says more than the whole of one that hardly answers."""


SMALL_BUDGET = 1_200
"""For each kind: below it what does not fit is shrunk before much less is shown whole. Above it is shrunk at the end:
on 296 issues shrinking first takes .003 of the files and spans at 4,000 tokens."""


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
    frame: int
    rows: Sequence[_Row]


class Sketch:
    """The candidates of one request as numbers."""

    def __init__(self, sections: Sequence[Section], frame: int, prices: Prices) -> None:
        """`frame` is what an answer without items takes."""
        self._frame = frame
        self._kinds = [_kind(section, prices) for section in sections if section.candidates]

    def worth(self, budget: int) -> tuple[float, int]:
        """About what the choice made for a budget is worth, and the tokens into which nothing fits as a whole."""
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
                spent, worth = _admitted(
                    kind, share, taken[number], items[number], waits=budget < SMALL_BUDGET * len(self._kinds)
                )
                progress += spent
                total += worth
            if not progress:
                break
            available -= progress
            active = [number for number in active if len(taken[number]) < len(self._kinds[number].rows)]
        return total, max(available, 0)


def _kind(section: Section, prices: Prices) -> _Kind:
    numbers: dict[str, int] = {}
    rows = []
    for candidate in sorted((one for _, one in section.remaining()), key=order):
        item = numbers.setdefault(candidate.group, len(numbers))
        is_place = candidate.document.location is not None and not prices.shows_lines
        tokens = PLACE_TOKENS if is_place else candidate.size
        rows.append(_Row(math.exp(density(candidate)), tokens, item, prices.whole(section, candidate)))
    return _Kind(section.weight, section.item_limit, prices.frame.usual_file + PATH_TOKENS, rows)


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
            cost += kind.frame
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
