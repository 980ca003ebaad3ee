"""A store on a PostgreSQL server: the tables and queries of the SQLite store, with one root of many.

Of a memory that a user shares with a team private records are in the own root, shared ones in the team's.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from psycopg import OperationalError
from psycopg.errors import InFailedSqlTransaction, QueryCanceled

from satchel.store.database import DatabaseStore, StoreSnapshot
from satchel.store.postgres import nearest
from satchel.store.postgres.connection import (
    ASKING_SECONDS,
    LISTS,
    STATEMENT_SECONDS,
    TABLES,
    Server,
    ServerConnection,
    SlowStoreError,
    literal,
)
from satchel.store.protocol import SET_ASIDE, Derived
from satchel.store.records import Row, numbered
from satchel.store.segments import DamagedWordsError
from satchel.system.cache import Cache

if TYPE_CHECKING:
    from satchel.store.writer import Writer


from collections.abc import Callable
from typing import TypeVar

from satchel.store.records import NewDocument
from satchel.store.segments import SegmentDocument
from satchel.store.writer import Writer
from satchel.types import Kind

PRIVATE_ROOTS = "index/"
"""How the names of roots begin that only the role may read which wrote them."""

ASIDE = ".damaged"
"""Suffix of the name of a damaged root that was put aside; the next one replaces it."""

_BLOBS = ("texts", "body"), ("postings", "body"), ("segments", "columns"), ("vectors", "vector")
_SUMS = (f"(SELECT coalesce(sum(length({column})), 0) FROM satchel.{table} WHERE root = roots.id)"
         for table, column in _BLOBS)  # fmt: skip
_SIZES = (
    f"SELECT id, name || CASE owner WHEN '' THEN '' ELSE ' of ' || owner END, {' + '.join(_SUMS)} FROM satchel.roots"
)
_SIZE = f"{_SIZES} WHERE id::text IN (current_setting('satchel.root'), current_setting('satchel.shared', true))"


class PostgresStore(DatabaseStore):
    """One root on a server. A question that was asked before at this revision costs one round trip to begin.

    Reading creates no root: one that does not exist is empty. A shared one consists of two roots of one name: the own
    one of the role that asks, and the team's. The index of a machine is that of its role.
    """

    def __init__(
        self,
        url: str,
        root: str,
        *,
        disposable: bool = False,
        is_shared: bool = False,
        # A writer waits this long for the transaction of another process, and a reader for a free connection.
        timeout_ms: int = 10_000,
        workspaces: Sequence[str] | None = None,
    ) -> None:
        super().__init__(LISTS, disposable=disposable, workspaces=workspaces)
        self._root = root
        self._is_shared = is_shared
        self._owner = "current_user" if root.startswith(PRIVATE_ROOTS) else "''"
        self._server = Server(url)
        self._timeout_ms = timeout_ms
        cache: Cache[tuple[str, tuple[Any, ...]], list[Row]] = Cache(_bytes_of)
        self._kept: tuple[Row, str, Cache[tuple[str, tuple[Any, ...]], list[Row]]] = (), "", cache
        self.vector_index = nearest.HnswIndex()
        self._writing = threading.local()
        try:
            with self.snapshot():
                pass
        except BaseException:
            self._server.close()
            raise

    @property
    def name(self) -> str:
        """The server and the root."""
        return f"{self._server.name} ({self._root})"

    @property
    def user(self) -> str:
        """The role of the database in whose name is read and written."""
        return self._server.user

    @property
    def server(self) -> str:
        """The address of the server, without user and password."""
        return self._server.name

    @property
    def server_version(self) -> str:
        """The version of the server and of the extension for vectors, as in `16.4, pgvector 0.8.5`."""
        extension = "SELECT extversion FROM pg_extension WHERE extname = 'vector'"
        ((version, vector),) = self._rows(f"SELECT current_setting('server_version'), ({extension})")
        return f"{version.split()[0]}, {f'pgvector {vector}' if vector else 'no pgvector: all vectors are compared'}"

    @property
    def is_replaced(self) -> bool:
        """Never: every question looks which root has the name now."""
        return False

    def settle(self) -> None:
        """As in `DatabaseStore`."""
        if self.damage and self._disposable:
            aside = self._root + ASIDE
            with self._transaction() as (connection, _):
                _delete_root(connection, aside, self._owner)
                renamed = f"UPDATE satchel.roots SET name = $1 WHERE name = $2 AND owner = {self._owner}"
                connection.execute(renamed, (aside, self._root))
                connection.commit()
            with self.write() as writer:
                writer.set_meta(SET_ASIDE, aside)
            self.damage = ""

    def remove(self) -> int:
        """Delete all rows of this root. Returns their size in bytes."""
        size = self.size()
        if not self._rows(f"SELECT 1 FROM satchel.roots WHERE name = $1 AND owner = {self._owner}", (self._root,)):
            return 0
        with self._transaction() as (connection, _):
            _delete_root(connection, self._root, self._owner)
            connection.commit()
        return size

    def size(self) -> int:
        """Return the bytes of texts, words and vectors, which are nearly all of the store."""
        return sum(size for _, _, size in self._rows(_SIZE))

    def has_root(self, name: str) -> bool:
        """Return whether a root of this name, which belongs to everybody, was published."""
        return bool(self._rows("SELECT 1 FROM satchel.roots WHERE name = $1 AND owner = ''", (name,)))

    def roots(self) -> list[tuple[str, int]]:
        """Return the names of all roots on the server that this role may see, with their sizes as in `size`."""
        found = []
        with self._server.connection("BEGIN READ ONLY", self._timeout_ms / 1000) as (connection, _):
            for (number,) in connection.script("SELECT id FROM satchel.roots ORDER BY name, owner"):
                chosen = f"SELECT set_config('satchel.root', '{number}', true)"
                found += connection.script(f"{chosen}; {_SIZES} WHERE id = {number}")[1:]
        return [(name, size) for _, name, size in found]

    def _rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
        writing: Focus | None = getattr(self._writing, "focus", None)
        if writing is not None:  # a thread that writes sees what it wrote
            return writing.both().execute(sql, bindings).fetchall()
        with self.snapshot() as state:
            return state._rows(sql, bindings)

    def hurried(self) -> AbstractContextManager[StoreSnapshot]:
        """As `snapshot`, for a question: all its statements together take two seconds at most."""
        return self._snapshot(ASKING_SECONDS)

    def snapshot(self) -> AbstractContextManager[StoreSnapshot]:
        """The store as published now, until the block ends, on another server of that revision if the first is lost."""
        return self._snapshot(STATEMENT_SECONDS)

    @contextmanager
    def _snapshot(self, seconds: float) -> Iterator[StoreSnapshot]:
        begin = (
            f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = '{seconds}s'; "
            # All tables at once, so that a locked one is met here and not in the middle of an answer.
            f"LOCK TABLE {', '.join(f'satchel.{table}' for table in ('roots', *TABLES))} IN ACCESS SHARE MODE; "
            f"{self._choice()}; "
            "SELECT coalesce((SELECT value FROM meta WHERE key = 'revision'), '0')"
        )
        with self._server.connection(begin, self._timeout_ms / 1000) as (connection, begun):
            root, (revision,) = (self._server.losses, *begun[0]), begun[1]
            held = self._kept  # read and replaced as one: other threads may ask at another revision
            if (root, revision) != held[:2]:
                if root != held[0]:  # another one has this name now
                    self._derived = Derived()
                held = self._kept = root, revision, Cache(_bytes_of)
            kept = held[2]

            def rows(asked: list[tuple[str, tuple[Any, ...]]]) -> dict[tuple[str, tuple[Any, ...]], list[Row]]:
                try:
                    return {query: connection.execute(*query).fetchall() for query in asked}
                except OperationalError:
                    if not connection.raw.closed or self._server.resume(connection, begin) != begun:
                        raise
                    return {query: connection.execute(*query).fetchall() for query in asked}

            waited, is_late = 0.0, False

            def run(sql: str, bindings: Sequence[Any]) -> list[Row]:
                nonlocal waited, is_late
                if waited > seconds:
                    raise SlowStoreError(f"{self._server.name} did not answer in time: try again later")
                asked, started = (sql, tuple(bindings)), time.monotonic()
                try:
                    found = kept.through([asked], rows)[asked]
                except (QueryCanceled, InFailedSqlTransaction) as error:
                    is_late |= isinstance(error, QueryCanceled)
                    if not is_late:  # else a statement of another thread was late, and ended the transaction of both
                        raise
                    raise SlowStoreError(f"{self._server.name} did not answer in time: try again later") from error
                waited += time.monotonic() - started
                return [*found]

            state = StoreSnapshot(self, run, revision)
            try:
                yield state
            finally:
                state.close()

    @contextmanager
    def _transaction(self) -> Iterator[tuple[ServerConnection, list[Row]]]:
        """Hold the lock of the root in a transaction, which is rolled back unless the block ends it."""
        name = literal(self._root)
        begin = (
            f"BEGIN; SET LOCAL lock_timeout = {max(1, self._timeout_ms)}; "
            # A row, because readers may take advisory locks.
            f"INSERT INTO satchel.locks VALUES ({name}) ON CONFLICT (name) DO UPDATE SET name = EXCLUDED.name"
        )
        with self._server.connection(begin, self._timeout_ms / 1000, writes=True) as begun:
            yield begun

    def tables(self) -> Iterator[tuple[str, list[Row]]]:
        """Yield all rows of the published state in batches, each with the name of its table."""
        begin = f"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; {self._choice()}"
        with self._server.connection(begin, self._timeout_ms / 1000) as (connection, _):
            for table in TABLES:
                with connection.raw.cursor("rows", binary=True) as cursor:
                    cursor.execute(f"SELECT * FROM {table}".encode())
                    while rows := cursor.fetchmany(2_000):  # rows that are copied at once: some megabytes of texts
                        yield table, rows

    def fill(self, tables: Iterable[tuple[str, list[Row]]]) -> None:
        """As in `DatabaseStore`."""
        name = literal(self._root)
        with self._transaction() as (connection, _):
            _delete_root(connection, self._root, self._owner)
            connection.script(
                f"INSERT INTO satchel.roots(name, owner) VALUES ({name}, {self._owner}); {self._choice()}"
            )
            for table, rows in tables:
                types = [column.split()[1] for column in TABLES[table][0].split(", ")]
                flags = [place for place, kind in enumerate(types) if kind == "bool"]
                sql = f"INSERT INTO {table} VALUES ({numbered(len(types))})"
                connection.executemany(sql, (_with_flags(row, flags) for row in rows))
            connection.commit()

    def allow(self, role: str, *, writes: bool) -> None:
        """Give a role of the server the rights to read this store, or to write it, too."""
        from psycopg.sql import SQL, Identifier

        schemas = "satchel, satchel_root, satchel_both"
        rights = "SELECT, INSERT, UPDATE, DELETE" if writes else "SELECT"
        grants = (f"USAGE ON SCHEMA {schemas}", f"{rights} ON ALL TABLES IN SCHEMA {schemas}")
        with self._server.connection("BEGIN", self._timeout_ms / 1000, writes=True) as (connection, _):
            for grant in grants:
                connection.raw.execute(SQL("GRANT {} TO {}").format(SQL(grant), Identifier(role)))
            # A writer neither stops the store for all by another version, nor takes roots of the team.
            for right in ("INSERT, UPDATE, DELETE ON satchel.version", "UPDATE ON satchel.roots"):
                connection.raw.execute(SQL("REVOKE {} FROM {}").format(SQL(right), Identifier(role)))
            if writes:
                connection.raw.execute(SQL("GRANT UPDATE (name) ON satchel.roots TO {}").format(Identifier(role)))
            connection.commit()

    def index_vectors(self) -> int:
        """Make and drop indexes of vectors (see `nearest.build`) as the owner of the tables; returns their number."""
        with self._server.connection("SELECT", self._timeout_ms / 1000) as (connection, _):
            return nearest.build(connection)

    def _choice(self) -> str:
        """Return the statement that chooses the root, or both of a shared one, for this transaction; 0 for none."""
        found = f"SELECT id FROM satchel.roots WHERE name = {literal(self._root)} AND owner = "
        own, team = (f"coalesce(({found}{owner}), 0)::text" for owner in ("current_user", "''"))
        chosen = {"satchel.root": own if self._owner == "current_user" else team}
        if self._is_shared:
            chosen = {"satchel.root": own, "satchel.shared": team, "search_path": "'satchel_both, satchel_root'"}
        return "SELECT " + ", ".join(f"set_config('{name}', {value}, true)" for name, value in chosen.items())

    @contextmanager
    def write(self) -> Iterator[Writer]:
        """Start the only write transaction. Raises LockedError when another process holds it too long."""
        from satchel.store.writer import Writer  # here, because a question writes nothing

        name = literal(self._root)
        owners = ("current_user", "''") if self._is_shared else (self._owner,)
        new = "; ".join(
            f"INSERT INTO satchel.roots(name, owner) SELECT {name}, {owner} WHERE NOT EXISTS "
            f"(SELECT FROM satchel.roots WHERE name = {name} AND owner = {owner})"
            for owner in owners
        )
        with self._transaction() as (connection, _):
            if self._owner == "current_user":  # one of an older version, which every role could read
                _delete_root(connection, self._root, "''")
            (chosen,) = connection.script(f"{new}; {self._choice()}")
            self._writing.focus = focus = Focus(connection, *chosen[:2])
            try:
                writer = SharedWriter(focus) if self._is_shared else Writer(connection)
                yield writer
                self.before_commit(writer)
                writer.finish()
            except DamagedWordsError as error:  # words are read here too, to merge them
                raise self._damaged(error) from error
            finally:
                self._writing.focus = None
            connection.commit()
        if self.on_write is not None:
            self.on_write()

    def close(self) -> None:
        """Release the store. Using it afterwards opens it again."""
        self._server.close()
        self._derived = Derived()


def _bytes_of(rows: list[Row]) -> int:
    return sum(len(cell) if isinstance(cell, bytes | str) else 8 for row in rows for cell in row)


def _with_flags(row: Row, flags: Sequence[int]) -> Sequence[Any]:
    """Return a row with true or false in these places, which SQLite writes as numbers."""
    return [bool(cell) if place in flags else cell for place, cell in enumerate(row)] if flags else row


def _delete_root(connection: ServerConnection, name: str, owner: str) -> None:
    root = f"(SELECT id FROM satchel.roots WHERE name = {literal(name)} AND owner = {owner})"
    tables = (f"DELETE FROM satchel.{table} WHERE root = {root}" for table in TABLES)
    connection.script(
        f"SELECT set_config('satchel.root', coalesce({root}, 0)::text, true); {'; '.join(tables)}; "
        f"DELETE FROM satchel.roots WHERE id = {root}"
    )


FIRST_OWN = 1 << 30
"""The least number of a row or segment of an own root, so that those of the team's root are never the same."""

