"""One opened root: its settings, its index, its memory file, and reads of one published state of both."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from satchel import config
from satchel.errors import LockedError, ReadOnlyStoreError, StoreError, UnreachableStoreError
from satchel.index.vectors import IndexVectors
from satchel.safety.sanitize import clean_field
from satchel.safety.trust import load_key
from satchel.store.database import DatabaseStore
from satchel.store.place import LOCK_NAME, OpenedIndex, StorePlace, open_index, store_places
from satchel.store.protocol import FIRST_COMMIT, WORDS_VERSION, Store
from satchel.store.records import PUBLISHED
from satchel.store.sqlite import SqliteStore
from satchel.system.git import find_repository
from satchel.system.locations import Places, Registry, Workspace, WorkspaceType, locate
from satchel.text import ANALYSIS_VERSION
from satchel.tokens import o200k
from satchel.types import MEMORY_KINDS, UNFINISHED, Failure, Kind, LeftOut, ShouldStop, never

if TYPE_CHECKING:
    from satchel.answer.resources import Resources
    from satchel.answer.session import Account
    from satchel.answer.source_lines import FileLines
    from satchel.embed import Embedder
    from satchel.index.build import Status, TreeState
    from satchel.index.run import BuildOptions, IndexReport, Progress
    from satchel.sources.commits import LineCounts
    from satchel.store.writer import Writer
    from satchel.system.threads import Threads

REFRESH_PAUSE_SECONDS = 2.0
"""Least time between two scans of the tree by one process; every shown file is still compared with the index."""

UPDATE_WAIT_SECONDS = 1.0
"""Longest wait of a question for another process that writes the index: a small update takes less."""

FIRST_WAIT_SECONDS = 5.0
"""The same where the other process makes the first index, before which there is nothing of the files to answer from."""

RANKS_KEPT_FROM = 4_000_000
"""Bytes of an index for which the file of ranks is written: with a hundred files or less a question is quick enough."""

BEFORE = "the answer comes from the index as it was before"
"""What the note of an index that could not be brought up to date means for the answer."""

Answer = TypeVar("Answer")


def first_commit_of(root: Path, noted: str | None) -> str:
    """Return the first commit of the history as an index has noted it; git runs only where none has."""
    if noted is None:
        from satchel.sources.commits import first_commit

        noted = first_commit(find_repository(root))
    return noted


def _skipped_of(seen: TreeState | None) -> Mapping[str, Sequence[str]] | None:
    """Return what a walk left out, by reason; None if there was none, or it did not reach the end."""
    return None if seen is None or seen.tree.stopped else seen.tree.skipped_paths


class OpenRoot:
    """The stores and settings that the services of `Satchel` share. Safe to call from several threads."""

    def __init__(
        self,
        places: Places,
        loaded: config.LoadedSettings,
        folders: config.Folders,
        environ: Mapping[str, str],
        embedder: Embedder | None = None,
        alias: str | None = None,
    ) -> None:
        """`alias` is the name under which answers show the root, by default that of its workspace.

        Index and memory are opened when they are used: a fault of one does not take the other along.
        """
        o200k.use(folders.cache)
        named = Registry(folders).at(places.root)
        self.alias, self.is_vault = alias or named.name, named.type is WorkspaceType.VAULT
        self.places, self.loaded, self.environ = places, loaded, environ
        self.key = load_key(folders.state, environ)
        self.server_place, self.memory_place = store_places(places, loaded.settings)
        self._opened_index: OpenedIndex | None = None
        self._index_guard = threading.Lock()
        self.vectors = IndexVectors(
            loaded.settings, lambda: self.index_place, self.memory_place, folders.cache, self.key, environ, embedder
        )
        self._memory_store: DatabaseStore | None = None
        self._executor: Threads | None = None
        self._executor_guard = threading.Lock()
        self._refreshed, self._is_spared = -REFRESH_PAUSE_SECONDS, False
        self._skipped: Mapping[str, Sequence[str]] | None = None
        """What the last look at the tree left out, by reason; None before one."""
        self._refreshing = threading.Lock()
        self._notes: tuple[Failure, ...] = ()
        self._siblings: dict[Workspace, OpenRoot] = {}

    @property
    def _index(self) -> OpenedIndex:
        with self._index_guard:
            if self._opened_index is None:
                root, team = self.places.root, self.settings.store_name
                self._opened_index = open_index(
                    self.server_place, team, root, lambda index: first_commit_of(root, index.meta(FIRST_COMMIT))
                )
            return self._opened_index

    @property
    def store(self) -> DatabaseStore:
        """The index, opened or created at its first use. Raises StoreError, LockedError, ConfigError."""
        return self._index.store

    @property
    def index_place(self) -> StorePlace:
        """Where the index is. Raises the errors of `store`."""
        return self._index.place

    def publish_to(self, location: StorePlace) -> None:
        """Index into this place from now on."""
        self.store.close()
        self._opened_index = OpenedIndex(location.open(disposable=True), location)

    def siblings(self, names: Sequence[str]) -> dict[str, OpenRoot]:
        """Return the workspaces of these names, opened once and closed with this root, which may be one of them.

        None for the name of this root alone. Raises UsageError for an unknown name.
        """
        if not names:
            return {}
        folders = config.Folders.from_environment(self.environ)
        registry = Registry(folders)
        known = {workspace.name: workspace for workspace in registry.all()}
        roots: dict[str, OpenRoot] = {}
        for name in dict.fromkeys(names):
            is_own = name in (self.alias, self.places.root.name)
            named = known.get(name) or (registry.at(self.places.root) if is_own else registry.get(name))
            with self._executor_guard:
                if named.path != self.places.root and named not in self._siblings:
                    places = locate(named.path, named.path, folders)
                    loaded = config.load_settings(places.root, self.environ, {}, folders)
                    self._siblings[named] = OpenRoot(places, loaded, folders, self.environ, alias=name)
                roots[name] = self._siblings.get(named, self)
        return {} if [*roots.values()] == [self] else roots

    @property
    def settings(self) -> config.Settings:
        """The settings in force."""
        return self.loaded.settings

    @property
    def embedder(self) -> Embedder | None:
        """The given embedder, else the configured one; None for search by words alone."""
        return self.vectors.embedder

    @property
    def memory_store(self) -> DatabaseStore:
        """The durable memory file of all roots, limited to records of this repository and global ones.

        One that another process made again is opened again, so that nothing is written to the file of before.
        """
        if self._memory_store is not None and self._memory_store.is_replaced:
            self._memory_store.settle()
            self._renew_words(self._memory_store)
        if self._memory_store is None:
            from satchel.memory.scope import shared_workspace, workspaces_in_sight

            workspaces = workspaces_in_sight(self.places)
            store = self.memory_place.open(
                workspaces=(*workspaces, *filter(None, (shared_workspace(self._known_first),)))
            )
            self._renew_words(store)
            store.on_write = self.vectors.fill_quickly
            if self.workspace in workspaces:
                store.before_commit = partial(self._note_home, store)
            self._memory_store = store
        return self._memory_store

    def _renew_words(self, store: DatabaseStore) -> None:
        if store.meta(WORDS_VERSION) != ANALYSIS_VERSION:
            from satchel.memory.records import renew_words

            renew_words(store)

    @property
    def _known_first(self) -> str:
        """The first commit; for a memory in a file only if the index has noted it."""
        return self.first_commit if self.memory_place.url else self._noted_first() or ""

    def _noted_first(self) -> str | None:
        """Return the first commit that the index has noted; None without an index that can be read."""
        if self._opened_index is None and not (self.server_place.url or self.server_place.may_exist):
            return None
        with suppress(StoreError, LockedError):  # who asks for the memory alone needs no index
            return self.store.meta(FIRST_COMMIT)
        return None

    @property
    def workspace(self) -> str:
        """The identity of the repository in the memory: on a server one that all machines have in common."""
        from satchel.memory.scope import shared_workspace, workspace_of

        shared = shared_workspace(self.first_commit) if self.memory_place.url else ""
        return shared or workspace_of(self.places)

    def _note_home(self, store: DatabaseStore, writer: Writer) -> None:
        from satchel.memory.scope import note_home

        note_home(store, writer, self.places, lambda: self.first_commit)

    @cached_property
    def first_commit(self) -> str:
        """The first commit of the history, empty without one."""
        return first_commit_of(self.places.root, self._noted_first())

    def store_of(self, kind: Kind) -> Store:
        """Return the store of a kind: memories and experiences have a separate file."""
        return self.memory_store if kind in MEMORY_KINDS else self.store

    def memory_snapshot(self) -> AbstractContextManager[Store | None]:
        """Return a snapshot of the memory, None if there is no memory file; reading never creates it."""
        exists = self._memory_store is not None or self.memory_place.may_exist
        return self.memory_store.hurried() if exists else nullcontext()

    @cached_property
    def lines(self) -> FileLines:
        """Lines of files for display, cached between questions."""
        from satchel.answer.source_lines import FileLines

        return FileLines(
            self.places.root, self.key, self.settings.index_max_file_bytes, self.settings.redact_allow, self._is_own
        )

    def _is_own(self) -> bool:
        """Return whether the texts of the index come from the files here: those of a copy are what another says."""
        return not (isinstance(self.store, SqliteStore) and self.store.meta(PUBLISHED))

    @cached_property
    def line_counts(self) -> LineCounts:
        """Inserted and deleted lines of commits, counted when they are shown."""
        from satchel.sources.commits import LineCounts

        return LineCounts(self.places.root)

    def read(self, work: Callable[[Store], Answer]) -> Answer:
        """Run `work` on one published state of the index; a damaged index is built again first."""
        for attempt in _Attempts({"": self}, with_memory=False):
            with attempt as (state,):
                result = work(state.store)
        return result

    def memory_or_failure(self, stack: ExitStack) -> tuple[Store | None, tuple[Failure, ...]]:
        """Return a snapshot of the memory, closed with the stack, and notes; one that cannot be read is a failure."""
        nothing = "the answer has nothing that was remembered"
        if self.memory_damage:
            return None, (Failure("memory", f"the memory file is damaged: {self.memory_damage}", nothing),)
        try:
            return stack.enter_context(self.memory_snapshot()), self.memory_notes()
        except (LockedError, StoreError) as error:
            message = str(error).replace(f"{self.places.memory.parent}/", "")  # no folder of this machine
            return None, (Failure("memory", message, nothing),)

    @property
    def memory_damage(self) -> str:
        """What is wrong with the memory file; empty if nothing is known to be."""
        return self._memory_store.damage if self._memory_store is not None else ""

    def memory_notes(self) -> tuple[Failure, ...]:
        """Return the notes about memories that cannot be read, and about those of a folder that was moved."""
        store = self._memory_store
        if store is None:
            return ()
        from satchel.memory.scope import lost_records

        lost = sum(count for count, _ in lost_records(store, self.places, lambda: self.first_commit))
        message, hint = f"memories of this folder at an earlier path: {lost:,}", "`satchel memory list` tells more"
        return (*self.unreadable_notes(), *((Failure("memory", message, hint),) if lost else ()))

    def unreadable_notes(self) -> tuple[Failure, ...]:
        """Return the notes about a memory file that was made again, and about memories that cannot be read."""
        store = self._memory_store
        if store is None:
            return ()
        restored = (Failure("memory", store.restored, "`satchel memory list` lists them"),) if store.restored else ()
        if not store.broken:
            return restored
        # Unreadable records that a note names.
        keys = ", ".join(clean_field(key, 60) for _, key in [*store.broken.values()][:5])
        message = f"{len(store.broken)} records cannot be read and are left out: {keys}"
        hint = "`satchel memory repair` brings back what backups and changes have, and removes the rest"
        return (*restored, Failure("memory", message, hint))

    def index(
        self,
        *,
        progress: Progress | None = None,
        should_stop: ShouldStop = never,
        wait_seconds: float | None = None,
        seen: TreeState | None = None,
    ) -> IndexReport:
        """As `Satchel.index`. What was `seen` of the tree is used if no other process has published anything since."""
        from satchel.system.state_files import index_lock

        store, wait = self.store, self.settings.index_lock_wait_s if wait_seconds is None else wait_seconds
        self.lines.take_mismatches()
        self._skipped = _skipped_of(seen)
        with index_lock(self.places.index / LOCK_NAME, wait, should_stop):
            store.settle()
            try:
                report = self._build(progress, should_stop, seen)
            except StoreError:
                if not self.store.damage:
                    raise
                self.store.settle()
                report = self._build(progress, should_stop)
        self.vectors.fill_from_table(should_stop)
        from satchel.index.leftovers import MANY_FILES, give_back

        if report.added + report.changed >= MANY_FILES:
            give_back(self.vectors.embedder)
        self._notes = report.notes
        if not (report.interrupted or self.lacks_history):  # else the next question continues
            self._refreshed = time.monotonic()
        return report

    @property
    def lacks_history(self) -> bool:
        """Whether the last run of this process published the files of a new index before its history."""
        from satchel.index.run import HISTORY_LATER

        return HISTORY_LATER in self._notes

    def _build(self, progress: Progress | None, should_stop: ShouldStop, seen: TreeState | None = None) -> IndexReport:
        from satchel.index.build import build, build_from_sibling, scan
        from satchel.index.run import Quiet

        root, options, watcher = self.places.root, self.build_options(), progress or Quiet()
        if not self.store.is_published and self.places.repository and isinstance(self.store, SqliteStore):
            report = build_from_sibling(self.store, root, options, watcher, should_stop, self._index.published)
            if report is not None:
                return report
        if seen is None and not root.is_file():
            seen = scan(self.store, root, options, should_stop)
            self._skipped = _skipped_of(seen)
        return build(self.store, root, options, watcher, should_stop, seen)

    def refresh(
        self,
        *,
        progress: Progress | None = None,
        should_stop: ShouldStop = never,
        at_once: bool = False,
        workspaces: Sequence[str] = (),
        files_first: bool = False,
    ) -> list[Failure]:
        """Bring the index, or those of `workspaces`, up to date unless just done (and not `at_once`); return notes.

        With `files_first` a new index gets a long history only at the next call; a note says so. The tree is compared
        without the lock of the index, which is only needed to write. When another process holds it for long, an index
        that was published before still answers, with a note. Threads of this process wait for each other instead, so
        simultaneous questions get the same answer.
        """
        from satchel.system.state_files import thread_lock

        if siblings := self.siblings(workspaces):
            return [
                replace(note, source=f"{note.source} of {name}")
                for name, root in siblings.items()
                for note in root.refresh(
                    progress=progress, should_stop=should_stop, at_once=at_once, files_first=files_first
                )
            ]
        with thread_lock(self._refreshing, should_stop) as is_ours:
            if is_ours and at_once:
                self._refreshed = -REFRESH_PAUSE_SECONDS
            notes = self._refresh(progress, should_stop, files_first) if is_ours else self._notes
            return [*self.loaded.hiding, *notes]

    def catch_up(self, should_stop: ShouldStop = never, workspaces: Sequence[str] = ()) -> bool:
        """Compare the tree, or those of `workspaces`, if the last refresh was too soon; return whether it changed.

        For questions that find nothing: what they ask for may be in a file that is new, or that is new and left out.
        """
        roots = [*self.siblings(workspaces).values()] or [self]
        changed = [root._catch_up(should_stop) for root in roots if root._is_spared]  # each of them
        return any(changed)

    def _catch_up(self, should_stop: ShouldStop) -> bool:
        before = self.store.revision, self._skipped
        self.refresh(should_stop=should_stop, at_once=True)
        return (self.store.revision, self._skipped) != before

    def _refresh(self, progress: Progress | None, should_stop: ShouldStop, files_first: bool) -> list[Failure]:
        soon = time.monotonic() - self._refreshed < REFRESH_PAUSE_SECONDS
        self._is_spared = soon and not self.lines.take_mismatches()
        if self._is_spared:
            return list(self._notes)
        try:
            found = self._scan(should_stop, files_first)
        except UnreachableStoreError:  # as in `_Attempts`
            found = self._scan(should_stop, files_first)
        is_published, is_current, seen = found
        if is_current:
            self._refreshed, self._notes = time.monotonic(), seen.notes if seen is not None else ()
            with suppress(OSError):
                os.utime(self.places.index / LOCK_NAME)  # the time of the last check
            self.vectors.fill_from_table(should_stop, self.store)
            return list(self._notes)
        from satchel.system.state_files import holder

        if not is_published and progress is not None and holder(self.places.index / LOCK_NAME):
            progress.phase("waiting for the process that makes the index", 0)
        wait = min(UPDATE_WAIT_SECONDS if is_published else FIRST_WAIT_SECONDS, self.settings.index_lock_wait_s)
        try:
            report = self.index(progress=progress, should_stop=should_stop, wait_seconds=wait, seen=seen)
        except LockedError:
            if self.store.damage:
                raise
            return [self._unfinished()]
        except (StoreError, OSError) as error:
            if not is_published or self.store.damage:
                raise
            return [Failure("index", self._why_unwritten(error), BEFORE)]
        return list(report.notes)

    def _unfinished(self) -> Failure:
        """Return the note of an answer from what there is while another process writes: the same bytes for all."""
        with self.store.snapshot() as state:
            if state.is_published:
                return Failure(UNFINISHED, "another process is bringing the index up to date", BEFORE)
        hint = "no file is in this answer: ask again in a few seconds"
        return Failure(UNFINISHED, "another process is making the first index here", hint)

    def _why_unwritten(self, error: Exception) -> str:
        if isinstance(error, ReadOnlyStoreError | UnreachableStoreError):
            return str(error)
        return self.store.obstacle or "writing failed"

    def _scan(self, should_stop: ShouldStop, files_first: bool) -> tuple[bool, bool, TreeState | None]:
        """Return whether there is a sound index, whether it is up to date, and the tree.

        None for an export, and without an index unless its files come first.
        """
        root = self.places.root
        try:
            self.store.settle()
            with self.store.snapshot() as state:
                is_new = not state.is_published
                if is_new and (root.is_file() or not files_first):
                    return False, False, None
                if root.is_file():
                    from satchel.index.notes import is_current

                    return True, is_current(state, root, self.build_options()), None
                from satchel.index.build import scan, scan_files

                seen = (scan_files if is_new else scan)(state, root, self.build_options(), should_stop)
        except StoreError:
            if not self.store.damage:
                raise
            return False, False, None
        self._skipped = _skipped_of(seen)
        return not is_new, not (is_new or seen.is_due or seen.tree.stopped), seen

    def build_options(self) -> BuildOptions:
        """Return the options of an index run on this root."""
        from satchel.index.run import build_options

        return build_options(self.settings, self.places, self.key, vault=self.is_vault)

    def _changed_files(self, store: Store) -> list[tuple[str, int]]:
        from satchel.index.run import changed_files

        return changed_files(store, self.places.root, self.build_options().walk)

    def left_out(
        self, words: Sequence[str], store: Store | None = None, find: Callable[[str], int] | None = None
    ) -> LeftOut:
        """Return which of these words are in files that are not indexed: `index.left_out.look_for`."""
        from satchel.index.left_out import look_for, skipped_in, with_skipped

        if self._skipped is None:
            self._skipped = skipped_in(self.places.root, self.build_options().walk)
        return look_for(words, with_skipped(store or self.store, self._skipped), self.places.root, find=find)

    def status(self, *, should_stop: ShouldStop = never) -> Status:
        """Return contents and size of the index, and changes in the tree since. No file is read or changed."""
        from satchel.index.build import status_of

        sizes = {"index": self.index_place.size(), "memory": self.memory_place.size()}
        return status_of(self.store, self.places.root, self.places.index, self.build_options().walk, sizes, should_stop)

    def _open_executor(self, *stores: Store | None) -> Threads | None:
        """Return the threads that search sections, started at the first question with several that wait; else None.

        Words in local files wait for nothing: threads of one interpreter would only add their own cost.
        """
        if not (self.settings.store_url or self.vectors.waits(filter(None, stores))):
            return None
        from satchel.system.threads import Threads  # here, because it brings logging with it

        with self._executor_guard:
            if self._executor is None:
                self._executor = Threads(4)  # section threads
            return self._executor

    def close(self) -> None:
        """Release threads and store files."""
        self.vectors.close()
        if self._executor is not None:
            self._executor.shutdown()
        if self._opened_index is not None:
            if o200k.is_file_wanted and self.index_place.size() >= RANKS_KEPT_FROM:
                o200k.keep()
            self._opened_index.store.close()
        if self._memory_store is not None:
            self._memory_store.close()
        for sibling in self._siblings.values():
            sibling.close()

    def resources(self, store: Store, memory: Store | None, account: Account | None, prefix: str) -> Resources:
        """Return what the pipeline works with; `prefix` is before paths where several workspaces answer."""
        from satchel.answer.resources import Resources

        return Resources(
            store,
            self.lines,
            self.key,
            partial(self._open_executor, store, memory),
            self.settings.redact_allow,
            memory,
            self.line_counts.of,
            partial(self._changed_files, store),
            self.embedder,
            account,
            prefix,
            left_out=partial(self.left_out, store=store),
        )


class State(Struct, frozen=True):
    """One published state of a root's index and memory, with the failures to open them."""

    root: OpenRoot
    prefix: str
    store: Store
    memory: Store | None
    notes: tuple[Failure, ...]


