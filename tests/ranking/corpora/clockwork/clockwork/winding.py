"""Winding."""

from clockwork.gear import turn_gear


def wind_up(works):
    """Wind the clock for a week."""
    return turn_gear(works.barrel, 7 * 24)
