"""Connections to a store file: schema, migrations, locks and damage."""

from __future__ import annotations

import contextlib
import json
import os
import re
import stat
import time
import zlib
from pathlib import Path

import apsw

from satchel.errors import LockedError, StoreError
from satchel.store.records import DamagedStoreError, Lists, rows
from satchel.store.sqlite import changes
from satchel.system.state_files import locked, make_folder, replace

STEPS = tuple(Path(__file__).with_name("schema.sql").read_text(encoding="utf-8").split("----\n"))
"""The tables of a new file, then what brings a file of each older schema to the next one."""


LISTS = Lists(
    within=lambda number: f"IN (SELECT value FROM json_each(${number}))",
    table=lambda number: f"json_each(${number})",
    bound=lambda values: json.dumps(list(values)),
)


class FileConnection(apsw.Connection):
    """A connection that runs the queries of a store."""

    lists = LISTS


def newer(version: int) -> str:
    """Return what to say about a store of a schema that a newer satchel made."""
    return (
        f"schema {version}, this satchel knows up to {len(STEPS)}: upgrade satchel. With this one an index is built "
        "again after `satchel clean`, and `satchel memory restore` goes back to the memories of before the upgrade and "
        "keeps the newer file"
    )


def migrate(connection: apsw.Connection) -> None:
    """Bring a store file to the newest schema, step by step. Raises StoreError, unchanged, for a newer one."""
    version = connection.pragma("user_version")
    if version < 0:
        raise DamagedStoreError(f"{connection.filename} says that it has schema {version}")
    if version > len(STEPS):
        raise StoreError(f"the store {connection.filename} has {newer(version)}")
    for number in range(version, len(STEPS)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            if connection.pragma("user_version") == number:
                connection.execute(STEPS[number])
                connection.pragma("user_version", number + 1 if number else len(STEPS))
        except BaseException as error:
            connection.execute("ROLLBACK")
            if isinstance(error, apsw.SQLError):  # tables of a later step are there already
                raise DamagedStoreError(f"{connection.filename} has no schema {version}: {error}") from error
            raise
        connection.execute("COMMIT")


BUSY_TIMEOUT_MS = 10_000
"""A statement waits this long for the transaction of another process."""

DAMAGED_SUFFIX = ".damaged"
"""Suffix of a damaged store file that was put aside. The next one replaces it, so that they do not pile up."""

MAX_BACKUPS = 3
"""Copies of a durable store that are kept beside it."""

BACKUP_SECONDS = 86_400
"""Least age of the newest copy when the next one is made, at the first write after that."""

RICHER_SECONDS = 60 * 86_400
"""Time that a copy with more records than the newest one is kept beyond `MAX_BACKUPS`: it may be all that is left."""

CHECKED_RECORDS = 20_000
"""Newest records of a durable store that are checked when it is opened: 5 microseconds each."""

_FILE_MODE = 0o600
_JOURNALS = ("-wal", "-shm")
_ALL_PARTS = ("", *_JOURNALS)
OPENING_ATTEMPTS = 25
"""Attempts to open a file while other processes remove it, or set up the same new one."""

_READ_ONLY = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
_DAMAGE = (apsw.CorruptError, apsw.NotADBError)
_OWN_TABLES = frozenset(("meta", "documents", "segments", "postings"))
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table'"


def open_connection(path: Path, *, durable: bool, timeout_ms: int = BUSY_TIMEOUT_MS) -> FileConnection:
    """Open or create a store file in WAL mode, at the newest schema.

    `durable` waits for the disk at every commit (the memory file); an index only needs order. Raises LockedError when
    another process keeps the file locked, DamagedStoreError for a file that is damaged or not a store, StoreError for
    any other fault. A file that cannot be used is left as it is.
    """
    started = time.monotonic()
    for attempt in range(OPENING_ATTEMPTS):
        try:
            return _opened(path, durable=durable, timeout_ms=timeout_ms)
        except (apsw.IOError, apsw.CantOpenError, apsw.FullError, apsw.ReadOnlyError, OSError) as error:
            # `satchel clean` may remove the file between two steps; the next attempt makes a new one.
            reason = obstacle(path)
            if reason or attempt == OPENING_ATTEMPTS - 1:
                connection = read_only(path, timeout_ms)
                if connection is None:
                    raise StoreError(f"cannot open the store {path}: {reason or error}") from error
                return connection
        except apsw.BusyError as error:
            # SQLite does not wait where two processes set up one new file.
            waited_ms = (time.monotonic() - started) * 1000
            if waited_ms >= timeout_ms or attempt == OPENING_ATTEMPTS - 1:
                raise LockedError(f"another process holds {path}: try again when it is done") from error
            time.sleep(0.02)  # opening pause seconds
        except _DAMAGE as error:
            raise DamagedStoreError(f"the store {path} is damaged: {error}") from error
        except apsw.Error as error:
            raise StoreError(f"cannot open the store {path}: {error}") from error
    raise AssertionError("the last attempt returns or raises")


FULL_DISK = "the disk is full"
RESERVE_BYTES = 2 << 20
"""What forgetting a record needs at most: its pages once more in the journal."""

SMALL_RESERVE_BYTES = 256 << 10
"""What forgetting a record of a few kilobytes needs; kept where there is no room for more."""


def reserve_of(path: Path) -> Path:
    """Return the file beside a durable store that only takes room, so that a record can be removed on a full disk."""
    return path.with_name(f"{path.stem}.reserve")


def keep_reserve(path: Path) -> None:
    """Take the room for removing something later, if there is enough; zeros might take none."""
    reserve = reserve_of(path)
    free, size = free_bytes(path), reserve.stat().st_size if reserve.exists() else 0
    for wanted in (RESERVE_BYTES, SMALL_RESERVE_BYTES):
        if size < wanted and free > 8 * wanted:
            replace(reserve, os.urandom(wanted))
            return


def is_short_of_room(path: Path) -> bool:
    """Return whether less is free than removing a record may need."""
    return free_bytes(path) < RESERVE_BYTES


def free_bytes(path: Path) -> int:
    """Return the bytes that are free on the disk of a file, which need not exist."""
    import shutil  # here, because only the first write to a file asks

    return shutil.disk_usage(next(place for place in path.parents if place.exists())).free


def obstacle(path: Path) -> str:
    """Return why a store file cannot be written, empty if nothing is in the way."""
    folder = next(place for place in (path.parent, *path.parents) if place.exists())
    if hasattr(os, "statvfs"):  # not on Windows
        status = os.statvfs(folder)
        if status.f_flag & os.ST_RDONLY:
            return "its file system is read-only"
        if not status.f_blocks:
            return "its file system keeps no files"
        if not status.f_favail:
            return FULL_DISK
    if not free_bytes(path):
        return FULL_DISK
    if not os.access(folder, os.R_OK | os.X_OK):
        return f"you may not open its folder; let yourself in: chmod u+rwx {folder}"
    if path.exists() and not os.access(path, os.R_OK):
        return f"you may not read it; let yourself in: chmod u+rw {path}"
    is_allowed = os.access(folder, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    return "" if is_allowed else "you may not write there"


def read_only(path: Path, timeout_ms: int = BUSY_TIMEOUT_MS) -> FileConnection | None:
    """Open a store of the newest schema that cannot be written, None if that is not possible either."""
    # Without room for its shared memory a store is read as a file that nobody changes: not if there is a journal.
    journal = path.with_name(f"{path.name}-wal")
    try:
        is_still = not journal.exists() or not journal.stat().st_size
    except PermissionError:  # nor may anybody look into the folder
        return None
    for mode in ("mode=ro", *(("immutable=1",) if is_still else ())):
        try:
            connection = FileConnection(f"{path.resolve().as_uri()}?{mode}", flags=_READ_ONLY)
        except apsw.Error:
            continue
        try:
            connection.set_busy_timeout(timeout_ms)
            if connection.pragma("user_version") == len(STEPS) and rows(connection, "SELECT 1 FROM meta LIMIT 1"):
                return connection
        except apsw.Error:
            pass
        connection.close()
    return None


def _opened(path: Path, *, durable: bool, timeout_ms: int) -> FileConnection:
    make_folder(path.parent)
    if durable and is_lost(path):
        raise LostStoreError(f"{path} is missing or empty, though there are copies of it: `satchel memory restore`")
    _open_journals(path)
    connection = FileConnection(str(path))
    try:
        connection.set_busy_timeout(timeout_ms)
        connection.execute("PRAGMA cache_size=-16384")
        _check_owner(connection, path)
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "full" if durable else "normal")
        if durable:
            connection.pragma("secure_delete", 1)
            _back_up(connection, path)
        migrate(connection)
        if lost := _missing_tables(connection):
            raise DamagedStoreError(f"{path} is damaged: it lacks {lost}")
        path.chmod(path.stat().st_mode & _FILE_MODE)  # a file that its owner made read-only stays so
    except BaseException:
        connection.close()
        raise
    return connection


def _open_journals(path: Path) -> None:
    """Allow writing to the journals of a store that may be written.

    SQLite gives them the mode of the store. If that was read-only when they were made, they would stay so for ever.
    """
    if not path.exists() or not path.stat().st_mode & stat.S_IWUSR:
        return
    for suffix in _JOURNALS:
        with contextlib.suppress(OSError):  # missing, or removed by another process
            journal = path.with_name(path.name + suffix)
            if not journal.stat().st_mode & stat.S_IWUSR:
                journal.chmod(_FILE_MODE)


class LostStoreError(DamagedStoreError):
    """A durable store has no contents, though its copies do."""


def is_lost(path: Path) -> bool:
    """Return whether a durable store is missing or empty, though its copies or its changes are not."""
    is_there = path.exists() and path.stat().st_size
    return not is_there and bool(backups(path) or any(file.is_file() for file in changes.files(path)))


def _back_up(connection: apsw.Connection, path: Path) -> None:
    """Copy a store with an older schema, once for each schema, before it is migrated."""
    version = int(connection.pragma("user_version"))
    copy = path.with_name(f"{path.stem}.schema-{version}{path.suffix}")
    if 0 < version < len(STEPS):
        with locked(path.parent):
            if not copy.exists():
                _copy(connection, path, copy)


def _copy(connection: apsw.Connection, path: Path, copy: Path) -> None:
    """Copy a store. The caller holds the folder's lock, because every copy is begun under the same name."""
    partial = path.with_suffix(".partial")
    journal = partial.with_name(f"{partial.name}-journal")
    try:
        for left in (partial, journal):  # by a process that was killed
            left.unlink(missing_ok=True)
        connection.execute("VACUUM INTO ?", (str(partial),))
        partial.chmod(_FILE_MODE)
        partial.rename(copy)
    finally:
        for left in (partial, journal):
            left.unlink(missing_ok=True)


def backups(path: Path) -> list[Path]:
    """Return the copies of a durable store, the oldest first."""
    return sorted(path.parent.glob(f"{path.stem}.backup-*{path.suffix}"))


def schema_copies(path: Path) -> list[Path]:
    """Return the copies of before each change of schema."""
    return list(path.parent.glob(f"{path.stem}.schema-*{path.suffix}"))


def rotate_backups(connection: apsw.Connection, path: Path, *, anew: bool = False) -> None:
    """Copy a sound store with records, unless its newest copy is young; `anew` replaces all copies. May raise."""
    with locked(path.parent):
        _rotate(connection, path, anew=anew)


def _rotate(connection: apsw.Connection, path: Path, *, anew: bool) -> None:
    copies, now = backups(path), time.time()
    age = now - copies[-1].stat().st_mtime if copies else BACKUP_SECONDS
    is_due = age >= BACKUP_SECONDS or changes.is_due(path) or anew
    if not is_due or broken_records(connection):
        return
    count = _records(connection)
    if count:
        copy = path.with_name(f"{path.stem}.backup-{int(now):010}{path.suffix}")
        _copy(connection, path, copy)
        changes.begin_anew(path)
        if age < BACKUP_SECONDS and copies[-1] != copy:
            copies.pop().unlink(missing_ok=True)  # so that three copies are of three days
    for old in backups(path)[:-MAX_BACKUPS]:
        is_richer = _records_of(old) > count and now - old.stat().st_mtime < RICHER_SECONDS
        if not is_richer:
            old.unlink(missing_ok=True)


def _records(connection: apsw.Connection) -> int:
    ((count,),) = rows(connection, "SELECT count(*) FROM documents")
    return int(count)


def _records_of(path: Path) -> int:
    """Return how many records a file has, 0 for one that cannot be read."""
    connection = read_only(path, BUSY_TIMEOUT_MS)
    if connection is None:
        return 0
    try:
        return _records(connection)
    except apsw.Error:
        return 0
    finally:
        connection.close()


def remove_copies(path: Path) -> None:
    """Delete all copies of a durable store, and its changes: they contain what is now removed for good."""
    aside = path.with_name(path.name + DAMAGED_SUFFIX)
    with locked(path.parent):
        for old in (
            *backups(path),
            *schema_copies(path),
            *(aside.with_name(aside.name + suffix) for suffix in _ALL_PARTS),
        ):
            old.unlink(missing_ok=True)
        changes.remove(path)


def broken_records(connection: apsw.Connection, most: int = -1) -> dict[int, tuple[str, str]]:
    """Return kind and key, by id, of the newest `most` records (-1: all) that are incomplete or cannot be decoded."""
    names = ("body", "tags", "fields", "kind", "key", "title", "origin", "workspace")
    columns = ", ".join(f"CAST({name} AS BLOB)" for name in names)
    parts = "SELECT count(*) FROM chunks WHERE document = id AND row BETWEEN first_chunk AND last_chunk"
    sql = (
        f"SELECT id, last_chunk - first_chunk + 1 - ({parts}), {columns} "
        "FROM documents LEFT JOIN texts ON document = id ORDER BY id DESC LIMIT ?"
    )
    broken = {}
    for number, missing, body, tags, fields, *texts in connection.execute(sql, (most,)):
        try:
            zlib.decompress(body or b"").decode()
            is_sound = not missing and isinstance(json.loads(tags), list) and isinstance(json.loads(fields), dict)
            [text.decode() for text in texts]
        except (ValueError, zlib.error):
            is_sound = False
        if not is_sound:
            broken[number] = (texts[0].decode("utf-8", "replace"), texts[1].decode("utf-8", "replace"))
    return broken


def _check_owner(connection: apsw.Connection, path: Path) -> None:
    """Raise DamagedStoreError unless the file is empty or a store of satchel. Changes nothing."""
    tables = {row[0] for row in rows(connection, _TABLES)}
    # A first run that was killed before its first transaction leaves an empty file.
    if tables and not tables >= _OWN_TABLES:
        raise DamagedStoreError(f"{path} is not a store of satchel: it has other tables")


def _missing_tables(connection: apsw.Connection) -> str:
    """Return the names of the tables that a store of its schema lacks, empty if it has all."""
    expected = set(re.findall(r"CREATE TABLE (\w+)", STEPS[0]))
    if connection.pragma("user_version") != len(STEPS):
        expected = expected - {"chunks"} | {"bundles"}  # as in the names of schema 2
    return ", ".join(sorted(expected - {row[0] for row in rows(connection, _TABLES)}))


def put_aside(path: Path) -> Path:
    """Rename a store file, with its journals, and return its new place. The caller holds the folder's lock."""
    aside = path.with_name(path.name + DAMAGED_SUFFIX)
    put_journals_aside(path, aside)
    with contextlib.suppress(FileNotFoundError):
        path.replace(aside)
    return aside


def put_journals_aside(path: Path, aside: Path) -> None:
    """Rename the journals of a store before it is replaced, because the new one must not find them."""
    for suffix in _JOURNALS:
        with contextlib.suppress(FileNotFoundError):
            path.with_name(path.name + suffix).replace(aside.with_name(aside.name + suffix))


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
    """Return the faults of an existing store file without migrating it. Raises LockedError."""
    try:
        # What a killed process began is undone by reading, for which SQLite has to write.
        connection = read_only(path, BUSY_TIMEOUT_MS) or apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            version = int(connection.pragma("user_version"))
            if version > len(STEPS):
                return [f"it has {newer(version)}"]
            faults = [str(row[0]) for row in rows(connection, "PRAGMA quick_check(10)") if row[0] != "ok"]
            is_new = version == 0 and not rows(connection, "SELECT 1 FROM sqlite_master LIMIT 1")
            if version == len(STEPS) and not _missing_tables(connection):
                faults += [f"{kind} {key} cannot be read" for kind, key in broken_records(connection).values()]
            elif not is_new and not 0 < version < len(STEPS):
                faults.append(f"schema {version}, though this satchel has {len(STEPS)}")
            if (lost := _missing_tables(connection)) and not is_new:
                faults.insert(0, f"it lacks {lost}" if version == len(STEPS) else f"schema {version} has other tables")
            if is_new and (copies := backups(path)):
                faults.append(f"it is empty, though {copies[-1].name} is not")
        finally:
            connection.close()
    except apsw.BusyError as error:
        raise LockedError(f"another process holds {path}: try again when it is done") from error
    except apsw.Error as error:
        return [str(error)]
    return faults


def newest_schema(path: Path) -> int:
    """Return the schema of a store that a newer satchel made, 0 for any other file."""
    try:
        connection = apsw.Connection(f"{path.resolve().as_uri()}?mode=ro", flags=_READ_ONLY)
        try:
            version = int(connection.pragma("user_version"))
        finally:
            connection.close()
    except apsw.Error:
        return 0
    return version if version > len(STEPS) else 0


def unwritable(path: Path) -> str:
    """Return why a change of an existing store would fail, empty if it would not. Changes nothing."""
    if reason := obstacle(path):
        return reason
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            connection.set_busy_timeout(BUSY_TIMEOUT_MS)
            connection.execute("BEGIN IMMEDIATE; ROLLBACK")
        finally:
            connection.close()
    except apsw.BusyError as error:
        raise LockedError(f"another process holds {path}: try again when it is done") from error
    except apsw.Error as error:
        return str(error)
    return ""


def open_cache(path: Path, version: int, schema: str) -> apsw.Connection | None:
    """Open or create a cache file, anew if it is damaged or has another `schema`; None if it cannot be used."""
    for _ in range(2):
        try:
            return _open_cache(path, version, schema)
        except (*_DAMAGE, apsw.SQLError):
            remove_files(path)
        except (apsw.Error, OSError):
            break
    return None


def _open_cache(path: Path, version: int, schema: str) -> apsw.Connection:
    make_folder(path.parent)
    connection = apsw.Connection(str(path))
    try:
        connection.set_busy_timeout(200)  # a cache that is busy for longer is not used
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "off")
        if connection.pragma("user_version") != version:
            connection.execute(f"BEGIN IMMEDIATE; {schema} PRAGMA user_version = {version}; COMMIT;")
        path.chmod(_FILE_MODE)
    except BaseException:
        connection.close()
        raise
    return connection
