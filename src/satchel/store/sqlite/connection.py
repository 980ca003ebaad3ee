"""The only place that opens a store file. Every connection is set up alike."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw

from satchel.errors import LockedError, StoreError
from satchel.store.sqlite.schema import migrate

BUSY_TIMEOUT_MS = 10_000
"""How long a statement waits for another process's transaction before it gives up."""

CACHE_TIMEOUT_MS = 200
"""A cache that is busy is done without."""

_PAGE_CACHE_KIB = 16_384
_FOLDER_MODE = 0o700
_FILE_MODE = 0o600


Row = tuple[Any, ...]


def rows(connection: apsw.Connection, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
    """All rows of a query. Columns have the types of the schema, which the type checker cannot know."""
    return connection.execute(sql, tuple(bindings)).fetchall()


def open_connection(path: Path, *, durable: bool, timeout_ms: int = BUSY_TIMEOUT_MS) -> apsw.Connection:
    """Open or create a store file in WAL mode, at the newest schema.

    `durable` waits for the disk at every commit (the memory file); an index only needs order. Raises LockedError when
    another process keeps the file locked, StoreError for a damaged or unusable file.
    """
    try:
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(timeout_ms)
        connection.execute(f"PRAGMA cache_size=-{_PAGE_CACHE_KIB}")
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full" if durable else "normal")
        migrate(connection)
        path.chmod(_FILE_MODE)
    except apsw.BusyError as error:
        raise LockedError(f"another process holds {path}: try again when it is done") from error
    except (apsw.Error, OSError) as error:
        raise StoreError(f"cannot open the store {path}: {error}") from error
    return connection


def damage(path: Path) -> list[str]:
    """What is wrong with an existing store file, empty if nothing is. Opened for reading only; no schema is changed.

    Raises LockedError when another process keeps the file locked.
    """
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            found = [str(row[0]) for row in rows(connection, "PRAGMA quick_check(10)")]
        finally:
            connection.close()
    except apsw.BusyError as error:
        raise LockedError(f"another process holds {path}: try again when it is done") from error
    except apsw.Error as error:
        return [str(error)]
    return [] if found == ["ok"] else found


_CACHE_SCHEMA = """
CREATE TABLE IF NOT EXISTS extractions(
    key TEXT PRIMARY KEY, kind TEXT NOT NULL, text BLOB NOT NULL, extraction BLOB NOT NULL, redacted INTEGER NOT NULL,
    cleaned INTEGER NOT NULL, seal BLOB NOT NULL) WITHOUT ROWID
"""


def open_cache(path: Path) -> apsw.Connection:
    """Open or create an extraction cache. Raises as `open_connection` does."""
    try:
        path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
        connection = apsw.Connection(str(path))
        connection.set_busy_timeout(CACHE_TIMEOUT_MS)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "off")
        connection.execute(_CACHE_SCHEMA)
        path.chmod(_FILE_MODE)
    except apsw.BusyError as error:
        raise LockedError(f"another process holds {path}: try again when it is done") from error
    except (apsw.Error, OSError) as error:
        raise StoreError(f"cannot open the extraction cache {path}: {error}") from error
    return connection
