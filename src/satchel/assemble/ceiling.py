"""What an answer to a smaller budget may be worth at most: whether it has to be looked at."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import accumulate

from satchel.assemble.candidates import CHARACTERS_PER_TOKEN
from satchel.assemble.price import SMALLEST_PIECE_TOKENS
from satchel.assemble.section import Section, density
from satchel.assemble.shown import Group
from satchel.assemble.worth import PLACE_TOKENS
from satchel.tokens import TokenCounter

LEAST_PLACE_TOKENS = 4
"""Line numbers beside others of the same file."""

LEAST_RANGE_TOKENS = 3
"""What stands around a further range of a file at least."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What an estimated token of text costs in a section, and the frame of an item there at least."""

    text: float = 1.0
    frame: int = 0


@dataclass(frozen=True, slots=True)
class _Kind:
    """The candidates of one section by falling density: their tokens and worth, each with all before it."""

    weight: float
    reserve: int
    sizes: Sequence[float]
    tokens: Sequence[float]
    worth: Sequence[float]

    def most(self, tokens: float) -> float:
        """What so many tokens are worth at most: the best candidates, the last of them in part."""
        position = bisect_left(self.tokens, tokens)
        if position == len(self.tokens):
            return self.worth[-1]
        if not position:
            return 0.0
        before, after = self.tokens[position - 1], self.tokens[position]
        return self.worth[position - 1] + (self.worth[position] - self.worth[position - 1]) * (tokens - before) / (
            after - before
        )

    def left_over(self, tokens: float) -> float:
        """What remains of a share when everything whole that fits was taken in order: others get it."""
        left = tokens
        for size in self.sizes:
            if size <= left:
                left -= size
                if left < SMALLEST_PIECE_TOKENS:
                    break
        return left


class Ceiling:
    """The most that answers may be worth, by their budgets: of each kind the best that its share has room for.

    Candidates count whole, each item with the smallest frame, and what kinds leave of their shares goes to the one that
    makes most of it: hardly any choice is worth more. It takes microseconds where a choice takes milliseconds.
    """

    def __init__(
        self, sections: Sequence[Section], costs: Sequence[Cost], frame: int = 0, *, shows_lines: bool = True
    ) -> None:
        """`costs` are those of `measured`, `frame` are the tokens of a text without items.

        Without `shows_lines` a candidate of a file is worth its place.
        """
        self._frame = frame
        self._kinds = [
            _kind(section, cost, shows_lines=shows_lines)
            for section, cost in zip(sections, costs, strict=True)
            if any(section.remaining())
        ]

    def at(self, budget: int) -> float:
        """The most that an answer to `budget` tokens may be worth."""
        left = float(max(budget - self._frame, 0))
        worth, open_kinds = 0.0, list(self._kinds)
        while open_kinds:
            share = left / sum(kind.weight for kind in open_kinds)
            exhausted = [kind for kind in open_kinds if kind.tokens[-1] <= share * kind.weight]
            if not exhausted:
                return worth + _shared(open_kinds, share)
            for kind in exhausted:
                worth += kind.worth[-1]
                left -= kind.tokens[-1]
                open_kinds.remove(kind)
        return worth


def _shared(kinds: Sequence[_Kind], share: float) -> float:
    """The most that kinds are worth that get `share` tokens for each unit of their weights, and what others leave."""
    shares = [max(share * kind.weight, kind.reserve) for kind in kinds]
    worth = [kind.most(tokens) for kind, tokens in zip(kinds, shares, strict=True)]
    spare = sum(kind.left_over(share * kind.weight) for kind in kinds) if len(kinds) > 1 else 0.0
    return sum(worth) + max(
        kind.most(tokens + spare) - own for kind, tokens, own in zip(kinds, shares, worth, strict=True)
    )


def measured(sections: Sequence[Section], counter: TokenCounter, weigh: Callable[[Group], int]) -> list[Cost]:
    """What things cost in each section, measured on what it shows. `weigh` counts an item with its frame."""
    return [_cost(section, counter, weigh) for section in sections]


def _cost(section: Section, counter: TokenCounter, weigh: Callable[[Group], int]) -> Cost:
    if not section.groups:
        return Cost()
    shown = [(group, *_text(group, counter)) for group in section.groups.values()]
    estimated = sum(characters for _, characters, _ in shown) / CHARACTERS_PER_TOKEN
    frame = min(weigh(group) - tokens for group, _, tokens in shown)
    return Cost(sum(tokens for *_, tokens in shown) / max(estimated, 1.0), max(frame, 0))


def _text(group: Group, counter: TokenCounter) -> tuple[int, int]:
    """Characters and tokens of what an item shows, without its frame."""
    if group.lines is None:
        texts = [step.text for _, step in group.picks]
        return sum(map(len, texts)), sum(map(counter.count, texts))
    lines = group.lines
    characters = sum([lines.characters(start, end) for start, end in group.ranges])
    return characters, sum([lines.tokens(counter, start, end) for start, end in group.ranges])


def _kind(section: Section, cost: Cost, *, shows_lines: bool) -> _Kind:
    """The candidates of a section. The first of an item pays its frame."""
    tokens, worth, items = [], [], set()
    for candidate in sorted((one for _, one in section.remaining()), key=lambda one: -density(one)):
        if candidate.document.location is not None and not shows_lines:
            size, own = float(PLACE_TOKENS), float(LEAST_PLACE_TOKENS)
        else:
            frame = LEAST_RANGE_TOKENS if candidate.group in items else cost.frame
            size, own = candidate.size, candidate.size * cost.text + frame
        worth.append(math.exp(density(candidate)) * section.scale * size)
        tokens.append(own)
        items.add(candidate.group)
    return _Kind(
        section.weight,
        section.reserve,
        tokens,
        list(accumulate(tokens, initial=0.0)),
        list(accumulate(worth, initial=0.0)),
    )
