"""Asks both versions, some units at once, and keeps every judged answer for the next run.

A unit is a repository or a set; its tasks are asked of the base and then of the work tree, each in a process of its own
that stays open for them. Answers are kept in `rows/VERSION.jsonl`, by the task and by what judges it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from localization.runner import Answers

from .parts import Machine, Task, Trees
from .versions import Version, copied, home

Row = dict[str, Any]

SECONDS = {"concepts": 0.1, "issues": 1.5, "questions": 0.4, "agents": 1.5, "hooks": 0.15, "memory": 4.0,
           "memory-3000": 15.0, "conversations": 15.0, "multihop": 20.0, "duplicates": 15.0}  # fmt: skip
"""Processor seconds of a task of each part, where none was asked yet: for the estimate of the time that is left."""

EXPECTED_TASKS = 4
"""The expected seconds count like so many tasks that were asked."""

PAUSE_SECONDS = 15.0
"""Time between two lines that say how far it is."""

ERROR_CHARACTERS = 500


@dataclass
class Progress:
    """How far the run is; safe from several threads."""

    jobs: int
    open: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    processor: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    began: float = field(default_factory=time.monotonic)
    said: float = 0.0
    total: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, part: str, count: int) -> None:
        """Count tasks that have to be asked."""
        self.open[part] += count
        self.total += count

    def done(self, version: str, part: str, wall: float, processor: float, unit: str) -> None:
        """Count one task, and say how far it is now and then."""
        with self.lock:
            self.open[part] -= 1
            self.seconds[part].append(wall)
            self.processor[version] += processor
            now = time.monotonic()
            if now - self.said >= PAUSE_SECONDS:
                self.said = now
                print(self.line(unit), file=sys.stderr, flush=True)

    def line(self, unit: str) -> str:
        """`412 of 1,104 answers (37 %), 3.3 min, about 5.6 min left; now pallets/flask`."""
        left = sum(count * self._mean(part) for part, count in self.open.items()) / self.jobs
        count = self.total - sum(self.open.values())
        minutes = (time.monotonic() - self.began) / 60
        share = f"{count:,} of {self.total:,} answers ({100 * count / max(self.total, 1):.0f} %)"
        return f"{share}, {minutes:.1f} min, about {left / 60:.1f} min left; now {unit}"

    def _mean(self, part: str) -> float:
        """Seconds of a task of a part; the first ones, which index, hardly change what was expected."""
        asked = self.seconds.get(part, [])
        return (SECONDS[part] * EXPECTED_TASKS + sum(asked)) / (EXPECTED_TASKS + len(asked))


class Board:
    """Asks tasks of versions; `scorer` is the digest of what judges, which is copied, too."""

    def __init__(self, machine: Machine, versions: Sequence[Version], scorer: str, jobs: int) -> None:
        self._machine, self._versions, self._scorer, self._jobs = machine, versions, scorer, jobs
        rows = machine.work / "rows"
        self._benchmarks = copied(machine.work, Path(__file__).resolve().parents[1], scorer)
        self._kept = {one.name: Answers(rows / f"{one.digest.replace(' ', '-')}.jsonl") for one in versions}
        self._trees = Trees(machine)
        self._children: set[subprocess.Popen[str]] = set()
        self._stopping = threading.Event()
        self._guard = threading.Lock()
        self.progress = Progress(jobs)

    def ask(self, tasks: Sequence[Task]) -> bool:
        """Ask what is not kept; returns whether all was asked, False after Ctrl-C. What is done is kept."""
        units: dict[str, list[Task]] = defaultdict(list)
        for task in tasks:
            units[task.unit].append(task)
            for version in self._versions:
                self.progress.add(task.part, not self._is_kept(version, task))
        print(f"{self.progress.line('nothing yet')}", file=sys.stderr, flush=True)
        pool = ThreadPoolExecutor(self._jobs)
        try:
            for _ in pool.map(self._unit, units.values()):
                pass
        except KeyboardInterrupt:
            self._stopping.set()
            with self._guard:
                for child in self._children:
                    child.terminate()
            return False
        finally:
            pool.shutdown(cancel_futures=True)
        return True

    def rows(self, tasks: Iterable[Task]) -> tuple[dict[str, list[Row]], list[str]]:
        """The judged cases of each version, those of tasks that all versions have answered; and what failed."""
        cases: dict[str, list[Row]] = {version.name: [] for version in self._versions}
        failures = []
        for task in tasks:
            found = {one.name: self._row(one, task) for one in self._versions}
            failures += [f"{name}: {task.part} {task.id}: {row['failure']}" for name, row in found.items()
                         if row and row["failure"]]  # fmt: skip
            if all(row and not row["failure"] for row in found.values()):
                for name, row in found.items():
                    head = {"part": task.part, "repo": task.concept or task.repo}
                    cases[name] += [{**head, **case} for case in row["cases"]] if row else []
        return cases, failures

    def _is_kept(self, version: Version, task: Task) -> bool:
        return (version.digest, task.key(self._scorer)) in self._kept[version.name].done

    def _row(self, version: Version, task: Task) -> Row | None:
        return self._kept[version.name].row(version.digest, task.key(self._scorer))

    def _unit(self, tasks: Sequence[Task]) -> None:
        """Ask one unit of every version, one after the other."""
        for version in self._versions:
            waiting = [task for task in tasks if not self._is_kept(version, task)]
            if waiting and not self._stopping.is_set():
                self._ask(version, waiting)

    def _ask(self, version: Version, tasks: Sequence[Task]) -> None:
        """Ask tasks of a version in one process. A process that dies takes the rest of its tasks with it, as failed."""
        work, unit = self._machine.work, tasks[0].unit
        environment = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
        environment |= {
            "PYTHONPATH": os.pathsep.join(map(str, (version.source, self._benchmarks))),
            "SATCHEL_EMBED_PROVIDER": os.environ.get("SATCHEL_BENCH_VECTORS", "off"),
            "SATCHEL_INDEX_WORKERS": "1", "SATCHEL_EVAL": str(self._machine.data),
        }  # fmt: skip
        with (work / "asking.log").open("a", encoding="utf-8") as log:
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "scoreboard.asking"], env=environment, cwd=work, text=True,
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                start_new_session=True,  # Ctrl-C is for this process, which ends the others
            )  # fmt: skip
        with self._guard:
            self._children.add(child)
        assert child.stdin is not None
        assert child.stdout is not None
        where = {"source": version.source, "data": self._machine.data, "repos": self._machine.repos or work}
        with child:
            _tell(child.stdin, {name: str(path) for name, path in {**where, "work": work}.items()})
            for task in tasks:
                began = time.monotonic()
                row = self._answer(version, task, child)
                if self._stopping.is_set():
                    break
                self._keep(version, task, row)
                self.progress.done(version.name, task.part, time.monotonic() - began, row["seconds"], unit)
        with self._guard:
            self._children.discard(child)

    def _answer(self, version: Version, task: Task, child: subprocess.Popen[str]) -> Row:
        """The judged answer to a task; a tree that cannot be laid out and a process that dies are failures."""
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            tree = self._trees.of(task)
            place = {"tree": "", "home": ""}
            if tree is not None:
                place = {"tree": str(tree), "home": str(home(self._machine.work, version, tree))}
            _tell(
                child.stdin,
                {"key": task.key(self._scorer), "part": task.part, "id": task.id, "data": task.data, **place},
            )
            line = child.stdout.readline()
        except (subprocess.CalledProcessError, OSError) as problem:
            return _failed(f"{type(problem).__name__}: {problem}")
        row: Row = json.loads(line) if line else _failed(f"the process ended, see {self._machine.work / 'asking.log'}")
        return row

    def _keep(self, version: Version, task: Task, row: Row) -> None:
        self._kept[version.name].append(
            {**row, "system": version.digest, "id": task.key(self._scorer), "part": task.part, "task": task.id}
        )


def _failed(reason: str) -> Row:
    return {"cases": [], "failure": reason[:ERROR_CHARACTERS], "seconds": 0.0}


def _tell(stream: IO[str], row: Row) -> None:
    stream.write(json.dumps(row) + "\n")
    stream.flush()
