"""Folders and forks of a process that has imported everything: a command costs a tenth of one in a new process."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import select
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from satchel import tokens
from satchel.cli import application, streams
from satchel.hooks import background, supervise
from satchel.system import state_files
from tests.e2e.sample import sample_repository
from tests.hooks.recorded import recorded

SECONDS = 300
"""A command or check that takes longer counts as hanging."""

QUESTION = "why is the backoff between attempts exponential"


class Ran(NamedTuple):
    """What a command did; code -1 if the process died."""

    code: int
    out: str
    err: str


class Bench:
    """The folders that a writer writes to. They are at the same place for every point: an index knows its root."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "live"
        self.root, self.home = self.folder / "shop", self.folder / "home"
        self._template = folder / "template"

    @property
    def memory(self) -> Path:
        return self.home / "data" / "memory.db"

    def prepare(self, make: Callable[[Bench], None]) -> None:
        """Build what all points of a writer begin with."""
        for old in (self.folder, self._template):
            shutil.rmtree(old, ignore_errors=True)
        sample_repository(self.root)
        inside(lambda: make(self))
        shutil.copytree(self.folder, self._template, symlinks=True)

    def reset(self) -> None:
        """Begin anew."""
        shutil.rmtree(self.folder)
        shutil.copytree(self._template, self.folder, symlinks=True)

    def __call__(self, command: Sequence[str]) -> Ran:
        """Run a command in this process."""
        os.chdir(self.root)
        if command[0] == "event":
            return _hook(command[1:], self.root)
        with streams.recorded() as rows:
            code = application.run([*command])
        out, err = (b"".join(raw for number, raw in rows if number == stream).decode() for stream in (1, 2))
        return Ran(code, out, err)

    def files(self) -> dict[str, int]:
        """The number of files below the folder by name, without numbers and hashes.

        Those of a resident are not counted: the server that a set-up tries ends before or after it listens.
        """
        counts: dict[str, int] = {}
        for path in sorted(self.folder.rglob("*")):
            if (
                not {".git", "resident"} & {*path.parts}
                and not path.match("*-wal")
                and not path.match("*-shm")
                and not path.match("*backup-*.db")
            ):
                name = re.sub(r"[0-9a-f]{8,}|\d+", "#", str(path.relative_to(self.folder)))
                counts[name] = counts.get(name, 0) + 1
        return counts


def _hook(words: Sequence[str], root: Path) -> Ran:
    """Answer an event: its word, its recorded name, and a session."""
    sent = recorded(f"claude-code/{words[1]}", cwd=str(root), session_id=words[2], transcript_path=None)
    if words[0] == "prompt":
        sent["prompt"] = QUESTION
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        source.write(json.dumps(sent).encode())
        source.seek(0)
        kept = [os.dup(number) for number in range(3)]
        for number, file in enumerate((source, out, err)):
            os.dup2(file.fileno(), number)
        try:
            code = supervise.main([words[0]])
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            for number, descriptor in enumerate(kept):
                os.dup2(descriptor, number)
                os.close(descriptor)
        out.seek(0)
        err.seek(0)
        return Ran(code, out.read().decode(), err.read().decode())


class Fork:
    """Some work in a fork of this process, in a process group of its own."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._source, target = os.pipe()
        self._deadline = time.monotonic() + SECONDS
        self.pid = os.fork()
        if self.pid:
            os.close(target)
            return
        try:
            os.setpgid(0, 0)
            raw = json.dumps(work()).encode()
        except BaseException:  # noqa: BLE001 - the parent raises it
            raw = json.dumps({"raised": traceback.format_exc()}).encode()
        while raw:
            raw = raw[os.write(target, raw) :]
        os._exit(0)

    def kill(self, after: float = 0) -> None:
        """End it and what it started, unless it is done before so many seconds."""
        select.select([self._source], [], [], after)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def result(self) -> Any:
        """Wait for the end and return the result; None if it was killed, {"raised": ...} for an error."""
        received = b""
        while select.select([self._source], [], [], max(self._deadline - time.monotonic(), 0))[0]:
            if not (chunk := os.read(self._source, 65_536)):
                break
            received += chunk
        is_late = time.monotonic() >= self._deadline
        self.kill()
        os.waitpid(self.pid, 0)
        os.close(self._source)
        if is_late:
            return {"raised": f"no end within {SECONDS} s"}
        return json.loads(received) if received else None


def inside(work: Callable[[], Any]) -> Any:
    """Do some work in a fork and return its result. Raises AssertionError for an error."""
    result = Fork(work).result()
    if isinstance(result, dict) and "raised" in result:
        raise AssertionError(result["raised"])
    return result


def environment(folder: Path) -> dict[str, str]:
    """The environment of a process with a bench below this folder."""
    return {
        **os.environ, "SATCHEL_HOME": str(folder / "live" / "home"), "SATCHEL_KEY": "07" * 32, "HOME": str(folder),
        "SATCHEL_INDEX_LOCK_WAIT_S": str(SECONDS),
        "SATCHEL_INDEX_WORKERS": "1", "SATCHEL_EMBED_PROVIDER": "off", "PYTHONDONTWRITEBYTECODE": "1",
        "OPENBLAS_NUM_THREADS": "1", "NO_COLOR": "1",
        "PYTHONPATH": f"{Path(__file__).parents[2]}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
    }  # fmt: skip


def set_up() -> None:
    """Load the tokenizer; let nothing outlive its command, hooks have time, and files of killed processes be old."""
    tokens.counter(tokens.DEFAULT_TOKENIZER).count("and the tokenizer loaded")
    state_files.UNFINISHED_SECONDS = 0
    background.start = lambda words, state: None  # noqa: ARG005 - the names are those of the original
    supervise._age = lambda: 0.0
    supervise.WORKER_SECONDS, supervise.DEADLINE_SECONDS = SECONDS / 3, SECONDS / 2


def load_modules(work: Callable[[], Any]) -> None:
    """Import what some work imports; the work itself is done in a fork."""

    def names() -> list[str]:
        work()
        return sorted(sys.modules)

    for module in inside(names):
        importlib.import_module(module)
