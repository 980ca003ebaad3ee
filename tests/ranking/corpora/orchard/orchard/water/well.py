"""The well, which all irrigation hangs on."""

LOWEST = 3.5


def may_draw(level, litres):
    """Return whether the well has enough for an irrigation of so many litres."""
    return level - litres / 1000 > LOWEST
