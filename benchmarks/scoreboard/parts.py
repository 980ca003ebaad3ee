"""What is asked: for each part of the measuring data its tasks, and the data that a machine does not have.

A task is asked of both versions with the same data. Tasks of one `unit` are asked by one process, in order.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from agents.asking import Asker, Place
from agents.cases import SATCHEL, Case, load_cases, sample
from localization.dataset import REPOSITORY_ROOT, evaluation_folder, load_instances
from questions.dataset import git, git_directory, load

Row = dict[str, Any]

PROMPTS = {"own issue": 0, "small talk": 5}
"""Prompts of a sort and repository for the hooks; a whole issue says no more than its title."""

SEED = 7
MAX_TOKENS = 4_000


@dataclass(frozen=True, slots=True)
class Task:
    """One question, or for memory and conversations all of a set: `data` is what its part needs.

    `commit` is empty where no work tree is needed; with `concept` only the folder `root` of the commit is laid out.
    """

    part: str
    id: str
    unit: str
    repo: str
    data: Row
    commit: str = ""
    concept: str = ""
    root: str = ""

    def key(self, scorer: str) -> str:
        """A digest of everything that the judged answer depends on, except for the version that is asked."""
        text = json.dumps([scorer, asdict(self)], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True, slots=True)
class Machine:
    """What this machine has: folders of the data, the repositories and the work; `per_repo` is the size of a sample."""

    data: Path
    repos: Path | None
    work: Path
    per_repo: int

    def origin(self, repo: str, commit: str) -> Path | None:
        """The git directory of a repository, if it has this commit."""
        try:
            folder = REPOSITORY_ROOT if repo == SATCHEL else git_directory(self.repos or Path("/nonexistent"), repo)
            git(folder, "cat-file", "-e", f"{commit}^{{tree}}")
        except (FileNotFoundError, subprocess.CalledProcessError):
            return None
        return folder

    def has(self, *names: str) -> str:
        """What is missing of these files of the data, as a sentence; empty if nothing is."""
        missing = [name for name in names if not (self.data / name).is_file()]
        return f"{', '.join(missing)} is not in {self.data} (set SATCHEL_EVAL)" if missing else ""

    def rows(self, name: str) -> list[Row]:
        """The rows of a file of the data. Raises ValueError for one that is not JSON."""
        rows = []
        for number, line in enumerate((self.data / name).read_text(encoding="utf-8").splitlines(), 1):
            try:
                rows.append(json.loads(line))
            except json.JSONDecodeError as problem:
                message = f"{self.data / name}:{number} is not JSON: {problem}"
                raise ValueError(message) from problem
        return rows


def _concepts(machine: Machine) -> Iterator[Task | str]:
    if missing := machine.has("concepts_dev.jsonl", "score_concepts.py"):
        yield missing
        return
    for number, row in enumerate(machine.rows("concepts_dev.jsonl")):
        name, place = row["name"], {"commit": row["commit"], "concept": row["name"], "root": row["root"]}
        yield Task("concepts", f"{name}-{number}", f"concepts {name}", row["repo"], row, **place)


def _issues(machine: Machine) -> Iterator[Task | str]:
    if missing := machine.has("code_localization_dev.jsonl", "score_code.py"):
        yield missing
        return
    instances = {row["id"]: row for row in load_instances()}
    for case in sample(load_cases(["issues"], {}), machine.per_repo):
        yield _task("issues", case, {"case": asdict(case), "instance": dict(instances[case.id])})


def _questions(machine: Machine) -> Iterator[Task | str]:
    for row in sample(load(), machine.per_repo):
        yield Task("questions", row.id, row.repo, row.repo, asdict(row), row.commit)


def _agents(machine: Machine) -> Iterator[Task | str]:
    cases = load_cases(["tasks", "unknown"], {})
    by_hash = sorted(cases, key=lambda case: hashlib.sha256(case.id.encode()).hexdigest())
    tasks = [case for case in by_hash if case.kind == "tasks"][: machine.per_repo or None]
    for case in [*tasks, *(case for case in cases if case.kind == "unknown")]:
        yield _task("agents", case, {"case": asdict(case)})


def _hooks(machine: Machine) -> Iterator[Task | str]:
    needed = ("code_localization_dev.jsonl", "memory_locomo_dev_questions.jsonl", "multihop_dev_questions.jsonl")
    if missing := machine.has(*needed):
        yield missing
        return
    from hooks import prompts  # here, because it imports the package that is in the work tree

    for repo, commit in sorted({(row.repo, row.commit) for row in load()}):
        for sort, texts in prompts(repo, random.Random(SEED)).items():
            mixed = random.Random(SEED).sample(texts, len(texts))  # a smaller sample is part of a larger one
            for number, text in enumerate(mixed[: PROMPTS.get(sort, machine.per_repo or len(texts))]):
                data = {"sort": sort, "prompt": text[0] if isinstance(text, tuple) else text}
                yield Task("hooks", f"{repo} {sort} {number}", repo, repo, data, commit)


def _memory(machine: Machine, part: str = "memory", records: int = 300) -> Iterator[Task | str]:
    names = [f"memory_help_dev_{name}" for name in ("projects.json", "records.jsonl", "tasks.jsonl")]
    if missing := machine.has(*names, "score_memory_help.py"):
        yield missing
        return
    for name, project in json.loads((machine.data / names[0]).read_text(encoding="utf-8")).items():
        if "repository" in project and machine.origin(project["repository"], project["commit"]) is None:
            yield f"{name}: {project['repository']} at {project['commit'][:12]} is not below {machine.repos}"
            continue
        content = b"".join((machine.data / file).read_bytes() for file in names)
        data = {"name": name, "project": project, "records": records, "sha256": hashlib.sha256(content).hexdigest()}
        yield Task(part, f"{part} {name}", f"{part} {name}", name, data)


def _more_records(machine: Machine) -> Iterator[Task | str]:
    return _memory(machine, "memory-3000", 3000)


def _conversations(machine: Machine) -> Iterator[Task | str]:
    names = ("memory_locomo_dev_turns.jsonl", "memory_locomo_dev_questions.jsonl")
    if missing := machine.has(*names):
        yield missing
        return
    turns, questions = map(machine.rows, names)
    for name in dict.fromkeys(row["conv"] for row in turns):
        mine = {"turns": turns, "questions": questions}
        data = {key: [row for row in rows if row["conv"] == name] for key, rows in mine.items()}
        yield Task("conversations", name, f"conversation {name}", name, data)


def _multihop(machine: Machine) -> Iterator[Task | str]:
    names = ("multihop_dev_passages.jsonl", "multihop_dev_questions.jsonl")
    if missing := machine.has(*names):
        yield missing
        return
    passages, questions = map(machine.rows, names)
    yield Task("multihop", "multihop", "multihop", "multihop", {"passages": passages, "questions": questions})


def _duplicates(machine: Machine) -> Iterator[Task | str]:
    if missing := machine.has("neardup.jsonl"):
        yield missing
        return
    yield Task("duplicates", "neardup", "duplicates", "neardup", {"pairs": machine.rows("neardup.jsonl")})


PARTS: Mapping[str, Callable[[Machine], Iterator[Task | str]]] = {
    "memory": _memory,
    "conversations": _conversations,
    "multihop": _multihop,
    "duplicates": _duplicates,
    "concepts": _concepts,
    "issues": _issues,
    "questions": _questions,
    "agents": _agents,
    "hooks": _hooks,
    "memory-3000": _more_records,
}
"""Each part of the measuring data, in the order in which it is asked and shown."""

ON_REQUEST = frozenset({"memory-3000"})
"""Parts that are only asked when they are named."""


def _task(part: str, case: Case, data: Row) -> Task:
    return Task(part, case.id, case.repo, case.repo, data, case.commit)


def tasks_of(machine: Machine, names: Sequence[str]) -> tuple[list[Task], list[str]]:
    """Return the tasks of these parts, and what is left out: parts without data, and tasks without their repository."""
    tasks: list[Task] = []
    left_out: dict[str, int] = {}
    origins: dict[tuple[str, str], Path | None] = {}
    for part in names:
        for one in PARTS[part](machine):
            if isinstance(one, str):
                left_out[f"{part}: {one}"] = 0
                continue
            place = (one.repo, one.commit)
            if one.commit and place not in origins:
                origins[place] = machine.origin(*place)
            if one.commit and origins[place] is None:
                missing = f"{part}: no {one.repo} at its commits below {machine.repos}"
                left_out[missing] = left_out.get(missing, 0) + 1
            else:
                tasks.append(one)
    return tasks, [f"{text} ({count} questions)" if count else text for text, count in left_out.items()]


class Trees:
    """Lays out the work tree of a task, once; safe from several threads where each has units of its own."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._asker = Asker(Place(machine.repos or Path(), machine.work, MAX_TOKENS))

    def of(self, task: Task) -> Path | None:
        """The work tree of a task, None if it has none. Raises CalledProcessError, OSError."""
        if task.concept:
            return self._concept(task)
        case = Case(task.id, task.part, "", task.repo, task.commit, "", ())
        return self._asker.tree(case) if task.commit else None

    def _concept(self, task: Task) -> Path:
        """The pinned folder without its history, as the scorer of the data lays it out."""
        top = self._machine.work / "concepts" / task.concept
        tree = top / task.root if task.root else top
        if not (tree / ".git" / "laid-out").exists():
            shutil.rmtree(top, ignore_errors=True)
            top.mkdir(parents=True)
            origin = self._machine.origin(task.repo, task.commit)
            archive = ["git", "-C", str(origin), "archive", task.commit, *filter(None, [task.root])]
            packed = subprocess.run(archive, check=True, capture_output=True).stdout
            subprocess.run(["tar", "-x", "-C", str(top)], check=True, input=packed)
            # The folder of octocode's own questions would answer them.
            if task.concept == "octocode":
                shutil.rmtree(top / "benchmark", ignore_errors=True)
            author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
            for words in (("init", "-q"), ("add", "-A"), (*author, "commit", "-qm", "all")):
                git(tree, *words)
            (tree / ".git" / "laid-out").touch()
        return tree


def scorer_digest() -> str:
    """A digest of the code that judges, so that an answer judged otherwise before is asked again."""
    here = Path(__file__).resolve().parents[1]
    files = [file for room in ("agents", "localization", "questions") for file in sorted((here / room).glob("*.py"))]
    files += [here / name for name in ("scoreboard/asking.py", "memory.py", "multihop.py", "duplicates.py")]
    try:
        files += sorted(evaluation_folder().glob("score_*.py"))
    except FileNotFoundError:
        files += []
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def chosen(only: str) -> list[str]:
    """The names of parts that `only` lists, by default all that are not on request. Raises ValueError."""
    names = [name for name in re.split(r"[ ,]+", only) if name]
    if unknown := [name for name in names if name not in PARTS]:
        message = f"unknown part {', '.join(unknown)}: choose from {', '.join(PARTS)}"
        raise ValueError(message)
    return [name for name in PARTS if (name in names if names else name not in ON_REQUEST)]
