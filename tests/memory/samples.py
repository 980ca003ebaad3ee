"""Experiences as people write them down."""

from __future__ import annotations

from typing import Any

STARTED: dict[str, Any] = {
    "domain": "debugging",
    "strategy": "root-cause-analysis",
    "goal": "Stop the session from being closed twice",
    "hypothesis": "The connection pool closes the session after the client did",
    "action": "Trace every call of close",
    "prediction": "The trace shows two calls from the pool",
}

FALSIFIED: dict[str, Any] = {
    "status": "falsified",
    "result": "Only one call came from the pool",
    "surprise": "The garbage collector finalised a forgotten handle",
    "root_cause": "wrong-assumption",
    "root_cause_description": "Nobody knew that a finaliser closes as well",
    "lesson": "Tracing with a stack for each call",
    "takeaway": "Never close anything inside a finaliser",
}

CONFIRMED: dict[str, Any] = {"status": "confirmed", "result": "Two calls, both from the pool"}


def calm_line(**changes: Any) -> dict[str, Any]:
    """One line of a CALM journal; a key set to None is left out."""
    line: dict[str, Any] = {
        "id": "ghap_20251206_175530_8ed2f0",
        "session_id": "session_20251206_175530_8992c6",
        "created_at": "2025-12-06T17:55:30.687882Z",
        "domain": "testing",
        "strategy": "systematic-elimination",
        "goal": "Make the nightly suite pass again",
        "hypothesis": "The fixture shares one database between workers",
        "action": "Give every worker a database of its own",
        "prediction": "No row of another worker shows up",
        "history": [],
        "iteration_count": 1,
        "notes": ["started with the slowest file"],
        "outcome": {
            "status": "falsified",
            "result": "Rows of another worker still showed up",
            "captured_at": "2025-12-06T17:56:05.492298Z",
            "auto_captured": False,
        },
        "surprise": "A cache outside the database survived",
        "root_cause": {"category": "test-isolation", "description": "The cache key lacked the worker"},
        "lesson": {"what_worked": "Printing the cache key", "takeaway": "Name caches after workers"},
        "confidence_tier": "silver",
    }
    return {name: value for name, value in (line | changes).items() if value is not None}
