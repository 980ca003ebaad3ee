"""Ships that wait outside."""

_WAITING = []


def wait_outside(ship):
    """Put a ship at the end of the queue."""
    _WAITING.append(ship)


def call_next():
    """Return the ship that has waited longest, None if there is none."""
    return _WAITING.pop(0) if _WAITING else None
