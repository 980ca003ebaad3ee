"""The process that a host starts for an event: it waits for a worker until a deadline, and exits with 0.

The worker is a fork. Its faults (an exception, output of a library, a crash in machine code, a loop) cannot reach the
host: only a complete answer is passed on. Before the worker runs, only the event is read and a resident process asked:
that imports next to nothing, so that a broken installation also ends quietly. If the resident process answers, there is
no worker.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import sys
import time

from satchel.system import resident

TYPE_CHECKING = False  # the module `typing` would take longer to import than all others here together
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

DEADLINE_SECONDS = 2.0
"""Time from the start of the process to its end, on a machine that is not busy. Hosts wait longer."""

WORKER_SECONDS = 1.6
"""Time after which the worker is killed; the rest is for the entry in the log."""

SWITCH = "SATCHEL_HOOKS"
"""Environment variable that switches all hooks off: `SATCHEL_HOOKS=0`."""

_OFF = frozenset({"0", "false", "no", "off"})
_UNKNOWN_START = 0.05  # seconds that the interpreter took to get here, where the system does not say

RESIDENT_SECONDS = 0.8
"""Time from the start of the process until a resident process must have answered; a worker needs the rest.

On a busy machine a worker would not be done in that rest: there the hook waits for the resident to the end.
"""

BUSY = 3
"""Tasks per core that want to run, this process included, from which a machine is busy: a worker computes for .4 s."""

GRACE_SECONDS = 3.0
"""Seconds added to the limits on a busy machine with a resident; set-up lets hosts wait twice as long."""

MAX_BYTES = 16_000_000
"""Size limit of an event: a tool that wrote a large file sends all of it."""

_CHUNK = 1 << 20

Work: TypeAlias = "Callable[[Sequence[str], bytes], tuple[str, bytes]]"
"""A function of the arguments and the event that returns a note for standard error and an answer."""


class Stopped(BaseException):
    """A signal to end this process."""


def is_off(value: str | None) -> bool:
    """Return whether this value of the switch turns hooks off."""
    return value is not None and value.strip().lower() in _OFF


def main(arguments: Sequence[str], work: Work | None = None) -> int:
    """Answer one event and return 0, whatever happens. `arguments` are those after `hook` on the command line."""
    began = time.monotonic() - _age()
    child = 0
    try:
        arguments = [*arguments, *_project()]
        place = resident.address(resident.root_of(arguments)) if work is None else ""
        grace = GRACE_SECONDS if place and is_busy() else 0.0
        limits = began + grace  # the moment from which the limits count
        _arm(limits + DEADLINE_SECONDS)
        if is_off(os.environ.get(SWITCH)):
            return 0
        raw = receive(0, limits + WORKER_SECONDS)
        if work is None:
            if parts := _resident_answer(place, arguments, raw, limits, is_patient=grace > 0):
                _write(*parts)
                return 0
            if time.monotonic() >= limits + WORKER_SECONDS:
                note_late()
                return 0
            work = _worker
        if not hasattr(os, "fork"):
            _alone(arguments, raw, limits, work)
            return 0
        child, source = _start(arguments, raw, limits, work)
        received = _collected(source, limits + WORKER_SECONDS)
        if not _answer(received):
            _end(child)
        child = 0
        _pass_on(received, arguments, began, grace)
    except BaseException as error:  # noqa: BLE001 - a hook must not fail, not even when it is ended by a signal
        if child:
            _end(child)
        if not isinstance(error, Stopped):
            _say(f"{type(error).__name__}: {error}")
    return 0


PROJECT_VARIABLES = (
    "CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "CURSOR_PROJECT_DIR", "QWEN_PROJECT_DIR", "FACTORY_PROJECT_DIR",
)  # fmt: skip
"""Variables in which hosts name the folder of the project, wherever the session has gone since."""


def _project() -> list[str]:
    """Return the folder of the project as an option, as a resident process has variables of its own."""
    folder = next(filter(None, map(os.environ.get, PROJECT_VARIABLES)), "")
    return ["--project", folder] if folder else []


def receive(descriptor: int, deadline: float) -> bytes:
    """Read to the end of the stream, or of a JSON object that nothing follows; at most `MAX_BYTES`.

    Not every host closes it. Stops at the deadline (monotonic seconds). Standard input that is closed or a terminal is
    empty.
    """
    try:
        return b"" if os.isatty(descriptor) else _received(descriptor, deadline)
    except OSError:
        return b""


def _received(descriptor: int, deadline: float) -> bytes:
    received = bytearray()
    quiet_since = time.monotonic()
    while time.monotonic() < deadline and len(received) < MAX_BYTES:
        # Pause of the host after which the object may be complete and is checked.
        if select.select([descriptor], [], [], 0.01)[0]:
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                break
            received += chunk
            quiet_since = time.monotonic()
        # Time after which the event of a silent host is complete.
        elif _is_object(received) or time.monotonic() - quiet_since > 0.3:
            break
    return bytes(received)


def _is_object(received: bytearray) -> bool:
    if not received.rstrip().endswith(b"}"):
        return False
    import json  # here, because a resident process reads the event

    try:
        return bool(json.loads(received.decode("utf-8-sig", "replace")))
    except (ValueError, RecursionError):
        return False


def _worker(arguments: Sequence[str], raw: bytes) -> tuple[str, bytes]:
    from satchel.hooks.worker import work

    return work(arguments, raw)


def _resident_answer(
    place: str, arguments: Sequence[str], raw: bytes, limits: float, *, is_patient: bool
) -> list[bytes]:
    """Ask the resident process at a socket, if there is one and time for it; returns a note and the answer."""
    deadline = limits + (WORKER_SECONDS if is_patient else RESIDENT_SECONDS)
    rest = deadline - time.monotonic()
    patience = rest if is_patient else resident.ACCEPT_SECONDS
    return resident.ask(place, resident.HOOK, arguments, raw, deadline, patience) if place and rest > 0 else []


def is_busy() -> bool:
    """Return whether more processes want to run now than would leave time for a worker; false where it is not known."""
    try:
        with open("/proc/loadavg", "rb") as file:  # noqa: PTH123 - no pathlib here
            wanting = int(file.read().split()[3].partition(b"/")[0])
    except (OSError, ValueError, IndexError):
        return False
    return wanting >= BUSY * (os.cpu_count() or 1)


def _age() -> float:
    """Return seconds since this process was started, unless a script became this command by `exec`."""
    try:
        with open("/proc/self/stat", "rb") as file:  # noqa: PTH123 - pathlib takes longer to import than this to read
            started = int(file.read().rpartition(b")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - started
    except (OSError, ValueError, IndexError, AttributeError):
        return _UNKNOWN_START
    return age if 0 <= age < WORKER_SECONDS else _UNKNOWN_START


def _arm(deadline: float) -> None:
    """Exit with 0 at the deadline, even if this process hangs, and on signals."""

    def stop(_number: int, _frame: object) -> None:
        raise Stopped

    def give_up(_number: int, _frame: object) -> None:
        note_late()
        os._exit(0)

    for name in ("SIGTERM", "SIGINT", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    if hasattr(signal, "setitimer"):
        signal.signal(signal.SIGALRM, give_up)
        signal.setitimer(signal.ITIMER_REAL, max(deadline - time.monotonic(), 0.01))


def _start(arguments: Sequence[str], raw: bytes, limits: float, work: Work) -> tuple[int, int]:
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
        # The timer is not inherited; this one ends the worker if its supervisor was killed.
        signal.setitimer(signal.ITIMER_REAL, max(limits + DEADLINE_SECONDS - time.monotonic(), 0.01))
        gc.disable()  # the process ends before it would have anything to collect
        _silence()
        _send(target, *_guarded(arguments, raw, work))
    finally:
        os._exit(0)


def _guarded(arguments: Sequence[str], raw: bytes, work: Work) -> tuple[str, bytes]:
    try:
        return work(arguments, raw)
    except BaseException as error:  # noqa: BLE001 - an import that fails, also by SystemExit, must not reach the host
        reason = f"{type(error).__name__}: {error}"
        with contextlib.suppress(BaseException):  # what broke may be what writes the log
            _log(arguments, reason, 0.0)
        return reason, b""


def _log(arguments: Sequence[str], reason: str, milliseconds: float) -> None:
    from satchel.hooks.worker import log_failure

    log_failure(arguments, reason, milliseconds)


def _silence() -> None:
    """Discard the output of libraries: nothing but the answer may reach the host."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)


