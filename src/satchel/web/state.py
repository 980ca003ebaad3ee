"""The shared state of a server: threads for blocking work with a bounded queue, and the first run of the index.

The engine is synchronous: its work runs in threads, never on the event loop, which continues to answer other requests.
When a client disconnects, its waiting request is dropped, and its running one is asked to stop.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeVar

from starlette.types import Receive

from satchel.dataclass import dataclass
from satchel.engine import Satchel
from satchel.errors import SatchelError
from satchel.system import telemetry
from satchel.system.threads import Calls, ShouldStop
from satchel.web.middleware import BUSY, STOPPING, Refusal

Answer = TypeVar("Answer")


class RefusedError(Exception):
    """The queue does not accept the request."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class ClientGoneError(Exception):
    """The client disconnected."""


class RequestQueue(Calls):
    """Runs up to `threads` requests at once, with `waiting` more in the queue, until it is closed."""

    def __init__(self, threads: int, waiting: int) -> None:
        super().__init__(threads)
        self._most = threads + waiting
        self._admitted = 0

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Reserve a place while the block runs. Raises RefusedError if there is none."""
        if self.should_stop():
            raise RefusedError(STOPPING)
        if self._admitted >= self._most:
            raise RefusedError(BUSY)
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    async def answer(
        self, work: Callable[[ShouldStop], Answer], receive: Receive, first: asyncio.Future[None] | None = None
    ) -> Answer:
        """Return the result of `work`, run after `first` is done. Raises ClientGoneError if the client disconnects."""
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            if first is not None and not first.done():
                await asyncio.wait({first, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                raise ClientGoneError
            if self.should_stop():
                raise RefusedError(STOPPING)
            result = asyncio.ensure_future(self.run(work))
            try:
                either: set[asyncio.Future[Any]] = {result, gone}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if result.done():
                    return result.result()
                raise ClientGoneError
            finally:
                if not result.done():
                    result.cancel()
                    await asyncio.wait({result})
        finally:
            gone.cancel()


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

    def start(self, engine: Satchel, should_stop: Callable[[], bool]) -> asyncio.Future[None]:
        """Bring the index up to date in a thread, then start its vectors; the future is done when the index is.

        A failure becomes part of the state; later questions try again and report their own error.
        """
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        self._is_first = True

        def finish() -> None:
            if not done.done():
                done.set_result(None)

        def work() -> None:
            try:
                engine.refresh(progress=self, should_stop=should_stop)
                if not should_stop():
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


END_SECONDS = 0.5
"""Seconds for work to end, after the second for connections: indexing checks many times in that."""

LOOKING_THREADS = 2
"""Threads for operations without an index, so that they run while all others wait for one."""


@dataclass(slots=True)
class ServerState:
    """The shared state of a server; `close` it before the engine."""

    engine: Satchel
    asking: RequestQueue
    looking: RequestQueue
    indexing: Indexing = field(default_factory=Indexing)
    first: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Start to bring the index up to date; questions wait for it."""
        self.first = self.indexing.start(self.engine, self.asking.should_stop)

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


def server_state(engine: Satchel) -> ServerState:
    """Return the state of a server for this engine, with the limits of its settings."""
    threads, waiting = engine.settings.serve_threads, engine.settings.serve_waiting
    return ServerState(engine, RequestQueue(threads, waiting), RequestQueue(LOOKING_THREADS, waiting))
