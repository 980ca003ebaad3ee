"""The budgets at which choices are made: a scale that is the same for every request."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache

SMALLEST = 40
"""Tokens: below it hardly a frame fits, and every budget is on the scale."""

FINE_STEP = 20
FINE_BELOW = 500
"""Small budgets show few items, and each of them decides."""

STEPS_AN_OCTAVE = 20
"""From there on, so that round numbers (1,000, 1,500, 4,000, 12,000) are on the scale; so are the powers of two. What lies
between two of them is filled up by cost alone."""

LARGEST = 1 << 24
"""Above the largest budget that is accepted."""

LOOKED_BACK = 24
"""Smaller budgets that are looked at: down to four ninths of the budget."""


@cache
def scale() -> tuple[int, ...]:
    """All budgets of the scale, rising."""
    points = set(range(SMALLEST, FINE_BELOW, FINE_STEP))
    octave = FINE_BELOW
    while octave < LARGEST:
        points.update(range(octave, 2 * octave, octave // STEPS_AN_OCTAVE))
        octave *= 2
    points.update(1 << power for power in range(SMALLEST.bit_length(), LARGEST.bit_length()))
    return tuple(sorted(points))


def floor_of(limit: int) -> int:
    """The largest budget of the scale that is not above a limit."""
    return limit if limit < SMALLEST else scale()[bisect_right(scale(), limit) - 1]


def looked_back(floor: int) -> tuple[int, ...]:
    """The budgets of the scale below `floor` that are looked at, rising."""
    last = bisect_left(scale(), floor)
    return scale()[max(last - LOOKED_BACK, 0) : last]
