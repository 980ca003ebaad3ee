"""Steel tanks in the cellar."""

LARGEST = 900


def fill_tank(cider, tank):
    """Fill a tank up to its brim; returns what is left over."""
    room = LARGEST - tank.level
    tank.level += min(cider, room)
    return max(cider - room, 0)
