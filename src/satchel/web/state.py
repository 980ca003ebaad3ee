"""The shared state of a server: threads for blocking work with a bounded queue, and the first run of the index.

The engine is synchronous: its work runs in threads, never on the event loop, which continues to answer other requests.
When a client disconnects, its waiting request is dropped, and its running one is asked to stop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from starlette.types import Receive

from satchel.engine import INDEX_NAME, REFRESH_PAUSE_SECONDS, Satchel
from satchel.errors import LockedError, SatchelError
from satchel.system import telemetry
from satchel.system.threads import Calls
from satchel.types import ShouldStop
from satchel.web.middleware import BUILDING, BUSY, STOPPING, Metrics, Refusal, too_late

Answer = TypeVar("Answer")


class RefusedError(Exception):
    """The queue does not accept the request."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class ClientGoneError(Exception):
    """The client disconnected."""


class Job:
    """Work that answers one or several equal requests; it is stopped when the last of them is gone."""

    def __init__(self, task: asyncio.Task[Any]) -> None:
        self.task = task
        self.begun = time.monotonic()
        self.requests = 0


class RequestQueue(Calls):
    """Runs up to `threads` requests at once, with `waiting` more in the queue, until it is closed.

    A request has `deadline` seconds. Requests with the same key that are in flight together are answered once.
    """

    def __init__(self, threads: int, waiting: int, deadline: float | None = None) -> None:
        super().__init__(threads)
        self._most = threads + waiting
        self._deadline = deadline
        self._admitted = 0
        self.is_draining = False
        self._jobs: dict[Hashable, Job] = {}

    @property
    def is_idle(self) -> bool:
        """Whether no request is admitted."""
        return self._admitted == 0

    def drain(self) -> None:
        """Admit no more requests; those that were admitted go on."""
        self.is_draining = True

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Reserve a place while the block runs. Raises RefusedError if there is none."""
        if self.is_draining or self.should_stop():
            raise RefusedError(STOPPING)
        if self._admitted >= self._most:
            raise RefusedError(BUSY)
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    async def answer(
        self,
        work: Callable[[ShouldStop], Answer],
        receive: Receive,
        first: asyncio.Future[None] | None = None,
        key: Callable[[], Hashable] = lambda: None,
    ) -> Answer:
        """Return the result of `work`, run after `first` is done, or of work with the same key that is in flight.

        `key` is called when the work could begin; None is equal to nothing. Raises ClientGoneError if the client
        disconnects, RefusedError at the deadline.
        """
        gone = asyncio.ensure_future(_disconnected(receive))
        timer = asyncio.timeout(self._deadline)
        try:
            async with timer:
                if first is not None and not first.done():
                    await asyncio.wait({first, gone}, return_when=asyncio.FIRST_COMPLETED)
                if gone.done():
                    raise ClientGoneError
                if self.should_stop():
                    raise RefusedError(STOPPING)
                result: Answer = await self._result(self._job(work, key()), gone)
                return result
        except TimeoutError:
            if self._deadline is None or not timer.expired():
                raise
            refusal = too_late(self._deadline) if first is None or first.done() else too_late(self._deadline, BUILDING)
            raise RefusedError(refusal) from None
        finally:
            gone.cancel()

    async def _result(self, job: Job, gone: asyncio.Future[None]) -> Any:
        job.requests += 1
        try:
            await asyncio.wait({job.task, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not job.task.done():
                raise ClientGoneError
            return job.task.result()
        finally:
            job.requests -= 1
            if not job.requests and not job.task.done():
                self._forget(job)
                job.task.cancel()
                await asyncio.wait({job.task})

    def _job(self, work: Callable[[ShouldStop], Any], key: Hashable) -> Job:
        """Return the job in flight with this key, else a new one.

        An older job is not joined: it may have looked at the files before they changed.
        """
        job = self._jobs.get(key)
        if job is not None and time.monotonic() - job.begun < REFRESH_PAUSE_SECONDS:
            return job
        job = Job(asyncio.ensure_future(self.run(work)))
        if key is not None:
            self._jobs[key] = job
            job.task.add_done_callback(lambda _: self._forget(job))
        return job

    def _forget(self, job: Job) -> None:
        for key in [key for key, other in self._jobs.items() if other is job]:
            del self._jobs[key]


async def _disconnected(receive: Receive) -> None:
    """Return when the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass


