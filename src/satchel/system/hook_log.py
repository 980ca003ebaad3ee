"""The log of the editor hooks: one line of JSON per event, in a file of the state folder that stays small.

An entry has the time, event, host, outcome, reason and cost, and the ids of injected items, neither title nor text.
The command line, the page and the doctor read it.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from satchel.config import Folders
from satchel.errors import SatchelError
from satchel.safety import sanitize
from satchel.system import state_files
from satchel.types import Data, Json

MOST_BYTES = 1_000_000
"""Beyond this size the older half is deleted: about two thousand events, some weeks of work."""

KEPT_BYTES = MOST_BYTES // 2

REASON_CHARACTERS = 300

LOCK_SECONDS = 0.1
"""Maximum wait for another hook that writes: an entry needs less than a millisecond."""

INJECTED, NOTHING, SAVED, FAILED = "injected", "nothing", "saved", "failed"
"""Outcomes of an event: text for the model, no text, something saved, or an error."""


def log_file(state: Path) -> Path:
    """Return the path of the log below the state folder."""
    return state / "hooks" / "log.jsonl"


def record(state: Path, entry: Data) -> None:
    """Add one entry. Raises OSError where the state folder cannot be written."""
    line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n"
    raw = line.encode("ascii")
    state_files.append(log_file(state), raw, most=MOST_BYTES, kept=KEPT_BYTES, wait_seconds=LOCK_SECONDS)


def record_event(
    event: str,
    outcome: str,
    reason: str,
    milliseconds: float,
    *,
    host: str = "",
    session: str = "",
    folder: str = "",
    tokens: int = 0,
    characters: int = 0,
    items: Sequence[Data] = (),
) -> str:
    """Add the entry of an event to the log of the user, and return an error message if that fails, else empty."""
    entry = {
        "at": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        "event": sanitize.line(event),
        "host": host,
        "session": session,
        "folder": sanitize.line(folder),
        "outcome": outcome,
        "reason": sanitize.line(reason, REASON_CHARACTERS),
        "tokens": tokens,
        "characters": characters,
        "ms": round(milliseconds),
        "items": [*items],
    }
    try:
        record(Folders.from_environment().state, entry)
    except (OSError, SatchelError) as error:
        return f"the hook log cannot be written: {error}"
    return ""


def entries(state: Path, most: int | None = None) -> list[Json]:
    """Return the newest `most` entries (all by default), oldest first. Broken lines are left out."""
    try:
        raw = log_file(state).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    rows: list[Json] = []
    for line in reversed(raw.split(b"\n")):
        if most is not None and len(rows) == most:
            break
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                rows.append(entry)
    return rows[::-1]
