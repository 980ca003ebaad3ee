"""The state of a session: one small file, so that nothing is injected or saved twice.

The same event can arrive several times (hooks configured in two places, a session that is resumed), several sessions
run at once, and so do several hooks of one session. Each change is made under the lock of its file, in a millisecond.
The file is named by a hash of the session id. It contains first lines of prompts, and paths, cleaned and redacted.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from satchel.system import state_files
from satchel.vocabulary import DAY_SECONDS

MOST_PROMPTS = 12
MOST_FILES = 40
MOST_CLAIMS = 200
"""Limits of the prompts, changed files and answered events of a session; the newest are kept."""

LOCK_SECONDS = 0.3
"""Time to wait for another hook of the session."""

KEPT_SECONDS = 30 * DAY_SECONDS
"""Age from which the state of a session is deleted: a month."""

Result = TypeVar("Result")
State = dict[str, Any]


def session_mark(session: str) -> str:
    """Return the file name of a session: 16 hexadecimal digits that do not reveal its id."""
    return blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class BusyError(OSError):
    """Another hook of the session keeps its file locked for too long."""


class SessionState:
    """The file of one session. Methods raise OSError where the state folder cannot be used."""

    def __init__(self, state: Path, session: str) -> None:
        self._path = state / "hooks" / "sessions" / f"{session_mark(session)}.json"

    def claim(self, what: str, seconds: float | None = None) -> bool:
        """Return true if nobody has claimed this in the session before, or not for so many seconds."""

        def change(state: State) -> bool:
            claims: dict[str, float] = state["claims"]
            now = time.time()
            before = claims.get(what)
            if before is not None and (seconds is None or 0 <= now - before < seconds):
                return False
            claims.pop(what, None)
            claims[what] = now
            for surplus in [*claims][:-MOST_CLAIMS]:
                del claims[surplus]
            return True

        return self._change(change)

    def forget(self, prefix: str) -> None:
        """Release the claims with this prefix."""

        def change(state: State) -> None:
            state["claims"] = {name: at for name, at in state["claims"].items() if not name.startswith(prefix)}

        self._change(change)

    def restart(self) -> None:
        """Forget prompts, files and the failure; claims remain."""
        self._change(lambda state: state.update(prompts=[], files=[], failure=""))

    def note_prompt(self, line: str) -> None:
        """Add the first line of a prompt."""
        self._change(lambda state: _keep(state["prompts"], line, MOST_PROMPTS))

    def note_files(self, paths: list[str]) -> None:
        """Add the paths of changed files."""

        def change(state: State) -> None:
            for path in paths:
                _keep(state["files"], path, MOST_FILES)

        self._change(change)

    def note_failure(self, line: str) -> None:
        """Set the last failed command; empty after a success."""
        self._change(lambda state: state.update(failure=line))

    def read(self) -> State:
        """Return `prompts`, `files` (oldest first) and `failure`."""
        return _usable(self._read())

    def prune(self) -> None:
        """Delete the files of sessions that ended long ago."""
        state_files.prune_older(self._path.parent, KEPT_SECONDS)

    def _change(self, change: Callable[[State], Result]) -> Result:
        """Read, change and write the state under its lock."""
        state_files.make_folder(self._path.parent)
        with state_files.locked(self._path.with_suffix(".lock"), LOCK_SECONDS) as is_ours:
            if not is_ours:
                raise BusyError("another hook of this session is at work")
            state = _usable(self._read())
            result = change(state)
            state_files.replace(self._path, json.dumps(state, separators=(",", ":")).encode())
        return result

    def _read(self) -> object:
        """Return the contents of the file, None if it is damaged."""
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(state_files.read(self._path) or b"null")
        return None


def _usable(value: object) -> State:
    """Return a complete state, whatever the file contained."""
    fields = value if isinstance(value, dict) else {}
    claims, prompts, files = fields.get("claims"), fields.get("prompts"), fields.get("files")
    return {
        "claims": {
            name: float(at)
            for name, at in (claims.items() if isinstance(claims, dict) else ())
            if isinstance(at, int | float)
        },
        "prompts": [row for row in prompts if isinstance(row, str)] if isinstance(prompts, list) else [],
        "files": [row for row in files if isinstance(row, str)] if isinstance(files, list) else [],
        "failure": str(fields.get("failure") or ""),
    }


def _keep(rows: list[str], row: str, most: int) -> None:
    """Put a row at the end, once, and drop the oldest."""
    if row in rows:
        rows.remove(row)
    rows.append(row)
    del rows[:-most]
