"""The two waves that make a tide."""

import math


def moon_wave(hour):
    """Return the part of the moon: a period of 12.4 hours."""
    return 14 * math.cos(2 * math.pi * hour / 12.4)


def sun_wave(hour):
    """Return the part of the sun: a period of twelve hours."""
    return 5 * math.cos(2 * math.pi * hour / 12)
