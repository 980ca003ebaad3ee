"""Where the two stores of a root are: files, or roots on a PostgreSQL server that the user's settings name."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel.errors import MissingExtraError
from satchel.settings import Settings
from satchel.store.database import DatabaseStore
from satchel.store.records import PUBLISHED
from satchel.store.sqlite import SqliteStore
from satchel.store.sqlite.connection import is_lost
from satchel.system.git import find_repository
from satchel.system.locations import Places

if TYPE_CHECKING:
    from satchel.store.postgres import PostgresStore

INDEX_NAME, LOCK_NAME = "index.db", "index.lock"


@dataclass(frozen=True, slots=True)
class StorePlace:
    """The file of a store or, with the `url` of a server, the name of its `root` there."""

    path: Path
    durable: bool = False
    url: str = field(default="", repr=False)
    root: str = ""
    is_shared: bool = False
    vectors: str = ""
    """Where Qdrant is (setting `store.vectors`), empty for none."""
    team: str = ""
    """The name of the team that publishes this index, empty for any other store."""

    @property
    def local(self) -> StorePlace:
        """The file of a store whose place is on a server."""
        return replace(self, url="", root="")

    @property
    def may_exist(self) -> bool:
        """Whether there can be something to read; reading never creates a file."""
        try:
            return bool(self.url) or self.path.exists() or (self.durable and is_lost(self.path))
        except PermissionError:  # opening it says what is wrong
            return True

    @property
    def stamp(self) -> tuple[tuple[int, int], ...] | None:
        """Bytes and time in nanoseconds of the file and its journal, zeros for a missing one; None on a server.

        Each write changes it, and nothing else does but the system that moves a journal into its file.
        """
        if self.url:
            return None
        return tuple(map(_bytes_and_time, (self.path, self.path.with_name(f"{self.path.name}-wal"))))

    def open(self, *, disposable: bool = False, workspaces: Sequence[str] | None = None) -> DatabaseStore:
        """Open or create the store. Raises StoreError, LockedError, ConfigError and MissingExtraError."""
        store: DatabaseStore
        if self.url:
            store = self.on_server(disposable=disposable, workspaces=workspaces)
        else:
            store = SqliteStore(self.path, durable=self.durable, disposable=disposable, workspaces=workspaces)
        if self.vectors:
            try:
                from satchel.store.qdrant import QdrantIndex  # here, because the extra may not be installed
            except ModuleNotFoundError as error:
                from satchel.system.installed import with_extra

                store.close()
                raise MissingExtraError(f"store.vectors needs Qdrant's client: {with_extra('qdrant')}") from error
            store.vector_index = QdrantIndex(self.vectors, store.name)
        return store

    def on_server(self, *, disposable: bool = False, workspaces: Sequence[str] | None = None) -> PostgresStore:
        """Open the root on the server of `url`. Raises the errors of `open`."""
        try:
            from satchel.store.postgres import PostgresStore  # here, because the extra may not be installed
        except ModuleNotFoundError as error:
            if error.name != "psycopg":
                raise
            from satchel.system.installed import with_extra

            raise MissingExtraError(f"store.url needs psycopg: {with_extra('postgres')}") from error
        return PostgresStore(
            self.url, self.root, is_shared=self.is_shared, disposable=disposable, workspaces=workspaces
        )

    def remove(self) -> int:
        """Delete the root on the server. Returns its size in bytes."""
        with closing(self.on_server()) as store:
            return store.remove()

    def faults(self) -> list[str]:
        """Return what is wrong with the store, empty if it is whole. Reads all of it."""
        from satchel.store.sqlite.connection import damage

        if not self.url and (broken := damage(self.path)):
            return broken
        with closing(self.open()) as store:
            return store.faults()

    def size(self) -> int:
        """Return the bytes of the file with its journals, which is not opened, or of the root."""
        if self.url:
            with closing(self.on_server()) as store:
                return store.size()
        parts = (self.path, *(self.path.with_name(f"{self.path.name}{suffix}") for suffix in ("-wal", "-shm")))
        return sum(part.stat().st_size for part in parts if part.is_file())


def _bytes_and_time(file: Path) -> tuple[int, int]:
    try:
        status = file.stat()
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


class OpenedIndex(Struct, frozen=True):
    """An open index and its place. `published` is the index of a team from which an empty one is filled."""

    store: DatabaseStore
    place: StorePlace
    published: StorePlace | None = None


def open_index(place: StorePlace, team: str, root: Path, first_commit: Callable[[DatabaseStore], str]) -> OpenedIndex:
    """Open the index of a root: on a server where that has it, but in a file if the team publishes this repository.

    Then the file begins as a copy of the published index, and follows the files of this machine. An index that began
    so needs no server. `first_commit` returns that of the history, as an index has noted it or git knows it.
    """
    if not (place.url and team):
        return OpenedIndex(place.open(disposable=True), place)
    if place.local.may_exist:
        local = place.local.open(disposable=True)
        if local.meta(PUBLISHED) == team:
            return OpenedIndex(local, place.local)
        local.close()
    server = place.on_server(disposable=True)
    published = published_place(place, team, root, first_commit(server))
    if published is None or not server.has_root(published.root):
        return OpenedIndex(server, place)
    server.close()
    return OpenedIndex(place.local.open(disposable=True), place.local, published)


def published_place(place: StorePlace, team: str, root: Path, first_commit: str) -> StorePlace | None:
    """Return where a team publishes the index of a root; None without a whole history, which names the repository."""
    repository = find_repository(root) if first_commit else None
    if repository is None:
        return None
    folder = root.resolve().relative_to(repository.work_tree.resolve()).as_posix().strip(".")
    return replace(place, root="/".join(filter(None, ("published", team, first_commit, folder))), team=team)


def stored(index: StorePlace, memory: StorePlace) -> tuple[str, list[tuple[str, int]]]:
    """Return which store it is, and the name and bytes of each file, or of each root on the server."""
    if index.url:
        with closing(index.on_server()) as store:
            return f"{store.server} (PostgreSQL {store.server_version})", store.roots()
    files = [(str(place.path), place.size()) for place in (index, memory) if place.path.exists()]
    return "files on this machine", files


def store_places(places: Places, settings: Settings) -> tuple[StorePlace, StorePlace]:
    """Return the places of the index and of the memory."""
    url, vectors = settings.store_url, settings.store_vectors
    user = os.getuid() if hasattr(os, "getuid") else os.environ.get("USERNAME", "")
    owner = settings.store_name or f"{user}@{platform.node()}"
    return (
        StorePlace(places.index / INDEX_NAME, url=url, root=f"index/{owner}/{places.index.name}", vectors=vectors),
        StorePlace(places.memory, durable=True, url=url, root=f"memory/{owner}", is_shared=True, vectors=vectors),
    )
