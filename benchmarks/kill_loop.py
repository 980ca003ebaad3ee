"""Kill `satchel index` at random moments while another process asks, and look for anything that was harmed.

    python -m benchmarks.kill_loop --rounds 100 --out benchmarks/results/kill_loop.json
    python -m benchmarks.kill_loop --mixed 1000 --out benchmarks/results/mixed.json

Each round changes a generated repository (or starts without an index), starts `satchel index`, kills it with SIGKILL
after a random share of its usual time, and looks: is the store sound, are processes or locks left, did the asking
process meet an error? Then the index is run once more, and has to say what an index says that is built from nothing.
The exit status is 1 when anything was found. Equal seeds make equal repositories, changes and moments, but what a
process is doing at such a moment depends on the machine; Ctrl-C ends it with the result of the rounds that are done.
`--mixed` does other runs: up to sixteen askers, indexers, writers of memories and hooks at once, some of them killed,
and every answer has to be one of a sequential order (see `tests/faults/mixed.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

from satchel import Satchel
from satchel.system.state_files import holder
from satchel.testing import TinyRepository
from tests.faults.mixed import results
from tests.soundness import contents, faults

SATCHEL = (sys.executable, "-P", "-m", "satchel.cli.main")
WORDS = ("retry", "backoff", "parse", "config", "Order", "Client", "discount", "price", "queue", "worker", "token")
REPOSITORY = Path(__file__).parents[1]
FIRST_EVERY = 4
"""One round in so many starts without an index."""

ORPHAN_SECONDS = 30.0
"""How long the kernel and git may take to notice that the killed process is gone."""


class Author:
    """Writes a repository and changes it, the same way for the same seed."""

    def __init__(self, root: Path, seed: int, files: int) -> None:
        self._random = random.Random(seed)
        self.repository = TinyRepository(root)
        self.root = root
        names = [f"{folder}/module_{number}.py" for number in range(files) for folder in ("src", "tests")]
        for start in range(0, len(names), max(len(names) // 20, 1)):
            part = names[start : start + max(len(names) // 20, 1)]
            self.repository.commit(self._sentence(), {name: self._source() for name in part})

    def _sentence(self) -> str:
        return " ".join(self._random.choices(WORDS, k=6))

    def _source(self) -> str:
        functions = []
        for number in range(self._random.randrange(5, 60)):
            name, other = self._random.choices(WORDS, k=2)
            body = "\n".join(f"    {self._random.choice(WORDS)} = {other}({line})" for line in range(6))
            functions.append(f"def {name}_{number}({other}):\n    '''{self._sentence()}.'''\n{body}\n")
        return "import os\n\n\n" + "\n\n".join(functions)

    def change(self) -> None:
        """Edit, add, rename and delete some files, and sometimes commit or go back."""
        present = sorted(path for path in self.root.rglob("*.py") if path.is_file())
        chosen = self._random.sample(present, k=min(len(present), self._random.randrange(1, 30)))
        for path in chosen:
            action = self._random.random()
            if action < 0.6:
                path.write_text(self._source(), encoding="utf-8")
            elif action < 0.75:
                path.unlink()
            elif action < 0.9:
                path.rename(path.with_name(f"moved_{self._random.randrange(10**6)}.py"))
            else:
                path.with_name(f"new_{self._random.randrange(10**6)}.py").write_text(self._source(), encoding="utf-8")
        if self._random.random() < 0.6:
            self.repository.commit(self._sentence())
        elif self._random.random() < 0.4:
            self.repository.commit(self._sentence())
            self._git("reset", "-q", "--hard", f"HEAD~{self._random.randrange(1, 4)}")

    def _git(self, *arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=self.root, check=True, capture_output=True)


class Reader:
    """A process that asks all the time, over the index as it is, and writes down every error."""

    def __init__(self, root: Path, home: Path) -> None:
        self._log = home.with_suffix(".reader")
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "benchmarks.kill_loop", "--read", str(root)],
                cwd=REPOSITORY,
                env=environment(home),
                stdout=log,
                stderr=log,
            )

    def stop(self) -> list[str]:
        """End it and return what it wrote, the number of its questions first."""
        self._process.terminate()
        self._process.wait()
        return self._log.read_text(encoding="utf-8").splitlines()


NOTES = "changed since", "vanished", "counting them takes longer"
"""Parts of messages that say what an answer is without."""


def read(root: Path) -> None:
    """Ask until terminated. Prints one line an error, and the number of questions at the end."""
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    questions = 0
    while not stopped:
        with Satchel.open(root) as satchel:  # opened anew now and then, as one process a question would
            for word in WORDS:
                if stopped:
                    break
                context = satchel.assemble(f"where is {word} handled in module_3.py", refresh=False, max_tokens=2000)
                questions += 1
                for failure in context.failures:
                    # A file that changed since it was indexed is left out and said so, and on a busy machine the lines
                    # of a commit are not counted; neither is an error.
                    if not any(note in failure.message for note in NOTES):
                        print("error:", failure, flush=True)
    print(questions, flush=True)


@dataclass(slots=True)
class Harm:
    """What was found in all rounds."""

    stores: list[str] = field(default_factory=list)
    repairs: list[str] = field(default_factory=list)
    processes: list[str] = field(default_factory=list)
    locks: list[str] = field(default_factory=list)
    reader: list[str] = field(default_factory=list)

    @property
    def is_any(self) -> bool:
        """Whether anything was harmed."""
        return any((self.stores, self.repairs, self.processes, self.locks, self.reader))


@dataclass(slots=True)
class Counts:
    """What the rounds did. `killed` counts processes that were at work when they were killed, by kind of run."""

    rounds: int = 0
    killed: Counter[str] = field(default_factory=Counter)
    ended: Counter[str] = field(default_factory=Counter)
    published: int = 0
    questions: int = 0


class Loop:
    """One repository with its folders, through all rounds."""

    def __init__(self, folder: Path, seed: int, files: int) -> None:
        self._folder, self._random = folder, random.Random(seed)
        self._author = Author(folder / "repository", seed, files)
        self.harm, self.counts = Harm(), Counts()
        self._home = folder / "home-0"
        self._seconds: dict[str, float] = {}
        self._reader: Reader | None = None

    @property
    def _root(self) -> Path:
        return self._author.root

    def run(self, rounds: int) -> None:
        """All rounds, one after the other."""
        try:
            for number in range(rounds):
                self._round(number)
                if sys.stderr.isatty():
                    print(f"\r{number + 1} of {rounds}", end="", file=sys.stderr)
        except KeyboardInterrupt:
            print(f"stopped in round {self.counts.rounds + 1} of {rounds}", file=sys.stderr)
        finally:
            self._stop_reader()

    def _round(self, number: int) -> None:
        kind = "first" if number % FIRST_EVERY == 0 else "incremental"
        if kind == "first":
            self._stop_reader()
            shutil.rmtree(self._home, ignore_errors=True)
            self._home = self._folder / f"home-{number + 1}"
            self._reader = Reader(self._root, self._home)
        self._author.change()
        before = self._revision()
        self._kill(kind)
        self.counts.rounds += 1
        self.counts.published += self._revision() != before
        self._look(f"round {number} ({kind})")
        self._repair(f"round {number} ({kind})", kind)

    def _kill(self, kind: str) -> None:
        """Start an index run and kill it somewhere on its way."""
        usual = self._seconds.get(kind) or self._measure()
        process = subprocess.Popen([*SATCHEL, "index", "--quiet", str(self._root)], env=environment(self._home))
        try:
            process.wait(usual * self._random.uniform(0.05, 1.1))
            self.counts.ended[kind] += 1
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            self.counts.killed[kind] += 1

    def _measure(self) -> float:
        """Seconds of an undisturbed first run, in folders of its own."""
        home = self._folder / "measured"
        shutil.rmtree(home, ignore_errors=True)
        started = time.monotonic()
        subprocess.run([*SATCHEL, "index", "--quiet", str(self._root)], env=environment(home), check=True)
        seconds = time.monotonic() - started
        self._seconds.setdefault("first", seconds)
        return seconds

    def _look(self, place: str) -> None:
        """Look for harm right after the kill."""
        deadline = time.monotonic() + ORPHAN_SECONDS
        while (left := orphans(self._home)) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.harm.processes += [f"{place}: {command}" for command in left]
        for lock in self._home.glob("cache/index/*/index.lock"):
            if said := holder(lock):
                self.harm.locks.append(f"{place}: {said}")
        for store in self._home.glob("cache/index/*/index.db"):
            self.harm.stores += [f"{place}: {fault}" for fault in look(store, faults)]
        self.harm.stores += [f"{place}: put aside" for _ in self._home.glob("cache/index/*/*.damaged")]

    def _repair(self, place: str, kind: str) -> None:
        """Run the index to its end, and compare with one from nothing."""
        started = time.monotonic()
        again = subprocess.run(
            [*SATCHEL, "index", "--quiet", str(self._root)], env=environment(self._home), capture_output=True, text=True
        )
        if kind == "incremental":
            self._seconds[kind] = max(time.monotonic() - started, 0.3)
        if again.returncode or again.stderr:
            self.harm.repairs.append(f"{place}: exit {again.returncode}: {again.stderr.strip()}")
        self._measure()
        (store,) = self._home.glob("cache/index/*/index.db")
        (fresh,) = (self._folder / "measured").glob("cache/index/*/index.db")
        self.harm.repairs += [f"{place}: {fault}" for fault in look(store, faults)]
        one, other = look(store, contents), look(fresh, contents)
        self.harm.repairs += [f"{place}: other {name} than a fresh index" for name in one if one[name] != other[name]]

    def _revision(self) -> str:
        for store in self._home.glob("cache/index/*/index.db"):
            return str(look(store, _revision_row))
        return ""

    def _stop_reader(self) -> None:
        if self._reader is None:
            return
        *errors, questions = self._reader.stop() or ["no answer", "0"]
        self.counts.questions += int(questions) if questions.isdigit() else 0
        self.harm.reader += errors if questions.isdigit() else [*errors, questions]
        self._reader = None


def _revision_row(connection: apsw.Connection) -> list[Any]:
    return list(connection.execute("SELECT value FROM meta WHERE key = 'revision'"))


def look(path: Path, function: Any) -> Any:
    """Ask something of a store file over a connection of its own; a file without tables says nothing."""
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(10_000)
    try:
        has_tables = list(connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'postings'"))
        return function(connection) if has_tables else []
    finally:
        connection.close()


def orphans(home: Path) -> list[str]:
    """Command lines of processes that a killed run with this home left behind; only known on Linux."""
    found = []
    mark = f"SATCHEL_HOME={home}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if ("satchel.index.reading" in command or " log " in command) and mark in (
                process / "environ"
            ).read_bytes():
                found.append(command)
        except OSError:  # it ended meanwhile
            continue
    return found


def environment(home: Path) -> dict[str, str]:
    """The environment with folders of satchel of their own, one key for all, and two processes on any machine."""
    own = {"SATCHEL_HOME": str(home), "SATCHEL_KEY": "07" * 32, "SATCHEL_INDEX_WORKERS": "2"}
    return {**os.environ, **own}


def summary(loop: Loop, seed: int, files: int, seconds: float) -> dict[str, Any]:
    """The result as JSON."""
    counts, harm = loop.counts, loop.harm
    return {
        "rounds": counts.rounds,
        "seed": seed,
        "files": 2 * files,
        "killed_at_work": dict(counts.killed),
        "ended_before": dict(counts.ended),
        "published_before_the_kill": counts.published,
        "questions_meanwhile": counts.questions,
        "bad_stores": harm.stores,
        "bad_repairs": harm.repairs,
        "left_processes": harm.processes,
        "left_locks": harm.locks,
        "reader_errors": harm.reader,
        "seconds": round(seconds, 1),
        "python": platform.python_version(),
        "sqlite": apsw.sqlite_lib_version(),
        "system": f"{platform.system()} {platform.machine()}",
    }


def main() -> int:
    """Run the loop, or the reader beside it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--mixed", type=int, metavar="N", help="so many mixed runs instead")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", type=int, default=60, help="source files, and as many tests")
    parser.add_argument("--out", type=Path, help="the result as JSON")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read is not None:
        read(options.read)
        return 0
    if options.mixed is not None:
        with tempfile.TemporaryDirectory(prefix="satchel-mixed-") as folder:
            result = results(Path(folder), options.mixed, options.seed)
        return _written(result, options.out, any(result[name] for name in ("differing", "damaged", "lost", "failed")))
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="satchel-kill-") as folder:
        loop = Loop(Path(folder), options.seed, options.files)
        loop.run(options.rounds)
    result = summary(loop, options.seed, options.files, time.monotonic() - started)
    return _written(result, options.out, loop.harm.is_any)


def _written(result: Mapping[str, Any], out: Path | None, is_harmed: bool) -> int:
    """Print and write a result; returns the exit status."""
    text = json.dumps(result, indent=2) + "\n"
    if out is not None:
        out.write_text(text, encoding="utf-8")
    print(text, end="")
    return int(is_harmed)


if __name__ == "__main__":
    sys.exit(main())
