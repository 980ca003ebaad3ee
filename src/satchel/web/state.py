"""The shared state of a server: threads for blocking work, and the first run of the index.

The engine is synchronous: its work runs in threads, never on the event loop, which continues to answer other requests.
When a client disconnects, its waiting request is dropped, and its running one is asked to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import Any, TypeVar

from starlette.types import Receive

from satchel.engine import Satchel
from satchel.errors import LockedError, SatchelError
from satchel.system import telemetry
from satchel.system.threads import Calls
from satchel.types import ShouldStop
from satchel.web.middleware import BUILDING, Refusal, too_late

Answer = TypeVar("Answer")

END_SECONDS = 0.5
"""Seconds for work to end after the connections did: indexing checks many times in that."""


class RefusedError(Exception):
    """The request is not answered."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class ClientGoneError(Exception):
    """The client disconnected."""


class Indexing:
    """A `Progress` that can be read while another thread reports to it."""

    def __init__(self) -> None:
        self.is_first = True
        self.failure = ""
        self._phase, self._done, self._total = "", 0, 0

    def phase(self, name: str, total: int) -> None:
        """Start a phase of `total` steps."""
        self._phase, self._done, self._total = name, 0, total

    def advance(self, count: int) -> None:
        """Count more finished steps."""
        self._done += count

    def state(self) -> dict[str, Any]:
        """Return the progress of the current run, or the end of the last one, as plain JSON values.

        `running`: the run at the start, for which questions wait, is not finished; `phase` with `done` of `total` steps
        (0 if unknown) is the last report of any run.
        """
        steps = {"phase": self._phase, "done": self._done, "total": self._total}
        return {"running": self.is_first, **steps, "failure": self.failure}


class ServerState:
    """The shared state of a server with the limits of the engine's settings; `close` it before the engine."""

    def __init__(self, engine: Satchel) -> None:
        self.engine = engine
        self.indexing = Indexing()
        # Threads for operations without an index, so that they run while all others wait for one.
        self._asking, self._looking = Calls(engine.settings.serve_threads), Calls(2)
        self._index_run = Calls(1)
        self._calls = (self._asking, self._looking, self._index_run)
        self._first: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to bring the index up to date; questions wait for it. It is called in an event loop."""
        self._first = asyncio.ensure_future(self._index_run.run(self._index))

    def _index(self, should_stop: ShouldStop) -> None:
        """Bring the index up to date, also if another process builds it, then start its vectors."""
        try:
            while not should_stop():
                with contextlib.suppress(LockedError):  # after `index.lock_wait_s`, as another process builds it
                    self.engine.refresh(progress=self.indexing, should_stop=should_stop)
                    self.engine.start_embedding()
                    break
        except (SatchelError, OSError) as error:
            self.indexing.failure = str(error)
            telemetry.warning("the index is not up to date", reason=str(error))
        finally:
            self.indexing.is_first = False

    @property
    def is_ready(self) -> bool:
        """Whether a question would be answered now: the first run is over, and a published index can be read."""
        if self.indexing.is_first:
            return False
        try:
            with self.engine.store.snapshot() as state:
                return state.revision != "0"
        except (SatchelError, OSError):
            return False

    async def answer(
        self, work: Callable[[ShouldStop], Answer], receive: Receive, *, needs_index: bool = True
    ) -> Answer:
        """Return the result of `work`, which waits for the first run of the index if it `needs_index`.

        Raises ClientGoneError if the client disconnects, RefusedError at the deadline.
        """
        gone = asyncio.ensure_future(_disconnected(receive))
        job = asyncio.ensure_future(self._in_time(work, needs_index=needs_index))
        try:
            await asyncio.wait({job, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not job.done():
                raise ClientGoneError
            return job.result()
        finally:
            gone.cancel()
            job.cancel()

    async def _in_time(self, work: Callable[[ShouldStop], Answer], *, needs_index: bool) -> Answer:
        seconds, calls = self.engine.settings.serve_deadline_s, self._asking if needs_index else self._looking
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                if needs_index and self._first is not None:
                    await asyncio.wait({self._first})
                return await calls.run(work)
        except TimeoutError:
            if not timer.expired():
                raise
            is_waiting = needs_index and self.indexing.is_first
            raise RefusedError(too_late(seconds, BUILDING) if is_waiting else too_late(seconds)) from None

    def stop(self) -> None:
        """Ask all work to stop."""
        for calls in self._calls:
            calls.stop()

    def close(self) -> bool:
        """Stop and wait for all work; returns whether it ended in time."""
        deadline = time.monotonic() + END_SECONDS
        self.stop()
        ended = [calls.close(max(0.0, deadline - time.monotonic())) for calls in self._calls]
        return all(ended)


async def _disconnected(receive: Receive) -> None:
    """Return when the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
