"""Between client and server: everything passes, and the results of chosen tools wait a moment for their context."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING

from satchel.mcp import proxy_messages as messages
from satchel.mcp.proxy_lines import Output, Pieces
from satchel.mcp.proxy_messages import Request
from satchel.tools.contexts import Daemons

if TYPE_CHECKING:
    from concurrent.futures import Future

MOST_REQUESTS = 10_000
"""Requests that wait for an answer; beyond that the oldest are forgotten, and their answers pass as they are."""

MOST_HELD = 32
"""Results that wait for their context at once; while there are more, the server is not read."""

NAMES_SHOWN = 12

Enrich = Callable[[Request, bytes], bytes]
"""The line of a result with the context of its call. Whatever it raises, the line goes on as it was."""

Say = Callable[[str], None]


@dataclass(slots=True, eq=False)
class _Held:
    """A line that waits for its context. Whoever releases it first decides what is written.

    `is_done` says that its context was assembled or failed, which may be long after the line is gone.
    """

    line: bytes
    guard: threading.Lock = field(default_factory=threading.Lock)
    timer: threading.Timer | None = None
    is_gone: bool = False
    is_done: bool = False


class Relay:
    """Passes lines of the server on to the client. `say` writes a note, `junk` what is no message."""

    def __init__(
        self,
        output: Output,
        junk: Output,
        globs: Sequence[str],
        enrich: Enrich,
        deadline: Callable[[], float],
        say: Say,
    ) -> None:
        self._output, self._junk, self._globs = output, junk, tuple(globs)
        self._enrich, self._deadline, self._say = enrich, deadline, say
        self._threads = Daemons(1)
        self._guard = threading.Lock()
        self._requests: dict[str, Request] = {}
        self._slots = threading.BoundedSemaphore(MOST_HELD)
        self._held: set[_Held] = set()
        self._settled = threading.Condition(self._guard)
        self._late_ones: set[_Held] = set()

    def prepare(self, work: Callable[[], None]) -> None:
        """Do this before the first context, while nobody waits for one."""
        self._threads.start(work)

    def sees(self, line: bytes) -> None:
        """Take note of a line of the client, before the server has it."""
        if b'"method"' not in line:
            return
        message = messages.parsed(line)
        request, taken_back = messages.request_of(message), messages.cancelled_key(message)
        with self._guard:
            if taken_back is not None:
                self._requests.pop(taken_back, None)
            if request is not None and (request.method == messages.LIST or self._is_chosen(request.tool)):
                self._requests[request.key] = request
                if len(self._requests) > MOST_REQUESTS:
                    del self._requests[next(iter(self._requests))]

    def passes(self, line: bytes) -> bool:
        """Pass a line of the server on, now or with its context soon. False where nobody reads any more."""
        message = messages.parsed(line)
        if message is None:
            if line.strip():
                self._junk.write([line if line.endswith(b"\n") else line + b"\n"])
            return True
        with self._guard:
            requests = [self._requests.pop(key, None) for key in messages.answered_keys(message)]
        request = requests[0] if len(requests) == 1 else None  # the answers of a batch pass as they are
        if request is not None and request.method == messages.LIST:
            self._compare(messages.tool_names(message))
        elif request is not None and messages.takes_context(message):
            self._hold(request, line)
            return True
        return self._output.write([line])

    def passes_long(self, pieces: Pieces) -> bool:
        """Pass a line on that is too long to be looked at."""
        return self._output.write(pieces)

    def settle(self, seconds: float) -> None:
        """Wait for what is held, and pass the rest on as it was."""
        with self._settled:
            self._settled.wait_for(lambda: not self._held, seconds)
            left = [*self._held]
        for held in left:
            self._release(held, held.line)

    def _is_chosen(self, tool: str) -> bool:
        return any(fnmatchcase(tool, glob) for glob in self._globs)

    def _hold(self, request: Request, line: bytes) -> None:
        """Let a line wait for its context, no longer than the deadline.

        While the one that was too late is still being assembled, nobody waits behind it.
        """
        with self._guard:
            is_stuck = bool(self._late_ones)
        if is_stuck:
            self._output.write([line])
            return
        self._slots.acquire()
        held, seconds = _Held(line), self._deadline()
        with self._guard:
            self._held.add(held)
        held.timer = threading.Timer(seconds, self._late, (held, seconds))
        held.timer.daemon = True
        held.timer.start()
        job = self._threads.start(partial(self._enriched, held, request))
        job.add_done_callback(partial(self._done, held))

    def _enriched(self, held: _Held, request: Request) -> bytes:
        # One that is gone already costs nothing more: what waits behind a slow one shall not be late as well.
        return held.line if held.is_gone else self._enrich(request, held.line)

    def _done(self, held: _Held, job: Future[bytes]) -> None:
        with self._guard:
            held.is_done = True
            self._late_ones.discard(held)
        problem = job.exception()
        if problem is not None:
            self._say(f"no context: {type(problem).__name__}: {problem}")
        self._release(held, held.line if problem is not None else job.result())

    def _late(self, held: _Held, seconds: float) -> None:
        with self._guard:
            if not held.is_done:
                self._late_ones.add(held)
        if self._release(held, held.line):
            self._say(f"no context: not assembled within {seconds:g} s (the setting tools.deadline_s)")

    def _release(self, held: _Held, line: bytes) -> bool:
        """Write a held line, once. Returns whether it was this time."""
        with held.guard:
            if held.is_gone:
                return False
            held.is_gone = True
        if held.timer is not None:
            held.timer.cancel()
        self._output.write([line])
        self._slots.release()
        with self._settled:
            self._held.discard(held)
            self._settled.notify_all()
        return True

    def _compare(self, names: Sequence[str] | None) -> None:
        """Say which globs choose nothing of what this server has."""
        for glob in messages.unmatched(self._globs, names) if names is not None else ():
            more = f" and {len(names) - NAMES_SHOWN} more" if names and len(names) > NAMES_SHOWN else ""
            self._say(f"no tool of this server matches {glob!r}: it has {', '.join((names or [])[:NAMES_SHOWN])}{more}")
