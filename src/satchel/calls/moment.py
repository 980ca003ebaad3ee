"""A moment as a person writes it."""

from __future__ import annotations

import re
from datetime import UTC, datetime

from satchel.errors import UsageError

_EPOCH_SECONDS = re.compile(r"\d{1,11}(?:\.\d+)?")


def parse_moment(text: str, option: str = "--now") -> float:
    """Seconds since the epoch of `2024-05-01`, `2024-05-01T10:30:00+02:00` or `1714559400`; without a zone, UTC.

    Raises UsageError for anything else.
    """
    if _EPOCH_SECONDS.fullmatch(text):
        return float(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        shapes = "a date (2024-05-01), a date with time, or epoch seconds"
        raise UsageError(f"{option} is {text!r}: give {shapes}") from None
    return (moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)).timestamp()
