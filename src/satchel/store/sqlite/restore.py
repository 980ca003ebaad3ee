"""Bringing a durable store back: from its copies, the changes since, and what can be read of a damaged file."""

from __future__ import annotations

import contextlib
import json
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import apsw

from satchel.errors import StoreError
from satchel.store.protocol import WORDS_VERSION
from satchel.store.records import Row, rows
from satchel.store.sqlite import changes
from satchel.store.sqlite.connection import (
    DAMAGED_SUFFIX,
    FileConnection,
    backups,
    damage,
    migrate,
    put_journals_aside,
    read_only,
    remove_files,
    schema_copies,
)
from satchel.store.writer import Writer
from satchel.system.state_files import replace


class Restored(NamedTuple):
    """What a durable store was made from: a copy (None for none), later changes, and records of the damaged file.

    `aside` is where that file is now.
    """

    copy: Path | None
    aside: Path
    changes: int = 0
    salvaged: int = 0

    @property
    def text(self) -> str:
        """Say it in a few words."""
        parts = [f"{self.copy.name}"] if self.copy else []
        parts += [f"{self.changes:,} changes that were kept"] * bool(self.changes)
        parts += [f"{self.salvaged:,} records of the damaged file"] * bool(self.salvaged)
        return " and ".join(parts)


def restore(path: Path, *, to_backup: bool = False) -> Restored:
    """Put another file in the place of a durable store. The caller holds the folder's lock. Raises StoreError.

    One that is missing, damaged or of a newer schema becomes the newest copy that can be read, with the changes since
    and with every record of the damaged file that can be read. A sound store is refused; with `to_backup` it goes back
    to its newest copy, without the changes since.
    """
    copies = sorted((*backups(path), *schema_copies(path)), key=lambda other: other.stat().st_mtime_ns, reverse=True)
    copy = next((other for other in copies if not damage(other)), None)
    aside = path.with_name(path.name + DAMAGED_SUFFIX)
    if path.exists() and path.stat().st_size and not damage(path):
        if not to_backup:
            raise StoreError(
                f"{path} is sound: nothing was restored. `satchel memory list --forgotten` lists what can be brought "
                "back; with --to-backup the newest backup takes its place, without what was written since"
            )
        if copy is None:
            raise StoreError(f"there is no backup beside {path}: one is made each day at the first change")
        _replace(path, copy.read_bytes(), aside)
        changes.remove(path)
        return Restored(copy, aside)
    made = path.with_name(f"{path.stem}.restoring")
    try:
        remove_files(made)
        if copy is not None:
            replace(made, copy.read_bytes())
        done = _merged(made, path)
        if copy is None and not any(done):
            raise StoreError(f"nothing of {path} can be read, and there is no copy of it")
        _replace(path, made.read_bytes(), aside)
    finally:
        remove_files(made)
    return Restored(copy, aside, *done)


def _replace(path: Path, raw: bytes, aside: Path) -> None:
    if path.exists() and path.stat().st_size:
        replace(aside, path.read_bytes())
    put_journals_aside(path, aside)
    replace(path, raw, durable=True)


def _merged(made: Path, path: Path) -> tuple[int, int]:
    """Add to a copy what is known of the store `path`; returns the changes and the records that were added."""
    connection = FileConnection(str(made))
    try:
        migrate(connection)
        connection.execute("BEGIN IMMEDIATE")
        writer, count = Writer(connection), 0
        for count, steps in enumerate(changes.transactions(path), 1):  # noqa: B007 - the last one counts
            for step in steps:
                step.repeat(writer)
        writer.write_words()
        salvaged = _salvaged(path, connection)
        writer.unset_meta(WORDS_VERSION)  # the words of all records are made anew
        writer.finish()
        connection.execute("COMMIT")
    finally:
        connection.close()
    return count, salvaged


def _salvaged(path: Path, target: apsw.Connection) -> int:
    """Add the records and values of a damaged store that a target lacks, as far as they can be read."""
    source = read_only(path) if path.exists() else None
    if source is None:
        return 0
    try:
        present = {tuple(row) for row in rows(target, "SELECT kind, key FROM documents")}
        wanted = [row for row in _readable(source, "documents", "id") if (row[1], row[2]) not in present]
        added = sum(_add_record(source, target, row) for row in wanted)
        for name, value in _readable(source, "meta", "key"):
            target.execute("INSERT OR IGNORE INTO meta VALUES (?, ?)", (name, value))
    finally:
        source.close()
    return added


def _readable(source: apsw.Connection, table: str, key: str) -> list[Row]:
    """Return the rows of a table that can be read, from both ends: a damaged page stops each way."""
    read: dict[Any, Row] = {}
    for order in ("ASC", "DESC"):
        with contextlib.suppress(apsw.Error, UnicodeDecodeError):
            for row in source.execute(f"SELECT * FROM {table} ORDER BY {key} {order}"):
                if row[0] in read:
                    break
                read[row[0]] = row
    return list(read.values())


def _add_record(source: apsw.Connection, target: apsw.Connection, row: Row) -> bool:
    """Copy one record under new numbers; returns whether all of it could be read."""
    first, last = row[19], row[20]
    try:
        json.loads(row[13]), json.loads(row[14])
        parts = {
            "texts": rows(source, "SELECT * FROM texts WHERE document = ?", row[:1]),
            "chunks": rows(source, "SELECT * FROM chunks WHERE document = ? ORDER BY row", row[:1]),
            "edges": rows(source, "SELECT * FROM edges WHERE source BETWEEN ? AND ?", (first, last)),
        }
        zlib.decompress(parts["texts"][0][1]).decode()
    except (apsw.Error, ValueError, TypeError, IndexError, zlib.error):
        return False
    if len(parts["chunks"]) != last - first + 1:
        return False
    ((number, chunk),) = rows(target, "SELECT (SELECT coalesce(max(id), 0) + 1 FROM documents), "
                                      "(SELECT coalesce(max(row), 0) + 1 FROM chunks)")  # fmt: skip
    moved = chunk - first
    record = (number, *row[1:19], first + moved, last + moved, *row[21:])
    target.execute(f"INSERT INTO documents VALUES ({', '.join('?' * len(record))})", record)
    target.execute("INSERT INTO texts VALUES (?, ?)", (number, parts["texts"][0][1]))
    target.executemany(
        "INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(old[0] + moved, number, *old[2:]) for old in parts["chunks"]],
    )
    target.executemany(
        "INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?)", [(old[0] + moved, *old[1:]) for old in parts["edges"]]
    )
    return True
