"""Threads of this process for blocking work: pools with a limit, and calls of an event loop that can be asked to stop.

The threads of `concurrent.futures` are joined when a process ends, so that one hanging job would keep it alive; these
are not. A hanging job blocks only its own thread.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor, Future
from contextvars import copy_context
from typing import Any, TypeVar

from satchel.types import ShouldStop

IDLE_SECONDS = 10.0
"""Time after which an idle thread ends."""

Answer = TypeVar("Answer")


class Threads(Executor):
    """At most `most` daemon threads, started on demand and ended when idle. Jobs run in the order of the calls."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._idle = threading.Condition()
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._unfinished = 0
        self._threads = 0

    def submit(self, function: Callable[..., Answer], /, *arguments: Any, **options: Any) -> Future[Answer]:
        """Run a job when a thread is free. A cancelled job is not started."""
        future: Future[Answer] = Future()
        with self._idle:
            self._unfinished += 1
            self._jobs.put((future, lambda: function(*arguments, **options)))
            if self._threads < min(self._unfinished, self._most):
                self._threads += 1
                threading.Thread(target=self._work, name="satchel-worker", daemon=True).start()
        return future

    @property
    def busy(self) -> int:
        """Jobs that are not finished."""
        with self._idle:
            return self._unfinished

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until no job is left; returns whether that was in time."""
        with self._idle:
            return self._idle.wait_for(lambda: not self._unfinished, seconds)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Drop the jobs that have not begun if `cancel_futures`, and wait for the others."""
        while cancel_futures and not self._jobs.empty():
            future, _ = self._jobs.get()
            future.cancel()
            self._finished()
        if wait:
            self.wait()

    def _work(self) -> None:
        while True:
            try:
                future, work = self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._idle:
                    if self._jobs.empty():
                        self._threads -= 1
                        return
                continue
            self._do(future, work)
            del future, work  # so that their values are freed before the next job

    def _do(self, future: Future[Any], work: Callable[[], Any]) -> None:
        answer, problem = None, None
        is_wanted = future.set_running_or_notify_cancel()
        if is_wanted:
            try:
                answer = work()
            except BaseException as error:  # noqa: BLE001 - raised again for the caller of the job
                problem = error
        self._finished()
        if problem is not None:
            future.set_exception(problem)
        elif is_wanted:
            future.set_result(answer)

    def _finished(self) -> None:
        with self._idle:
            self._unfinished -= 1
            self._idle.notify_all()


async def in_thread(function: Callable[..., Answer], *arguments: Any) -> Answer:
    """Return the result of a blocking function without blocking the event loop."""
    import asyncio  # here, because it takes 0.05 s that no synchronous use needs

    return await asyncio.wrap_future(_SHARED.submit(copy_context().run, function, *arguments))


# Threads of `in_thread` at once: a searcher of somebody else that hangs must not keep the others waiting.
_SHARED = Threads(32)


def outside_loop(answer: Awaitable[Answer]) -> Answer:
    """Return what a coroutine of somebody else returns, also where an event loop is running in this thread."""
    import asyncio

    async def awaited() -> Answer:
        return await answer

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(awaited())
    job: Future[Answer] = Threads(1).submit(asyncio.run, awaited())
    return job.result()


class Calls:
    """Blocking calls of an event loop, `most` at once. Each is asked to stop when its caller leaves, and at the end."""

    def __init__(self, most: int) -> None:
        self._threads = Threads(most)
        self._ending = threading.Event()

    async def run(self, work: Callable[[ShouldStop], Answer]) -> Answer:
        """Return the result of `work`. When this is cancelled, waiting work is dropped and running work ends itself."""
        import asyncio

        stop = threading.Event()
        try:
            return await asyncio.wrap_future(self._threads.submit(work, lambda: stop.is_set() or self._ending.is_set()))
        finally:
            stop.set()

    def should_stop(self) -> bool:
        """Return whether the end has come."""
        return self._ending.is_set()

    def stop(self) -> None:
        """Ask all calls to stop."""
        self._ending.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the calls; returns whether they ended in time."""
        return self._threads.wait(seconds)

    def close(self, seconds: float) -> bool:
        """Stop the calls, drop those that have not begun, and wait; returns whether they ended in time."""
        self.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)
        return self.wait(seconds)
