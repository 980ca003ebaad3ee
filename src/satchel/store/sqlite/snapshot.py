"""One published state of a store, read by all threads of an answer."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import apsw

from satchel.errors import StoreError
from satchel.store.sqlite.connection import DamagedStoreError
from satchel.store.sqlite.reader import Derived, SqliteReader

Run = Callable[[apsw.Connection, str, Sequence[Any]], list[tuple[Any, ...]]]
"""Runs a query on a connection and gives all its rows."""


class SqliteSnapshot(SqliteReader):
    """Reads over one connection with one open transaction, one query at a time. It cannot be written."""

    def __init__(
        self,
        connection: apsw.Connection,
        run: Run,
        damaged: Callable[[Exception], DamagedStoreError],
        derived: Derived,
        workspaces: Sequence[str] | None = None,
    ) -> None:
        super().__init__(derived, workspaces)
        self._connection: apsw.Connection | None = connection
        self._run, self._report = run, damaged
        self._guard = threading.Lock()
        self._revision = ""

    def begin(self) -> None:
        """Take hold of the state: the first query of a transaction decides which one it sees."""
        self._rows("BEGIN")
        self._revision = self.meta("revision") or "0"

    @property
    def revision(self) -> str:
        """The revision of this state."""
        return self._revision

    def _damaged(self, error: Exception) -> DamagedStoreError:
        return self._report(error)

    def _rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._guard:
            if self._connection is None:
                raise StoreError("this answer is over: a part of it that comes late reads nothing any more")
            return self._run(self._connection, sql, bindings)

    @contextmanager
    def snapshot(self) -> Iterator[SqliteSnapshot]:
        """Itself: this state does not change."""
        yield self

    def write(self) -> Any:
        """Refuse: a state is only read."""
        raise StoreError("a snapshot cannot be written")

    def close(self) -> None:
        """Give the state back. Safe to call twice."""
        with self._guard:
            connection, self._connection = self._connection, None
            if connection is None:
                return
            try:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
            except apsw.ConnectionClosedError:  # the store was closed before its answer was ready
                return
