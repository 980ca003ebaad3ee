"""Connections to a PostgreSQL server: how it is reached, migrations, a pool, and errors as one sentence."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from satchel.errors import ConfigError, LockedError, ReadOnlyStoreError, SatchelError, StoreError, UnreachableStoreError
from satchel.store.records import RENAMES, Lists, Row

_ROOT = "current_setting('satchel.root')::integer"
_TYPES = {"int": "integer NOT NULL", "long": "bigint NOT NULL", "text": 'text COLLATE "C" NOT NULL',
          "real": "double precision NOT NULL", "bool": "boolean NOT NULL", "bytes": "bytea NOT NULL",
          "maybe": "double precision"}  # fmt: skip

TABLES: Mapping[str, tuple[str, ...]] = {
    "meta": ("key text, value text", "PRIMARY KEY(root, key)"),
    "documents": (
        ("id int, kind text, key text, name text, stem text, language text, content_hash text, size long, "
        "mtime_ns long, changed_ns long, line_count int, secondary bool, title text, tags text, fields text, "
        "created real, updated real, importance maybe, origin text, first_chunk int, last_chunk int, "
        "hidden bool, segment int, position int, workspace text"),
        "PRIMARY KEY(root, id)", "UNIQUE(root, kind, key)", "INDEX(root, name)", "INDEX(root, stem)",
        "INDEX(root, segment)",
    ),
    "texts": ("document int, body bytes", "PRIMARY KEY(root, document)"),
    "chunks": (
        "row int, document int, role text, name text, twin int, start int, end int, signature text, summary text",
        "PRIMARY KEY(root, row)",
    ),
    "definitions": (
        "chunk int, name text, owner text, line int", "INDEX(root, name)", "INDEX(root, chunk)",
    ),
    "edges": (
        "source int, type text, target text, weight real", "PRIMARY KEY(root, source, type, target)",
        "INDEX(root, target, type)",
    ),
    "segments": ("id int, kind text, spans int, columns bytes, dead bytes", "PRIMARY KEY(root, id)"),
    "postings": ("term text, segment int, body bytes", "PRIMARY KEY(root, segment, term)"),
    "skipped": ("path text, reason text, size long, mtime_ns long, changed_ns long", "PRIMARY KEY(root, path)"),
    "vectors": ("chunk int, fingerprint text, vector bytes", "PRIMARY KEY(root, fingerprint, chunk)"),
}  # fmt: skip
"""The tables: columns with their types, then keys and indexes."""


def columns_of(table: str) -> list[str]:
    """Return the names of the columns of a table, quoted."""
    return [f'"{column.split()[0]}"' for column in TABLES[table][0].split(", ")]


def _table(name: str) -> str:
    spec, *keys = TABLES[name]
    types = [_TYPES[column.split()[1]] for column in spec.split(", ")]
    columns = columns_of(name)
    rows = ", ".join(f"{column} {kind}" for column, kind in zip(columns, types, strict=True))
    own = [key for key in keys if not key.startswith("INDEX")]
    statements = [
        f"CREATE TABLE satchel.{name}(root integer NOT NULL DEFAULT {_ROOT}, {', '.join([rows, *own])})",
        f"CREATE VIEW satchel_root.{name} AS SELECT {', '.join(columns)} FROM satchel.{name} WHERE root = {_ROOT}",
        *(f"CREATE INDEX ON satchel.{name}{key.removeprefix('INDEX')}" for key in keys if key not in own),
    ]
    return "; ".join(statements)


_CHOSEN = f"({_ROOT}, nullif(current_setting('satchel.shared', true), '')::integer)"
_VISIBLE = f"root = ANY(ARRAY(SELECT id FROM satchel.roots WHERE id IN {_CHOSEN}))"


def _secured(table: str, condition: str) -> Iterator[str]:
    for kind in ("ENABLE", "FORCE"):
        yield f"ALTER TABLE satchel.{table} {kind} ROW LEVEL SECURITY"
    yield f"CREATE POLICY own ON satchel.{table} USING ({condition})"


def _both(name: str) -> str:
    columns = ", ".join(columns_of(name))
    return (
        f"CREATE VIEW satchel_both.{name} WITH (security_invoker) AS "
        f"SELECT {columns} FROM satchel.{name} WHERE root IN {_CHOSEN}"
    )


def _renamed(*schemas: str) -> str:
    """Rename the tables and views of these schemas, unless they were created with the names of today."""
    statements = "; ".join(f"ALTER TABLE {schema}.{rename}" for schema in schemas for rename in RENAMES)
    return f"DO $$ BEGIN IF to_regclass('satchel.bundles') IS NOT NULL THEN {statements}; END IF; END $$"


_OWNER = "(SELECT relowner FROM pg_catalog.pg_class WHERE oid = 'satchel.version'::regclass)"
_IS_OWNER = f"pg_catalog.pg_has_role({_OWNER}, 'USAGE')"
_IS_PUBLISHED = "name LIKE 'published/%'"


def _guarded(table: str, condition: str, *commands: str) -> Iterator[str]:
    """Let only the owner of the tables change rows for which the condition is false."""
    for command in commands:
        clause = "WITH CHECK" if command == "INSERT" else "USING"
        yield (
            f"CREATE POLICY {command.lower()}s ON satchel.{table} AS RESTRICTIVE FOR {command} "
            f"{clause} ({condition} OR {_IS_OWNER})"
        )


_NOT_PUBLISHED = f"root <> ALL(ARRAY(SELECT id FROM satchel.roots WHERE {_IS_PUBLISHED}))"
_WRITERS = (
    "DO $$ DECLARE writer text; BEGIN FOR writer IN SELECT DISTINCT rolname FROM pg_catalog.pg_class, "
    "LATERAL aclexplode(relacl) JOIN pg_catalog.pg_roles ON pg_roles.oid = grantee "
    "WHERE pg_class.oid = 'satchel.documents'::regclass AND privilege_type = 'INSERT' LOOP "
    "EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON satchel.locks TO %I', writer); END LOOP; END $$"
)

STEPS = (
    "; ".join((
        "CREATE SCHEMA satchel",
        "CREATE SCHEMA satchel_root",
        "CREATE TABLE satchel.version(number integer NOT NULL)",
        "INSERT INTO satchel.version VALUES (0)",
        ("CREATE TABLE satchel.roots(id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, "
        'name text COLLATE "C" NOT NULL UNIQUE, created timestamptz NOT NULL DEFAULT now())'),
        ("CREATE FUNCTION satchel_root.json_extract(text, text) RETURNS integer IMMUTABLE LANGUAGE sql AS "
        "$$SELECT ($1::json ->> substr($2, 3))::integer$$"),
        *map(_table, TABLES),
    )),
    "; ".join((
        _renamed("satchel", "satchel_root"),
        'ALTER TABLE satchel.roots ADD COLUMN owner text COLLATE "C" NOT NULL DEFAULT \'\'',
        "ALTER TABLE satchel.roots DROP CONSTRAINT roots_name_key",
        "ALTER TABLE satchel.roots ADD UNIQUE (name, owner)",
        *_secured("roots", "owner IN ('', current_user)"),
        *(statement for name in TABLES for statement in _secured(name, _VISIBLE)),
        *(f"ALTER VIEW satchel_root.{name} SET (security_invoker)" for name in TABLES),
        "CREATE SCHEMA satchel_both",
        *map(_both, ("documents", "texts", "chunks", "definitions", "edges", "segments", "postings", "vectors")),
        ("CREATE VIEW satchel_both.meta WITH (security_invoker) AS "
        "SELECT key, value FROM satchel_root.meta WHERE key <> 'revision' UNION ALL "
        f"SELECT 'revision', sum(value::bigint)::text FROM satchel.meta WHERE key = 'revision' AND root IN {_CHOSEN} "
        "HAVING count(*) > 0"),
    )),
    _renamed("satchel", "satchel_root", "satchel_both"),
    # What is published belongs to the owner of the tables, and so do the names of the team's roots. The lock of a root
    # is a row that a reader cannot lock.
    "; ".join((
        *_guarded("roots", f"NOT {_IS_PUBLISHED}", "INSERT"),
        *_guarded("roots", "owner = current_user", "UPDATE"),
        *_guarded("roots", "owner = current_user OR name LIKE 'index/%'", "DELETE"),
        *(step for name in TABLES for step in _guarded(name, _NOT_PUBLISHED, "INSERT", "UPDATE", "DELETE")),
        'CREATE TABLE satchel.locks(name text COLLATE "C" PRIMARY KEY)',
        _WRITERS,
    )),
)  # fmt: skip
"""The numbered migrations: each runs once, in a transaction of its own. Rights on tables and views stay."""

OLDEST_SERVER = 150_000
"""The oldest version of the server, as it numbers itself: PostgreSQL 15, whose views check the rights of who asks."""

MAX_CONNECTIONS = 8
"""Connections of one process to one root: a server of answers asks with four threads, and a writer is one more."""

CONNECT_SECONDS = 5
STATEMENT_SECONDS = 60
"""A statement that takes longer is stopped: the longest ones merge words, in steps of a tenth of a second."""

ASKING_SECONDS = 2
"""Time that a question waits for a locked table, and for all answers of a slow server."""

_DEFAULTS: Mapping[str, Any] = {
    "connect_timeout": ASKING_SECONDS, "application_name": "satchel", "keepalives_idle": 30, "client_encoding": "UTF8",
}  # fmt: skip
_SESSION = (
    f"SET search_path = satchel_root; SET statement_timeout = '{STATEMENT_SECONDS}s'; "
    f"SET lock_timeout = '{ASKING_SECONDS}s'; "
    "SET standard_conforming_strings = on; SET hnsw.ef_search = 400; SET hnsw.iterative_scan = relaxed_order"
)
# A look at the tables of the catalog: what a connection remembers of names is older than a lock that it waited for.
_VERSION = (
    "SELECT EXISTS (SELECT FROM pg_catalog.pg_class AS tables JOIN pg_catalog.pg_namespace AS spaces "
    "ON spaces.oid = relnamespace WHERE nspname = 'satchel' AND relname = 'version')"
)
_LOST = ("08", "28", "3D", "533", "57P")
"""States of errors that end a connection, or prevent one; those of the driver have no state."""

_REASONS = (
    ("password authentication failed", "the password or the user name is wrong"),
    ("no password supplied", "the server wants a password: put it into ~/.pgpass, PGPASSWORD or the address"),
    ("no pg_hba.conf entry", "the server does not let this user in from here"),
    ("does not support SSL", "the server does not speak TLS, which sslmode asks for"),
    ("certificate verify failed", "the certificate of the server cannot be verified"),
)


LISTS = Lists(
    within=lambda number: f"= ANY(${number})",
    table=lambda number: f"unnest(${number}::text[]) AS listed(value)",
    bound=tuple,
)
"""Lists are arrays of the server."""


def literal(text: str) -> str:
    """Return a text as SQL has it, for statements that take no bindings."""
    return "'" + text.replace("'", "''") + "'"


def _storable(value: Any) -> Any:
    """Return a value that the server takes: no text there has a null character, so nothing equals one that does."""
    if isinstance(value, tuple):
        return [_storable(item) for item in value]
    return value.replace("\0", "\ufffd") if isinstance(value, str) else value


def _connected(conninfo: str) -> psycopg.Connection:
    """Connect. Queries are the server's own: the driver looks for no places to fill in them."""
    return psycopg.connect(conninfo, autocommit=True, cursor_factory=psycopg.RawCursor)


