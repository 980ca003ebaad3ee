"""State that all routes share: the engine, the queues of requests, and the index that is updated when a server starts.

The first index of a large folder takes seconds. The page is there at once, shows the progress, and questions wait.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from satchel.engine import Satchel
from satchel.errors import SatchelError
from satchel.system import telemetry
from satchel.web.request_queue import RequestQueue


class Indexing:
    """A `Progress` that can be looked at while another thread reports to it."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._phase = ""
        self._done = 0
        self._total = 0
        self._is_first = False
        self._failure = ""
        self._thread: threading.Thread | None = None

    def phase(self, name: str, total: int) -> None:
        """A phase of `total` steps starts."""
        with self._guard:
            self._phase, self._done, self._total = name, 0, total

    def advance(self, count: int) -> None:
        """So many steps are done."""
        with self._guard:
            self._done += count

    def state(self) -> dict[str, Any]:
        """Return how far the run is that goes on, or how the last one ended, as plain JSON values.

        `running` is true while the run at the start goes on, for which questions wait; `phase` with `done` of `total`
        steps (0 where that is not known) is the last thing that any run said.
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
        """Bring the index up to date in a thread, then go on with its vectors; done when the index is.

        A failure is no end: it is part of the state, and whoever asks is told by the attempt of that question.
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
"""For what runs to end. It was asked to when connections were, a second ago: indexing looks many times in that."""

LOOKING_THREADS = 2
"""For what needs no index, so that the state can be looked at while every other thread waits for one."""


@dataclass(slots=True)
class ServerState:
    """Made once for a server; `close` it before the engine."""

    engine: Satchel
    asking: RequestQueue
    looking: RequestQueue
    indexing: Indexing = field(default_factory=Indexing)
    first: asyncio.Future[None] | None = None

    def start(self) -> None:
        """Begin to bring the index up to date; questions wait for it from now on."""
        self.first = self.indexing.start(self.engine, self.asking.should_stop)

    def stop(self) -> None:
        """Ask everything to stop, and let nobody in."""
        self.asking.stop()
        self.looking.stop()

    def close(self) -> bool:
        """Stop, and wait for what runs; returns whether all of it ended in time."""
        deadline = time.monotonic() + END_SECONDS
        self.stop()
        ends = (self.asking.close, self.looking.close, self.indexing.join)
        ended = [end(max(0.0, deadline - time.monotonic())) for end in ends]
        return all(ended)


def server_state(engine: Satchel) -> ServerState:
    """Return the state for a server around this engine, within the limits of its settings."""
    threads, waiting = engine.settings.serve_threads, engine.settings.serve_waiting
    return ServerState(
        engine, RequestQueue(threads, waiting, "asking"), RequestQueue(LOOKING_THREADS, waiting, "looking")
    )
