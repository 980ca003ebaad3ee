"""The budgets at which choices are made: a scale that is the same for every request."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache

SMALL = (
    40, 50, 60, 70, 80, 90, 100, 120, 140, 160, 180, 200, 220, 240, 260, 280, 300, 330, 360, 400, 450, 500, 550, 600,
    700, 800, 900,
)  # fmt: skip
"""Small budgets, each a tenth or so above the one before. Below the first hardly a frame fits, and every budget is on
the scale."""

OCTAVE = 1_000
STEPS_AN_OCTAVE = 10
"""From there on: 1,000 to 2,000 by hundreds, to 4,000 by two hundreds. What lies between two of them is filled up by
cost alone."""

ROUND = 1_250
"""Its doubles (2,500, 5,000, 10,000) are on the scale as well, and so are the powers of two: budgets that people ask
for get a choice of their own."""

LARGEST = 1 << 24
"""Above the largest budget that is accepted."""

LOOKED_BACK = 12
"""Smaller budgets that are looked at: from 4,000 tokens those down to 1,900, from 450 those down to 160."""


@cache
def scale() -> tuple[int, ...]:
    """All budgets of the scale, rising."""
    points = set(SMALL)
    octave = OCTAVE
    while octave < LARGEST:
        points.update(range(octave, 2 * octave, octave // STEPS_AN_OCTAVE))
        octave *= 2
    points.update(1 << power for power in range(OCTAVE.bit_length(), LARGEST.bit_length()))
    points.update(ROUND << power for power in range((LARGEST // ROUND).bit_length()))
    return tuple(sorted(points))


def floor_of(limit: int) -> int:
    """The largest budget of the scale that is not above a limit."""
    return limit if limit < SMALL[0] else scale()[bisect_right(scale(), limit) - 1]


def looked_back(floor: int) -> tuple[int, ...]:
    """The budgets of the scale below `floor` that are looked at, rising."""
    last = bisect_left(scale(), floor)
    return scale()[max(last - LOOKED_BACK, 0) : last]
