"""An index: brought up to date with its root, the state of it, and its removal.

Most runs have nothing to do, so the modules that read and write are imported only if needed.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from satchel import config
from satchel.errors import GitError, LockedError, StoreError
from satchel.index import run
from satchel.index.walk import TreeWalk, WalkOptions, walk
from satchel.safety.sanitize import plain_name
from satchel.sources.commits import visible_commits
from satchel.store.place import LOCK_NAME, StorePlace, store_places
from satchel.store.protocol import SET_ASIDE, Store, StoreStatistics
from satchel.store.records import PUBLISHED
from satchel.store.sqlite import SqliteStore
from satchel.store.sqlite.connection import remove_files
from satchel.system import files, git
from satchel.system.files import SkipReason
from satchel.system.locations import index_beside, locate
from satchel.system.state_files import holder, index_lock, last_run
from satchel.types import AnyPath, Failure, Kind, ShouldStop, never


class TreeState(Struct, frozen=True):
    """The tree and the history beside one revision of the store. `began` is the tick before the walk."""

    revision: str
    began: int
    tree: TreeWalk
    difference: run.Difference
    history: run.HistoryPlan
    notes: tuple[Failure, ...]
    is_due: bool
    """Whether there is anything to write."""


def scan(store: Store, root: Path, options: run.BuildOptions, should_stop: Callable[[], bool]) -> TreeState:
    """Compare the store with the files and the history of `root`. Nothing is written, so no lock is needed."""
    began, revision = run.tick(), store.revision
    version = options.reading.version
    stored = run.known_files(store, folders=not options.reading.vault)  # only a vault keeps its folders
    safe = stored.keys() if store.meta("reading_version") == version else frozenset[str]()
    tree = walk(root, options.walk, safe=safe, should_stop=should_stop)
    difference = run.compare(store, tree, version, stored)
    history = run.plan_history(store, root, options)
    is_due = difference.is_any or history.is_due or bool(store.meta(run.LINKS_DUE))
    return TreeState(revision, began, tree, difference, history, (*_notes(store, tree), *history.notes), is_due)


def scan_files(store: Store, root: Path, options: run.BuildOptions, should_stop: ShouldStop) -> TreeState:
    """As `scan`, but a long history is not due: the files come first, and a note says so."""
    seen = scan(store, root, options, should_stop)
    limit = 2_000  # commits: to read as many takes 0.2 s, a quarter to a half of a first run
    repository = seen.history.repository if options.commits >= limit else None
    with contextlib.suppress(GitError):  # the run that reads the history says so
        if repository is not None and len(visible_commits(repository, limit, should_stop)) == limit:
            history, notes = replace(seen.history, is_due=False), (*seen.notes, run.HISTORY_LATER)
            return replace(seen, history=history, notes=notes)
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
    now = seen if seen is not None and seen.revision == store.revision else scan(store, root, options, should_stop)
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


UNREADABLE_NOTES = 10
"""Files that cannot be read, of which an answer speaks."""


def _notes(store: Store, tree: TreeWalk) -> list[Failure]:
    """Return the notes on the store and the walk for an answer."""
    notes = [Failure("index", note) for note in tree.notes]
    unreadable = tree.skipped_paths.get(SkipReason.UNREADABLE, ())[:UNREADABLE_NOTES]
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
    beside = [index_beside(index.parent, tree / inside) / index.name for tree in git.other_work_trees(repository)]
    written = [(file.stat().st_mtime_ns, file) for file in beside if file.is_file()]
    return [file for _, file in sorted(written, reverse=True)]


class IndexFreshness(Struct, frozen=True):
    """The difference of tree and index, in files. `checked` is the start of the last run, None before the first.

    A changed file is one whose size or times differ; its content may be the same. Heads are commit ids, empty where
    there is no commit.
    """

    checked: float | None
    new: int
    changed: int
    gone: int
    head: str
    indexed_head: str

    @property
    def is_fresh(self) -> bool:
        """Whether an index run would find nothing to do."""
        return not (self.new or self.changed or self.gone) and self.head == self.indexed_head


class Status(Struct, frozen=True):
    """The state of one index. `sizes` are bytes on disk, `skipped` counts files and folders by reason.

    `building` names the process that builds the index right now, empty if none. `broken_links` counts links to missing
    notes; `broken_examples` are the first of them (note, link as written).
    """

    root: Path
    index: Path
    revision: str
    statistics: StoreStatistics
    sizes: Mapping[str, int]
    freshness: IndexFreshness
    skipped: Mapping[str, int]
    building: str
    failures: tuple[Failure, ...] = ()
    broken_links: int = 0
    broken_examples: tuple[tuple[str, str], ...] = ()


def _freshness(store: Store, root: Path, tree: TreeWalk, checked: float | None, head: str) -> IndexFreshness:
    """Return the differences of files and heads between the tree and the store."""
    stamps = run.known_files(store) if root.is_dir() else {}
    stored = {path: stamp.times for path, (_, stamp) in stamps.items()} | dict(store.skipped_stamps())
    present = {entry.path: entry.times for entry in tree.entries}
    old = stored.keys() & present.keys()
    changed = sum(stored[path] != present[path] for path in old) + _changed_export(store, root)
    noted = store.meta("history")
    indexed = str(json.loads(noted)[0]) if noted else ""
    return IndexFreshness(checked, len(present) - len(old), changed, len(stored) - len(old), head, indexed)


def status_of(
    store: Store, root: Path, index: Path, options: WalkOptions, sizes: Mapping[str, int], should_stop: ShouldStop
) -> Status:
    """Return the state of the index in the folder `index`, without a change. `sizes` are bytes of the stores."""
    tree = TreeWalk((), {}, {}) if root.is_file() else walk(root, options, should_stop=should_stop)
    head, failures = _indexable_head(root)
    freshness = _freshness(store, root, tree, last_run(index / "index.lock"), head)
    skipped = Counter(tree.skipped) + Counter(store.skipped_reasons())
    broken = json.loads(store.meta(run.BROKEN_LINKS) or "{}")
    return Status(
        root=root,
        index=index,
        revision=store.revision,
        statistics=store.statistics(),
        sizes=sizes,
        freshness=freshness,
        skipped=dict(sorted(skipped.items(), key=lambda row: (-row[1], row[0]))),
        building=holder(index / LOCK_NAME),
        failures=(*failures, *(Failure("notes", f"{note}: {problem}") for note, problem in broken.get("problems", ()))),
        broken_links=broken.get("count", 0),
        broken_examples=tuple((note, link) for note, link in broken.get("examples", ())),
    )


def _changed_export(store: Store, root: Path) -> int:
    """Return 1 for a root that is an export written since it was read, else 0."""
    state = store.meta(run.EXPORT_STATE)
    now = files.stamp(root.parent, root.name) if root.is_file() else None
    return int(state is not None and now is not None and json.loads(state)[0] != list(now))


def _indexable_head(root: Path) -> tuple[str, tuple[Failure, ...]]:
    repository = git.find_repository(root)
    try:
        return (git.head(repository) or "" if repository is not None else ""), ()
    except GitError as error:
        return "", (Failure("commits", str(error)),)


REMOVING_ATTEMPTS = 20
"""A process that opens a store makes a few files once, not twenty times while a folder is removed."""


class Removal(Struct, frozen=True):
    """The folder that `clean` removed and its size in bytes."""

    folder: Path
    size: int


def clean(
    path: AnyPath = ".",
    *,
    root: AnyPath | None = None,
    everything: bool = False,
    wait_seconds: float = 0.0,
    environ: Mapping[str, str] | None = None,
) -> Removal:
    """Remove the index of a root, or with `everything` all that can be built again. Memories are never touched.

    On a server the index of a root is removed, and with `everything` nothing: others may use it.
    Raises NoIndexError, and LockedError while another process builds an index.
    """
    variables = os.environ if environ is None else environ
    folders = config.Folders.from_environment(variables)
    if everything:
        return Removal(folders.cache, remove_everything(folders.cache, wait_seconds))
    places = locate(path, root, folders)
    place, _ = store_places(places, config.load_settings(places.root, variables, {}, folders).settings)
    on_server = place.remove() if place.url else 0
    return Removal(places.index, on_server + remove_index(places.index, wait_seconds))


def remove_index(folder: Path, wait_seconds: float) -> int:
    """Remove the index in this folder and return its bytes, 0 without one. Raises LockedError after the wait."""
    if not folder.is_dir():
        return 0
    with index_lock(folder / LOCK_NAME, wait_seconds, never):
        size = folder_bytes(folder)
        _remove(folder)
    return size


def remove_everything(cache: Path, wait_seconds: float) -> int:
    """Remove all indexes and everything else in the cache folder of satchel. Raises LockedError as `remove_index`."""
    if not cache.is_dir():
        return 0
    indexes = sorted(lock.parent for lock in cache.glob(f"*/*/{LOCK_NAME}"))
    size = sum(remove_index(folder, wait_seconds) for folder in indexes) + folder_bytes(cache)
    _remove(cache)
    return size


def folder_bytes(folder: Path) -> int:
    """Return the bytes of all files in a folder and below; links are not followed."""
    return sum((Path(place) / name).lstat().st_size for place, _, names in os.walk(folder) for name in names)


def _remove(folder: Path) -> None:
    """Remove a folder, although other processes may make or remove files in it meanwhile."""
    import shutil  # here, because it brings two libraries for archives

    for attempt in range(REMOVING_ATTEMPTS):
        try:
            shutil.rmtree(folder)
            return
        except FileNotFoundError:
            if not folder.exists():
                return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt == REMOVING_ATTEMPTS - 1:
                raise
