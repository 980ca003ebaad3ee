"""A store in one SQLite file, with snapshot reads."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import apsw

from satchel.errors import LockedError, StoreError
from satchel.store.database import DatabaseStore, StoreSnapshot
from satchel.store.protocol import SET_ASIDE, Derived
from satchel.store.records import DamagedStoreError, Row
from satchel.store.segments import DamagedWordsError
from satchel.store.sqlite import changes
from satchel.store.sqlite import connection as files
from satchel.system import telemetry
from satchel.system.state_files import locked

if TYPE_CHECKING:
    from satchel.store.writer import Writer

_DAMAGE = (apsw.CorruptError, apsw.NotADBError)
_WRITE_FAILURES = (apsw.FullError, apsw.IOError, apsw.ReadOnlyError, apsw.CantOpenError)


class SqliteStore(DatabaseStore):
    """A store in one file; each thread gets its own connection. For `workspaces` see `Store`."""

    def __init__(
        self,
        path: Path,
        *,
        durable: bool = False,
        disposable: bool = False,
        timeout_ms: int = files.BUSY_TIMEOUT_MS,
        workspaces: Sequence[str] | None = None,
    ) -> None:
        super().__init__(files.LISTS, disposable=disposable, workspaces=workspaces)
        self.path = path
        self._durable = durable
        self._timeout_ms = timeout_ms
        self._identity: tuple[int, int] | None = None
        self._local = threading.local()
        self._connections: list[files.FileConnection] = []
        self._owned: list[tuple[threading.Thread, files.FileConnection]] = []
        self._idle: list[files.FileConnection] = []
        self._guard = threading.Lock()
        connection = self._connection()
        if durable:
            try:
                self._derived.broken = files.broken_records(connection, files.CHECKED_RECORDS)
            except (apsw.Error, ValueError) as error:
                self.close()
                raise self._damaged(error) from error

    @property
    def name(self) -> str:
        """The path of the file."""
        return str(self.path)

    def _connection(self) -> files.FileConnection:
        connection: files.FileConnection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = self._of_ended_thread() or self._open()
            with self._guard:
                self._owned.append((threading.current_thread(), connection))
        return connection

    def _of_ended_thread(self) -> files.FileConnection | None:
        """Take over the connection of a thread that has ended: pools end idle threads and start others."""
        with self._guard:
            ended = next((row for row in self._owned if not row[0].is_alive()), None)
            if ended is None:
                return None
            self._owned.remove(ended)
            return ended[1]

    def _open(self) -> files.FileConnection:
        try:
            connection = files.open_connection(self.path, durable=self._durable, timeout_ms=self._timeout_ms)
        except files.LostStoreError:
            self._bring_back()
            connection = files.open_connection(self.path, durable=self._durable, timeout_ms=self._timeout_ms)
        except DamagedStoreError:
            if not self._disposable:
                raise
            connection = self._begin_anew()
        self._identity = files.identity(self.path)
        with self._guard:
            self._connections.append(connection)
        return connection

    def _bring_back(self) -> None:
        """Make a durable file that is missing or empty from its copies, unless another process has done so by now."""
        from satchel.store.sqlite.restore import restore  # here, because it hardly ever happens

        with locked(self.path.parent):
            if files.is_lost(self.path):
                done = restore(self.path)
                self.restored = f"{self.path.name} was missing or empty; it was made again from {done.text}"
                telemetry.warning("memory restored", path=str(self.path), source=done.text)

    def _begin_anew(self) -> files.FileConnection:
        """Replace a damaged file by an empty store, unless another process has done so by now."""
        with locked(self.path.parent):
            try:
                return files.open_connection(self.path, durable=self._durable, timeout_ms=self._timeout_ms)
            except DamagedStoreError:
                return self._begin_empty()

    def _begin_empty(self) -> files.FileConnection:
        aside = files.put_aside(self.path)
        connection = files.open_connection(self.path, durable=self._durable, timeout_ms=self._timeout_ms)
        connection.execute("INSERT INTO meta VALUES (?, ?)", (SET_ASIDE, aside.name))
        return connection

    def settle(self) -> None:
        """As in `DatabaseStore`."""
        if self.damage and self._disposable:
            self.close()
            with locked(self.path.parent):
                if files.identity(self.path) == self._identity:
                    self._begin_empty().close()
            self.damage = ""
        elif self.is_replaced:
            self.close()
        self._connection()

    @property
    def is_replaced(self) -> bool:
        """Whether the file was removed or replaced since it was opened; `settle` opens it again."""
        return files.identity(self.path) != self._identity

    def _damaged(self, error: Exception) -> DamagedStoreError:
        self.damage = f"{type(error).__name__}: {error}"
        fix = "`satchel memory restore` brings its records back" if self._durable else "`satchel clean` builds it again"
        return DamagedStoreError(f"the store {self.path} is damaged ({error}): {fix}")

    def _rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
        return self._rows_of(self._connection(), sql, bindings)

    def _rows_of(self, connection: apsw.Connection, sql: str, bindings: Sequence[Any]) -> list[Row]:
        try:
            return connection.execute(sql, tuple(bindings)).fetchall()
        except apsw.BusyError as error:
            raise LockedError(f"another process holds {self.path}: try again when it is done") from error
        except (*_DAMAGE, apsw.SQLError, UnicodeDecodeError) as error:  # SQLError: the schema was changed
            raise self._damaged(error) from error

    def replace_by(self, path: Path) -> None:
        """Replace all contents by those of another store file in one transaction. Raises LockedError and StoreError."""
        try:
            source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            try:
                source.set_busy_timeout(self._timeout_ms)
                if source.pragma("user_version") != len(files.STEPS):
                    raise StoreError(f"the store {path} has another schema")
                with self._connection().backup("main", source, "main") as backup:
                    backup.step()
            finally:
                source.close()
        except apsw.BusyError as error:
            raise LockedError(f"another process holds {path} or {self.path}: try again when it is done") from error
        except apsw.Error as error:
            raise StoreError(f"cannot copy the store {path} to {self.path}: {error}") from error

    def tables(self) -> Iterator[tuple[str, list[Row]]]:
        """As in `DatabaseStore`."""
        with self.snapshot() as state:
            for (table,) in state._rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
                yield table, state._rows(f"SELECT * FROM {table}")

    def fill(self, tables: Iterable[tuple[str, list[Row]]]) -> None:
        """As in `DatabaseStore`."""
        connection = self._connection()
        connection.execute("BEGIN IMMEDIATE")
        try:
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                connection.execute(f"DELETE FROM {table}")
            for table, rows in tables:
                for row in rows[:1]:
                    connection.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(row))})", rows)
            connection.execute("COMMIT")
        finally:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
        if self._durable:  # the changes belong to the former contents
            changes.remove(self.path)
            self._back_up(connection)

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """Start the only write transaction. Raises LockedError when another process holds it too long."""
        # These here, because a question writes nothing.
        from satchel.store.sqlite.logged_writer import LoggedWriter
        from satchel.store.writer import Writer

        connection = self._connection()
        if self._durable:
            self._back_up(connection)
        try:
            connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError as error:
            raise LockedError(f"another process is writing to {self.path}: try again when it is done") from error
        except _WRITE_FAILURES as error:
            raise self._unwritable(error, "nothing was changed") from error
        try:
            writer = LoggedWriter(connection) if self._durable else Writer(connection)
            yield writer
            self.before_commit(writer)
            writer.finish()
            with self._logged(writer):
                connection.execute("COMMIT")
        except BaseException as error:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if isinstance(error, _WRITE_FAILURES):
                raise self._unwritable(error, "nothing of this step was kept") from error
            # ConstraintError: an index lost a row of its table. Words are read here too, to merge them.
            if isinstance(error, (*_DAMAGE, apsw.ConstraintError, DamagedWordsError)):
                raise self._damaged(error) from error
            raise
        if writer.is_purged:
            self._back_up(connection, anew=True)
        if self.on_write is not None:
            self.on_write()

    @contextmanager
    def _logged(self, writer: Writer) -> Iterator[None]:
        """Add the steps of a writer to the changes of a durable store while they are committed, if there is room."""
        steps = getattr(writer, "steps", None)
        if not steps:
            yield
            return
        try:
            before = changes.append(self.path, steps)
        except OSError as error:
            telemetry.warning("no changes kept", path=str(self.path), reason=str(error))
            yield
            return
        try:
            yield
        except BaseException:
            with suppress(OSError):
                changes.take_back(self.path, before)
            raise

    def _unwritable(self, error: Exception, effect: str) -> StoreError:
        reason = files.obstacle(self.path) or (files.FULL_DISK if isinstance(error, apsw.FullError) else str(error))
        if reason == files.FULL_DISK:
            effect += (
                f". Free some megabytes where {self.path.parent} is; an index is built again after `satchel clean`"
            )
        return StoreError(f"cannot write to {self.path}: {reason}; {effect}")

    def make_room(self) -> None:
        """As in `DatabaseStore`; the room comes back with the next write that finds enough."""
        reserve = files.reserve_of(self.path)
        if self._durable and reserve.exists() and files.is_short_of_room(self.path):
            reserve.unlink()
            self.close()  # a connection that was opened without room can only read

    @property
    def obstacle(self) -> str:
        """Why the file cannot be written: a full or read-only disk, or missing rights."""
        return files.obstacle(self.path)

    def unreadable(self) -> list[tuple[str, str]]:
        """Return kind and key of every record that cannot be read."""
        try:
            return [*files.broken_records(self._connection()).values()]
        except (apsw.Error, ValueError) as error:
            raise self._damaged(error) from error

    def _back_up(self, connection: apsw.Connection, *, anew: bool = False) -> None:
        """Keep copies of a durable store if there is room; `anew` removes deleted texts from it and its copies."""
        try:
            if anew:
                files.remove_copies(self.path)  # first: on a full disk nothing else succeeds
                connection.execute("VACUUM")
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
            files.rotate_backups(connection, self.path, anew=anew)
            files.keep_reserve(self.path)
        except (apsw.Error, OSError) as error:
            telemetry.warning("no backup", path=str(self.path), reason=str(error))

    @contextmanager
    def snapshot(self) -> Iterator[StoreSnapshot]:
        """The store as it is published now, until the block ends: later writes are not visible."""
        with self._guard:
            idle = self._idle.pop() if self._idle else None
        connection = idle or self._open()
        if idle is None:
            connection.execute("PRAGMA cache_size=-2048")  # it only reads, and the system keeps the pages of the file
        run = partial(self._rows_of, connection)
        state = StoreSnapshot(self, run)
        try:
            run("BEGIN", ())
            yield state.begin()
        finally:
            state.close()
            with suppress(apsw.ConnectionClosedError):  # the store was closed before its answer was ready
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            with self._guard:
                if connection in self._connections:  # false after `close`
                    self._idle.append(connection)

    def close(self) -> None:
        """Release the store. Using it afterwards is an error."""
        with self._guard:
            for connection in self._connections:
                connection.close()
            self._connections.clear()
            self._owned.clear()
            self._idle.clear()
        self._local = threading.local()
        self._derived = Derived()
