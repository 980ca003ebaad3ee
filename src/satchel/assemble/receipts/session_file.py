"""The ledgers of sessions: which items each one has received, one file a session, one line an answer.

A line is a list of rows as `Row` has them. There is no text in it: ids, line numbers and keyed hashes only, and the
name of the file is a hash of the session's id, which may hold anything.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from satchel import logs, state_files

MOST_BYTES = 200_000
"""Beyond this size the older half is forgotten, and what it names may be shown again: about 100 answers. Reading that
much takes 5 ms, and an agent that has received more has compacted what it knows long since."""

KEPT_BYTES = MOST_BYTES // 2

SECONDS_A_DAY = 86_400

EMPTY = "0"
"""The state of a ledger that holds nothing."""

_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class SentLines(NamedTuple):
    """Lines of a file that were shown: where they stood, and keyed hashes of all of them and of the first one."""

    start: int
    end: int
    digest: str
    first: str


class Row(NamedTuple):
    """One item that was shown.

    A file has `lines`. A record has the `digest` of all that there is of it, and the characters that were shown of it,
    -1 for all. With `places` only places were shown, and no text.
    """

    key: str
    digest: str = ""
    length: int = -1
    lines: tuple[SentLines, ...] = ()
    places: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """What one file said: its rows, oldest first, a value that stands for them, and how many lines are damaged."""

    rows: tuple[Row, ...] = ()
    state: str = EMPTY
    damaged: int = 0


class SessionFile:
    """The ledger of one session in one root. All methods raise OSError where the disk does not let them."""

    def __init__(self, folder: Path, root_name: str, session: str) -> None:
        name = blake2b(session.encode("utf-8", "surrogatepass"), digest_size=16, person=b"satchel session").hexdigest()
        self.path = folder / f"{root_name}-{name}.jsonl"

    def read(self, state: str = "") -> Ledger:
        """All of it, or what it was in a former `state` if that can still be told; a damaged ledger has no rows."""
        raw = state_files.read(self.path) or b""
        known = _prefix(raw, state) if state else None
        return _parsed(raw if known is None else known)

    def check_writable(self) -> None:
        """See that rows can be added, before an answer is made that counts on it."""
        state_files.append(self.path, b"")

    def append(self, rows: Sequence[Row]) -> None:
        """Add what one answer showed."""
        state_files.append(self.path, _line(rows), most=MOST_BYTES, kept=KEPT_BYTES)

    def restart(self, rows: Sequence[Row]) -> None:
        """Hold what one answer showed, and nothing from before."""
        state_files.make_folder(self.path.parent)
        with state_files.locked(self.path.parent):
            state_files.replace(self.path, _line(rows))

    def forget(self) -> bool:
        """Remove it. Returns whether there was one."""
        try:
            self.path.unlink()
        except FileNotFoundError:
            return False
        return True


def prune(folder: Path, days: float, now: float | None = None) -> None:
    """Remove ledgers that nothing was added to for so many days; one that cannot be removed is a line in the log."""
    oldest = (time.time() if now is None else now) - days * SECONDS_A_DAY
    for path in sorted(folder.glob("*.jsonl")):
        try:
            if path.lstat().st_mtime < oldest:
                path.unlink()
        except FileNotFoundError:
            continue  # another process was faster
        except OSError as error:
            logs.warning("old session not removed", path=str(path), reason=error.strerror or str(error))


def _line(rows: Sequence[Row]) -> bytes:
    return f"{_ENCODE(rows)}\n".encode("ascii")


def _state(raw: bytes) -> str:
    return f"{len(raw)}-{blake2b(raw, digest_size=8).hexdigest()}" if raw else EMPTY


def _prefix(raw: bytes, state: str) -> bytes | None:
    """The beginning of the file that was all of it in this state, None if it was rewritten since."""
    length, _, _ = state.partition("-")
    head = raw[: int(length)] if length.isdecimal() else raw
    return head if _state(head) == state else None


def _parsed(raw: bytes) -> Ledger:
    rows: list[Row] = []
    lines = raw.split(b"\n")
    damaged = int(lines.pop() != b"")  # every line ends with a line end: what stands behind the last one was cut off
    for line in lines:
        found: list[Row] | None = None
        with contextlib.suppress(ValueError, TypeError):
            found = [_row(*fields) for fields in json.loads(line)]
        if found is None:
            damaged += 1
        else:
            rows += found
    return Ledger((), _state(raw), damaged) if damaged else Ledger(tuple(rows), _state(raw))


def _row(key: Any, digest: Any, length: Any, lines: Any, places: Any) -> Row:
    """A row of a file. Raises TypeError or ValueError for anything that is none."""
    shown = tuple([SentLines(*one) for one in lines])
    index(length + sum([one.start + one.end for one in shown]))  # whole numbers, all of them
    if not (isinstance(key, str) and isinstance(digest, str)):
        raise TypeError("no row")
    return Row(key, digest, length, shown, bool(places))
