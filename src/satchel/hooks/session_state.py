"""What one session has had already: one small file a session, so that nothing is injected or saved twice.

The same event can arrive several times (hooks configured in two places, a session that is resumed), several sessions
run at once, and several hooks of one session do. Each change is made under the lock of its file, in a millisecond. The
file is named by a hash of the session's id and holds first lines of prompts and paths, cleaned and redacted, no more.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

from satchel import state_files

MOST_PROMPTS = 12
MOST_FILES = 40
MOST_CLAIMS = 200
"""What is kept of a session, the newest of each: what was asked, which files were changed, what was answered."""

LOCK_SECONDS = 0.3
"""A hook waits no longer for another one of its session."""

KEPT_SECONDS = 30 * 86_400
"""A session that was silent for a month is forgotten; one that goes on after that begins anew."""

Result = TypeVar("Result")
State = dict[str, Any]


def session_mark(session: str) -> str:
    """The name of a session in files: 16 hexadecimal digits that do not tell it."""
    return blake2b(session.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


class BusyError(OSError):
    """Another hook of the session holds its file for too long."""


class SessionState:
    """The file of one session. Methods raise OSError where the state folder cannot be used."""

    def __init__(self, state: Path, session: str) -> None:
        self._path = state / "hooks" / "sessions" / f"{session_mark(session)}.json"

    def claim(self, what: str, seconds: float | None = None) -> bool:
        """Whether nobody has answered this in this session yet, or not for so many seconds. Now somebody has."""

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
        """What was answered under these names may be answered again."""

        def change(state: State) -> None:
            state["claims"] = {name: at for name, at in state["claims"].items() if not name.startswith(prefix)}

        self._change(change)

    def restart(self) -> None:
        """Forget what was asked, changed and answered, but for what was claimed a moment ago."""
        self._change(lambda state: state.update(prompts=[], files=[], failure=""))

    def note_prompt(self, line: str) -> None:
        """Keep what was asked, on one line."""
        self._change(lambda state: _keep(state["prompts"], line, MOST_PROMPTS))

    def note_files(self, paths: list[str]) -> None:
        """Keep which files were changed."""

        def change(state: State) -> None:
            for path in paths:
                _keep(state["files"], path, MOST_FILES)

        self._change(change)

    def note_failure(self, line: str) -> None:
        """Keep which command failed last; empty when one succeeded."""
        self._change(lambda state: state.update(failure=line))

    def read(self) -> State:
        """Everything that is kept: `prompts`, `files`, `failure`, oldest first."""
        return _usable(self._read())

    def prune(self) -> None:
        """Remove the files of sessions that are long over."""
        state_files.prune_older(self._path.parent, KEPT_SECONDS)

    def _change(self, change: Callable[[State], Result]) -> Result:
        """Read, change and write the state, alone."""
        state_files.make_folder(self._path.parent)
        with state_files.locked(self._path.with_suffix(".lock"), LOCK_SECONDS) as is_ours:
            if not is_ours:
                raise BusyError("another hook of this session is at work")
            state = _usable(self._read())
            result = change(state)
            state_files.replace(self._path, json.dumps(state, separators=(",", ":")).encode())
        return result

    def _read(self) -> object:
        """Return the contents of the file; those of a damaged one are as good as none."""
        with contextlib.suppress(ValueError, RecursionError):
            return json.loads(state_files.read(self._path) or b"null")
        return None


def _usable(found: object) -> State:
    """A state with everything in it that belongs there, whatever was found."""
    given = found if isinstance(found, dict) else {}
    claims, prompts, files = given.get("claims"), given.get("prompts"), given.get("files")
    return {
        "claims": {
            name: float(at)
            for name, at in (claims.items() if isinstance(claims, dict) else ())
            if isinstance(at, int | float)
        },
        "prompts": [row for row in prompts if isinstance(row, str)] if isinstance(prompts, list) else [],
        "files": [row for row in files if isinstance(row, str)] if isinstance(files, list) else [],
        "failure": str(given.get("failure") or ""),
    }


def _keep(rows: list[str], row: str, most: int) -> None:
    """Put a row at the end, once, and let go of the oldest."""
    if row in rows:
        rows.remove(row)
    rows.append(row)
    del rows[:-most]