class SlowStoreError(StoreError):
    """A server did not answer a question in time."""


class UncertainCommitError(psycopg.OperationalError):
    """The server did not say that a transaction is committed here and on its synchronous standby."""


class ServerConnection:
    """A connection that runs the queries of a store."""

    lists = LISTS

    def __init__(self, raw: psycopg.Connection) -> None:
        self.raw = raw
        self._changes = 0

    def execute(self, sql: str, bindings: Sequence[Any] = (), /) -> psycopg.Cursor[Any]:
        """Run one statement."""
        cursor = self.raw.execute(sql.encode(), [_storable(value) for value in bindings], binary=True)
        self._changes += max(0, cursor.rowcount) if cursor.description is None else 0
        return cursor

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> None:
        """Run one statement with each of these bindings, without waiting for each."""
        with self.raw.cursor() as cursor:
            cursor.executemany(sql.encode(), rows)
            self._changes += max(0, cursor.rowcount)

    def total_changes(self) -> int:
        """Return how many rows were written since the connection was opened."""
        return self._changes

    def script(self, sql: str) -> list[Row]:
        """Run statements without bindings in one round trip; returns the single rows of those that have one."""
        cursor = self.raw.execute(sql.encode())
        results = []
        while True:
            if cursor.description is not None:
                results += cursor.fetchall()
            if not cursor.nextset():
                return results

    def commit(self) -> None:
        """Publish the transaction. Raises UncertainCommitError, also where COMMIT only warns of a missing standby."""
        warnings: list[psycopg.errors.Diagnostic] = []
        self.raw.add_notice_handler(warnings.append)
        limit = threading.Timer(STATEMENT_SECONDS, self._cancel)
        limit.start()
        try:
            self.raw.execute(b"COMMIT")
        except psycopg.Error as error:
            if self.raw.closed:
                raise UncertainCommitError(str(error)) from error
            raise
        finally:
            limit.cancel()
            self.raw.remove_notice_handler(warnings.append)
        if warnings:
            raise UncertainCommitError(str(warnings[0].message_primary))

    def _cancel(self) -> None:
        with suppress(psycopg.Error):  # a server that is gone: the statement itself reports that
            self.raw.cancel_safe()

    @property
    def is_read_only(self) -> bool:
        """Whether the server takes no writes here, as a standby. The server itself tells when that changes."""
        names = "in_hot_standby", "default_transaction_read_only"
        return any(self.raw.info.parameter_status(name) == "on" for name in names)

    def end(self) -> None:
        """Roll back what is open."""
        if self.raw.info.transaction_status != psycopg.pq.TransactionStatus.IDLE:
            self.raw.execute(b"ROLLBACK")


