"""The one facade: open a root, index it, search it, assemble contexts. It wires the stages and owns their lifetimes."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self, TypeVar

from satchel import config, outside
from satchel.assemble.floors import admitted
from satchel.assemble.read import FileLines
from satchel.assemble.receipts.face import Receipts, check_question
from satchel.assemble.request import check_file_weights, check_score, parse_kinds, start_of_day
from satchel.assemble.stream import Workbench, asker, safe_question
from satchel.chronicle import Chronicle
from satchel.errors import LockedError, StoreError, UsageError
from satchel.foresight import Foresight
from satchel.graphs import Graphs
from satchel.guided import Guided
from satchel.index.lock import index_lock, thread_lock
from satchel.index.vectors import Vectors, shelves
from satchel.keys import load_key
from satchel.learned import Learned
from satchel.roots import Places, locate
from satchel.search.filters import parse_filters
from satchel.search.query import analyse
from satchel.search.retrievers import parse_strategies, silent
from satchel.search.searcher import CANDIDATE_WINDOWS, WINDOWS_PER_RECORD, balanced
from satchel.sources.line_counts import LineCounts
from satchel.store.protocol import Store
from satchel.store.sqlite.store import SqliteStore
from satchel.trust import Trusting
from satchel.types import CONTEXT_TYPES, Context, Failure, Hit
from satchel.workspaces import Registry, WorkspaceType

if TYPE_CHECKING:
    from concurrent.futures import ThreadPoolExecutor

    from satchel.assemble.context_query import QueryResult
    from satchel.embed.protocol import Embedder
    from satchel.index.options import BuildOptions
    from satchel.index.report import IndexReport, Progress, VectorReport
    from satchel.index.status import Status

REFRESH_PAUSE_SECONDS = 2.0
"""A long-lived process looks at the tree at most this often; every shown file is still checked by its hash."""

INDEX_NAME = "index.db"

_SECTION_THREADS = 4

Answer = TypeVar("Answer")


def _never() -> bool:
    return False


async def _in_thread(function: Callable[..., Answer], *arguments: Any, **options: Any) -> Answer:
    import asyncio  # here, because it takes 0.05 s that no synchronous use needs

    return await asyncio.to_thread(function, *arguments, **options)


@dataclass(frozen=True, slots=True)
class Removal:
    """What `clean` removed: so many bytes from this folder."""

    folder: Path
    size: int


def clean(
    path: str | os.PathLike[str] = ".",
    *,
    root: str | os.PathLike[str] | None = None,
    everything: bool = False,
    wait_seconds: float = 0.0,
    environ: Mapping[str, str] | None = None,
) -> Removal:
    """Remove the index of a root, or with `everything` all that can be built again. Memories are never touched.

    Raises NoIndexError, and LockedError while another process builds an index.
    """
    from satchel.index.removal import remove_everything, remove_index

    folders = config.Folders.from_environment(os.environ if environ is None else environ)
    if everything:
        return Removal(folders.cache, remove_everything(folders.cache, wait_seconds))
    folder = locate(path, root, folders).index
    return Removal(folder, remove_index(folder, wait_seconds))


class Satchel(Learned, Chronicle, Foresight, Receipts, Graphs, Guided, Trusting):
    """One root with its index. Use `Satchel.open`; close it, or use it in a `with` block.

    Methods are synchronous and may be called from several threads; the `a`-prefixed twins are coroutines.
    """

    def __init__(
        self, places: Places, loaded: config.LoadedSettings, store: SqliteStore, key: bytes, vectors: Vectors
    ) -> None:
        self.places = places
        self.loaded = loaded
        self.vectors = vectors
        self._store = store
        self._memory: SqliteStore | None = None
        self._key = key
        self._lines = FileLines(places.root, key, self.settings.index_max_file_bytes, self.settings.redact_allow)
        self._line_counts = LineCounts(places.root)
        self._executor: ThreadPoolExecutor | None = None
        self._executor_guard = threading.Lock()
        self._refreshed = -REFRESH_PAUSE_SECONDS
        self._refreshing = threading.Lock()
        self._notes: tuple[Failure, ...] = ()
        self.is_vault = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] = ".",
        *,
        root: str | os.PathLike[str] | None = None,
        workspace: str | None = None,
        settings: Mapping[str, Any] | None = None,
        environ: Mapping[str, str] | None = None,
        embedder: Embedder | None = None,
    ) -> Self:
        """Open the root that holds `path`, or exactly `root`, or the `workspace` of this name.

        There is an empty index where there was none. `settings` are dotted keys that win over files and environment;
        `embedder` takes the place of the one that they mean. Raises NoIndexError where nothing can be indexed,
        ConfigError for impossible settings, StoreError or LockedError for an unusable store.
        """
        variables = os.environ if environ is None else environ
        folders = config.Folders.from_environment(variables)
        places = locate(path, root if workspace is None else Registry(folders).get(workspace).path, folders)
        loaded = config.load_settings(places.root, variables, settings or {}, folders)
        index, key = places.index / INDEX_NAME, load_key(folders.state, variables)
        vectors = Vectors(loaded.settings, shelves(index, places.memory), folders.cache, key, variables, embedder)
        opened = cls(places, loaded, SqliteStore(index, disposable=True), key, vectors)
        opened._environ = variables
        opened.is_vault = Registry(folders).type_of(places.root) is WorkspaceType.VAULT
        return opened

    @property
    def settings(self) -> config.Settings:
        """The settings in force."""
        return self.loaded.settings

    @property
    def store(self) -> SqliteStore:
        """The index store, for those who build on it."""
        return self._store

    def index(
        self,
        *,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = _never,
        wait_seconds: float | None = None,
    ) -> IndexReport:
        """Bring the index up to date. Raises LockedError when another process keeps building for too long."""
        wait = self.settings.index_lock_wait_s if wait_seconds is None else wait_seconds
        self._lines.take_mismatches()
        with index_lock(self.places.index / "index.lock", wait, should_stop):
            self._store.settle()
            try:
                report = self._build(progress, should_stop)
            except StoreError:
                if not self._store.damage:
                    raise
                self._store.settle()
                report = self._build(progress, should_stop)
        if not report.interrupted:  # what was left undone is for the next question to do
            self._refreshed = time.monotonic()
        self._notes = report.notes
        return report

    @property
    def embedder(self) -> Embedder | None:
        """What turns texts into vectors: the one that was given, else what the settings mean; None for words alone."""
        return self.vectors.embedder

    def _remembered(self) -> None:
        """What was written to the memory gets its vector at once where that takes milliseconds."""
        self.vectors.fill_quickly()

    def embed(self, *, progress: Progress | None = None, should_stop: Callable[[], bool] = _never) -> VectorReport:
        """Give every document of `embed.kinds` that lacks one a vector. Without an embedder there is nothing to do."""
        return self.vectors.fill(progress, should_stop)

    def start_embedding(self) -> None:
        """Fill vectors in a thread of this process from now on, until `close`; for processes that stay."""
        self.vectors.start()

    def _build(self, progress: Progress | None, should_stop: Callable[[], bool]) -> IndexReport:
        from satchel.index.build import build  # here, as all that looks at a tree: a hook answers without
        from satchel.index.report import Quiet

        return build(self._store, self.places.root, self._build_options(), progress or Quiet(), should_stop)

    def refresh(self, *, progress: Progress | None = None, should_stop: Callable[[], bool] = _never) -> list[Failure]:
        """Bring the index up to date before a question, unless that was just done. Returns what the answer must note.

        When another process is building right now, an index that was published before still answers, with a note.
        Threads of this process wait for each other instead: what they are asked at the same time gets the same answer.
        """
        with thread_lock(self._refreshing, should_stop) as is_ours:
            return self._refresh(progress, should_stop) if is_ours else list(self._notes)

    def _refresh(self, progress: Progress | None, should_stop: Callable[[], bool]) -> list[Failure]:
        if time.monotonic() - self._refreshed < REFRESH_PAUSE_SECONDS and not self._lines.take_mismatches():
            return list(self._notes)
        published = self._is_published()
        try:
            report = self.index(progress=progress, should_stop=should_stop, wait_seconds=0.0 if published else None)
        except LockedError as error:
            if not published:
                raise
            return [Failure("index", str(error), "the answer comes from the index as it was before")]
        return list(report.notes)

    def _is_published(self) -> bool:
        """Whether there is an index to answer from; a damaged one is none, and so is one that was removed."""
        try:
            self._store.settle()
            return self._store.revision != "0"
        except StoreError:
            if not self._store.damage:
                raise
            return False

    def _read(self, work: Callable[[Store, Sequence[Failure]], Answer]) -> Answer:
        """What `work` makes of one published state of a sound index.

        When the index turns out to be damaged, it is built again and the work done once more, with what that run has
        to note.
        """
        notes: Sequence[Failure] = ()
        for is_last in (False, True):
            try:
                with self._store.snapshot() as state:
                    result = work(state, notes)
                if is_last or not self._store.damage:
                    break
            except StoreError:
                if is_last or not self._store.damage:
                    raise
            notes = self.index().notes
        return result

    def _build_options(self) -> BuildOptions:
        from satchel.index.options import build_options

        return build_options(self.settings, self.places, self._key, vault=self.is_vault)

    def _changed_files(self, store: Store) -> list[tuple[str, int]]:
        from satchel.index.difference import changed_files

        return changed_files(store, self.places.root, self._build_options().walk)

    def status(self, *, should_stop: Callable[[], bool] = _never) -> Status:
        """What is indexed, how large it is and how far the tree has moved on since. Nothing is read or changed."""
        from satchel.index.status import look

        stores = {"index": self.places.index / INDEX_NAME, "memory": self.places.memory}
        if self.places.cache is not None:
            stores["extraction"] = self.places.cache
        return look(self._store, self.places.root, self.places.index, self._build_options().walk, stores, should_stop)

    def search(
        self,
        question: str,
        *,
        types: Iterable[str] = (),
        limit: int = 10,
        filters: Mapping[str, Any] | None = None,
        searches: Iterable[str] = (),
        now: float | None = None,
        min_score: float | None = None,
        refresh: bool = True,
    ) -> list[Hit]:
        """The best hits of each kind asked for (all that have documents by default), `limit` a kind.

        `filters` say which records are meant, as in `{"category": "error"}` (names: `satchel.search.filters.Filters`),
        `searches` which ways of searching take part (names: `satchel.search.retrievers`). Without a `min_score` what
        hardly matches is left out.
        """
        check_question(question)
        kinds, wanted, quiet = parse_kinds(types), parse_filters(filters or {}), silent(parse_strategies(searches))
        if limit < 1:
            raise UsageError(f"limit is {limit}: give at least 1")
        if refresh:
            self.refresh()
        query = analyse(safe_question(question, self.settings.redact_allow))
        most, moment = max(CANDIDATE_WINDOWS, limit * WINDOWS_PER_RECORD), now or start_of_day()
        signals = check_file_weights(self.settings.search_weights.items())

        def hits(store: Store, _: Sequence[Failure]) -> list[Hit]:
            with self.memory.snapshot() if self._has_memory() else nullcontext() as memory:
                bench = Workbench(store, self._lines, self._key, memory=memory, embedder=self.embedder)
                available = bench.kinds()
                asked = kinds or tuple(kind for kind in CONTEXT_TYPES.values() if available.get(kind))
                ask = asker(bench, query, candidates=most, filters=wanted, now=moment, silent=quiet, weights=signals)
                allow = self.settings.redact_allow
                found = admitted(balanced({kind: ask(kind) for kind in asked}), limit, check_score(min_score))
                return [outside.hit(hit, allow) for hit in found]

        return self._read(hits)

    def assemble(
        self,
        question: str,
        *,
        refresh: bool = True,
        progress: Progress | None = None,
        should_stop: Callable[[], bool] = _never,
        **options: Any,
    ) -> Context:
        """A packed context for a question.

        Options: `types` (context types, default all), `max_tokens`, `limit` (most items), `format`, `tokenizer`,
        `purpose` ("find" or "edit"), `min_score`, `stale` ("mark" or "withhold"), `related`, `show_sources`, `session`,
        `show_code`, `group_by_type`, `include`, `exclude`, `paths` (globs), `filters` (of records), `now`. Raises
        UsageError for impossible values. The text never has more than `max_tokens`.
        """
        request = self.request(question, **options)
        return self.answer(request, self.refresh(progress=progress, should_stop=should_stop) if refresh else ())

    def _with_bench(self, work: Callable[[Workbench, Sequence[Failure]], Answer]) -> Answer:
        """What `work` makes of one published state of index and memory, given what it has to note."""

        def answer(store: Store, found: Sequence[Failure]) -> Answer:
            with self._recalling() as (memory, unread):
                allow = self.settings.redact_allow
                counts = self._line_counts.of
                changed = partial(self._changed_files, store)
                bench = Workbench(store, self._lines, self._key, self._open_executor, allow, memory, counts, changed)
                bench = replace(bench, embedder=self.embedder)
                missing = (self.vectors.choice.failure,) if self.vectors.choice.failure else ()
                return work(bench, (*found, *unread, *missing))

        return self._read(answer)

    def context_query(self, query: str, *, refresh: bool = True, **options: Any) -> QueryResult:
        """What `query` finds, as a formatted context with a row for each result; options as in `query_options`."""
        from satchel.assemble.context_query import query_options, query_result

        request = self.request(query, **query_options(**options))
        return query_result(self.answer(request, self.refresh() if refresh else ()))

    def clear_cache(self) -> None:
        """Forget the files that were read for display."""
        self._lines.clear()

    def _open_executor(self) -> ThreadPoolExecutor:
        """The threads that sections are asked in, started at the first question that has several."""
        from concurrent.futures import ThreadPoolExecutor  # here, because it brings logging with it

        with self._executor_guard:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(_SECTION_THREADS, thread_name_prefix="satchel-section")
            return self._executor

    async def aindex(self, **options: Any) -> IndexReport:
        """`index` as a coroutine."""
        return await _in_thread(self.index, **options)

    async def asearch(self, question: str, **options: Any) -> list[Hit]:
        """`search` as a coroutine."""
        return await _in_thread(self.search, question, **options)

    async def aassemble(self, question: str, **options: Any) -> Context:
        """`assemble` as a coroutine."""
        return await _in_thread(self.assemble, question, **options)

    def close(self) -> None:
        """Release threads and store files."""
        self.vectors.close()
        if self._executor is not None:
            self._executor.shutdown(wait=True)
        self._store.close()
        if self._memory is not None:
            self._memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
