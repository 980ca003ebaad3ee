"""Waits that grow with every attempt."""

import random

FIRST_WAIT = 0.5


def doubled(attempt):
    """Return a wait that doubles: 0.5, 1, 2, 4 seconds."""
    return FIRST_WAIT * 2**attempt


def jittered(attempt, draw=random.random):
    """Return a doubled wait with a random part, so that workers do not ask at the same moment."""
    return doubled(attempt) * (0.5 + draw())