def _send(target: int, note: str, answer: bytes) -> None:
    """Write to the pipe: a line with the size of the answer and the note, then the answer."""
    message = b"%d %b\n%b" % (len(answer), _line(note).encode("utf-8", "replace"), answer)
    while message:
        message = message[os.write(target, message) :]


def _collected(source: int, deadline: float) -> bytes:
    """Return what the worker sent, until it ends or its time is over."""
    received = b""
    while (rest := deadline - time.monotonic()) > 0:
        if select.select([source], [], [], rest)[0]:
            chunk = os.read(source, 65_536)
            if not chunk:
                break
            received += chunk
    return received


def _end(child: int) -> None:
    """Kill the worker and wait for it."""
    with contextlib.suppress(ProcessLookupError, ChildProcessError):
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def _answer(received: bytes) -> tuple[bytes, bytes] | None:
    """Return the note and the answer that a worker sent, None if they are not complete."""
    head, newline, answer = received.partition(b"\n")
    size, _, note = head.partition(b" ")
    return (note, answer) if newline and size.isdigit() and int(size) == len(answer) else None


def _pass_on(received: bytes, arguments: Sequence[str], began: float, grace: float = 0.0) -> None:
    """Write a complete answer; without one, write the reason to standard error and the log."""
    if answer := _answer(received):
        _write(*answer)
        return
    limit = WORKER_SECONDS + grace
    is_late = time.monotonic() - began >= limit
    if is_late:
        note_late()
    reason = f"no answer within {limit:g} s" if is_late else "the worker died"
    _say(reason)
    _log(arguments, reason, (time.monotonic() - began) * 1000)


LATE_BYTES = 20_000
"""Size of the file of late events, a thousand lines, at which it begins anew."""

_noted_late = False


def note_late() -> None:
    """Add a line with the time to the events that were not answered in time, once in a process.

    The log takes longer to write than a busy machine leaves time for, so `satchel doctor` counts these lines.
    """
    global _noted_late
    folder = resident.socket_folder()
    if _noted_late or not folder:
        return
    _noted_late = True
    with contextlib.suppress(OSError):
        hooks = os.path.join(os.path.dirname(folder), "hooks")  # noqa: PTH118, PTH120
        os.makedirs(hooks, mode=0o700, exist_ok=True)  # noqa: PTH103
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(os.path.join(hooks, "late"), flags, 0o600)  # noqa: PTH118
        try:
            if os.fstat(descriptor).st_size > LATE_BYTES:
                os.ftruncate(descriptor, 0)
            os.write(descriptor, time.strftime("%Y-%m-%dT%H:%M:%SZ\n", time.gmtime()).encode())
        finally:
            os.close(descriptor)


def _alone(arguments: Sequence[str], raw: bytes, limits: float, work: Work) -> None:
    """Work in this process, where processes cannot be forked; a timer ends it at the deadline."""
    import threading

    def give_up() -> None:
        note_late()
        os._exit(0)

    timer = threading.Timer(max(limits + WORKER_SECONDS - time.monotonic(), 0.01), give_up)
    timer.daemon = True
    timer.start()
    out, err = os.dup(1), os.dup(2)
    _silence()
    note, answer = _guarded(arguments, raw, work)
    os.dup2(out, 1)
    os.dup2(err, 2)
    timer.cancel()
    _write(note.encode("utf-8", "replace"), answer)


def _write(note: bytes, answer: bytes) -> None:
    """Write the note for people, and the answer for the host."""
    if note:
        _say(note.decode("utf-8", "replace"))
    while answer:
        answer = answer[os.write(1, answer) :]


def _say(text: str) -> None:
    """Write one line to standard error, if it is open."""
    with contextlib.suppress(OSError):
        os.write(2, f"satchel hook: {_line(text)}\n".encode("utf-8", "replace"))


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
