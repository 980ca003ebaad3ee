"""Bring an index up to date with its root: changed files are read again, missing ones removed.

Most runs have nothing to do, so the modules that read and write are imported only if needed.
"""

from __future__ import annotations

import contextlib
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from satchel.errors import GitError, LockedError, StoreError
from satchel.index import run
from satchel.index.walk import TreeWalk, walk
from satchel.safety.sanitize import plain_name
from satchel.sources.commits import visible_commits
from satchel.store.place import StorePlace
from satchel.store.protocol import SET_ASIDE, Store
from satchel.store.records import PUBLISHED
from satchel.store.sqlite import SqliteStore
from satchel.store.sqlite.connection import remove_files
from satchel.system import git
from satchel.system.files import SkipReason
from satchel.system.locations import index_beside
from satchel.types import Failure, Kind, ShouldStop


class TreeState(NamedTuple):
    """The tree and the history beside one revision of the store. `began` is the tick before the walk."""

    revision: str
    began: int
    tree: TreeWalk
    difference: run.Difference
    history: run.HistoryPlan
    notes: tuple[Failure, ...]
    is_due: bool
    """Whether there is anything to write."""


def look(store: Store, root: Path, options: run.BuildOptions, should_stop: Callable[[], bool]) -> TreeState:
    """Compare the store with the files and the history of `root`. Nothing is written, so no lock is needed."""
    began, revision = run.tick(), store.revision
    tree = walk(root, options.walk, should_stop=should_stop)
    difference = run.compare(store, tree, options.reading.version, vault=options.reading.vault)
    history = run.plan_history(store, root, options)
    is_due = difference.is_any or history.is_due or bool(store.meta(run.LINKS_DUE))
    return TreeState(revision, began, tree, difference, history, (*_notes(store, tree), *history.notes), is_due)


def look_at_files(store: Store, root: Path, options: run.BuildOptions, should_stop: ShouldStop) -> TreeState:
    """As `look`, but a long history is not due: the files come first, and a note says so."""
    seen = look(store, root, options, should_stop)
    limit = 2_000  # commits: to read as many takes 0.2 s, a quarter to a half of a first run
    repository = seen.history.repository if options.commits >= limit else None
    with contextlib.suppress(GitError):  # the run that reads the history says so
        if repository is not None and len(visible_commits(repository, limit, should_stop)) == limit:
            history, notes = seen.history._replace(is_due=False), (*seen.notes, run.HISTORY_LATER)
            return seen._replace(history=history, notes=notes)
    return seen


def build(
    store: Store,
    root: Path,
    options: run.BuildOptions,
    progress: run.Progress,
    should_stop: Callable[[], bool],
    seen: TreeState | None = None,
) -> run.IndexReport:
    """Update the store from files and history under the index lock; what was `seen` counts if nothing came since."""
    if root.is_file():
        from satchel.index.notes import build_export

        return build_export(store, root, options, progress, should_stop)
    started = time.monotonic()
    now = seen if seen is not None and seen.revision == store.revision else look(store, root, options, should_stop)
    difference = now.difference
    report = run.IndexReport(
        files=len(difference.stored),
        unchanged=difference.unchanged,
        errors=now.tree.errors,
        interrupted=now.tree.stopped or should_stop(),
        notes=now.notes,
    )
    failed = Counter[str]()
    if not report.interrupted and now.is_due:
        from satchel.index.update import Task, update

        entries = {entry.path: entry for entry in difference.read}
        task = Task(now.began, difference, entries, now.history, options, progress, should_stop, report, failed)
        update(store, task)
        if not report.interrupted and store.meta(SET_ASIDE):
            with store.write() as writer:
                writer.set_meta(SET_ASIDE, "")
    report.files += report.added - report.removed
    report.skipped = dict(sorted((failed + Counter(now.tree.skipped) + Counter(store.skipped_reasons())).items()))
    report.seconds = time.monotonic() - started
    return report


def _notes(store: Store, tree: TreeWalk) -> list[Failure]:
    """Return the notes on the store and the walk for an answer."""
    notes = [Failure("index", note) for note in tree.notes]
    unreadable = tree.skipped_paths.get(SkipReason.UNREADABLE, ())
    notes += [Failure("index", f"{plain_name(path)}: {SkipReason.UNREADABLE}") for path in unreadable]
    if aside := store.meta(SET_ASIDE):
        message = f"the index was damaged: it was put aside as {aside} and built again"
        notes.append(Failure("index", message))
    return notes


COPY_NAME = "sibling.db"
"""The unpublished copy, in the folder of the new index. One that a killed run left is replaced by the next."""

Run = Callable[[Store], run.IndexReport]
"""Brings a store up to date with the tree."""


def build_from_sibling(
    store: SqliteStore,
    root: Path,
    options: run.BuildOptions,
    progress: run.Progress,
    should_stop: ShouldStop,
    published: StorePlace | None = None,
) -> run.IndexReport | None:
    """Build an empty index from the latest index of another work tree, else from the published one of the team.

    None if there is none that can be used. A run that is stopped publishes nothing. The caller holds the index lock.
    """
    if store.revision != "0" or store.meta(SET_ASIDE) or options.reading.vault or not root.is_dir():
        return None
    path, version = store.path.with_name(COPY_NAME), options.reading.version
    again = partial(build, root=root, options=options, progress=progress, should_stop=should_stop)
    for index in _by_last_use(store.path, root):
        remove_files(path)
        with contextlib.suppress(LockedError, StoreError), contextlib.closing(SqliteStore(path)) as copy:
            # A file that is in use, of another version or damaged is no help: the index is built without it.
            copy.replace_by(index)
            if copy.meta("reading_version") == version:
                return _finished(store, copy, again)
    return _from_team(store, path, published, version, again) if published is not None else None


def _from_team(store: SqliteStore, path: Path, published: StorePlace, version: str, run: Run) -> run.IndexReport:
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


def _finished(store: SqliteStore, copy: SqliteStore, run: Run, published: str = "") -> run.IndexReport:
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


def _as_first(report: run.IndexReport, store: Store) -> None:
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
