"""The process that a host starts for an event: it lets a worker answer, waits so long and no longer, and ends with 0.

The worker is a fork. Whatever becomes of it (an exception, a library that writes to standard output, a crash in
machine code, a loop) cannot reach the host: only a complete answer is passed on. Nothing of satchel is imported before
the worker runs, so that a broken installation ends quietly too.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Sequence

DEADLINE_SECONDS = 2.0
"""From the start of the process to its end. Hosts wait longer, but a person waits with them."""

WORKER_SECONDS = 1.6
"""After this the worker is ended; what is left is for the entry in the log, on a slow machine too."""

SWITCH = "SATCHEL_HOOKS"
"""Environment variable that switches all hooks off: `SATCHEL_HOOKS=0`."""

_OFF = frozenset({"0", "false", "no", "off"})
_UNKNOWN_START = 0.05  # seconds that the interpreter took to get here, where the system does not say
_CHUNK = 65_536

Work = Callable[[Sequence[str], float], tuple[str, bytes]]
"""Given the words behind `hook` and the moment (monotonic) to be done: a line to say, and what to write."""


class Stopped(BaseException):
    """Somebody asks this process to end."""


def is_off(value: str | None) -> bool:
    """Return whether the value of the switch says so."""
    return value is not None and value.strip().lower() in _OFF


def main(arguments: Sequence[str], work: Work | None = None) -> int:
    """Answer one event and return 0, whatever happens. `arguments` stand behind `hook` on the command line."""
    began = time.monotonic() - _age()
    child = 0
    try:
        _arm(began + DEADLINE_SECONDS)
        if is_off(os.environ.get(SWITCH)):
            return 0
        if not hasattr(os, "fork"):
            _alone(arguments, began, work or _work)
            return 0
        child, source = _start(arguments, began, work or _work)
        received = _collected(source, began + WORKER_SECONDS)
        _end(child)
        child = 0
        _pass_on(received, arguments, began)
    except BaseException as error:  # noqa: BLE001 - a hook must not fail, not even when it is told to end
        if child:
            _end(child)
        if not isinstance(error, Stopped):
            _say(f"{type(error).__name__}: {error}")
    return 0


def _work(arguments: Sequence[str], deadline: float) -> tuple[str, bytes]:
    from satchel.hooks.worker import work

    return work(arguments, deadline)


def _age() -> float:
    """Return seconds since this process was started.

    Where a script became this command by `exec`, the process is as old as the script: that says nothing.
    """
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - pathlib takes longer to import than this to read
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, IndexError, AttributeError):
        return _UNKNOWN_START
    return age if 0 <= age < WORKER_SECONDS else _UNKNOWN_START


def _arm(deadline: float) -> None:
    """End at the deadline even if this process itself hangs, and end with 0 when it is asked to end."""

    def stop(_number: int, _frame: object) -> None:
        raise Stopped

    def give_up(_number: int, _frame: object) -> None:
        os._exit(0)

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), 0.01))


def _start(arguments: Sequence[str], began: float, work: Work) -> tuple[int, int]:
    """Start the worker; returns its process id and the end of the pipe that its answer comes from."""
    source, target = os.pipe()
    child = os.fork()
    if child:
        os.close(target)
        return child, source
    try:
        os.close(source)
        for name in ("SIGTERM", "SIGINT", "SIGHUP", "SIGALRM"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        # The timer is not inherited; this one ends the worker if its supervisor was killed and nobody waits any more.
        signal.setitimer(signal.ITIMER_REAL, max(began + DEADLINE_SECONDS - time.monotonic(), 0.01))
        gc.disable()  # the process ends before it would have anything to collect
        _silence()
        _send(target, *_guarded(arguments, began + WORKER_SECONDS, work))
    finally:
        os._exit(0)


def _guarded(arguments: Sequence[str], deadline: float, work: Work) -> tuple[str, bytes]:
    try:
        return work(arguments, deadline)
    except BaseException as error:  # noqa: BLE001 - an import that fails, also by SystemExit, must not reach the host
        reason = f"{type(error).__name__}: {error}"
        with contextlib.suppress(BaseException):  # what broke may be what writes the log
            _log(arguments, reason, 0.0)
        return reason, b""


def _log(arguments: Sequence[str], reason: str, milliseconds: float) -> None:
    from satchel.hooks.worker import log_failure

    log_failure(arguments, reason, milliseconds)


def _silence() -> None:
    """Nothing but the answer may reach the host: what libraries print goes nowhere."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _send(target: int, note: str, answer: bytes) -> None:
    """The answer as it goes through the pipe: a line with its size and what to say, then itself."""
    message = b"%d %b\n%b" % (len(answer), _line(note).encode("utf-8", "replace"), answer)
    while message:
        message = message[os.write(target, message) :]


def _collected(source: int, deadline: float) -> bytes:
    """Return what the worker sent, until it ends or its time is over."""
    received = b""
    while (rest := deadline - time.monotonic()) > 0:
        if select.select([source], [], [], rest)[0]:
            chunk = os.read(source, _CHUNK)
            if not chunk:
                break
            received += chunk
    return received


def _end(child: int) -> None:
    """The worker is done, or has to be."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _pass_on(received: bytes, arguments: Sequence[str], began: float) -> None:
    """Write a complete answer; where there is none, say so and keep it in the log."""
    head, newline, answer = received.partition(b"\n")
    size, _, note = head.partition(b" ")
    if newline and size.isdigit() and int(size) == len(answer):
        if note:
            _say(note.decode("utf-8", "replace"))
        while answer:
            answer = answer[os.write(1, answer) :]
        return
    is_late = time.monotonic() - began >= WORKER_SECONDS
    reason = f"no answer within {WORKER_SECONDS:g} s" if is_late else "the worker died"
    _say(reason)
    _log(arguments, reason, (time.monotonic() - began) * 1000)


def _alone(arguments: Sequence[str], began: float, work: Work) -> None:
    """Where processes cannot be forked: the same in this one, ended by a thread when it takes too long."""
    import threading

    def give_up() -> None:
        os._exit(0)

    timer = threading.Timer(max(began + WORKER_SECONDS - time.monotonic(), 0.01), give_up)
    timer.daemon = True
    timer.start()
    out, err = os.dup(1), os.dup(2)
    _silence()
    note, answer = _guarded(arguments, began + WORKER_SECONDS, work)
    os.dup2(out, 1)
    os.dup2(err, 2)
    timer.cancel()
    if note:
        _say(note)
    while answer:
        answer = answer[os.write(1, answer) :]


def _say(text: str) -> None:
    """One line to standard error; where nobody listens, it is lost."""
    with contextlib.suppress(OSError):
        os.write(2, f"satchel hook: {_line(text)}\n".encode("utf-8", "replace"))


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
