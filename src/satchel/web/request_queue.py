"""A few threads for blocking work, with a bounded queue.

The engine is synchronous: its work runs here, never on the event loop, which continues to answer other requests. When a
client disconnects, its waiting request is dropped, and its running one is asked to stop.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import contextmanager
from typing import Any, TypeVar

from starlette.types import Receive

from satchel.web.error_responses import BUSY, STOPPING, Refusal

Result = TypeVar("Result")

ShouldStop = Callable[[], bool]


class RefusedError(Exception):
    """The queue does not accept the request."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class ClientGoneError(Exception):
    """The client disconnected."""


class RequestQueue:
    """Runs up to `threads` requests at once, with `waiting` more in the queue, until it is closed."""

    def __init__(self, threads: int, waiting: int, name: str) -> None:
        self._most = threads + waiting
        self._admitted = 0
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=f"satchel-{name}")
        self._closing = threading.Event()
        self._running: set[Future[Any]] = set()

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Reserve a place while the block runs. Raises RefusedError if there is none."""
        if self._closing.is_set():
            raise RefusedError(STOPPING)
        if self._admitted >= self._most:
            raise RefusedError(BUSY)
        self._admitted += 1
        try:
            yield
        finally:
            self._admitted -= 1

    async def run(
        self, work: Callable[[ShouldStop], Result], receive: Receive, first: asyncio.Future[None] | None = None
    ) -> Result:
        """Return the result of `work`, run after `first` is done. Raises ClientGoneError if the client disconnects."""
        stop = threading.Event()

        def should_stop() -> bool:
            return stop.is_set() or self._closing.is_set()

        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            if first is not None and not first.done():
                await asyncio.wait({first, gone}, return_when=asyncio.FIRST_COMPLETED)
            if gone.done():
                raise ClientGoneError
            if self._closing.is_set():
                raise RefusedError(STOPPING)
            task = self._executor.submit(work, should_stop)
            self._running.add(task)
            task.add_done_callback(self._running.discard)
            result = asyncio.wrap_future(task)
            try:
                either: set[asyncio.Future[Any]] = {result, gone}
                await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
                if result.done():
                    return result.result()
                raise ClientGoneError
            finally:
                stop.set()
                if not result.done():
                    result.cancel()  # drops waiting work; running work ends by itself
        finally:
            gone.cancel()

    def should_stop(self) -> bool:
        """Return whether the queue is closing."""
        return self._closing.is_set()

    def stop(self) -> None:
        """Ask running work to stop, and accept no more requests."""
        self._closing.set()

    def close(self, seconds: float) -> bool:
        """Stop and wait for running work; returns whether it ended in time."""
        self.stop()
        self._executor.shutdown(wait=False, cancel_futures=True)
        return not wait_for([*self._running], seconds).not_done


async def _disconnected(receive: Receive) -> None:
    """Return when the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass
