"""What the editor hooks did: one line of JSON an event, in a file of the state folder that stays small.

An entry says when, which event of which host, what came of it and why, what it cost, and the ids and titles of what
was injected; no text of it. The command line, the page and the doctor read it.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

try:
    import fcntl
except ImportError:  # not a POSIX system: a line written while the file is cut may be lost
    fcntl = None  # type: ignore[assignment]

MOST_BYTES = 1_000_000
"""Beyond this size the older half is forgotten: about two thousand events, some weeks of work."""

KEPT_BYTES = MOST_BYTES // 2

LOCK_SECONDS = 0.1
"""A hook waits no longer for another one that writes: an entry takes less than a millisecond."""

INJECTED, NOTHING, SAVED, FAILED = "injected", "nothing", "saved", "failed"
"""What came of an event: text went to the model, none did, something was kept, or it broke."""

OUTCOMES = (INJECTED, NOTHING, SAVED, FAILED)

Entry = Mapping[str, Any]


def log_file(state: Path) -> Path:
    """Where the log lies below the state folder."""
    return state / "hooks" / "log.jsonl"


def record(state: Path, entry: Entry) -> None:
    """Add one entry. Raises OSError where the state folder cannot be written."""
    path = log_file(state)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    line = json.dumps(entry, ensure_ascii=True, separators=(",", ":")) + "\n"
    with _locked(path.parent):
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, line.encode("ascii"))
            size = os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)
        if size > MOST_BYTES:
            _forget(path)


def entries(state: Path, most: int | None = None) -> list[dict[str, Any]]:
    """The newest `most` entries (all by default), the oldest of them first. A line that was cut in two is left out."""
    try:
        raw = log_file(state).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return []
    found: list[dict[str, Any]] = []
    for line in reversed(raw.split(b"\n")):
        if most is not None and len(found) == most:
            break
        with contextlib.suppress(ValueError):
            entry = json.loads(line)
            if isinstance(entry, dict):
                found.append(entry)
    return found[::-1]


def failures(state: Path, most: int) -> list[dict[str, Any]]:
    """The newest `most` entries of events that broke, the oldest of them first."""
    return [entry for entry in entries(state) if entry.get("outcome") == FAILED][-most:]


def _forget(path: Path) -> None:
    """Keep the newest half, whole lines."""
    kept = path.read_bytes()[-KEPT_BYTES:].partition(b"\n")[2]
    unfinished = path.with_suffix(f".{os.getpid()}")
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        os.write(descriptor, kept)
    finally:
        os.close(descriptor)
    unfinished.replace(path)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the folder's lock, or go on without it after a while: a line that is lost is better than a late prompt."""
    if fcntl is None:
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        until = time.monotonic() + LOCK_SECONDS
        while True:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if time.monotonic() >= until:
                    break
                time.sleep(LOCK_SECONDS / 20)
        yield
    finally:
        os.close(descriptor)
