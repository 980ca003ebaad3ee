"""Read and extract files, in this process and in worker processes side by side."""

from __future__ import annotations

import gc
import os
import queue
import signal
import struct
import subprocess
import sys
import threading
import zlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self, TypeVar

from satchel.index.run import ReadingOptions, tick
from satchel.safety.sanitize import clean_text, redact
from satchel.sources.code.languages import extent
from satchel.sources.docs import title_of
from satchel.sources.notes import is_note
from satchel.sources.outline import is_generated, outline_file, readable, unwanted
from satchel.store.extract import extract_files
from satchel.store.records import Extraction
from satchel.system import files
from satchel.types import LINE_KINDS, Kind, Outline

FAILED = "parser-failure"


@dataclass(slots=True)
class Reading:
    """The result for one file: `skipped` is the reason if it is not indexed.

    `text` is compressed; `redacted` and `cleaned` count removals. `changed_ns` is 0 for a file that may have changed
    once more unnoticed: the next run reads it again. A skipped file has no `extraction`, nor has an `unchanged` one,
    whose bytes are those of the index. `facts` are those of a note of a vault; `title` is that of a document whose
    sections do not name it. `in_part`: only the head of a large file was read; `generated`: it says so itself.
    """

    path: str
    size: int = 0
    mtime_ns: int = 0
    changed_ns: int = 0
    skipped: str = ""
    failed: bool = False
    unchanged: bool = False
    content_hash: str = ""
    kind: str = ""
    text: bytes = b""
    redacted: int = 0
    cleaned: int = 0
    lossy: bool = False
    facts: str = ""
    title: str = ""
    in_part: bool = False
    generated: bool = False
    extraction: Extraction | None = None


File = tuple[str, str]
"""The path of a file to read, and the content hash that the index has of it, which may be empty."""


def read_files(batch: Sequence[File], options: ReadingOptions, should_stop: Callable[[], bool]) -> list[Reading]:
    """Read files of the root until stopped. A file that cannot be indexed is returned as skipped, whatever it has."""
    readings: list[Reading] = []
    texts: list[tuple[Reading, str, Outline]] = []
    for path, indexed in batch:
        if should_stop():
            break
        reading, content = read_file(path, indexed, options)
        if content is not None:
            try:
                texts.append((reading, *_parse(reading, content, options)))
            except (RecursionError, MemoryError):  # nesting or size beyond anything written by hand
                reading = Reading(path, skipped=FAILED, failed=True)
        readings.append(reading)
    extractions = extract_files([(text, outline) for _, text, outline in texts])
    for (reading, *_), extraction in zip(texts, extractions, strict=True):
        reading.extraction = extraction
    return readings


def read_file(path: str, indexed: str, options: ReadingOptions) -> tuple[Reading, str | None]:
    """Read one file; its text is None if there is nothing to extract."""
    now = tick()
    whole, head = extent(path, options.limit)
    try:
        content = files.read_text(Path(options.root), path, key=options.key, limit=whole, head=head)
    except files.Skipped as skip:
        return Reading(path, skipped=str(skip.reason), failed=skip.is_error), None
    reading = Reading(
        path, content.size, content.mtime_ns, content.changed_ns if content.changed_ns < now else 0,
        content_hash=content.content_hash, lossy=content.lossy, in_part=content.is_part,
    )  # fmt: skip
    reading.unchanged = content.content_hash == indexed
    if reading.unchanged:
        return reading, None
    text = readable(path, content.text)
    reason = unwanted(path, text)
    if reason is not None:
        reading.skipped = str(reason)
        return reading, None
    reading.generated = is_generated(text)
    return reading, text


def read_stamped(path: str, options: ReadingOptions) -> Reading | None:
    """Return the times and the content hash of one file as `read_file` does, None where it cannot be read."""
    now = tick()
    whole, head = extent(path, options.limit)
    try:
        file = files.read_bytes(Path(options.root), path, limit=whole, head=head)
    except files.Skipped:
        return None
    changed_ns = file.changed_ns if file.changed_ns < now else 0
    hashed = files.content_hash(file.raw, options.key)
    return Reading(path, file.size, file.mtime_ns, changed_ns, content_hash=hashed)


def _parse(reading: Reading, text: str, options: ReadingOptions) -> tuple[str, Outline]:
    """Return the safe text of a file with its outline."""
    text, reading.cleaned = clean_text(text)
    text, secrets = redact(text, allow=options.allow)
    kind, outline = _outlined(reading, text, options)
    reading.title = title_of(text, outline) if kind in LINE_KINDS else ""
    reading.kind = str(kind)
    reading.text = zlib.compress(text.encode("utf-8", "replace"), 1)  # text compression
    reading.redacted = sum(secrets.values())
    return text, outline


