"""The clock that stamps files."""

from __future__ import annotations

import time


def tick() -> int:
    """The time in nanoseconds that the system would stamp on a file that changes right now.

    That clock moves in steps of some milliseconds. A file with this time or a later one may change again without
    looking any different, so nothing may be concluded from its time staying the same.
    """
    # Where the step is unknown, the file system has a fine clock of its own.
    clock = getattr(time, "CLOCK_REALTIME_COARSE", time.CLOCK_REALTIME)
    return time.clock_gettime_ns(clock)