Result = TypeVar("Result")


class Focus:
    """Which roots the statements of a write transaction see: one that is written, or both to read."""

    def __init__(self, connection: ServerConnection, own: str, team: str = "") -> None:
        self._connection = connection
        self.own, self.team = own, team
        self._now = ""

    def on(self, root: str) -> ServerConnection:
        """Return the connection with only this root in sight."""
        return self._set(root, "satchel_root")

    def both(self) -> ServerConnection:
        """Return the connection with all of the store in sight."""
        return self._set(self.own, "satchel_both, satchel_root" if self.team else "satchel_root")

    def _set(self, root: str, path: str) -> ServerConnection:
        chosen = f"SELECT set_config('satchel.root', '{root}', true), set_config('search_path', '{path}', true)"
        if self.team and chosen != self._now:
            self._connection.script(chosen)
            self._now = chosen
        return self._connection


class SharedWriter(Writer):
    """One transaction on both roots. What is said of a whole memory, such as its `meta` values, is in the own root."""

    def __init__(self, focus: Focus) -> None:
        self._focus = focus
        connection = focus.on(focus.own)
        super().__init__(connection)
        self._halves = ((focus.own, Writer(connection, FIRST_OWN)), (focus.team, Writer(connection)))

    def _each(self, work: Callable[[Writer, bool], Result]) -> list[Result]:
        """Do the work in both roots; the second argument says whether it is the team's."""
        done = []
        for place, (root, writer) in enumerate(self._halves):
            connection = self._focus.on(root)
            before = connection.total_changes()
            done.append(work(writer, bool(place)))
            self._halves[1 - place][1].changes += connection.total_changes() - before  # not changes of that one
        return done

    def put(self, documents: Sequence[NewDocument]) -> None:
        """As in `Writer`; a document that is shared from now on leaves the own root, and the other way round."""

        def put(writer: Writer, is_team: bool) -> None:
            for kind in {document.kind for document in documents}:
                writer.remove(kind, [document.key for document in documents if document.kind is kind])
            writer.put([document for document in documents if document.is_shared == is_team])

        self._each(put)

    def remove(self, kind: Kind, keys: Iterable[str]) -> None:
        """As in `Writer`."""
        listed = list(keys)
        self._each(lambda writer, _: writer.remove(kind, listed))

    def replace_words(self, kind: Kind, entries: Sequence[SegmentDocument]) -> None:
        """As in `Writer`."""
        self._each(lambda writer, is_team: writer.replace_words(
            kind, [entry for entry in entries if (entry.document_id < FIRST_OWN) == is_team]
        ))  # fmt: skip

    def hide(self, kind: Kind, keys: Iterable[str], shown: Iterable[str] | None = None) -> None:
        """As in `Writer`."""
        listed, others = list(keys), None if shown is None else list(shown)
        self._each(lambda writer, _: writer.hide(kind, listed, others))

    def set_meta(self, key: str, value: str) -> None:
        """As in `Writer`."""
        self._each(lambda writer, is_team: None if is_team else writer.set_meta(key, value))

    def unset_meta(self, key: str) -> None:
        """As in `Writer`."""
        self._each(lambda writer, is_team: None if is_team else writer.unset_meta(key))

    def move(self, workspaces: Sequence[str], workspace: str) -> int:
        """As in `Writer`."""
        return sum(self._each(lambda writer, _: writer.move(workspaces, workspace)))

    def put_vectors(self, fingerprint: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """As in `Writer`."""
        self._each(lambda writer, is_team: writer.put_vectors(
            fingerprint, [vector for vector in vectors if (vector[0] < FIRST_OWN) == is_team]
        ))  # fmt: skip

    def keep_vectors(self, *fingerprints: str) -> None:
        """As in `Writer`, of the own root: others of the team may use another model."""
        self._each(lambda writer, is_team: None if is_team else writer.keep_vectors(*fingerprints))

    def merge(self, should_stop: Callable[[], bool]) -> None:
        """As in `Writer`."""
        self._each(lambda writer, _: writer.merge(should_stop))

    def purge(self) -> None:
        """As in `Writer`."""
        self._each(lambda writer, _: writer.purge())

    def finish(self) -> None:
        """As in `Writer`: each root has a revision of its own."""
        self._each(lambda writer, _: writer.finish())
