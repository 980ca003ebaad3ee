"""Counters and timers, for whoever watches the workers."""

import contextlib
import time
from collections import Counter

COUNTS = Counter()
SECONDS = Counter()


def count(event, subject, number=1):
    """Count an event of a queue or a job."""
    COUNTS[event, subject] += number


@contextlib.contextmanager
def timed(subject):
    """Add the seconds of a block to those of its subject."""
    begun = time.perf_counter()
    try:
        yield
    finally:
        SECONDS[subject] += time.perf_counter() - begun


def report():
    """Return all counters as lines of text, for the command `lantern stats`."""
    return [f"{event} {subject} {number}" for (event, subject), number in sorted(COUNTS.items())]
