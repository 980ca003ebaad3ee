"""The server behind the proxy as a child process: in a group of its own, so that all of it ends with the proxy."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence

from satchel.errors import UsageError

FIRST_SIGNAL_CODE = 128

KILL = getattr(signal, "SIGKILL", signal.SIGTERM)
"""The signal that nobody can ignore, where there is one."""

_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG


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
        self.input, self.output = self._process.stdin.fileno(), self._process.stdout.fileno()

    def close_input(self) -> None:
        """Say that nothing more will come, which is how a server is told to end."""
        with contextlib.suppress(OSError):
            self._pipes[0].close()

    def close(self) -> None:
        """Close both pipes, once nobody reads or writes them any more."""
        for pipe in self._pipes:
            with contextlib.suppress(OSError):
                pipe.close()

    def wait(self, seconds: float | None = None) -> int | None:
        """The exit code, 128 and the number of the signal that ended it; None while it runs."""
        try:
            code: int = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return code if code >= 0 else FIRST_SIGNAL_CODE - code

    def signal(self, number: int) -> None:
        """Send a signal to the server and all that it started."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, number)
            else:
                self._process.send_signal(number)

    def end(self, waits: Sequence[tuple[int, float]]) -> int:
        """Signal after signal, each with the seconds to wait behind it, until it has ended."""
        code = self.wait(0)
        for number, seconds in waits:
            if code is not None:
                break
            self.signal(number)
            code = self.wait(seconds)
        # What it started and left behind has no other reader than the proxy.
        self.signal(signal.SIGTERM)
        return FIRST_SIGNAL_CODE + KILL if code is None else code


def _dies_with_parent() -> Callable[[], None] | None:
    """What the child does before it becomes the server: on Linux it asks to end with the proxy, however that ends."""
    if not sys.platform.startswith("linux"):
        return None
    import ctypes

    library = ctypes.CDLL(None)

    def ask() -> None:
        library.prctl(_DEATH_SIGNAL, signal.SIGTERM)

    return ask