class _Attempts:
    """Tries to read one published state of some roots: one, and another after damage or a lost server."""

    def __init__(self, roots: Mapping[str, OpenRoot], *, with_memory: bool) -> None:
        self._roots, self._with_memory = roots, with_memory
        self._rebuilt: dict[OpenRoot, Sequence[Failure]] = {}
        self._is_last = self._is_done = False

    def __iter__(self) -> Iterator[AbstractContextManager[Sequence[State]]]:
        for self._is_last in (False, True):
            stack = ExitStack()
            try:
                states = [self._state(name, root, stack) for name, root in self._roots.items()]
            except StoreError as error:
                stack.close()
                if not self._recovers(error):
                    raise
                continue
            yield self._attempt(stack, states)
            if self._is_done:
                return

    @contextmanager
    def _attempt(self, stack: ExitStack, states: Sequence[State]) -> Iterator[Sequence[State]]:
        """Yield the states; what fails inside for a reason that another try may remove is dropped."""
        try:
            with stack:
                yield states
        except StoreError as error:
            if not self._recovers(error):
                raise
        else:
            self._is_done = self._is_last or not self._repaired()

    def _recovers(self, error: StoreError) -> bool:
        """Return whether another try is worth it: a server was lost, or a store is damaged, which is repaired now."""
        if self._is_last or isinstance(error, UnreachableStoreError):
            return not self._is_last
        return self._repaired() or any(root.memory_damage for root in self._roots.values())

    def _repaired(self) -> bool:
        """Build damaged indexes again; return whether there was one."""
        damaged = [root for root in self._roots.values() if root.store.damage]
        for root in damaged:
            self._rebuilt[root] = root.index().notes
        return bool(damaged)

    def _state(self, name: str, root: OpenRoot, stack: ExitStack) -> State:
        store = stack.enter_context(root.store.snapshot())
        memory, unread = root.memory_or_failure(stack) if self._with_memory else (None, ())
        failure = root.vectors.choice.failure if self._with_memory else None
        notes = (*root.loaded.hiding, *self._rebuilt.get(root, ()), *unread, *((failure,) if failure else ()))
        return State(root, f"{name}/" if name else "", store, memory, notes)


def attempts(root: OpenRoot, workspaces: Sequence[str] = ()) -> Iterable[AbstractContextManager[Sequence[State]]]:
    """Return tries (context managers with the states) to answer from published states; the first success ends them."""
    return _Attempts(root.siblings(workspaces) or {"": root}, with_memory=True)


def resources_of(
    states: Sequence[State],
    notes: Sequence[Failure] = (),
    account: Account | None = None,
    *,
    counts_lines: bool = True,
) -> Resources:
    """Return the resources of these states, with each failure so far once: `notes`, those of the account, theirs.

    Without `counts_lines` commits come without the number of lines that they changed, which git has to be asked for.
    """
    every = [*notes, *(account.failures if account is not None else ())]
    every += [note for state in states for note in state.notes]
    every_root = [state.root.resources(state.store, state.memory, account, state.prefix) for state in states]
    first, *others = every_root if counts_lines else [replace(found, count_lines=None) for found in every_root]
    return replace(first, others=tuple(others), notes=tuple(dict.fromkeys(every)))