def _outlined(reading: Reading, text: str, options: ReadingOptions) -> tuple[Kind, Outline]:
    if not options.vault or not is_note(reading.path):
        return outline_file(reading.path, text)
    from satchel.sources.vault import read_note

    outline, facts = read_note(reading.path, text)
    reading.facts = facts.dump()
    return Kind.NOTE, outline


BATCH_BYTES = 150_000
"""Source bytes of a batch: large enough to hide the cost of the pipe, small enough to stop and end soon."""

LAST_BATCH_BYTES = 20_000
"""Bytes of the last batches, so that no lane waits long for another."""

WORKER_WORTH_BYTES = 1_200_000
"""Source bytes for each worker: it starts in about 0.2 s, so less work is faster without one."""

WORKER = ("-P", "-m", "satchel.index.reading")
"""Python arguments of a worker; `-P` keeps a module in the current folder from replacing it."""

Message = TypeVar("Message")
Batch = tuple[int, list[File]]
Result = tuple[int, list[Reading]]


class Shared(NamedTuple):
    """The answer of a worker: the vocabulary that all readings share, sent once, and the readings."""

    vocabulary: list[str]
    readings: list[Reading]


class Lanes:
    """Reads files in order, by batches of bytes (`sizes`), in a `with` block; `workers` is 0 for one per core."""

    def __init__(
        self,
        wanted: Sequence[File],
        sizes: Sequence[int],
        options: ReadingOptions,
        workers: int,
        should_stop: Callable[[], bool],
    ) -> None:
        lanes = workers or min(_processors(), 8)  # processes at most: more would wait for the one that writes
        extra = min(lanes - 1, sum(sizes) // WORKER_WORTH_BYTES)
        self._options, self._should_stop = options, should_stop
        self._batches: deque[Batch] = deque(enumerate(_batches(wanted, sizes, extra + 1)))
        self._results: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._threads = [_Lane(self._batches, self._results, options, should_stop) for _ in range(extra)]

    def __enter__(self) -> Self:
        # A fork inherits the locks of other threads as they are, and only Linux ends it with its parent.
        if self._threads and sys.platform == "linux" and threading.active_count() == 1:
            # What a first batch loads, grammars and expressions, is then in each fork: 0.1 s of its time.
            if batch := _take(self._batches):
                self._results.put((batch[0], read_files(batch[1], self._options, self._should_stop)))
            for thread in self._threads:
                with suppress(OSError):  # no room for another process: the lane tries again, or others do its work
                    thread.forked = _Forked()
        if self._threads:
            from msgspec import msgpack

            msgpack.Decoder(Shared)  # learns the type: two threads that do so at the same moment crash the process
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
                yield batch[0], read_files(batch[1], self._options, self._should_stop)
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

    def _next_result(self, pause: float | None) -> Result | object | None:
        """Return a finished batch; None says that a lane ended. Waits a moment unless `pause` is 0."""
        try:
            return self._results.get(timeout=0.05 if pause is None else pause)  # pause seconds
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


def _batches(wanted: Sequence[File], sizes: Sequence[int], lanes: int) -> Iterator[list[File]]:
    remaining = sum(sizes)
    batch: list[File] = []
    size = 0
    for file, length in zip(wanted, sizes, strict=True):
        batch.append(file)
        size += length
        if size >= min(BATCH_BYTES, max(LAST_BATCH_BYTES, remaining // (4 * lanes))):
            yield batch
            remaining -= size
            batch, size = [], 0
    if batch:
        yield batch


class _Forked:
    """A worker that is a fork of this process, which has imported everything. Used like a `subprocess.Popen`."""

    def __init__(self) -> None:
        (source, target), (answers, answer), parent = os.pipe(), os.pipe(), os.getpid()
        self._guard, self._is_over = threading.Lock(), False
        self.pid = os.fork()
        if not self.pid:
            try:
                os.dup2(source, 0)
                os.dup2(answer, 1)
                # Locks, stores, and pipes of other workers. The limit of descriptors may be a thousand million.
                for opened in Path("/proc/self/fd").iterdir():
                    os.closerange(max(int(opened.name), 3), int(opened.name) + 1)
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
                _work(os.fdopen(0, "rb"), os.fdopen(1, "wb"), parent)
            except BaseException:  # noqa: BLE001 - the code of the parent must not run on in its fork
                sys.excepthook(*sys.exc_info())
            finally:
                os._exit(0)
        os.close(source)
        os.close(answer)
        self.stdin, self.stdout = os.fdopen(target, "wb"), os.fdopen(answers, "rb")

    def kill(self) -> None:
        """End the process, if it was not waited for."""
        with self._guard:
            if not self._is_over:
                os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> None:
        """Wait for the end of the process that was killed. Safe to call twice."""
        with self._guard:
            if not self._is_over:
                os.waitpid(self.pid, 0)
            self._is_over = True


Worker = subprocess.Popen[bytes] | _Forked


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
        self._process: Worker | None = None
        self.forked: _Forked | None = None
        """The first worker, if it could be forked; those after a crash are started anew."""

    def run(self) -> None:
        try:
            for _ in range(20):  # workers that a lane starts again after crashes; then the other lanes read
                process = self._start()
                if process is None or self._serve(process):
                    return
        finally:
            self._results.put(None)

    def _start(self) -> Worker | None:
        """Return a worker that is ready, or None: the other lanes do its work then."""
        self._end()
        try:
            with self._guard:
                if self._stopped:
                    return None
                process = self.forked or subprocess.Popen(
                    [sys.executable, *WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE
                )
                self._process, self.forked = process, None
        except OSError:
            return None
        return process if _ask(process, self._options, str) == READY else None

    def _serve(self, process: Worker) -> bool:
        """Process batches. Returns false after the worker died."""
        while not self._should_stop():
            batch = _take(self._batches)
            if batch is None:
                return True
            number, wanted = batch
            readings = _readings(_ask(process, wanted, Shared))
            if readings is None:
                self._end()
                if not self._stopped and not self._should_stop():
                    self._results.put((number, [self._read_alone(file) for file in wanted]))
                return False
            self._results.put((number, readings))
        return True

    def _read_alone(self, file: File) -> Reading:
        """Read a file of a batch that killed the worker, in a worker on its own."""
        process = self._process or self._start()
        readings = _readings(_ask(process, [file], Shared)) if process is not None else None
        if readings is None:
            self._end()
            return Reading(file[0], skipped=FAILED, failed=True)
        return readings[0]

    def stop(self) -> None:
        """End the worker. Safe to call twice."""
        with self._guard:
            self._stopped = True
            process = self._process = self._process or self.forked
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


def _shared(readings: list[Reading]) -> Shared:
    """Return the answer of a worker: readings of one call of `read_files` have one vocabulary."""
    vocabulary: list[str] = []
    for reading in readings:
        if reading.extraction is not None:
            vocabulary, reading.extraction.vocabulary = reading.extraction.vocabulary or vocabulary, []
    return Shared(vocabulary, readings)


def _readings(answer: Shared | None) -> list[Reading] | None:
    """Return the readings of an answer, each with the vocabulary."""
    if answer is None:
        return None
    for reading in answer.readings:
        if reading.extraction is not None:
            reading.extraction.vocabulary = answer.vocabulary
    return answer.readings


def _ask(process: Worker, message: object, kind: type[Message]) -> Message | None:
    """Send one message and wait for the answer, which is of this kind; None if the worker ended."""
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        send(process.stdin, message)
        return receive(process.stdout, kind)
    except (OSError, ValueError):  # ValueError: the stream was closed by `stop`
        return None


READY = "ready"

_LENGTH = struct.Struct("<I")


def send(stream: IO[bytes], message: object) -> None:
    """Write one message."""
    from msgspec import msgpack  # here and below, because few runs have a worker

    body = msgpack.encode(message)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes], kind: type[Message]) -> Message | None:
    """Read one message of this kind; None at the end of the stream."""
    from msgspec import msgpack

    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    return None if len(body) < length else msgpack.decode(body, type=kind)


def main() -> int:
    """Serve until the input ends or the output is closed."""
    _work(sys.stdin.buffer, sys.stdout.buffer, os.getppid())
    return 0


def _work(requests: IO[bytes], answers: IO[bytes], parent: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    sys.stdout = sys.stderr
    gc.disable()  # this process makes few cycles, and the system frees all its memory
    options = receive(requests, ReadingOptions) if os.getppid() == parent else None
    try:
        if options is not None:
            send(answers, READY)
            while (wanted := receive(requests, list[File])) is not None:
                send(answers, _shared(read_files(wanted, options, lambda: False)))
    except BrokenPipeError:
        # The interpreter flushes again at its end; that must not fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())


def _die_with_parent() -> None:
    """Ask the kernel for a SIGKILL at the end of the parent: a slow file is then not worth finishing."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # set parent death signal


if __name__ == "__main__":
    sys.exit(main())
