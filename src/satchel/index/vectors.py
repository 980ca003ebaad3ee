"""The embedder of one root, and the thread that fills its stores in a long-lived process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from satchel.embed import Embedder, fingerprint
from satchel.embed.providers import Choice, choose, embedded_kinds
from satchel.errors import EmbeddingError, LockedError, MissingExtraError, StoreError
from satchel.settings import Settings
from satchel.store.place import StorePlace
from satchel.store.protocol import VECTORS_COMPLETE, Store
from satchel.system import telemetry
from satchel.types import LESSON_KINDS, MEMORY_KINDS, Failure, Kind, ShouldStop

if TYPE_CHECKING:
    from satchel.index.run import Progress, VectorReport

QUICK_SECONDS = 1.0
"""Longest wait of a memory write; other vectors are made later. After a write that took longer, the other writes of an
import do not wait either."""

CACHE_NAME = "vectors.db"


class IndexVectors:
    """The embedder of the settings (or `embedder`), chosen at its first use, and its thread.

    Methods may be called from several threads. `close` stops the thread, if one was started, within a batch.
    """

    def __init__(
        self,
        settings: Settings,
        index: Callable[[], StorePlace],
        memory: StorePlace,
        cache: Path,
        key: bytes,
        environ: Mapping[str, str],
        embedder: Embedder | None = None,
    ) -> None:
        self._settings, self._environ = settings, environ
        self._cache, self._key = cache, key
        self._index, self._memory = index, memory
        self._choice = Choice(embedder) if embedder is not None else None
        self._is_behind = self._is_looked_at = False
        self._filled: Sequence[object] = ()
        self._running = threading.Lock()
        self._thread: threading.Thread | None = None
        self._stopped, self._wake, self._rested = threading.Event(), threading.Event(), threading.Event()

    @property
    def choice(self) -> Choice:
        """The embedder, or why there is none although the settings ask for one."""
        if self._choice is None:
            self._choice = choose(self._settings, self._cache, self._environ)
        return self._choice

    @property
    def embedder(self) -> Embedder | None:
        """The embedder in force, None for words only."""
        return self.choice.embedder

    def waits(self, stores: Iterable[Store]) -> bool:
        """Return whether a question to these stores waits for an embedder that needs milliseconds or a network.

        It is only asked where there are vectors that it made.
        """
        embedder = self.embedder
        if embedder is None or embedder.is_table:
            return False
        kinds, made_by = embedded_kinds(self._settings, embedder), fingerprint(embedder)
        return any(len(store.nearness(kind, made_by).rows) for store in stores for kind in kinds)

    def _stores(self) -> list[tuple[StorePlace, tuple[Kind, ...]]]:
        """Return the stores that exist with their kinds that get vectors."""
        every = embedded_kinds(self._settings, self.embedder)
        of_index = tuple(kind for kind in every if kind not in MEMORY_KINDS)
        of_memory = tuple(kind for kind in MEMORY_KINDS if kind in every)
        stores = ((self._index(), of_index), (self._memory, of_memory))
        return [(place, kinds) for place, kinds in stores if kinds and place.may_exist]

    def fill_quickly(self) -> None:
        """What was just written gets its vector at once where that takes milliseconds, else by whoever comes next."""
        if self._thread is not None:
            self.wake()
        elif not self._is_behind and self.embedder is not None:
            deadline = time.monotonic() + QUICK_SECONDS
            self.fill(None, lambda: time.monotonic() > deadline, with_model=self.embedder.is_quick)
            self._is_behind = time.monotonic() > deadline

    def fill_from_table(self, should_stop: ShouldStop, unchanged: Store | None = None) -> None:
        """Give all chunks their vectors if a table of words makes them, unless no store was written to since.

        An index that is `unchanged` is looked at once, and has them already unless they were made in another way.
        """
        embedder = self.embedder
        if embedder is None or not embedder.is_table:
            return
        if unchanged is not None:
            is_looked_at, self._is_looked_at = self._is_looked_at, True
            if is_looked_at or unchanged.meta(VECTORS_COMPLETE) == fingerprint(embedder):
                return
        stamps = [place.stamp for place, _ in self._stores()]
        if stamps == self._filled and None not in stamps:
            return
        report = self.fill(None, should_stop)
        if report.failure is not None:
            telemetry.warning("vectors are not filled", reason=report.failure.message)
        # As they were before: what is written meanwhile is looked at by the next call.
        self._filled = stamps if report.failure is None and report.counts.is_complete else []

    def fill(self, progress: Progress | None, should_stop: ShouldStop, *, with_model: bool = True) -> VectorReport:
        """Give every chunk of the chosen kinds a vector; nothing where there is no embedder.

        Lessons get one of the table, too, where a model makes the others: a hook has no time to load it. Without
        `with_model` nothing else is made.
        """
        from satchel.index.run import VectorCounts, VectorReport

        embedder = self.embedder
        if embedder is None:
            return VectorReport(0, VectorCounts(), self.choice.failure)
        with self._running:
            report = self._fill(embedder, progress, should_stop, with_model=with_model)
        self._is_behind = self._is_behind and not report.counts.is_complete
        return report

    def state(self) -> VectorReport:
        """Return the progress of the vectors, or why there are none although the settings ask for them."""
        from satchel.index.embedding import counts
        from satchel.index.run import VectorCounts, VectorReport

        embedder, kinds, failure = self.embedder, dict[Kind, tuple[int, int]](), self.choice.failure
        if embedder is None:
            return VectorReport(0, VectorCounts(), failure)
        for place, chosen in self._stores():
            try:
                with closing(place.open()) as store:
                    kinds |= counts(store, chosen, embedder, self._settings.embed_code_chunks).kinds
            except (StoreError, LockedError) as error:
                failure = Failure("vectors", str(error), "`satchel doctor` says more")
        return VectorReport(0, VectorCounts(kinds), failure)

    def _fill(
        self, embedder: Embedder, progress: Progress | None, should_stop: ShouldStop, *, with_model: bool
    ) -> VectorReport:
        from satchel.embed.static import StaticTable
        from satchel.index.embedding import VectorCache, counts, fill, fill_from_table
        from satchel.index.run import VectorCounts, VectorReport

        table = None if embedder.is_table else StaticTable()
        cache = VectorCache(self._cache / CACHE_NAME, self._key) if table is not None and with_model else None
        most_code = self._settings.embed_code_chunks
        made, kinds = 0, dict[Kind, tuple[int, int]]()
        failure = None
        try:
            for place, chosen in self._stores():
                # A separate one: that of the answers may be closed and replaced meanwhile.
                with closing(place.open()) as store:
                    if not store.is_published:  # a write would make an index, which may begin as the copy of another
                        continue
                    try:
                        lessons = [kind for kind in LESSON_KINDS if kind in chosen]
                        if table is None:
                            made += fill_from_table(store, chosen, embedder, should_stop)
                        elif lessons:
                            fill_from_table(store, lessons, table, should_stop, is_beside=True)
                        if cache is not None:
                            beside = [fingerprint(table)] if table is not None and lessons else []
                            made += fill(store, chosen, embedder, cache, progress, should_stop, most_code, beside)
                    finally:
                        kinds |= counts(store, chosen, embedder, most_code).kinds
        except (EmbeddingError, MissingExtraError, StoreError, LockedError) as error:
            failure = Failure("vectors", str(error), "the next `satchel index` makes what is missing")
        finally:
            if cache is not None:
                cache.close()
        return VectorReport(made, VectorCounts(kinds), failure)

    def start(self) -> None:
        """Start the thread, unless it runs, there is no embedder, or a table makes the vectors with the words."""
        if self._thread is None and self.embedder is not None and not self.embedder.is_table:
            self._thread = threading.Thread(target=self._work, name="satchel-vectors", daemon=True)
            self._thread.start()

    def wake(self) -> None:
        """Let the thread look for chunks without a vector."""
        self._rested.clear()
        self._wake.set()

    def wait(self, seconds: float) -> bool:
        """Wait until the thread has nothing to do; returns false after `seconds`."""
        return self._rested.wait(seconds)

    def close(self) -> None:
        """Stop the thread; a batch that is being embedded is finished first."""
        self._stopped.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        while not self._stopped.is_set():
            self._wake.clear()
            report = self.fill(None, self._stopped.is_set)
            if report.failure is not None:
                telemetry.warning("vectors are not filled", reason=report.failure.message)
            if not self._wake.is_set():
                self._rested.set()
            # Seconds between two looks for chunks of other processes; its own process wakes the thread.
            self._wake.wait(30.0)
