"""Worker processes that extract files side by side."""

from __future__ import annotations

import gc
import marshal
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple
from types import TracebackType
from typing import IO, Any, Self

from satchel.index.options import ReadingOptions
from satchel.index.reading import FAILED, Reading, read_file

BATCH_BYTES = 150_000
"""Source bytes of a batch: large enough to hide the cost of the pipe, small enough to stop and end soon."""

LAST_BATCH_BYTES = 20_000
"""Bytes of the last batches, so that no lane waits long for another."""

WORKER_WORTH_BYTES = 1_200_000
"""Source bytes for each worker: it starts in about 0.2 s, so less work is faster without one."""

MOST_LANES = 8
"""Processes at most: more would wait for the one that writes."""

MOST_CRASHES = 20
"""Workers that a lane starts again after crashes; then the other lanes read."""

WORKER = ("-P", "-m", "satchel.index.workers")
"""Python arguments of a worker; `-P` keeps a module in the current folder from replacing it."""

_PAUSE_SECONDS = 0.05  # between two checks for a stop

Batch = tuple[int, list[str]]
Result = tuple[int, list[Reading]]


class Lanes:
    """Reads files in order, by batches. Use it in a `with` block, which starts and ends the workers.

    `paths` are (path, size) pairs; `workers` is the total number of processes, 0 for one per core.
    """

    def __init__(
        self,
        paths: Sequence[tuple[str, int]],
        options: ReadingOptions,
        workers: int,
        should_stop: Callable[[], bool],
    ) -> None:
        lanes = workers or min(_processors(), MOST_LANES)
        extra = min(lanes - 1, sum(size for _, size in paths) // WORKER_WORTH_BYTES)
        self._options, self._should_stop = options, should_stop
        self._batches: deque[Batch] = deque(enumerate(_batches(paths, extra + 1)))
        self._results: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._threads = [_Lane(self._batches, self._results, options, should_stop) for _ in range(extra)]

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for thread in self._threads:
            thread.stop()

    def __iter__(self) -> Iterator[list[Reading]]:
        """Yield the readings, by batches in the order of the paths. After a stop, only those done."""
        waiting: dict[int, list[Reading]] = {}
        following = 0
        for number, readings in self._finished():
            waiting[number] = readings
            while following in waiting:
                yield waiting.pop(following)
                following += 1
        for number in sorted(waiting):
            yield waiting[number]

    def _finished(self) -> Iterator[Result]:
        """Yield batches as they are done, of this process and of the workers."""
        running = len(self._threads)
        while not self._should_stop():
            batch = _take(self._batches)
            if batch is not None:
                yield batch[0], self._read(batch[1])
            elif not running:
                return
            pause = None if batch is None else 0.0
            while running and (result := self._next_result(pause)) is not _NOTHING:
                if isinstance(result, tuple):
                    yield result
                else:
                    running -= 1
                pause = 0.0
        while (result := self._next_result(0.0)) is not _NOTHING:  # after a stop, finished batches are kept
            if isinstance(result, tuple):
                yield result

    def _read(self, paths: list[str]) -> list[Reading]:
        readings = []
        for path in paths:
            if self._should_stop():
                break
            readings.append(read_file(path, self._options))
        return readings

    def _next_result(self, pause: float | None) -> Result | object | None:
        """Return a finished batch; None says that a lane ended. Waits a moment unless `pause` is 0."""
        try:
            return self._results.get(timeout=_PAUSE_SECONDS if pause is None else pause)
        except queue.Empty:
            return _NOTHING


_NOTHING = object()


def _processors() -> int:
    """Return the number of usable processors, in a container often fewer than the machine has."""
    usable = getattr(os, "sched_getaffinity", None)
    return len(usable(0)) if usable is not None else os.cpu_count() or 1


def _take(batches: deque[Batch]) -> Batch | None:
    try:
        return batches.popleft()
    except IndexError:
        return None


def _batches(paths: Sequence[tuple[str, int]], lanes: int) -> Iterator[list[str]]:
    remaining = sum(size for _, size in paths)
    batch: list[str] = []
    size = 0
    for path, length in paths:
        batch.append(path)
        size += length
        if size >= min(BATCH_BYTES, max(LAST_BATCH_BYTES, remaining // (4 * lanes))):
            yield batch
            remaining -= size
            batch, size = [], 0
    if batch:
        yield batch


class _Lane(threading.Thread):
    """A thread that feeds one worker process and queues its answers, then None."""

    def __init__(
        self,
        batches: deque[Batch],
        results: queue.SimpleQueue[Result | None],
        options: ReadingOptions,
        should_stop: Callable[[], bool],
    ) -> None:
        super().__init__(name="satchel-lane", daemon=True)
        self._batches, self._results, self._should_stop = batches, results, should_stop
        self._options = options
        self._guard = threading.Lock()
        self._stopped = False
        self._process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        try:
            for _ in range(MOST_CRASHES):
                process = self._start()
                if process is None or self._serve(process):
                    return
        finally:
            self._results.put(None)

    def _start(self) -> subprocess.Popen[bytes] | None:
        """Return a worker that is ready, or None: the other lanes do its work then."""
        self._end()
        try:
            with self._guard:
                if self._stopped:
                    return None
                process = self._process = subprocess.Popen(
                    [sys.executable, *WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
        except OSError:
            return None
        ready = _ask(process, astuple(self._options))
        return process if ready == READY else None

    def _serve(self, process: subprocess.Popen[bytes]) -> bool:
        """Process batches. Returns false after the worker died."""
        while not self._should_stop():
            batch = _take(self._batches)
            if batch is None:
                return True
            number, paths = batch
            rows = _ask(process, paths)
            if rows is None:
                self._end()
                if not self._stopped and not self._should_stop():
                    self._results.put((number, [self._read_alone(path) for path in paths]))
                return False
            self._results.put((number, [Reading(*row) for row in rows]))
        return True

    def _read_alone(self, path: str) -> Reading:
        """Read a file of a batch that killed the worker, in a worker on its own."""
        process = self._process or self._start()
        rows = _ask(process, [path]) if process is not None else None
        if rows is None:
            self._end()
            return Reading(path, skipped=FAILED, failed=True)
        return Reading(*rows[0])

    def stop(self) -> None:
        """End the worker. Safe to call twice."""
        with self._guard:
            self._stopped = True
            process = self._process
        if process is not None:
            process.kill()
        if self.is_alive():
            self.join()
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:  # a request that the worker did not read
                    continue


def _ask(process: subprocess.Popen[bytes], message: object) -> Any:
    """Send one message and wait for the answer; None if the worker ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        send(process.stdin, message)
        return receive(process.stdout)
    except (OSError, ValueError):  # ValueError: the stream was closed by `stop`
        return None


READY = "ready"

_LENGTH = struct.Struct("<I")
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    body = marshal.dumps(message)
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message; None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        return None
    return marshal.loads(body)  # noqa: S302 - only the parent process writes here


def main() -> int:
    """Serve until the input ends or the output is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    options = receive(requests)
    if options is None:
        return 0
    gc.disable()  # this process makes few cycles, and the system frees all its memory
    try:
        _serve(options, requests, answers)
    except BrokenPipeError:
        # The interpreter flushes again at its end; that must not fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())
    return 0


def _serve(options: Any, requests: IO[bytes], answers: IO[bytes]) -> None:
    reading = ReadingOptions(*options)
    send(answers, READY)
    while (paths := receive(requests)) is not None:
        send(answers, [read_file(path, reading).row() for path in paths])


def _die_with_parent() -> None:
    """Ask the kernel for a SIGKILL at the end of the parent: a slow file is then not worth finishing."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