def _parsed(url: str) -> Mapping[str, Any]:
    """Return the parts of an address. Raises ConfigError without a quote: a password may be anywhere in it."""
    with suppress(psycopg.Error):
        given = conninfo_to_dict(url)
        places = f"{given.get('host', '')}{given.get('hostaddr', '')}{given.get('dbname', '')}"
        if "@" not in places and re.fullmatch(r"[\d,]*", str(given.get("port", ""))):
            return given
    raise ConfigError(
        "store.url is not an address of a database: write postgresql://USER@HOST:PORT/DATABASE, and in a password "
        "%40 for '@', %3A for ':' and %2F for '/'"
    )


class Server:
    """A database on a server, and the connections of this process to it. Safe to call from several threads.

    Of an address with several hosts the one that takes writes is used, unless `target_session_attrs` asks for another;
    while there is none, any that answers is read. Writes always go to the one that takes them.
    """

    def __init__(self, url: str) -> None:
        given = _parsed(url)
        leading = (
            {"target_session_attrs": "read-write"} if "," in f"{given.get('host') or given.get('hostaddr')}" else {}
        )
        self._conninfo = make_conninfo(**{**_DEFAULTS, **leading, **given})
        patient = {} if "connect_timeout" in given else {"connect_timeout": CONNECT_SECONDS}
        self._writable = make_conninfo(self._conninfo, **leading, **patient)
        asks_leader = given.get("target_session_attrs", "read-write") in {"read-write", "primary"}
        self._any = make_conninfo(self._conninfo, target_session_attrs="any") if leading and asks_leader else ""
        self._leader_again = 0.0
        self.losses = 0
        """How many connections were lost: what was cached before may be of a server that was replaced since."""
        self._secret = str(given.get("password") or "")
        hosts = (given.get("host") or given.get("hostaddr") or "localhost").split(",")
        ports = str(given.get("port") or 5432).split(",")
        places = ",".join(map(":".join, zip(hosts, ports * len(hosts), strict=False)))  # one port may be that of all
        self.user = ""
        """The role of the last connection."""
        self.name = f"postgresql://{places}/{given.get('dbname') or given.get('user') or ''}"
        self._idle: list[ServerConnection] = []
        self._guard = threading.Lock()
        self._free = threading.BoundedSemaphore(MAX_CONNECTIONS)

    def __repr__(self) -> str:
        return f"Server({self.name})"

    @contextmanager
    def connection(
        self, first: str, seconds: float, *, writes: bool = False
    ) -> Iterator[tuple[ServerConnection, list[Row]]]:
        """Lend a live connection after the statements `first`, with their rows. Open work is rolled back at the end."""
        if not self._free.acquire(timeout=seconds):
            raise LockedError(f"all {MAX_CONNECTIONS} connections to {self.name} are busy: try again later")
        try:
            with self._reported(writes):
                connection, rows = self._begun(first, writes)
                try:
                    yield connection, rows
                finally:
                    self._take_back(connection)
        finally:
            self._free.release()

    def resume(self, connection: ServerConnection, first: str) -> list[Row]:
        """Go on reading on another connection after this one was lost. Returns the rows of `first`."""
        fresh, rows = self._begun(first, writes=False)
        connection.raw = fresh.raw
        self.losses += 1
        return rows

    def _begun(self, first: str, writes: bool) -> tuple[ServerConnection, list[Row]]:
        while True:
            with self._guard:
                usable = [
                    server_connection
                    for server_connection in self._idle
                    if not (writes and server_connection.is_read_only)
                ]
                idle = usable[-1] if usable else None
                if idle is not None:
                    self._idle.remove(idle)
            connection = idle or self._open(writes)
            try:
                return connection, connection.script(first)
            except BaseException as error:
                is_lost = connection.raw.closed and isinstance(error, Exception)  # Ctrl-C may close it, too
                self._take_back(connection)
                if idle is None or not is_lost:
                    raise

    def _take_back(self, connection: ServerConnection) -> None:
        with suppress(psycopg.Error):  # a lost connection is closed, and has nothing to roll back
            connection.end()
        with self._guard:
            is_clean = connection.raw.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            # Connections that stay open while nobody asks: a server has some hundred for everybody.
            keep = is_clean and len(self._idle) < 2 and not (self._any and connection.is_read_only)
            self.losses += connection.raw.closed
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.raw.close()

    def _connect(self, writes: bool) -> psycopg.Connection:
        if writes or not self._any:
            return _connected(self._writable if writes else self._conninfo)
        if time.monotonic() >= self._leader_again:
            try:
                return _connected(self._conninfo)
            except psycopg.OperationalError:
                # After no server took writes, questions go to a standby for so long before they look for a leader
                # again.
                self._leader_again = time.monotonic() + 2.0
        return _connected(self._any)

    def _open(self, writes: bool) -> ServerConnection:
        raw = self._connect(writes)
        try:
            connection = ServerConnection(raw)
            if raw.info.server_version < OLDEST_SERVER:
                raise StoreError(
                    f"{self.name} is PostgreSQL {raw.info.server_version // 10_000}: satchel needs "
                    f"{OLDEST_SERVER // 10_000} or newer"
                )
            if (encoding := raw.info.parameter_status("server_encoding")) != "UTF8":
                raise StoreError(
                    f"{self.name} has the encoding {encoding}, in which not every text can be stored: make one with "
                    "CREATE DATABASE ... ENCODING 'UTF8' TEMPLATE template0"
                )
            (self.user,), (has_schema,) = connection.script(f"{_SESSION}; SELECT current_user; {_VERSION}")
            self._migrate(connection, has_schema=has_schema)
        except BaseException:
            raw.close()
            raise
        return connection

    def _migrate(self, connection: ServerConnection, *, has_schema: bool) -> None:
        version = connection.script("SELECT number FROM satchel.version")[0][0] if has_schema else 0
        if version > len(STEPS):
            raise StoreError(
                f"the store {self.name} has schema {version}, this satchel knows up to {len(STEPS)}: upgrade satchel"
            )
        for number in range(version, len(STEPS)):
            with connection.raw.transaction():
                connection.script("SET LOCAL lock_timeout = 0")
                if not has_schema:
                    connection.script("SELECT pg_advisory_xact_lock(hashtextextended('satchel schema', 0))")
                ((exists,),) = connection.script(_VERSION)
                try:
                    if exists:  # a lock that a reader cannot take
                        connection.script("LOCK TABLE satchel.version IN ACCESS EXCLUSIVE MODE")
                        if connection.script("SELECT number FROM satchel.version")[0][0] > number:
                            continue
                    connection.script(f"{STEPS[number]}; UPDATE satchel.version SET number = {number + 1}")
                except psycopg.errors.InsufficientPrivilege as error:
                    if not exists:
                        raise
                    raise ReadOnlyStoreError(
                        f"the tables of {self.name} are of an older satchel: their owner runs `satchel store init`"
                    ) from error

    @contextmanager
    def _reported(self, writes: bool) -> Iterator[None]:
        """Report an error of the server as one sentence without a password."""
        try:
            yield
        except psycopg.Error as error:
            raise self._sentence(error, writes) from error

    def _sentence(self, error: psycopg.Error, writes: bool) -> SatchelError:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = lines[0].replace(self._secret, "***") if self._secret else lines[0]
        if isinstance(error, UncertainCommitError):
            return StoreError(  # no UnreachableStoreError: nobody may just try again
                f"{self.name} went away during the write: look whether it was stored before you try again"
            )
        if isinstance(error, psycopg.errors.LockNotAvailable):
            what = "is writing to" if writes else "has locked tables of"
            return LockedError(f"another process {what} {self.name}: try again when it is done")
        if isinstance(error, psycopg.errors.ReadOnlySqlTransaction):
            return ReadOnlyStoreError(f"{self.name} is read-only, perhaps a standby: nothing was changed")
        if isinstance(error, psycopg.errors.InsufficientPrivilege):
            return ReadOnlyStoreError(f"{self.name} does not give this user the rights that satchel needs: {reason}")
        if isinstance(error, psycopg.errors.QueryCanceled) and writes:
            return StoreError(
                f"{self.name} took longer than {STATEMENT_SECONDS} s for a statement: nothing was changed"
            )
        if isinstance(error, psycopg.errors.QueryCanceled):
            return SlowStoreError(f"{self.name} did not answer in time: try again later")
        for text, meaning in _REASONS:
            if text in str(error):
                return StoreError(f"cannot connect to {self.name}: {meaning}")
        if isinstance(error, psycopg.OperationalError) and (error.sqlstate or _LOST[0]).startswith(_LOST):
            unchanged = ": nothing was changed, try again in a minute" if writes else ""
            return UnreachableStoreError(
                f"cannot reach {self.name}: {reason.removeprefix('connection failed: ')}{unchanged}"
            )
        return StoreError(f"{self.name} refused a statement: {reason}")

    def close(self) -> None:
        """Close the idle connections; those that are lent are closed when they come back."""
        with self._guard:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.raw.close()