class Indexing:
    """A `Progress` whose state can be read while another thread reports to it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._phase = ""
        self._done = 0
        self._total = 0
        self._is_first = False
        self._failure = ""
        self._thread: threading.Thread | None = None

    def phase(self, name: str, total: int) -> None:
        """Start a phase of `total` steps."""
        with self._guard:
            self._phase, self._done, self._total = name, 0, total

    def advance(self, count: int) -> None:
        """Count more finished steps."""
        with self._guard:
            self._done += count

    def state(self) -> dict[str, Any]:
        """Return the progress of the current run, or the end of the last one, as plain JSON values.

        `running`: the run at the start, for which questions wait, is not finished; `phase` with `done` of `total` steps
        (0 if unknown) is the last report of any run.
        """
        with self._guard:
            return {
                "running": self._is_first,
                "phase": self._phase,
                "done": self._done,
                "total": self._total,
                "failure": self._failure,
            }

    def start(self, engine: Satchel, should_stop: Callable[[], bool], *, embeds: bool = True) -> asyncio.Future[None]:
        """Bring the index up to date in a thread, then start its vectors if `embeds`.

        The future is done when the index is, also if another process builds it. A failure becomes part of the state;
        later questions try again and report their own error.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._is_first = True

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        def work() -> None:
            try:
                _refresh(engine, self, should_stop)
                if embeds and not should_stop():
                    engine.start_embedding()
            except (SatchelError, OSError) as error:
                self._failure = str(error)
                telemetry.warning("the index is not up to date", reason=str(error))
            finally:
                self._is_first = False
                if not loop.is_closed():
                    loop.call_soon_threadsafe(finish)

        self._thread = threading.Thread(target=work, name="satchel-first-index")
        self._thread.start()
        return done

    def join(self, seconds: float) -> bool:
        """Wait for the run at the start; returns whether it ended in time."""
        if self._thread is None:
            return True
        self._thread.join(seconds)
        return not self._thread.is_alive()


def _refresh(engine: Satchel, progress: Indexing, should_stop: Callable[[], bool]) -> None:
    while not should_stop():
        try:
            engine.refresh(progress=progress, should_stop=should_stop)
        except LockedError:  # after `index.lock_wait_s`, because another process builds the first index
            continue
        return


END_SECONDS = 0.5
"""Seconds for work to end, after the second for connections: indexing checks many times in that."""

LOOKING_THREADS = 2
"""Threads for operations without an index, so that they run while all others wait for one."""


@dataclass(slots=True)
class ServerState:
    """The shared state of a server; `close` it before the engine.

    With siblings, other processes that answer on the same socket, `is_first` is true of one.
    """

    engine: Satchel
    asking: RequestQueue
    looking: RequestQueue
    has_siblings: bool = False
    is_first: bool = True
    indexing: Indexing = field(default_factory=Indexing)
    metrics: Metrics = field(default_factory=Metrics)
    first: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Start to bring the index up to date; questions wait for it."""
        self.first = self.indexing.start(self.engine, self.asking.should_stop, embeds=self.is_first)

    @property
    def is_idle(self) -> bool:
        """Whether no request is in progress."""
        return self.asking.is_idle and self.looking.is_idle

    @property
    def is_ready(self) -> bool:
        """Whether a question would be answered now: requests are admitted, and a published index can be read."""
        if self.asking.is_draining or self.first is None or not self.first.done():
            return False
        try:
            with self.engine.store.snapshot() as state:
                return state.revision != "0"
        except (SatchelError, OSError):
            return False

    def revision(self) -> Hashable:
        """Return what changes with every write to the index and the memory: time and size of their files, if any."""
        if self.engine.settings.store_url:
            return self.engine.store.revision, self.engine.memory_store.revision
        places = self.engine.places
        files = (places.index / INDEX_NAME, places.memory)
        return tuple(_stamp(file.with_name(f"{file.name}{suffix}")) for file in files for suffix in ("", "-wal"))

    def drain(self) -> None:
        """Accept no more requests, and let those in progress end."""
        self.asking.drain()
        self.looking.drain()

    def stop(self) -> None:
        """Ask all work to stop, and accept no more requests."""
        self.asking.stop()
        self.looking.stop()

    def close(self) -> bool:
        """Stop and wait for all work; returns whether it ended in time."""
        deadline = time.monotonic() + END_SECONDS
        self.stop()
        ends = (self.asking.close, self.looking.close, self.indexing.join)
        ended = [end(max(0.0, deadline - time.monotonic())) for end in ends]
        return all(ended)


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_mtime_ns, status.st_size


def server_state(engine: Satchel, slot: int = 0, metrics: Metrics | None = None) -> ServerState:
    """Return the state of a server for this engine, with the limits of its settings; `slot` counts its processes."""
    metrics = metrics or Metrics()
    metrics.start(slot)
    settings = engine.settings
    threads, waiting, deadline = settings.serve_threads, settings.serve_waiting, settings.serve_deadline_s
    asking, looking = (RequestQueue(most, waiting, deadline) for most in (threads, LOOKING_THREADS))
    return ServerState(engine, asking, looking, len(metrics.loads) > 1, slot == 0, metrics=metrics)
