"""Moments as text: ISO 8601 in UTC, cut to milliseconds, so that reading what was written gives the same moment."""

from __future__ import annotations

from datetime import UTC, datetime

MILLISECONDS = 3
"""Decimal digits of a second that are kept."""


def iso_time(moment: float) -> str:
    """`2026-05-01T10:30:00.250Z`."""
    return datetime.fromtimestamp(moment, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def read_time(text: str) -> float:
    """Seconds since the epoch of an ISO time; without a zone, UTC. Raises ValueError, also for what UTC cannot say."""
    moment = datetime.fromisoformat(text)
    aware = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    try:
        return round(aware.astimezone(UTC).timestamp(), MILLISECONDS)
    except OverflowError as error:
        raise ValueError(str(error)) from error
