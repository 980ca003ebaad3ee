"""Depths by hour."""

from harbour.tides.waves import moon_wave, sun_wave

DATUM = 12


def depth_at(hour):
    """Return the water above chart datum at an hour, in decimetres."""
    return round(DATUM + moon_wave(hour) + sun_wave(hour))


def low_water(day):
    """Return the hour of low water."""
    return min(range(24), key=depth_at)
