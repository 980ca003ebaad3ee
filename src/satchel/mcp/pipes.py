"""The pipes of a server and of a proxy: lines, child processes, the lifetime of both ends. Loads nothing of the SDK.

A child has its own process group, so that all its processes end with the proxy. Pipes are read through descriptors,
not streams: a thread that is blocked in a buffered read would keep the process from ending.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec import Struct

from satchel.errors import UsageError

try:
    import fcntl
except ImportError:  # not a POSIX system: a plain copy is not inherited there either
    fcntl = None  # type: ignore[assignment]

LAST_SECONDS = 2.0
"""Seconds until a server that should end is killed, even while it waits for a full pipe or a disk."""

END_SECONDS = 1.5
"""Seconds for running calls to stop: indexing checks many times a second, a question takes milliseconds."""


class Pipes(Struct, frozen=True):
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

    # Seconds between two checks of the parent. The server has to end within 3 seconds of it.
    def __init__(self, gone: Callable[[], object], seconds: float = 0.5, grace: float = END_SECONDS) -> None:
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


FIRST_SIGNAL_CODE = 128

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""The signal that no process can ignore, if the system has one."""


class Child:
    """A running server. Its standard error is that of the proxy."""

    def __init__(self, command: Sequence[str]) -> None:
        try:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                preexec_fn=_dies_with_parent(),
            )
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise UsageError(f"cannot run {command[0]!r}: {reason}") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._pipes = (self._process.stdin, self._process.stdout)
        self._watcher = _watcher(self._process.pid)
        self.input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()

    def close_input(self) -> None:
        """Close the input of the server, which asks it to end."""
        with contextlib.suppress(OSError):
            self._pipes[0].close()

    def close(self) -> None:
        """Close both pipes, after the last read and write."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()
        if self._watcher is not None:
            self._watcher.kill()
            self._watcher.communicate()

    def wait(self, seconds: float | None = None) -> int | None:
        """Return the exit code, or 128 plus the number of the signal that ended it; None while it runs."""
        try:
            code: int = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return code if code >= 0 else FIRST_SIGNAL_CODE - code

    def signal(self, number: int) -> None:
        """Send a signal to the server and all its child processes."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)

    def end(self, waits: Sequence[tuple[int, float]]) -> int:
        """Send each signal and wait the seconds after it, until the server has ended. Returns the exit code."""
        code = self.wait(0)
        for number, seconds in waits:
            if code is not None:
                break
            self.signal(number)
            code = self.wait(seconds)
        # Processes that the server left behind have no reader but the proxy.
        self.signal(signal.SIGTERM)
        return FIRST_SIGNAL_CODE + KILL if code is None else code


_WATCH = 'read -r line; sleep "$1"; kill -s KILL -- "-$0"'
"""Waits for the end of its input, which is the end of the proxy, and kills what is left of a group of processes."""


def _watcher(group: int) -> subprocess.Popen[bytes] | None:
    """Start what kills a server that is deaf to other signals after the proxy itself was killed.

    A system without `/bin/sh` has none: there the server is asked to end, and no more.
    """
    if not os.access("/bin/sh", os.X_OK):
        return None
    return subprocess.Popen(
        ("/bin/sh", "-c", _WATCH, str(group), f"{LAST_SECONDS:g}"),
        stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def _dies_with_parent() -> Callable[[], None] | None:
    """Return what the child runs before it becomes the server: on Linux it asks to end together with the proxy."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    library = ctypes.CDLL(None)

    def ask() -> None:
        library.prctl(1, signal.SIGTERM)  # death signal

    return ask


CHUNK_BYTES = 65_536
"""Capacity of a pipe, which is the most that one read returns."""

LONGEST_LINE = 64_000_000
"""Longest line in bytes that is parsed. A longer one is passed on in pieces, so that memory stays bounded."""

Pieces = Iterator[bytes]


def lines(descriptor: int, longest: int | None = None) -> Iterator[bytes | Pieces]:
    """Yield each line with its end; the last one may have none. A far longer line than `longest` comes in pieces.

    The caller has to consume the pieces before it asks for the next line.
    """
    buffered: list[bytes] = []
    size, behind = 0, b""
    source = chunks(descriptor)
    while chunk := behind or next(source, b""):
        behind = b""
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*buffered, line, b"\n"])
            buffered, size = [], 0
        if rest:
            buffered.append(rest)
            size += len(rest)
        if size > (longest or LONGEST_LINE):
            following: list[bytes] = []
            yield _pieces(buffered, source, following)
            buffered, size, behind = [], 0, b"".join(following)
    if buffered:
        yield b"".join(buffered)


def _pieces(buffered: list[bytes], source: Iterator[bytes], following: list[bytes]) -> Pieces:
    """Yield the buffered bytes and the rest of the line; bytes after the line are appended to `following`."""
    yield from buffered
    for chunk in source:
        piece, end, rest = chunk.partition(b"\n")
        following.append(rest)
        yield piece + end
        if end:
            return


def chunks(descriptor: int) -> Iterator[bytes]:
    """Yield what a descriptor gives until its end."""
    while True:
        try:
            chunk = os.read(descriptor, CHUNK_BYTES)
        except OSError:  # the other side is gone, or the descriptor was closed to end this
            return
        if not chunk:
            return
        yield chunk


class Output:
    """Writes lines one after the other, from any thread. It blocks while nobody reads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = threading.Lock()

    def write(self, pieces: Iterable[bytes]) -> bool:
        """Write one line; False if the reader is gone."""
        with self._guard:
            try:
                for piece in pieces:
                    rest = memoryview(piece)
                    while rest:
                        rest = rest[os.write(self._descriptor, rest) :]
            except OSError:
                return False
        return True
