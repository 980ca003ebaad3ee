"""Worker processes of `satchel serve` that answer on one socket: their start, their restart and their end.

They are forked from a process that has loaded the code and no engine, so that they share its memory. A worker is in a
process group of its own: Ctrl-C reaches the parent, which passes it on once.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import signal
import socket
import time
import traceback
from collections import deque
from collections.abc import Callable

LOOK_SECONDS = 0.05
"""Seconds between two looks at the workers and for a signal."""

MOST_RESTARTS = 5
RESTART_SECONDS = 60.0
"""Workers that end by themselves are replaced, but not more than `MOST_RESTARTS` of them within this time."""

FAILED = 1

LOAD_BYTES = 4


def shared_loads(count: int) -> memoryview:
    """Return a number for each worker, in memory that this process shares with those that it forks."""
    return memoryview(mmap.mmap(-1, mmap.PAGESIZE))[: count * LOAD_BYTES].cast("i")


class Workers:
    """Keeps `count` workers running on a socket. `work` gets the number of its worker and returns the exit code."""

    def __init__(self, count: int, sock: socket.socket, work: Callable[[int], int], say: Callable[[str], None]) -> None:
        self._sock = sock
        self._count = count
        self._work = work
        self._say = say
        self._slots: dict[int, int] = {}
        self._deaths: deque[float] = deque(maxlen=MOST_RESTARTS)

    def start(self) -> None:
        """Start all workers."""
        for slot in range(self._count):
            self._start(slot)

    def watch(self, signaled: Callable[[], int], patience: float) -> int:
        """Replace workers that end until a signal arrives, then end all; returns an exit code, 0 after SIGTERM.

        Workers that run on for `patience` seconds after the signal, or until a second signal, are killed.
        """
        try:
            is_well = True
            while is_well and not signaled():
                time.sleep(LOOK_SECONDS)
                for slot, code in self._ended():
                    is_well = is_well and self._replaced(slot, code)
            self._sock.close()  # else new connections would wait for a process that accepts them
            self._stop(signaled() or signal.SIGTERM, patience)
        finally:
            self._signal(signal.SIGKILL)
        return FAILED if not is_well else 0 if signaled() == signal.SIGTERM else 128 + signaled()

    def _start(self, slot: int) -> None:
        pid = os.fork()
        if pid:
            self._slots[pid] = slot
            return
        code = FAILED
        try:
            os.setpgid(0, 0)
            code = self._work(slot)
        except BaseException:  # noqa: BLE001 - the process ends here, and the code of the parent must not run on in it
            traceback.print_exc()
        finally:
            os._exit(code)

    def _ended(self) -> list[tuple[int, int]]:
        """Return the number and exit code of workers that ended; a negative code is a signal."""
        rows = []
        for pid in [*self._slots]:
            ended, status = os.waitpid(pid, os.WNOHANG)
            if ended:
                rows.append((self._slots.pop(pid), os.waitstatus_to_exitcode(status)))
        return rows

    def _replaced(self, slot: int, code: int) -> bool:
        """Start a worker in place of one that ended; returns false if too many did."""
        cause = f"exit code {code}" if code >= 0 else signal.Signals(-code).name
        now = time.monotonic()
        if len(self._deaths) == MOST_RESTARTS and now - self._deaths[0] < RESTART_SECONDS:
            self._say(f"worker {slot + 1} ended ({cause}), the {MOST_RESTARTS + 1}th within a minute: the server ends")
            return False
        self._deaths.append(now)
        self._say(f"worker {slot + 1} ended ({cause}): another one is started")
        self._start(slot)
        return True

    def _stop(self, number: int, patience: float) -> None:
        self._signal(number)
        deadline = time.monotonic() + patience
        while self._slots and time.monotonic() < deadline:
            self._ended()
            time.sleep(LOOK_SECONDS)
        if self._slots:
            self._say(f"{len(self._slots)} workers did not end in time and were killed")

    def _signal(self, number: int) -> None:
        for pid in self._slots:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
