"""The pipes of a server, and the lifetime of the processes at both ends. Loads nothing of the SDK."""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

try:
    import fcntl
except ImportError:  # not a POSIX system: a plain copy is not inherited there either
    fcntl = None  # type: ignore[assignment]

LOOK_SECONDS = 0.5
"""Seconds between two checks of the parent. The server has to end within 3 seconds of it."""

LAST_SECONDS = 2.0
"""Seconds until a server that should end is killed, even while it waits for a full pipe or a disk."""

END_SECONDS = 1.5
"""Seconds for running calls to stop: indexing checks many times a second, a question takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Pipes:
    """Private descriptors of the client's pipes; the standard ones no longer lead to it."""

    source: int
    sink: int


def take_pipes() -> Pipes:
    """Reserve standard input and output for the protocol.

    From now on descriptor 0 reads nothing and descriptor 1 writes to standard error, for this program, libraries in C
    and child processes.
    """
    pipes = Pipes(_private(0), _private(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nothing, 1)
    os.close(nothing)
    return pipes


def _private(descriptor: int) -> int:
    """Return a copy above the standard descriptors that child processes do not inherit."""
    if fcntl is None:
        return os.dup(descriptor)
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def end_after(seconds: float) -> threading.Timer:
    """End this process after `seconds`, even if it is blocked, unless the timer is cancelled."""
    timer = threading.Timer(seconds, os._exit, [1])
    timer.daemon = True
    timer.start()
    return timer


class Parent:
    """Calls `gone` once the parent process has ended, and ends this process if it still runs after `grace` seconds."""

    def __init__(self, gone: Callable[[], object], seconds: float = LOOK_SECONDS, grace: float = END_SECONDS) -> None:
        self._gone = gone
        self._seconds = seconds
        self._grace = grace
        self._parent_id = os.getppid()
        self._done = threading.Event()

    def watch(self) -> None:
        """Start to watch, in a thread, because a busy event loop must end too."""
        threading.Thread(target=self._look, name="satchel-mcp-parent", daemon=True).start()

    def stop(self) -> None:
        """Stop watching."""
        self._done.set()

    def _look(self) -> None:
        while not self._done.wait(self._seconds):
            if os.getppid() != self._parent_id:
                with contextlib.suppress(RuntimeError):  # the loop is closed: the end has begun already
                    self._gone()
                if not self._done.wait(self._grace):
                    os._exit(1)
                return
