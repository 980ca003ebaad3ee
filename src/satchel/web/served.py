"""What all routes share: the engine, the turns that requests take, and the state of the index."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from satchel.engine import Satchel
from satchel.web.indexing import Indexing
from satchel.web.turns import Turns

END_SECONDS = 0.5
"""For what runs to end. It was asked to when connections were, a second ago: indexing looks many times in that."""

LOOKING_THREADS = 2
"""For what needs no index, so that the state can be looked at while every other thread waits for one."""


@dataclass(slots=True)
class Served:
    """Made once for a server; `close` it before the engine."""

    engine: Satchel
    asking: Turns
    looking: Turns
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


def served(engine: Satchel) -> Served:
    """The state for a server around this engine, within the limits of its settings."""
    threads, waiting = engine.settings.serve_threads, engine.settings.serve_waiting
    return Served(engine, Turns(threads, waiting, "asking"), Turns(LOOKING_THREADS, waiting, "looking"))
