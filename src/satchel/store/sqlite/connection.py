"""Connections to a store file: schema, migrations, locks and damage."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

import apsw

from satchel.errors import LockedError, StoreError
from satchel.store.records import DamagedStoreError, rows

STEPS = (
    """
    CREATE TABLE meta(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE bundles(
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, name TEXT NOT NULL, stem TEXT NOT NULL,
        language TEXT NOT NULL, content_hash TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
        changed_ns INTEGER NOT NULL, line_count INTEGER NOT NULL, secondary INTEGER NOT NULL, title TEXT NOT NULL,
        tags TEXT NOT NULL, fields TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL, importance REAL,
        origin TEXT NOT NULL, first_document INTEGER NOT NULL, last_document INTEGER NOT NULL,
        hidden INTEGER NOT NULL DEFAULT 0, segment INTEGER NOT NULL, position INTEGER NOT NULL,
        UNIQUE(kind, key));
    CREATE INDEX bundles_by_name ON bundles(name);
    CREATE INDEX bundles_by_stem ON bundles(stem);
    CREATE INDEX bundles_by_segment ON bundles(segment);
    CREATE TABLE texts(bundle INTEGER PRIMARY KEY, body BLOB NOT NULL);
    CREATE TABLE documents(
        row INTEGER PRIMARY KEY, bundle INTEGER NOT NULL, role TEXT NOT NULL, name TEXT NOT NULL,
        twin INTEGER NOT NULL, start INTEGER NOT NULL, "end" INTEGER NOT NULL, signature TEXT NOT NULL,
        summary TEXT NOT NULL);
    CREATE TABLE definitions(document INTEGER NOT NULL, name TEXT NOT NULL, owner TEXT NOT NULL, line INTEGER NOT NULL);
    CREATE INDEX definitions_by_name ON definitions(name);
    CREATE INDEX definitions_by_document ON definitions(document);
    CREATE TABLE edges(
        source INTEGER NOT NULL, type TEXT NOT NULL, target TEXT NOT NULL, weight REAL NOT NULL,
        PRIMARY KEY(source, type, target)) WITHOUT ROWID;
    CREATE INDEX edges_by_target ON edges(target, type);
    CREATE TABLE segments(
        id INTEGER PRIMARY KEY, kind TEXT NOT NULL, windows INTEGER NOT NULL, columns BLOB NOT NULL,
        dead BLOB NOT NULL);
    CREATE TABLE postings(
        term TEXT NOT NULL, segment INTEGER NOT NULL, body BLOB NOT NULL, PRIMARY KEY(segment, term)) WITHOUT ROWID;
    CREATE TABLE skipped(
        path TEXT PRIMARY KEY, reason TEXT NOT NULL, size INTEGER NOT NULL, mtime_ns INTEGER NOT NULL,
        changed_ns INTEGER NOT NULL) WITHOUT ROWID;
    CREATE TABLE vectors(
        document INTEGER NOT NULL, fingerprint TEXT NOT NULL, vector BLOB NOT NULL,
        PRIMARY KEY(fingerprint, document)) WITHOUT ROWID;
    """,
    """
    ALTER TABLE bundles ADD COLUMN workspace TEXT NOT NULL DEFAULT '';
    """,
)


def migrate(connection: apsw.Connection) -> None:
    """Bring a store file to the newest schema, each step in a transaction of its own.

    Raises StoreError for a file that a newer satchel wrote; nothing is changed then.
    """
    version = connection.pragma("user_version")
    if version > len(STEPS):
        raise StoreError(
            f"the store {connection.filename} has schema {version}, this satchel knows up to {len(STEPS)}: "
            "upgrade satchel, or run `satchel clean` to build the index again"
        )
    for number in range(version, len(STEPS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.pragma("user_version") == number:
                connection.execute(STEPS[number])
                connection.pragma("user_version", number + 1)
        except BaseException:
            connection.execute("ROLLBACK")
            raise
        connection.execute("COMMIT")


BUSY_TIMEOUT_MS = 10_000
"""A statement waits this long for the transaction of another process."""

CACHE_TIMEOUT_MS = 200
"""A cache that is busy for longer is not used."""

DAMAGED_SUFFIX = ".damaged"
"""Suffix of a damaged store file that was put aside. The next one replaces it, so that they do not pile up."""

_PAGE_CACHE_KIB = 16_384
_FOLDER_MODE = 0o700
_FILE_MODE = 0o600
_JOURNALS = ("-wal", "-shm")
OPENING_ATTEMPTS = 25
"""Attempts to open a file while other processes remove it, or set up the same new one."""

OPENING_PAUSE_SECONDS = 0.02

_DAMAGE = (apsw.CorruptError, apsw.NotADBError)
_OWN_TABLES = frozenset(("meta", "bundles", "documents", "segments", "postings"))


def open_connection(path: Path, *, durable: bool, timeout_ms: int = BUSY_TIMEOUT_MS) -> apsw.Connection:
    """Open or create a store file in WAL mode, at the newest schema.

    `durable` waits for the disk at every commit (the memory file); an index only needs order. Raises LockedError when
    another process keeps the file locked, DamagedStoreError for a file that is damaged or not a store, StoreError for
    any other fault. A file that cannot be used is left as it is.
    """
    started = time.monotonic()
    for attempt in range(OPENING_ATTEMPTS):
        try:
            return _opened(path, durable=durable, timeout_ms=timeout_ms)
        except (apsw.IOError, apsw.CantOpenError, FileNotFoundError, FileExistsError) as error:
            # `satchel clean` may remove the file between two steps; the next attempt makes a new one.
            if attempt == OPENING_ATTEMPTS - 1:
                raise StoreError(f"cannot open the store {path}: {error}") from error
        except apsw.BusyError as error:
            # SQLite does not wait where two processes set up one new file.
            waited_ms = (time.monotonic() - started) * 1000
            if waited_ms >= timeout_ms or attempt == OPENING_ATTEMPTS - 1:
                raise LockedError(f"another process holds {path}: try again when it is done") from error
            time.sleep(OPENING_PAUSE_SECONDS)
        except _DAMAGE as error:
            raise DamagedStoreError(f"the store {path} is damaged: {error}") from error
        except (apsw.Error, OSError) as error:
            raise StoreError(f"cannot open the store {path}: {error}") from error
    raise AssertionError("the last attempt returns or raises")


def _opened(path: Path, *, durable: bool, timeout_ms: int) -> apsw.Connection:
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(timeout_ms)
        connection.execute(f"PRAGMA cache_size=-{_PAGE_CACHE_KIB}")
        _check_owner(connection, path)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full" if durable else "normal")
        if durable:
            _back_up(connection, path)
        migrate(connection)
        path.chmod(path.stat().st_mode & _FILE_MODE)  # a file that its owner made read-only stays so
    except BaseException:
        connection.close()
        raise
    return connection


def _back_up(connection: apsw.Connection, path: Path) -> None:
    """Copy a store with an older schema, once for each schema, before it is migrated."""
    version = int(connection.pragma("user_version"))
    copy = path.with_name(f"{path.stem}.schema-{version}{path.suffix}")
    if 0 < version < len(STEPS) and not copy.exists():
        partial = copy.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        connection.execute("VACUUM INTO ?", (str(partial),))
        partial.chmod(_FILE_MODE)
        partial.rename(copy)


def _check_owner(connection: apsw.Connection, path: Path) -> None:
    """Raise DamagedStoreError unless the file is empty or a store of satchel. Changes nothing."""
    tables = {row[0] for row in rows(connection, "SELECT name FROM sqlite_master WHERE type = 'table'")}
    # A first run that was killed before its first transaction leaves an empty file.
    if tables and not tables >= _OWN_TABLES:
        raise DamagedStoreError(f"{path} is not a store of satchel: it holds other tables")


def put_aside(path: Path) -> Path:
    """Rename a store file, with its journals, and return its new place. The caller holds the folder's lock."""
    aside = path.with_name(path.name + DAMAGED_SUFFIX)
    # The journals first: the new store must not find those of the old one.
    for suffix in (*_JOURNALS, ""):
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(aside.with_name(aside.name + suffix))
    return aside


def remove_files(path: Path) -> None:
    """Remove a store file and its journals; files that cannot be removed are left."""
    for suffix in (*_JOURNALS, ""):
        with contextlib.suppress(OSError):
            path.with_name(path.name + suffix).unlink()


def identity(path: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file, None where there is none."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def damage(path: Path) -> list[str]:
    """Return the faults of an existing store file, empty if it is sound. Opens it read-only and migrates nothing.

    Raises LockedError when another process keeps the file locked.
    """
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            faults = [str(row[0]) for row in rows(connection, "PRAGMA quick_check(10)")]
        finally:
            connection.close()
    except apsw.BusyError as error:
        raise LockedError(f"another process holds {path}: try again when it is done") from error
    except apsw.Error as error:
        return [str(error)]
    return [] if faults == ["ok"] else faults


def open_cache(path: Path, version: int, schema: str) -> apsw.Connection | None:
    """Open or create a cache file, None if it cannot be used.

    A damaged one, or one of another version, is replaced by an empty one (`schema`).
    """
    for _ in range(2):
        try:
            return _open_cache(path, version, schema)
        except (*_DAMAGE, apsw.SQLError):
            remove_files(path)
        except (apsw.Error, OSError):
            break
    return None


def _open_cache(path: Path, version: int, schema: str) -> apsw.Connection:
    path.parent.mkdir(mode=_FOLDER_MODE, parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(CACHE_TIMEOUT_MS)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "off")
        if connection.pragma("user_version") != version:
            connection.execute(f"BEGIN IMMEDIATE; {schema} PRAGMA user_version = {version}; COMMIT;")
        path.chmod(_FILE_MODE)
    except BaseException:
        connection.close()
        raise
    return connection
