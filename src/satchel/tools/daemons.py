"""A few threads for work that somebody may stop waiting for.

The threads of `concurrent.futures` are joined when a process ends, so that one hanging job would keep it alive; these
are not. A job that hangs holds its own thread only, and there are never more than a few.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Answer = TypeVar("Answer")

IDLE_SECONDS = 10.0
"""A thread without work ends after this: whoever calls tools now and then keeps none."""


class Daemons:
    """At most `most` threads, started when there is work and ended when there is none for a while."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._guard = threading.Lock()
        self._jobs: queue.SimpleQueue[tuple[Future[Any], Callable[[], Any]]] = queue.SimpleQueue()
        self._unfinished = 0
        self._threads = 0

    def start(self, work: Callable[[], Answer]) -> Future[Answer]:
        """Do this in the order of the calls, as soon as a thread is free. One that was cancelled is not begun."""
        from concurrent.futures import Future  # here, because it brings logging with it

        future: Future[Answer] = Future()
        with self._guard:
            self._unfinished += 1
            self._jobs.put((future, work))
            if self._threads < min(self._unfinished, self._most):
                self._threads += 1
                threading.Thread(target=self._work, name="satchel-tool", daemon=True).start()
        return future

    @property
    def busy(self) -> int:
        """Jobs that are not finished."""
        with self._guard:
            return self._unfinished

    def _work(self) -> None:
        while True:
            try:
                future, work = self._jobs.get(timeout=IDLE_SECONDS)
            except queue.Empty:
                with self._guard:
                    if self._jobs.empty():
                        self._threads -= 1
                        return
                continue
            self._do(future, work)
            del future, work  # what a job held is not kept until the next one

    def _do(self, future: Future[Any], work: Callable[[], Any]) -> None:
        answer, problem = None, None
        is_wanted = future.set_running_or_notify_cancel()
        if is_wanted:
            try:
                answer = work()
            except BaseException as error:  # noqa: BLE001 - whoever waits for the job gets whatever it raised
                problem = error
        with self._guard:
            self._unfinished -= 1
        if problem is not None:
            future.set_exception(problem)
        elif is_wanted:
            future.set_result(answer)
