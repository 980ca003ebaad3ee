"""Arguments that are refused at every door because they ask for too much, and the sentence that says so."""

from __future__ import annotations

from typing import Any

TOO_MUCH: tuple[tuple[dict[str, Any], str], ...] = (
    ({"question": "backoff", "max_tokens": 10_000_001}, "max_tokens is 10000001: give 1 to 10,000,000 tokens"),
    ({"question": "backoff", "limit": 1_000_000}, "limit is 1000000: give 1 to 100,000 results"),
    ({"question": "backoff", "include": ["a.py"] * 10_000}, "include names 10,000 places: give at most 1,000"),
)
