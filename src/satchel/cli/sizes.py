"""Sizes and times as people say them."""

from __future__ import annotations


def size_text(size: int) -> str:
    """Bytes in the largest unit that gives at least one: `12.3 MB`."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def age_text(seconds: float) -> str:
    """A span of time in its largest whole unit: `3 minutes`."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
    return "a moment"
