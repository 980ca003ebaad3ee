"""Run operations of a synchronous engine from an event loop: in threads, with progress and cancellation."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from satchel.errors import SatchelError
from satchel.operations.operation import Answered, Caller, Operation, StoppedError
from satchel.system.threads import Calls
from satchel.types import ShouldStop

if TYPE_CHECKING:
    from satchel.engine import Satchel

Report = Callable[[float, str], Awaitable[None]]
"""Tells a client about progress: steps so far, and what is done."""


class Fault(IntEnum):
    """The codes of errors of JSON-RPC and MCP."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    UNSUPPORTED_VERSION = -32022
    CONNECTION_CLOSED = -32000


class ProtocolError(Exception):
    """A request that is answered with an error: its code, its message, and data if it has any."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class EngineRunner:
    """Opens the engine of this server on first use and runs its calls in threads, each for `deadline` seconds."""

    def __init__(self, open_engine: Callable[[], Satchel], deadline: float | None = None) -> None:
        self._open = open_engine
        self._deadline = deadline
        self._engine: Satchel | None = None
        self._guard = threading.Lock()
        # Calls that run at once: more would only share the same interpreter and use more memory
        self.calls = Calls(8)
        self._later: asyncio.Future[None] | None = None

    def engine(self) -> Satchel:
        """Return the engine. Raises what opening it raises."""
        with self._guard:
            if self._engine is None:
                self._engine = self._open()
            return self._engine

    async def run(
        self, report: Report | None, operation: Operation, arguments: Mapping[str, Any], session: str = ""
    ) -> Answered:
        """Return the answer of an operation, reporting progress to a client that asked for it."""
        async with progress_reporter(report) as reporter:

            def work(should_stop: Callable[[], bool]) -> Answered:
                engine = self.engine()
                answered = operation.run(
                    engine, arguments, Caller(reporter, should_stop, session=session, shows_data=False)
                )
                self._embed(engine)
                return answered

            timer = asyncio.timeout(self._deadline)
            try:
                async with timer:
                    answered = await self.calls.run(work)
            except TimeoutError as error:
                if not timer.expired():
                    raise
                raise StoppedError(
                    f"there is no answer after {self._deadline:g} s (the setting serve.deadline_s): ask for less"
                ) from error
            if self.engine().opened.lacks_history:
                self._later = asyncio.ensure_future(self.calls.run(self._read_history))
            return answered

    def _read_history(self, should_stop: ShouldStop) -> None:
        """Read the history that the first answer did not wait for."""
        with contextlib.suppress(SatchelError, OSError):  # the next question meets the fault and says it
            self.engine().refresh(should_stop=should_stop)

    def _embed(self, engine: Satchel) -> None:
        """Start to make vectors after the first answer, which they must not delay."""
        with self._guard:
            engine.start_embedding()

    def close(self, seconds: float) -> bool:
        """Stop the running calls and close the engine. Returns False, with the engine open, if they took too long."""
        is_idle = self.calls.close(seconds)
        with self._guard:
            if is_idle and self._engine is not None:
                self._engine.close()
                self._engine = None
        return is_idle


class Reporter:
    """A `Progress` that reports steps, which only increase. It is called from the working thread."""

    def __init__(self, tell: Callable[[int, str], None]) -> None:
        self._tell = tell
        self._steps = 0
        self._phase, self._done, self._total = "", 0, 0
        self._last_report = 0.0

    def phase(self, name: str, total: int) -> None:
        """Start a phase of `total` steps."""
        self._phase, self._done, self._total = name, 0, total
        self._steps += 1
        self._say()

    def advance(self, count: int) -> None:
        """Count more finished steps."""
        self._done += count
        self._steps += count
        # Seconds between two progress messages: clients draw no faster, and a large tree has thousands of steps.
        if time.monotonic() - self._last_report >= 0.1:
            self._say()

    def _say(self) -> None:
        self._last_report = time.monotonic()
        self._tell(self._steps, f"{self._phase}: {self._done:,} of {self._total:,}" if self._total else self._phase)


@asynccontextmanager
async def progress_reporter(report: Report | None) -> AsyncIterator[Reporter | None]:
    """Yield a reporter whose messages reach the client before the block ends; None if there is nothing to report to.

    Neither side waits for the other: a client that reads slowly must not delay an index that others wait for.
    """
    if report is None:
        yield None
        return
    loop = asyncio.get_running_loop()
    waiting: asyncio.Queue[tuple[int, str] | None] = asyncio.Queue()

    def tell(steps: int, message: str) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed because the server ended
            loop.call_soon_threadsafe(waiting.put_nowait, (steps, message))

    async def forward() -> None:
        while (row := await waiting.get()) is not None:
            await report(float(row[0]), row[1])

    forwarding = asyncio.ensure_future(forward())
    try:
        yield Reporter(tell)
        loop.call_soon(waiting.put_nowait, None)  # after the last message of the thread
        await forwarding
    finally:
        forwarding.cancel()
