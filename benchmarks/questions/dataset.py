"""The questions: one JSON line each, and the check that what they name exists in the repository at their commit."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
KINDS = ("where", "how", "why", "breaks", "trace", "vague", "absent")
MAX_LINES = 3
"""A pattern that matches more lines of its file does not name a line that decides."""
ENDINGS = ("ing", "ed", "es", "s")
"""Taken from a word before it is looked for: `reconnecting` is not absent where `reconnect` occurs."""
SHORTEST_STEM = 3


@dataclass(frozen=True, slots=True)
class Deciding:
    """A line that decides the answer: any line of `path` in which the regular expression `pattern` is found."""

    path: str
    pattern: str

    def numbers(self, lines: list[str]) -> set[int]:
        """1-based numbers of the matching lines of the file."""
        expression = re.compile(self.pattern)
        return {number for number, line in enumerate(lines, 1) if expression.search(line)}


@dataclass(frozen=True, slots=True)
class Question:
    """`files` are the paths that matter, a folder ends in `/`; `absent` are words that the repository does not have.

    An absent question may have no such word: every word occurs, but nothing in the repository is about the question.
    """

    id: str
    repo: str
    commit: str
    kind: str
    question: str
    deciding: tuple[Deciding, ...]
    files: tuple[str, ...]
    absent: tuple[str, ...]

    def matters(self, path: str) -> bool:
        """Whether the file is on the topic of the question."""
        return any(path == name or (name.endswith("/") and path.startswith(name)) for name in self.files)


def question_of(row: dict[str, Any]) -> Question:
    """The question of a row of a file, or of the fields of a question."""
    deciding = tuple(Deciding(**entry) for entry in row["deciding"])
    return Question(**{**row, "deciding": deciding, "files": tuple(row["files"]), "absent": tuple(row["absent"])})


def load(paths: Iterable[Path] = ()) -> list[Question]:
    """The questions of these files, by default of all beside this module; raises ValueError for a malformed line."""
    questions = []
    for path in list(paths) or sorted(FOLDER.glob("*.jsonl")):
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            try:
                questions.append(question_of(json.loads(line)))
            except (KeyError, TypeError, ValueError) as problem:
                message = f"{path.name}:{number}: {problem}"
                raise ValueError(message) from problem
    return questions


def stem(word: str) -> str:
    """The word in lower case without its ending, unless too little would remain: `websockets` gives `websocket`."""
    word = word.lower()
    ending = next((ending for ending in ENDINGS if word.endswith(ending)), "")
    return word.removesuffix(ending) if len(word) - len(ending) >= SHORTEST_STEM else word


def git_directory(repos: Path, name: str) -> Path:
    """The repository OWNER/NAME below `repos`: OWNER+NAME, or a folder in it; raises FileNotFoundError without one."""
    base = repos / name.replace("/", "+")
    for folder in [base, *sorted(base.glob("*"))]:
        if (folder / "HEAD").exists() or (folder / ".git").exists():
            return folder.resolve()
    message = f"{name} is not below {repos}: clone it to {base}"
    raise FileNotFoundError(message)


def git(folder: Path, *arguments: str) -> str:
    """What git prints; raises CalledProcessError."""
    done = subprocess.run(["git", "-C", str(folder), *arguments], check=True, capture_output=True)
    return done.stdout.decode("utf-8", "replace")


def problems(questions: list[Question], repos: Path) -> Iterator[str]:
    """One line for each thing that is wrong with the questions."""
    seen: set[str] = set()
    trees: dict[tuple[str, str], set[str]] = {}
    for question in questions:
        folder = git_directory(repos, question.repo)
        place = (question.repo, question.commit)
        if place not in trees:
            trees[place] = set(git(folder, "ls-tree", "-r", "-z", "--name-only", question.commit).split("\0"))
        wrong = [*_problems_of_form(question), *_problems_of_place(question, folder, trees[place])]
        if question.id in seen:
            wrong.append("its id is used twice")
        seen.add(question.id)
        yield from (f"{question.id}: {text}" for text in wrong)


def _problems_of_form(question: Question) -> Iterator[str]:
    if question.kind not in KINDS:
        yield f"unknown kind {question.kind!r}"
    if (question.kind == "absent") == bool(question.deciding):
        yield "only an absent question has no deciding line"
    if question.absent and question.kind != "absent":
        yield "only an absent question has absent words"
    for word in question.absent:
        if word.lower() not in question.question.lower():
            yield f"{word!r} is not in the question"
    for path in {entry.path for entry in question.deciding} - set(question.files):
        if not question.matters(path):
            yield f"{path} decides but is not among the files that matter"


def _problems_of_place(question: Question, folder: Path, tree: set[str]) -> Iterator[str]:
    for name in question.files:
        if name not in tree and not (name.endswith("/") and any(path.startswith(name) for path in tree)):
            yield f"{name} does not exist"
    for entry in question.deciding:
        if entry.path in tree:
            count = len(entry.numbers(git(folder, "show", f"{question.commit}:{entry.path}").split("\n")))
            if not 1 <= count <= MAX_LINES:
                yield f"{entry.pattern!r} matches {count} lines of {entry.path}, not 1 to {MAX_LINES}"
    for word in question.absent:
        command = ["git", "-C", str(folder), "grep", "-l", "-I", "-i", "-F", "-e", stem(word), question.commit]
        done = subprocess.run(command, check=False, capture_output=True)
        if done.returncode != 1:
            first = (done.stdout or done.stderr).decode("utf-8", "replace").partition("\n")[0]
            yield f"{word!r} is not absent: {first.removeprefix(question.commit + ':')}"
