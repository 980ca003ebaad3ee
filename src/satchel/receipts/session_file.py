"""The ledgers of sessions: the received items, one file for each session, one line for each answer.

A line is a list of `Row`s without text: ids, line numbers and keyed hashes only. The name of the file is a hash of
the session's id, because an id may have any characters.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from satchel.system import state_files, telemetry
from satchel.types import Failure
from satchel.vocabulary import DAY_SECONDS

MOST_BYTES = 200_000
"""Size above which the older half is dropped, and its items may be shown again. It is about 100 answers, read in 5 ms;
an agent that received more has compacted its context long ago."""

KEPT_BYTES = MOST_BYTES // 2

EMPTY = "0"
"""The state of an empty ledger."""

_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode


class SentLines(NamedTuple):
    """Lines of a file as they were shown, with keyed hashes of all of them and of the first one."""

    start: int
    end: int
    digest: str
    first: str


class Row(NamedTuple):
    """One item that was shown.

    A file has `lines`. A record has the `digest` of its full text and the number of characters that were shown, -1 for
    all. With `places` the answer named places and showed no text.
    """

    key: str
    digest: str = ""
    length: int = -1
    lines: tuple[SentLines, ...] = ()
    places: bool = False


@dataclass(frozen=True, slots=True)
class Ledger:
    """The content of one file: its rows, oldest first, a hash of them as its state, and the number of damaged lines."""

    rows: tuple[Row, ...] = ()
    state: str = EMPTY
    damaged: int = 0


class SessionFile:
    """The ledger of one session in one root. All methods raise OSError if the disk fails."""

    def __init__(self, folder: Path, root_name: str, session: str) -> None:
        name = blake2b(session.encode("utf-8", "surrogatepass"), digest_size=16, person=b"satchel session").hexdigest()
        self.path = folder / f"{root_name}-{name}.jsonl"

    def read(self, state: str = "") -> Ledger:
        """Return the ledger, or its former `state` if the file still has it; a damaged ledger has no rows."""
        raw = state_files.read(self.path) or b""
        former = _prefix(raw, state) if state else None
        return _parsed(raw if former is None else former)

    def check_writable(self) -> None:
        """Check that rows can be added."""
        state_files.append(self.path, b"")

    def append(self, rows: Sequence[Row]) -> None:
        """Add the items of one answer."""
        state_files.append(self.path, _line(rows), most=MOST_BYTES, kept=KEPT_BYTES)

    def restart(self, rows: Sequence[Row]) -> None:
        """Replace all rows by the items of one answer."""
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


def read_ledger(file: SessionFile, state: str, *, is_kept: bool) -> tuple[Ledger, tuple[Failure, ...]]:
    """Return the ledger in a former `state` (now if empty), and its failures: then everything counts as new.

    With `is_kept` the answer will be added, so a file that cannot be written is a failure too.
    """
    failures, ledger = [], Ledger()
    try:
        ledger = file.read(state)
        if is_kept:
            file.check_writable()
    except OSError as error:
        failures.append(_unusable(error))
    if ledger.damaged:
        lines = f"{ledger.damaged} line{'s' if ledger.damaged > 1 else ''}"
        message = f"the ledger of this session is damaged ({lines} of it): everything counts as new"
        failures.append(Failure("session", message, "it begins again with this answer"))
    return ledger, tuple(failures)


def add_rows(file: SessionFile, ledger: Ledger, rows: Sequence[Row], keep_days: float) -> Failure | None:
    """Add the items of an answer to a ledger; a damaged one begins again."""
    try:
        if ledger.damaged:
            file.restart(rows)
        else:
            file.append(rows)
    except OSError as error:
        return _unusable(error)
    if ledger.state == EMPTY:  # once for each session
        prune(file.path.parent, keep_days)
    return None


def _unusable(error: OSError) -> Failure:
    reason = error.strerror or str(error)
    message = f"the ledger of this session cannot be kept ({reason}): what is shown now may be shown again"
    return Failure("session", message, "see whether the state folder can be written")


def prune(folder: Path, days: float, now: float | None = None) -> None:
    """Remove ledgers that are unchanged for so many days. The log names those that cannot be removed."""
    oldest = (time.time() if now is None else now) - days * DAY_SECONDS
    for path in sorted(folder.glob("*.jsonl")):
        try:
            if path.lstat().st_mtime < oldest:
                path.unlink()
        except FileNotFoundError:
            continue  # another process was faster
        except OSError as error:
            telemetry.warning("old session not removed", path=str(path), reason=error.strerror or str(error))


def _line(rows: Sequence[Row]) -> bytes:
    return f"{_ENCODE(rows)}\n".encode("ascii")


def _state(raw: bytes) -> str:
    return f"{len(raw)}-{blake2b(raw, digest_size=8).hexdigest()}" if raw else EMPTY


def _prefix(raw: bytes, state: str) -> bytes | None:
    """Return the bytes of the file in this state, None if it was rewritten since."""
    length, _, _ = state.partition("-")
    head = raw[: int(length)] if length.isdecimal() else raw
    return head if _state(head) == state else None


def _parsed(raw: bytes) -> Ledger:
    rows: list[Row] = []
    lines = raw.split(b"\n")
    damaged = int(lines.pop() != b"")  # a last line without its line end was cut off
    for line in lines:
        try:
            rows += [_row(*fields) for fields in json.loads(line)]
        except (ValueError, TypeError):
            damaged += 1
    return Ledger((), _state(raw), damaged) if damaged else Ledger(tuple(rows), _state(raw))


def _row(key: Any, digest: Any, length: Any, lines: Any, places: Any) -> Row:
    """Return a row of a file. Raises TypeError or ValueError for impossible values."""
    shown = tuple([SentLines(*one) for one in lines])
    index(length + sum([one.start + one.end for one in shown]))  # whole numbers, all of them
    if not (isinstance(key, str) and isinstance(digest, str)):
        raise TypeError("no row")
    return Row(key, digest, length, shown, bool(places))
