"""The process around the server: its own pipes, and an end within seconds of its client's.

Nothing here imports the SDK: the pipes are taken before anything else is loaded that might print.
"""

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
"""Between two looks at the parent. The server has to be gone 3 seconds after it."""

LAST_SECONDS = 2.0
"""From the moment that the server should end to the moment when it does, whatever it waits for: a full pipe, a disk."""

END_SECONDS = 1.5
"""For what runs to notice that it should stop: indexing looks many times a second, a question takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Pipes:
    """The descriptors of the client; the standard ones are no longer theirs."""

    source: int
    sink: int


def take_pipes() -> Pipes:
    """Keep standard input and output for the protocol alone.

    Descriptor 0 reads nothing from now on and descriptor 1 writes to standard error, whoever uses them: this program,
    a library in C, or a process that it starts.
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
    """A copy that processes which are started do not inherit, and that is none of the standard ones."""
    if fcntl is None:
        return os.dup(descriptor)
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def end_after(seconds: float) -> threading.Timer:
    """End this process after so long, whatever it waits for by then, unless the timer is cancelled."""
    timer = threading.Timer(seconds, os._exit, [1])
    timer.daemon = True
    timer.start()
    return timer


class Parent:
    """Calls `gone` once the process that started this one has ended, and ends this one if it is still there then."""

    def __init__(self, gone: Callable[[], object], seconds: float = LOOK_SECONDS, grace: float = END_SECONDS) -> None:
        self._gone = gone
        self._seconds = seconds
        self._grace = grace
        self._known = os.getppid()
        self._done = threading.Event()

    def watch(self) -> None:
        """Begin to look, in a thread of its own: also a busy event loop must end."""
        threading.Thread(target=self._look, name="satchel-mcp-parent", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._done.set()

    def _look(self) -> None:
        while not self._done.wait(self._seconds):
            if os.getppid() != self._known:
                with contextlib.suppress(RuntimeError):  # the loop is closed: the end has begun already
                    self._gone()
                if not self._done.wait(self._grace):
                    os._exit(1)
                return
