"""What the speed benchmarks measure with: wall and processor time, the load beside it, memory of a process tree."""

from __future__ import annotations

import ctypes
import os
import resource
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

HOMES = ("CACHE", "CONFIG", "DATA", "STATE")
SAMPLE_SECONDS = 0.02
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS = os.sysconf("SC_CLK_TCK")
_ADOPT_ORPHANS = 36
"""PR_SET_CHILD_SUBREAPER of prctl: processes whose parent has ended become children of this one."""

_PROCESS_CLOCK = 2
"""Beside the inverted number of a process, which of its clocks: time on a processor, to the nanosecond."""


@dataclass(frozen=True, slots=True)
class Lap:
    """One measured action: seconds of wall clock, seconds of processor (children included), load average of 1 minute.

    On a machine that others use too, the wall clock says what they did and the processor says what we did.
    """

    wall: float
    cpu: float
    load: float


def lap(action: Callable[[], Any]) -> Lap:
    """Run an action once."""
    before, started = processor_seconds(), time.perf_counter()
    action()
    wall = time.perf_counter() - started
    return Lap(wall, processor_seconds() - before, os.getloadavg()[0])


def processor_seconds() -> float:
    """What this process has used so far, and those of its children that have ended."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def laps(action: Callable[[], Any], count: int) -> list[Lap]:
    """Run an action several times."""
    return [lap(action) for _ in range(count)]


def spread(values: Iterable[float], digits: int) -> dict[str, float]:
    """Median, smallest and largest."""
    ordered = sorted(values)
    return {
        "median": round(statistics.median(ordered), digits),
        "min": round(ordered[0], digits),
        "max": round(ordered[-1], digits),
    }


def summary(measured: Sequence[Lap]) -> dict[str, Any]:
    """The laps of one action as they are stored: seconds."""
    return {
        "runs": len(measured),
        "wall_s": spread((row.wall for row in measured), 4),
        "cpu_s": spread((row.cpu for row in measured), 4),
        "load": spread((row.load for row in measured), 1),
    }


def quantiles(measured: Sequence[Lap]) -> dict[str, Any]:
    """Many laps of one action in one process: milliseconds, median and 95th percentile."""
    return {
        "questions": len(measured),
        "wall_ms": milliseconds([row.wall for row in measured]),
        "cpu_ms": milliseconds([row.cpu for row in measured]),
        "load": spread((row.load for row in measured), 1),
    }


def milliseconds(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds of many laps: smallest, median, 95th percentile, largest."""
    ordered = sorted(value * 1000 for value in seconds)
    ranks = {"min": 0, "p50": len(ordered) // 2, "p95": int(len(ordered) * 0.95), "max": len(ordered) - 1}
    return {name: round(ordered[rank], 2) for name, rank in ranks.items()}


def homes(folder: Path) -> dict[str, str]:
    """The variables that put cache, settings, data and state into `folder`, and nothing of this environment."""
    return {f"XDG_{name}_HOME": str(folder / name.lower()) for name in HOMES}


def fresh_home(folder: Path) -> dict[str, str]:
    """An environment whose cache, settings, data and state lie in `folder`; byte code is cached as usual."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"} | homes(folder)


def base_home(folder: Path) -> dict[str, str]:
    """The same with the vectors of an installation without extras: the table of the package, whatever is installed."""
    return fresh_home(folder) | {"SATCHEL_EMBED_PROVIDER": "static"}


def run(command: Sequence[str], folder: Path, environment: Mapping[str, str], given: bytes = b"") -> bytes:
    """Run a command to its end and return its output. Raises CalledProcessError when it fails."""
    return subprocess.run(
        [*command], cwd=folder, env=environment, check=True, stdout=subprocess.PIPE, input=given
    ).stdout


def lap_of_all(action: Callable[[], Any]) -> Lap:
    """Run an action that starts processes which outlive those that it waits for: their processor time counts.

    The wall clock ends with the action. What has become a child of this process is waited for. Linux only.
    """
    ctypes.CDLL(None).prctl(_ADOPT_ORPHANS, 1, 0, 0, 0)
    known, before, started = {*_children()}, processor_seconds(), time.perf_counter()
    action()
    wall = time.perf_counter() - started
    for orphan in {*_children()} - known:
        os.waitpid(orphan, 0)
    return Lap(wall, processor_seconds() - before, os.getloadavg()[0])


def _children() -> list[int]:
    tasks = Path("/proc/self/task").iterdir()
    return [int(number) for task in tasks for number in (task / "children").read_text(encoding="ascii").split()]


def processor_of(process: int) -> float:
    """Seconds that a running process, its threads, and its children that have ended have used so far. Linux only."""
    row = Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    children = (int(row[13]) + int(row[14])) / _TICKS
    return time.clock_gettime(~process << 3 | _PROCESS_CLOCK) + children


def resident_bytes(process: int) -> int:
    """Memory that a process holds right now; 0 when it has ended. Linux only."""
    try:
        return int(Path(f"/proc/{process}/statm").read_bytes().split()[1]) * _PAGE_BYTES
    except (OSError, IndexError):
        return 0


def descendants(process: int) -> list[int]:
    """A process and all of its children, as far as they still run. Linux only."""
    found = [process]
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
    except OSError:
        return found
    for task in tasks:
        try:
            children = (task / "children").read_text(encoding="ascii").split()
        except OSError:
            continue
        for child in children:
            found.extend(descendants(int(child)))
    return found


class PeakMemory:
    """Watches a process tree from a thread. Pages shared by several processes count once for each: an upper bound."""

    def __init__(self, process: int) -> None:
        self._process = process
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self.total = 0
        self.largest = 0
        self.processes = 0

    def _watch(self) -> None:
        while not self._done.wait(SAMPLE_SECONDS):
            sizes = [resident_bytes(process) for process in descendants(self._process)]
            self.total = max(self.total, sum(sizes))
            self.largest = max(self.largest, *sizes)
            self.processes = max(self.processes, len(sizes))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
