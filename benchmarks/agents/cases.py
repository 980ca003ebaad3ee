"""The cases: issues, natural questions, tasks and questions about code that no model remembers; lines to be reached."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeVar

from localization.dataset import evaluation_folder, load_instances
from questions.dataset import FOLDER as QUESTIONS
from questions.dataset import Deciding, load

HERE = Path(__file__).resolve().parent
TASKS = HERE / "tasks.jsonl"
UNKNOWN = HERE / "unknown_questions.jsonl"
NAMES_FILE = "likely_names_dev.jsonl"
SATCHEL = "satchel"
"""The repository that stands for code nobody remembers: older states of this one."""
KINDS = ("issues", "questions", "tasks", "unknown")

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Target:
    """Lines of a file, any of which decides; with a `pattern` the lines that it matches."""

    path: str
    ranges: tuple[tuple[int, int], ...] = ()
    pattern: str = ""

    def located(self, lines: Sequence[str]) -> Target:
        """Return the target with the numbers of its lines in this file."""
        if not self.pattern:
            return self
        numbers = sorted(Deciding(self.path, self.pattern).numbers(list(lines)))
        return Target(self.path, tuple((number, number) for number in numbers))


@dataclass(frozen=True, slots=True)
class Case:
    """A question, the state of a repository that it is about, and what is to be reached; nothing for an absent one.

    `names` are identifiers that somebody expected in the answering code before the answer was looked up.
    """

    id: str
    kind: str
    group: str
    repo: str
    commit: str
    question: str
    targets: tuple[Target, ...]
    names: tuple[str, ...] = ()

    @property
    def paths(self) -> set[str]:
        """The files of the targets."""
        return {target.path for target in self.targets}


def read_rows(path: Path) -> list[Row]:
    """The rows of a file with one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def load_names(path: Path | None) -> dict[str, tuple[str, ...]]:
    """The names of a file by id, with those of the tasks; by default those of the evaluation data, where it is."""
    try:
        file = path or evaluation_folder() / NAMES_FILE
    except FileNotFoundError:
        file = TASKS
    rows = [*read_rows(TASKS), *(read_rows(file) if file.is_file() else [])]
    return {row["id"]: tuple(row["names"]) for row in rows}


def load_cases(kinds: Iterable[str], names: Mapping[str, Sequence[str]]) -> list[Case]:
    """All cases of these kinds, sorted by id; raises FileNotFoundError for issues without the evaluation data."""
    makers = {"issues": _issues, "questions": _questions, "tasks": _tasks, "unknown": _unknown}
    cases = []
    for kind in kinds:
        if kind not in makers:
            message = f"unknown kind {kind!r}: choose from {', '.join(KINDS)}"
            raise ValueError(message)
        cases += makers[kind](names)
    return sorted(cases, key=lambda case: (case.kind, case.repo, case.id))


def _changed(gold: Mapping[str, Sequence[Sequence[int]]], files: Iterable[str]) -> tuple[Target, ...]:
    return tuple(Target(path, ((first, last),)) for path in files for first, last in gold.get(path, []))


def _issues(names: Mapping[str, Sequence[str]]) -> list[Case]:
    return [
        Case(
            id=row["id"],
            kind="issues",
            group=row["lang"],
            repo=row["repo"],
            commit=row["base_commit"],
            question=row["query"],
            targets=_changed(row["gold_lines"], row["gold_files"]),
            names=tuple(names.get(row["id"], ())),
        )
        for row in load_instances()
    ]


def _questions(names: Mapping[str, Sequence[str]]) -> list[Case]:
    return [
        Case(
            id=row.id,
            kind="questions",
            group=row.kind,
            repo=row.repo,
            commit=row.commit,
            question=row.question,
            targets=tuple(Target(entry.path, pattern=entry.pattern) for entry in row.deciding),
            names=tuple(names.get(row.id, ())),
        )
        for row in load(sorted(QUESTIONS.glob("questions-*.jsonl")))
    ]


def _tasks(_names: Mapping[str, Sequence[str]]) -> list[Case]:
    return [
        Case(
            id=row["id"],
            kind="tasks",
            group="unknown code",
            repo=row["repo"],
            commit=row["base_commit"],
            question=row["query"],
            targets=_changed(row["gold_lines"], row["gold_files"]),
            names=tuple(row["names"]),
        )
        for row in read_rows(TASKS)
        if "gold_lines" in row
    ]


def _unknown(_names: Mapping[str, Sequence[str]]) -> list[Case]:
    return [
        Case(
            id=row["id"],
            kind="unknown",
            group=row["kind"],
            repo=row["repo"],
            commit=row["commit"],
            question=row["question"],
            targets=tuple(Target(entry["path"], (tuple(entry["lines"]),)) for entry in row["deciding"]),
            names=tuple(row["names"]),
        )
        for row in read_rows(UNKNOWN)
    ]


class Sampled(Protocol):
    """What can be sampled: cases, and questions as they are stored."""

    @property
    def id(self) -> str:
        """Its name; the order of the names' hashes is that of the sample."""

    @property
    def kind(self) -> str:
        """So many are taken of each kind in a repository."""

    @property
    def repo(self) -> str:
        """OWNER/NAME."""


AnySampled = TypeVar("AnySampled", bound=Sampled)


def sample(cases: Iterable[AnySampled], per_repo: int, only: Sequence[str] = ()) -> list[AnySampled]:
    """At most `per_repo` cases (0: all) of each kind and repository, always the same ones; `only` these repositories.

    A repository is named whole or by what follows the slash. The cases come in the order of the hashes of their ids, so
    that a sample is spread, and a smaller one is part of a larger one. Tasks and questions about code that nobody
    remembers are of one repository and are not sampled.
    """
    chosen: dict[tuple[str, str], list[AnySampled]] = defaultdict(list)
    for case in sorted(cases, key=lambda case: hashlib.sha256(case.id.encode()).hexdigest()):
        rows = chosen[case.kind, case.repo]
        is_wanted = not only or case.repo in only or case.repo.rpartition("/")[2] in only
        if is_wanted and (not per_repo or case.repo == SATCHEL or len(rows) < per_repo):
            rows.append(case)
    return [case for key in sorted(chosen) for case in sorted(chosen[key], key=lambda case: case.id)]
