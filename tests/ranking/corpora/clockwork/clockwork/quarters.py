"""Striking the quarters."""

from clockwork.gear import turn_gear


def strike_quarter(works, quarter):
    """Strike once for each quarter."""
    for _ in range(quarter):
        turn_gear(works.small, 1)
        works.small_bell.damp()
    works.rest()
    works.count = quarter
    return quarter
