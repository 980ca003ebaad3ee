"""Start an index from that of another work tree of the same repository, or from the one that a team publishes.

The copy is brought up to date in a file of its own: every file of the new tree is read and compared by content hash,
and what only the other tree has is removed. Then it is published at once, so that no reader sees the other tree.
Vectors of a team's index are kept, because a model may have taken hours to make them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from satchel.errors import LockedError, StoreError
from satchel.index.build import build
from satchel.index.options import BuildOptions, IndexReport, Progress
from satchel.store.place import StorePlace
from satchel.store.protocol import SET_ASIDE, Store
from satchel.store.records import PUBLISHED
from satchel.store.sqlite import SqliteStore
from satchel.store.sqlite.connection import remove_files
from satchel.system import git
from satchel.system.locations import index_beside
from satchel.types import Failure, Kind, ShouldStop

COPY_NAME = "sibling.db"
"""The unpublished copy, in the folder of the new index. One that a killed run left is replaced by the next."""

Run = Callable[[Store], IndexReport]
"""Brings a store up to date with the tree."""


def build_from_sibling(
    store: SqliteStore,
    root: Path,
    options: BuildOptions,
    progress: Progress,
    should_stop: ShouldStop,
    published: StorePlace | None = None,
) -> IndexReport | None:
    """Build an empty index from the latest index of another work tree, else from the published one of the team.

    None if there is none that can be used. A run that is stopped publishes nothing. The caller holds the index lock.
    """
    if store.revision != "0" or store.meta(SET_ASIDE) or options.reading.vault or not root.is_dir():
        return None
    path, version = store.path.with_name(COPY_NAME), options.reading.version
    run = partial(build, root=root, options=options, progress=progress, should_stop=should_stop)
    for index in _by_last_use(store.path, root):
        remove_files(path)
        with contextlib.suppress(LockedError, StoreError), contextlib.closing(SqliteStore(path)) as copy:
            # A file that is in use, of another version or damaged is no help: the index is built without it.
            copy.replace_by(index)
            if copy.meta("reading_version") == version:
                return _finished(store, copy, run)
    return _from_team(store, path, published, version, run) if published is not None else None


def _from_team(store: SqliteStore, path: Path, published: StorePlace, version: str, run: Run) -> IndexReport:
    """Build an empty index from that of a team, or from nothing with a note why."""
    remove_files(path)
    try:
        with contextlib.closing(SqliteStore(path)) as copy:
            with contextlib.closing(published.on_server()) as server:
                copy.fill(server.tables())
            if copy.meta("reading_version") == version:
                return _finished(store, copy, run, published.team)
            reason = "it was made with another key (SATCHEL_KEY), other allowed secrets or another version of satchel"
    except (LockedError, StoreError) as error:
        reason = str(error)
    finally:
        remove_files(path)
    report = run(store)
    report.notes += (Failure("index", f"the team's index was not used: {reason}", "all files were read instead"),)
    return report


def _finished(store: SqliteStore, copy: SqliteStore, run: Run, published: str = "") -> IndexReport:
    """Bring the copy up to date, publish it, and report what an index from nothing would report."""
    try:
        with copy.write() as writer:
            writer.forget_stamps(keeps_vectors=bool(published))
            if published:
                writer.set_meta(PUBLISHED, published)
        report = run(copy)
        if not report.interrupted:
            with copy.write() as writer:
                writer.date_files()
            _as_first(report, copy)
            store.replace_by(copy.path)
        return report
    finally:
        remove_files(copy.path)


def _as_first(report: IndexReport, store: Store) -> None:
    """Change the counts of a report to those of a first index."""
    with store.snapshot() as state:
        statistics = state.statistics()
    report.added, report.changed, report.removed, report.unchanged = report.files, 0, 0, 0
    report.commits_added, report.commits_hidden = statistics.documents.get(Kind.COMMIT, 0), 0
    report.redacted, report.cleaned = statistics.redacted, statistics.cleaned


def _by_last_use(index: Path, root: Path) -> list[Path]:
    """Return the index files of the other work trees of the repository, the one that was written last first."""
    repository = git.find_repository(root)
    if repository is None:
        return []
    inside = root.resolve().relative_to(repository.work_tree)
    files = [index_beside(index.parent, tree / inside) / index.name for tree in git.other_work_trees(repository)]
    written = [(file.stat().st_mtime_ns, file) for file in files if file.is_file()]
    return [file for _, file in sorted(written, reverse=True)]
