"""The budgets at which choices are made: a scale that is the same for every request."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache

SMALLEST = 40
"""Tokens: below it hardly a frame fits, and every budget is on the scale."""

FINE_STEP = 20
FINE_BELOW = 500
"""Small budgets show few items, and each of them decides."""

STEPS_AN_OCTAVE = 20
"""From there on: a twentieth of the octave, so that all round numbers (1,000, 1,500, 4,000, 12,000) are on the scale.
A budget between two of them, and only such a one, is filled up with what costs least: at most a twentieth of it."""

LARGEST = 1 << 24
"""Above the largest budget that is accepted."""

LOOKED_BACK_TOKENS = 20_000
"""What the budgets that are looked back at have together, at most: that is all of them up to 1,000 tokens, 12 at 2,000,
5 at 4,000. Every one costs a choice; on generated questions no fall reached further (benchmarks/results/fuzz.json)."""

FEWEST_LOOKED_BACK = 3


@cache
def scale() -> tuple[int, ...]:
    """All budgets of the scale, rising; the powers of two are among them."""
    points = set(range(SMALLEST, FINE_BELOW, FINE_STEP))
    octave = FINE_BELOW
    while octave < LARGEST:
        points.update(range(octave, 2 * octave, octave // STEPS_AN_OCTAVE))
        octave *= 2
    points.update(1 << power for power in range(6, LARGEST.bit_length()))
    return tuple(sorted(points))


def floor_of(limit: int) -> int:
    """The largest budget of the scale that is not above a limit."""
    return limit if limit < SMALLEST else scale()[bisect_right(scale(), limit) - 1]


def looked_back(floor: int, may_be_worth_more: Callable[[int], bool]) -> Iterator[int]:
    """The budgets below `floor`, rising, from the first whose answer can be worth more than the choice made for it."""
    points = scale()
    first = last = bisect_right(points, floor - 1)
    together = 0
    while first > 0 and (last - first < FEWEST_LOOKED_BACK or together < LOOKED_BACK_TOKENS):
        if not may_be_worth_more(points[first - 1]):
            break
        first -= 1
        together += points[first]
    yield from points[first:last]
