"""The budgets at which choices are made: a scale that is the same for every request."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cache

SMALLEST = 40
"""Tokens: below it hardly a frame fits, and every budget is on the scale."""

FINE_STEP = 10
FINE_BELOW = 2_000
"""What lies between two budgets is filled up by cost alone, so steps are about as small as the smallest piece."""

STEPS_AN_OCTAVE = 80
"""Above it, so that round numbers (2,500, 4,000, 12,000) are on the scale; so are the powers of two."""

LARGEST = 1 << 24
"""Above the largest budget that is accepted."""

NEAR = 3
"""Steps below a budget that are looked at one by one: from one to the next it grows as much as chance moves it."""

FAR = 24
COARSE = 5
"""Further below, one of so many steps is looked at: what makes a choice for less worth more (a kind gets a share that
it fills with little) does so for a whole stretch of budgets. They reach down to a third of the budget."""


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


def near(floor: int) -> tuple[int, ...]:
    """The budgets of the scale right below `floor`, rising."""
    last = bisect_left(scale(), floor)
    return scale()[max(last - NEAR, 0) : last]


def far(floor: int) -> tuple[int, ...]:
    """Some budgets below those, rising: the same ones for every `floor`."""
    last = max(bisect_left(scale(), floor) - NEAR, 0)
    return tuple([scale()[at] for at in range(last) if at % COARSE == 0][-FAR:])


def below(floor: int) -> tuple[int, ...]:
    """All budgets of the scale below `floor`, rising."""
    return scale()[: bisect_left(scale(), floor)]
