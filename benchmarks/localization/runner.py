"""Ask every system about every instance, on the same checkouts, and append one JSON line for each answer."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .dataset import Instance, load_scorer
from .measures import measure

Row = dict[str, Any]

COMMAND_SECONDS = 900.0
"""A command that takes longer has failed: the slowest rival needs about a minute on the largest repository."""
ERROR_CHARACTERS = 300
HOMES = ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME")
"""Each system gets its own, so that a run neither reads nor writes the user's settings, memories and indexes."""


@dataclass(frozen=True, slots=True)
class System:
    """A named command line; `{max_tokens}` in it stands for the budget, `index` runs first and may be empty."""

    name: str
    command: str
    index: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """Where a run works and what it asks for; `max_tokens` is the limit that `over` and `fill` refer to."""

    repos: Path
    work: Path
    out: Path
    max_tokens: int
    jobs: int = 1


class Answers:
    """The lines of `out`, each on disk before the next question; only what is absent or failed is asked again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._rows = {(row["system"], row["id"]): row for row in read_rows(path)} if path.exists() else {}
        self.done = {key for key, row in self._rows.items() if not row.get("failure")}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.read_bytes().endswith(b"\n"):
            with path.open("a", encoding="utf-8") as stream:
                stream.write("\n")

    def append(self, row: Row) -> None:
        """Keep and write one answer; safe from several threads."""
        with self._lock, self._path.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(row) + "\n")
            self._rows[row["system"], row["id"]] = row

    def row(self, system: str, question: str) -> Row | None:
        """The last row of a question, None if there is none."""
        return self._rows.get((system, question))

    @property
    def rows(self) -> list[Row]:
        """The last row of every question."""
        return list(self._rows.values())


def read_rows(path: Path) -> list[Row]:
    """The rows of an answers file, the last of a question; a line cut off by a kill is left out."""
    rows: dict[tuple[str, str], Row] = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        try:
            row = json.loads(line)
            rows[row["system"], row["id"]] = row
        except (ValueError, KeyError, TypeError):
            continue
    return list(rows.values())


def run_command(
    command: str, system: System, run: Run, tree: Path, question: str
) -> subprocess.CompletedProcess[bytes]:
    """Run a command line of the system in the tree, with homes of its own; raises TimeoutExpired."""
    words = shlex.split(command.replace("{max_tokens}", str(run.max_tokens)))
    homes = {name: run.work.resolve() / "homes" / system.name / name.lower() for name in HOMES}
    for folder in homes.values():
        folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **{name: str(folder) for name, folder in homes.items()}}
    return subprocess.run(
        words,
        cwd=tree,
        env=environment,
        input=question.encode("utf-8"),
        capture_output=True,
        check=False,
        timeout=COMMAND_SECONDS,
    )


def problem_of(what: str, done: subprocess.CompletedProcess[bytes]) -> str:
    """One line for a command that failed: what failed, its exit status, the end of what it wrote."""
    tail = done.stderr.decode("utf-8", "replace").strip()[-ERROR_CHARACTERS:]
    return f"{what}: exit {done.returncode}: {tail}"


def _ask(system: System, instance: Instance, run: Run, tree: Path) -> Row:
    """The row of one question; every way to fail ends as `failure` with shares of 0, none stops the run."""
    nothing = measure(instance, {}, tree, run.max_tokens)
    started = time.monotonic()
    try:
        if system.index:
            done = run_command(system.index, system, run, tree, "")
            if done.returncode:
                return nothing | {"failure": problem_of("index", done)}
        indexed = time.monotonic()
        done = run_command(system.command, system, run, tree, instance["query"])
        asked = time.monotonic()
        answer = json.loads(done.stdout)
        row = measure(instance, answer, tree, run.max_tokens)
    except subprocess.TimeoutExpired:
        return nothing | {"failure": f"no answer within {COMMAND_SECONDS:.0f} s"}
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        return nothing | {"failure": problem_of(f"unreadable answer ({problem})", done)}
    if done.returncode:
        row["failure"] = problem_of("command", done)
    return row | {"index_s": indexed - started, "ask_s": asked - indexed}


def _fresh_tree(origin: Path, tree: Path, commit: str) -> None:
    """Check out `commit` and remove whatever an earlier system left in the tree, its index included."""
    load_scorer().check_out(origin, tree, commit)
    subprocess.run(["git", "-C", str(tree), "clean", "-q", "-ffdx"], check=True)


def _ask_repository(systems: list[System], instances: list[Instance], run: Run, answers: Answers) -> None:
    repo = instances[0]["repo"]
    origin = load_scorer().git_directory(run.repos, repo)
    if origin is None:
        print(f"{repo}: left out, not below {run.repos}", file=sys.stderr)
        return
    tree = run.work.resolve() / "trees" / repo.replace("/", "+")
    tree.parent.mkdir(parents=True, exist_ok=True)
    for instance, system in _open_questions(systems, instances, answers):
        try:
            _fresh_tree(origin, tree, instance["base_commit"])
        except subprocess.CalledProcessError:
            print(f"{instance['id']}: left out, its base commit cannot be checked out", file=sys.stderr)
            continue
        row = _ask(system, instance, run, tree)
        head = {key: instance[key] for key in ("id", "repo", "lang", "source", "path_in_query")}
        answers.append({"system": system.name, **head, **row})
        print(_line(system, instance, row), file=sys.stderr, flush=True)


def _open_questions(
    systems: list[System], instances: Iterable[Instance], answers: Answers
) -> Iterator[tuple[Instance, System]]:
    for instance in instances:
        for system in systems:
            if (system.name, instance["id"]) not in answers.done:
                yield instance, system


def _line(system: System, instance: Instance, row: Row) -> str:
    if row.get("failure"):
        return f"{system.name:24s} {instance['id']:36s} FAILURE {row['failure']}"
    return (
        f"{system.name:24s} {instance['id']:36s} file {row['file']:.2f} span {row['span']:.2f} r5 {row['r5']:.2f} "
        f"used {row['used']:5d} index {row['index_s']:5.1f}s ask {row['ask_s']:5.2f}s"
    )


def ask_all(systems: list[System], chosen: dict[str, list[Instance]], run: Run) -> list[Row]:
    """Ask what is not answered yet, `jobs` repositories at a time, and return all rows of the answers file."""
    answers = Answers(run.out)
    with ThreadPoolExecutor(max_workers=run.jobs) as pool:
        tasks = [pool.submit(_ask_repository, systems, rows, run, answers) for rows in chosen.values()]
        for task in tasks:
            task.result()
    return answers.rows
