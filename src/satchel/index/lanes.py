"""Reading many files on all cores: this process is one lane, each worker process another.

Workers are started with plain pipes and hold no lock and no store; when one dies, its files come back as failed and
the others go on.
"""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple

from satchel.index.reading import Reader, Reading, ReadingOptions
from satchel.index.worker import receive, send

BATCH_BYTES = 150_000
"""Source bytes a worker gets at once: large enough to hide the pipe, small enough to end together."""

WORKER_WORTH_BYTES = 1_200_000
"""A worker starts in about 0.2 s; less work than this is done sooner without one."""

CRASHED = "parser-crash"


def read_files(
    paths: Sequence[tuple[str, int]], options: ReadingOptions, workers: int, should_stop: Callable[[], bool]
) -> Iterator[Reading]:
    """Read (path, size) pairs in any order. `workers` is the number of processes in all, 0 for one a core."""
    total = sum(size for _, size in paths)
    lanes = workers or min(os.cpu_count() or 1, 8)
    extra = min(lanes - 1, total // WORKER_WORTH_BYTES)
    reader = Reader(options)
    if extra < 1:
        for path, _ in paths:
            if should_stop():
                return
            yield reader.read(path)
        return
    batches = deque(_batches(paths))
    results: queue.SimpleQueue[list[Reading] | None] = queue.SimpleQueue()
    threads = [_Lane(batches, results, options, should_stop) for _ in range(extra)]
    for thread in threads:
        thread.start()
    try:
        yield from _own_lane(reader, batches, results, should_stop)
        running = len(threads)
        while running and not should_stop():
            batch = results.get()
            if batch is None:
                running -= 1
            else:
                yield from batch
    finally:
        for thread in threads:
            thread.stop()


def _own_lane(
    reader: Reader,
    batches: deque[list[str]],
    results: queue.SimpleQueue[list[Reading] | None],
    should_stop: Callable[[], bool],
) -> Iterator[Reading]:
    """Work through batches from the front while passing on what the workers have ready."""
    while batches and not should_stop():
        try:
            batch = batches.popleft()
        except IndexError:
            return
        for path in batch:
            if should_stop():
                return
            yield reader.read(path)
        while not results.empty():
            ready = results.get()
            if ready is None:
                results.put(None)
                break
            yield from ready


def _batches(paths: Sequence[tuple[str, int]]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for path, length in paths:
        batch.append(path)
        size += length
        if size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


class _Lane(threading.Thread):
    """Feeds one worker process from the back of the queue and passes its answers on."""

    def __init__(
        self,
        batches: deque[list[str]],
        results: queue.SimpleQueue[list[Reading] | None],
        options: ReadingOptions,
        should_stop: Callable[[], bool],
    ) -> None:
        super().__init__(name="satchel-lane", daemon=True)
        self._batches, self._results, self._should_stop = batches, results, should_stop
        self._options = options
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "satchel.index.worker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self) -> None:
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        batch: list[str] = []
        try:
            send(requests, astuple(self._options))
            while self._batches and not self._should_stop():
                try:
                    batch = self._batches.pop()
                except IndexError:
                    break
                send(requests, batch)
                answer = receive(answers)
                if answer is None:
                    raise BrokenPipeError
                self._results.put([Reading(*row) for row in answer])
        except (OSError, ValueError):
            self._results.put([Reading(path, skipped=CRASHED, failed=True) for path in batch])
        finally:
            self._results.put(None)

    def stop(self) -> None:
        """End the worker. Safe to call twice."""
        self._process.kill()
        self._process.wait()
        self.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()
