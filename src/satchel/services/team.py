"""The store that a team shares: made ready, checked, moved, and published to."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING

from satchel.errors import UsageError
from satchel.safety.sanitize import plain_name
from satchel.services.open_root import OpenRoot
from satchel.store.place import LOCK_NAME, published_place, stored
from satchel.types import ShouldStop, never

if TYPE_CHECKING:
    from satchel.store.postgres import PostgresStore

MAX_NAMED = 3
"""Files that a message names."""


class TeamStore:
    """The store of one opened root, in files or on a server."""

    def __init__(self, root: OpenRoot) -> None:
        self._root = root

    def parts(self) -> tuple[str, list[tuple[str, int]]]:
        """Return which store it is, and the name and bytes of each file, or of each root on the server."""
        return stored(self._root.server_place, self._root.memory_place)

    def prepare(self, readers: Sequence[str] = (), writers: Sequence[str] = ()) -> str:
        """Make tables and vector indexes on the server, give roles their rights; returns the server with its version.

        Raises UsageError for a store in files, and the errors of `StorePlace.open`.
        """
        with closing(self._server()) as store:
            for role in (*readers, *writers):
                store.allow(role, writes=role in writers)
            indexes = store.index_vectors()
            found = f", {indexes} indexes of vectors" if indexes else ""
            return f"{store.server} (PostgreSQL {store.server_version}{found})"

    def _server(self) -> PostgresStore:
        if not self._root.server_place.url:
            raise UsageError("the store is files on this machine: store.url names a server, see docs/team.md")
        return self._root.server_place.on_server()

    def check(self) -> dict[str, list[str]]:
        """Return the faults of the index and of the memory, by their names."""
        places = {"index": self._root.index_place, "memory": self._root.memory_place}
        return {name: location.faults() for name, location in places.items() if location.may_exist}

    def move(self, *, to_server: bool) -> dict[str, tuple[int, int]]:
        """Copy index and memory from the files to the server, or back; what is copied stays where it is.

        Returns the number of documents before, and how many of them are in the other store then, by kind. The index
        there is replaced, and of records with one id the later state stays. Raises UsageError without a server.
        """
        from satchel.memory.portable import copy_records
        from satchel.memory.scope import shared_workspace, workspace_of
        from satchel.system.state_files import index_lock

        root = self._root
        self._server().close()
        counts: dict[str, tuple[int, int]] = {}
        workspace, shared = workspace_of(root.places), shared_workspace(root.first_commit)
        for location in (root.server_place, root.memory_place):
            source, target = (location.local, location) if to_server else (location, location.local)
            if not source.may_exist:
                continue
            with closing(source.open()) as old, closing(target.open()) as new:
                if location.is_shared:
                    names = {workspace: shared or workspace} if to_server else {shared: workspace}
                    counts |= {kind.plural: copied for kind, copied in copy_records(old, new, names).items()}
                elif old.is_published:
                    with index_lock(root.places.index / LOCK_NAME, root.settings.index_lock_wait_s, never):
                        new.fill(old.tables())
                    before, after = (store.statistics().documents for store in (old, new))
                    counts |= {kind.plural: (count, after.get(kind, 0)) for kind, count in before.items()}
        return counts

    def begin_publishing(self, should_stop: ShouldStop = never) -> str:
        """Index into the team's store from now on, for all machines of this `store.name`; returns the commit.

        Raises UsageError without such a store, and for a work tree that is not exactly a commit with its history.
        """
        root, settings = self._root, self._root.settings
        if not (settings.store_url and settings.store_name):
            raise UsageError("there is no team to publish for: set store.url and store.name, as docs/team.md shows")
        published = published_place(root.server_place, settings.store_name, root.places.root, root.first_commit)
        if published is None:
            raise UsageError("only a git repository with its whole history is published: `git fetch --unshallow`")
        commit = self._checked_commit(should_stop)
        root.publish_to(published)
        return commit

    def _checked_commit(self, should_stop: ShouldStop) -> str:
        """Return the commit whose files are those below the root. Raises UsageError if others would be indexed, too."""
        from satchel.index.walk import walk
        from satchel.sources.change import ChangeOptions, read_change
        from satchel.system.git import find_repository

        root, options = self._root.places.root, self._root.build_options()
        repository = find_repository(root)
        assert repository is not None  # it has a first commit
        prefix = root.resolve().relative_to(repository.work_tree.resolve()).as_posix()
        indexed = frozenset(entry.path for entry in walk(root, options.walk, should_stop=should_stop).entries)
        reading = ChangeOptions(root, "" if prefix == "." else f"{prefix}/", indexed, options.reading.limit)
        change = read_change(repository, reading, "HEAD", staged=False)
        others = sorted(
            {
                *(file.path for file in change.files),
                *change.untracked,
                *change.unread,
                *(path for path, _ in change.others),
            }
        )
        if others:
            named = ", ".join(map(plain_name, others[:MAX_NAMED]))
            more = f" and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
            raise UsageError(f"not in the commit: {named}{more}; publish from a clean checkout of the main branch")
        return change.base
