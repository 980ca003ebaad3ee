"""Every fault of a hook, tried in one process: `python -m tests.hooks.faults ROOT HOME` prints what became of each.

The supervisor forks a worker for each event anyway, so one process that has everything imported is as good as many,
and takes a tenth of the time. Standard input, output and error of each event are files.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from satchel import tokens
from satchel.hooks import background, supervise, worker
from satchel.hooks.supervise import Work
from satchel.system import telemetry
from tests.hooks.recorded import event_word, recorded

PATIENT_SECONDS = 60.0
"""What a worker gets that is not to hang: how long it takes says how busy the machine is, and nothing else."""

QUICK_SECONDS = 0.4
"""What the worker gets where it hangs on purpose; the real limit is four times that."""

EVENTS = ("session-start", "prompt", "after-edit", "after-failure", "before-compaction", "session-end")


class Bench:
    """One root with an index, and what is broken about it at the moment."""

    def __init__(self, root: Path, home: Path) -> None:
        self.root, self.home = root, home
        self.index = next(home.glob("cache/index/*/index.db"))
        self.memory = home / "data" / "memory.db"
        self.number = 0

    def event(self, name: str, **changed: Any) -> bytes:
        """A recorded event of a session of its own."""
        self.number += 1
        sent = recorded(f"claude-code/{name}", cwd=str(self.root), session_id=f"s{self.number}", transcript_path=None)
        if name == "prompt":
            sent["prompt"] = "where is an order sent again when the connection drops?"
        return json.dumps(sent | changed).encode()

    def tell(self, arguments: list[str], sent: bytes, work: Work | None = None) -> dict[str, Any]:
        """What became of one event: exit code, streams, and its entries in the hook log."""
        before = len(telemetry.hook_entries(self.home / "state"))
        with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            source.write(sent)
            source.seek(0)
            kept = [os.dup(number) for number in range(3)]
            for number, file in enumerate((source, out, err)):
                os.dup2(file.fileno(), number)
            try:
                code = supervise.main(arguments, work)
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
                for number, descriptor in enumerate(kept):
                    os.dup2(descriptor, number)
                    os.close(descriptor)
            out.seek(0)
            err.seek(0)
            text = {"code": code, "out": out.read().decode(), "err": err.read().decode()}
        return text | {"log": telemetry.hook_entries(self.home / "state")[before:]}

    def each(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """What becomes of each kind of event now."""
        for name in EVENTS:
            yield name, self.tell([event_word(f"claude-code/{name}")], self.event(name))


@contextmanager
def replaced(path: Path, raw: bytes | None) -> Iterator[None]:
    """Another file (or none) in the place of one, with what SQLite keeps beside it."""
    beside = [path.with_name(path.name + suffix) for suffix in ("", "-wal", "-shm")]
    kept = {file: file.read_bytes() for file in beside if file.exists()}
    for file in kept:
        file.unlink()
    if raw is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(raw)
    try:
        yield
    finally:
        for file in (*beside, *path.parent.glob(f"{path.name}*")):
            file.unlink(missing_ok=True)
        for file, content in kept.items():
            file.write_bytes(content)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Somebody else writes to a store and does not come to an end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.execute("BEGIN EXCLUSIVE")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")
        connection.close()


@contextmanager
def set_to(place: object, **values: Any) -> Iterator[None]:
    """Other values for a while."""
    before = {name: getattr(place, name) for name in values}
    for name, value in values.items():
        setattr(place, name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            setattr(place, name, value)


def _stores(bench: Bench) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, path in (("index", bench.index), ("memory", bench.memory)):
        for fault, raw in (("missing", None), ("empty", b""), ("corrupt", b"SQLite format 3\0" + b"junk" * 4_000)):
            with replaced(path, raw):
                yield from ((f"{name} {fault}/{event}", result) for event, result in bench.each())
        with locked(path):
            yield from ((f"{name} locked/{event}", result) for event, result in bench.each())
    with replaced(bench.root / ".git" / "HEAD", b"junk"):
        yield from ((f"HEAD broken/{event}", result) for event, result in bench.each())


def _input(bench: Bench) -> Iterator[tuple[str, dict[str, Any]]]:
    large = bench.event("prompt", prompt="why does send_order fail? " * 400_000)
    edited = bench.event("after-edit", tool_input={"file_path": "a.py", "content": "x" * 10_000_000})
    sent = {
        "empty": b"", "junk": b"\xff\x00{", "a list": b"[1, 2]", "half": bench.event("prompt")[:40], "null": b"null",
        "deep": b'{"a":' * 50_000, "10 MB prompt": large, "10 MB file": edited,
        "half a letter": bench.event("prompt").replace(b"drops?", b"drops\\ud83d?"),
        "wrong types": b'{"session_id": [], "cwd": 3, "prompt": {}, "tool_input": "x", "tool_response": 1}',
        "no such folder": bench.event("prompt", cwd="/nonexistent/folder"), "no fields": b"{}",
        "an odd session": bench.event("prompt", session_id="../../x\0\n" * 5_000),
    }  # fmt: skip
    for name, raw in sent.items():
        for event in dict.fromkeys(map(event_word, (f"claude-code/{one}" for one in EVENTS))):
            yield f"input {name}/{event}", bench.tell([event], raw)


def _commands(bench: Bench) -> Iterator[tuple[str, dict[str, Any]]]:
    for arguments in (["nonsense"], [], ["--bogus"], ["prompt", "--bogus"], ["prompt", "--root"], ["UserPromptSubmit"]):
        yield f"command {' '.join(arguments)}", bench.tell(arguments, bench.event("prompt"))


def _noisy(arguments: Any, raw: bytes) -> tuple[str, bytes]:
    print("a library says hello")
    os.write(1, b"and so does its machine code\n")
    os.write(2, b"a warning\n")
    return worker.work(arguments, raw)


def _raising(error: BaseException) -> Work:
    def work(_arguments: Any, _raw: bytes) -> tuple[str, bytes]:
        raise error

    return work


def _hanging(_arguments: Any, _raw: bytes) -> tuple[str, bytes]:
    while True:  # without a pause, as a regular expression that backtracks
        pass


def _stopping(number: int) -> Work:
    """Somebody asks the hook to end while its worker is at work."""

    def work(arguments: Any, raw: bytes) -> tuple[str, bytes]:
        os.kill(os.getppid(), number)
        return _hanging(arguments, raw)

    return work


def _crashing(_arguments: Any, _raw: bytes) -> tuple[str, bytes]:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError


def _workers(bench: Bench) -> Iterator[tuple[str, dict[str, Any]]]:
    works: Mapping[str, Work] = {
        "noise": _noisy, "import error": _raising(ImportError("no module named apsw")),
        "exit 2": _raising(SystemExit(2)), "no memory": _raising(MemoryError()),
        "interrupt": _raising(KeyboardInterrupt()), "crash": _crashing,
    }  # fmt: skip
    for name, work in works.items():
        yield f"worker {name}", bench.tell(["prompt"], bench.event("prompt"), work)
    with set_to(supervise, WORKER_SECONDS=QUICK_SECONDS):
        yield "worker hangs", bench.tell(["prompt"], bench.event("prompt"), _hanging)
    for name in ("SIGTERM", "SIGHUP", "SIGINT"):
        yield f"stopped by {name}", bench.tell(["prompt"], bench.event("prompt"), _stopping(getattr(signal, name)))


def _broken(bench: Bench) -> Iterator[tuple[str, dict[str, Any]]]:
    def fail(*_: object) -> object:
        raise RuntimeError("a fault of our own\nin two lines")

    with set_to(worker, HANDLERS=dict.fromkeys(worker.HANDLERS, fail)):
        yield from ((f"a bug/{event}", result) for event, result in bench.each())
    state = bench.home / "state"
    aside = state.rename(bench.home / "aside")
    state.write_text("no folder")
    yield from ((f"no state folder/{event}", result) for event, result in bench.each())
    state.unlink()
    aside.rename(state)
    config = bench.home / "config" / "satchel.toml"
    with replaced(config, b"[hooks\n"):
        yield from ((f"broken settings/{event}", result) for event, result in bench.each())
    os.environ[supervise.SWITCH] = "0"
    yield "switched off", bench.tell(["prompt"], bench.event("prompt"))
    del os.environ[supervise.SWITCH]


GROUPS: tuple[Callable[[Bench], Iterator[tuple[str, dict[str, Any]]]], ...] = (
    _stores, _input, _commands, _workers, _broken,
)  # fmt: skip


def _start_nothing(words: Sequence[str], state: Path) -> None:
    """Nothing outlives this process."""


def main() -> int:
    """Try everything and print one JSON object: what was tried, and what became of it."""
    importlib.import_module("satchel.engine")  # now, so that no worker has to
    tokens.counter(tokens.DEFAULT_TOKENIZER).count("and the tokenizer loaded")
    bench = Bench(Path(sys.argv[1]), Path(sys.argv[2]))
    background.start = _start_nothing
    supervise._age = lambda: 0.0
    supervise.WORKER_SECONDS, supervise.DEADLINE_SECONDS = PATIENT_SECONDS / 2, PATIENT_SECONDS
    result = {"well": bench.tell(["prompt"], bench.event("prompt"))}
    for group in GROUPS:
        result.update(group(bench))
    print(json.dumps(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
