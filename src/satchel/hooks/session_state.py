"""What one session has had already: one small file a session, so that nothing is injected or saved twice.

The same event can arrive several times (hooks configured in two places, a session that is resumed), several sessions
run at once, and several hooks of one session do. Each change is made under the lock of its file, in a millisecond. The
file is named by a hash of the session's id and holds first lines of prompts and paths, cleaned and redacted, no more.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

try:
    import fcntl
except ImportError:  # not a POSIX system: two hooks of one session at the same moment may both answer
    fcntl = None  # type: ignore[assignment]

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
        self._folder = state / "hooks" / "sessions"
        self._path = self._folder / f"{session_mark(session)}.json"

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
        oldest = time.time() - KEPT_SECONDS
        with contextlib.suppress(FileNotFoundError):
            for path in self._folder.iterdir():
                with contextlib.suppress(FileNotFoundError):
                    if path.stat().st_mtime < oldest:
                        path.unlink()

    def _change(self, change: Callable[[State], Result]) -> Result:
        """Read, change and write the state, alone."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            state = _usable(self._read())
            result = change(state)
            unfinished = self._path.with_suffix(f".{os.getpid()}")
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0), 0o600)
            try:
                os.write(descriptor, json.dumps(state, separators=(",", ":")).encode())
            finally:
                os.close(descriptor)
            unfinished.replace(self._path)
        return result

    def _read(self) -> object:
        """What the file holds; a damaged one is as good as none."""
        with contextlib.suppress(FileNotFoundError, ValueError, RecursionError):
            return json.loads(self._path.read_bytes())
        return None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        descriptor = os.open(self._path.with_suffix(".lock"), flags, 0o600)
        try:
            until = time.monotonic() + LOCK_SECONDS
            while not _is_taken(descriptor):
                if time.monotonic() >= until:
                    raise BusyError("another hook of this session is at work")
                time.sleep(LOCK_SECONDS / 60)
            yield
        finally:
            os.close(descriptor)


def _is_taken(descriptor: int) -> bool:
    """Take the lock if nobody has it."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


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
