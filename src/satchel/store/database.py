"""What the stores of all databases share: damage, and the snapshot that a question reads."""

from __future__ import annotations

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any

from satchel.errors import StoreError
from satchel.store.protocol import Derived, Store
from satchel.store.records import DamagedStoreError, Lists, Row, Run
from satchel.system.cache import Cache, Size
from satchel.types import NO_REVISION, Kind

if TYPE_CHECKING:
    from satchel.store.writer import Writer


_TERMS = "SELECT DISTINCT term FROM postings WHERE segment = $1"
_ORPHANS = {
    what: f"SELECT count(*) FROM {rows}" for what, rows in (
        ("documents without a text", "documents LEFT JOIN texts ON document = id WHERE document IS NULL"),
        ("texts without a document", "texts WHERE document NOT IN (SELECT id FROM documents)"),
        ("documents without chunks",
         "documents WHERE last_chunk >= first_chunk AND last_chunk NOT IN (SELECT row FROM chunks)"),
        ("documents without words", "documents WHERE segment NOT IN (SELECT id FROM segments)"),
        ("chunks without a document", "chunks WHERE document NOT IN (SELECT id FROM documents)"),
        ("words without a segment", "postings WHERE segment NOT IN (SELECT id FROM segments)"),
    )
}  # fmt: skip
"""Rows that belong to no other, and the query that counts them."""


class DatabaseStore(Store):
    """A store that is open. Methods may be called from several threads.

    A `disposable` store can be built again: a damaged one is put aside and replaced by an empty store, which notes the
    old name under `SET_ASIDE`. Any other damaged store is never touched.
    """

    def __init__(self, lists: Lists, *, disposable: bool, workspaces: Sequence[str] | None) -> None:
        super().__init__(Derived(), lists, workspaces)
        self.damage = ""
        """The fault that was met while the store was used, empty if none."""
        self.restored = ""
        """What a missing memory file was made from when it was opened, empty if there was one."""
        self.on_write: Callable[[], None] | None = None
        """Called after every published write, by the thread that wrote."""
        self.before_commit: Callable[[Writer], None] = lambda _: None
        """Called at the end of every write, inside its transaction."""
        self._disposable = disposable

    @property
    @abstractmethod
    def name(self) -> str:
        """Where the store is, for messages."""

    def make_room(self) -> None:
        """Free the room that was kept for removing something from a full disk, if the disk is full."""

    def hurried(self) -> AbstractContextManager[Store]:
        """Return a snapshot for a question, which does not wait long for a server."""
        return self.snapshot()

    @property
    @abstractmethod
    def is_replaced(self) -> bool:
        """Whether the store was removed or replaced since it was opened; `settle` opens it again."""

    def unreadable(self) -> list[tuple[str, str]]:
        """Return kind and key of every record that cannot be read. A server checks its pages itself."""
        return []

    @abstractmethod
    def tables(self) -> Iterator[tuple[str, list[Row]]]:
        """Yield all rows of the published state in batches, each with the name of its table."""

    @abstractmethod
    def fill(self, tables: Iterable[tuple[str, list[Row]]]) -> None:
        """Replace all rows by those of another store of this schema, in one transaction."""

    def faults(self) -> list[str]:
        """Return what is wrong with the published state, empty if it is whole. Reads all of it."""
        with self.snapshot() as state:
            found = [f"{state._rows(sql)[0][0]} {what}" for what, sql in _ORPHANS.items() if state._rows(sql)[0][0]]
            for kind in Kind:
                try:
                    ids = state.document_ids(kind, state.keys(kind)).values()
                    state.documents(ids)
                    state.texts(ids)
                    for segment in state._rows("SELECT id FROM segments WHERE kind = $1", (kind,)):
                        state._fetch_postings([term for (term,) in state._rows(_TERMS, segment)], segment)
                    state.lexicon(kind)
                except (DamagedStoreError, ValueError) as error:
                    found.append(f"{kind}: {error}")
            self.damage = ""
        return found

    @property
    def obstacle(self) -> str:
        """Why nothing can be written here, empty where that is not known."""
        return ""

    @abstractmethod
    def settle(self) -> None:
        """Open the store again if it was replaced or is damaged and disposable. No thread may write meanwhile."""

    def _damaged(self, error: Exception) -> DamagedStoreError:
        self.damage = f"{type(error).__name__}: {error}"
        return DamagedStoreError(f"the store {self.name} is damaged ({error}): `satchel clean` builds it again")


class StoreSnapshot(Store):
    """One published state, read by one query at a time. Read-only."""

    def __init__(self, store: DatabaseStore, run: Run, revision: str = "") -> None:
        super().__init__(store._derived, store._lists, store.workspaces)
        self._store = store
        self.vector_index = store.vector_index
        self._run: Run | None = run
        self._guard = threading.Lock()
        self._revision = revision

    def begin(self) -> StoreSnapshot:
        """Fix the state: the first query of a transaction decides which one it sees."""
        self._revision = self.meta("revision") or NO_REVISION
        return self

    @property
    def revision(self) -> str:
        """The revision of this state."""
        return self._revision

    def cache(self, name: str, size: Size[Any]) -> Cache[Any, Any]:
        """Return the cache of this name for values derived from this state, which all its readers share."""
        derived = self._derived.caches
        if derived[0] != self._revision:
            derived = self._derived.caches = self._revision, {}
        return derived[1].get(name) or derived[1].setdefault(name, Cache(size))

    def _damaged(self, error: Exception) -> DamagedStoreError:
        return self._store._damaged(error)

    def _rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
        with self._guard:
            if self._run is None:
                raise StoreError("this answer is over: a part of it that comes late reads nothing any more")
            return self._run(sql, bindings)

    @contextmanager
    def snapshot(self) -> Iterator[StoreSnapshot]:
        """Return itself: this state does not change."""
        yield self

    def write(self) -> Any:
        """Raise StoreError: a snapshot is read-only."""
        raise StoreError("a snapshot cannot be written")

    def close(self) -> None:
        """End this state. Safe to call twice."""
        with self._guard:
            self._run = None
