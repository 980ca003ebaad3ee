"""What is set up before the questions of a project: its git history, and records written by the real writers."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.memory.journal import Journal
from satchel.memory.memories import Memories
from satchel.memory.scope import Notebook

FIRST_DATE = "2024-01-02"
"""Date of the commit that adds the corpus."""

MomentOf = Callable[[str], float]


def write_history(root: Path, commits: Sequence[Mapping[str, Any]], moment_of: MomentOf) -> dict[str, str]:
    """Make the folder a repository with these commits after one that adds everything; nothing without commits.

    Returns the name of each commit by its id. A file that several commits change differs in its last line until the
    last of them; then it is as in the corpus.
    """
    if not commits:
        return {}
    files = {path.relative_to(root).as_posix(): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}
    last = {path: number for number, commit in enumerate(commits) for path in commit.get("files", ())}
    stream = bytearray()

    def add(message: str, date: str, changes: Mapping[str, bytes]) -> None:
        text = message.encode()
        stream.extend(b"commit refs/heads/main\ncommitter Ada <ada@example.invalid> %d +0000\n" % moment_of(date))
        stream.extend(b"data %d\n%b\n" % (len(text), text))
        for path, content in changes.items():
            if content:
                stream.extend(b"M 644 inline %b\ndata %d\n%b\n" % (path.encode(), len(content), content))
            else:
                stream.extend(b"D %b\n" % path.encode())

    def revised(path: str, number: int) -> bytes:
        return files[path] if last.get(path, -1) == number else files[path] + b"\n%d\n" % number

    add("Begin", FIRST_DATE, {path: revised(path, -1) for path in files})
    for number, commit in enumerate(commits):
        changes = {path: revised(path, number) for path in commit.get("files", ())}
        changes |= {path: text.encode() for path, text in commit.get("text", {}).items()}
        add(commit["message"], commit["date"], changes)
    _git(root, "init", "-q", "-b", "main")
    _git(root, "fast-import", "--quiet", stdin=bytes(stream))
    _git(root, "reset", "-q", "--hard")
    ids = _git(root, "rev-list", "--reverse", "main").decode().split()[1:]
    named = zip(ids, commits, strict=True)
    return {f"commit:{identity}": f"commit:{commit['key']}" for identity, commit in named if "key" in commit}


def _git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    variables = {**kept, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return subprocess.run(
        ["git", *arguments], cwd=root, env=variables, input=stdin, capture_output=True, check=True
    ).stdout


@contextmanager
def _written_at(satchel: Satchel, moment: float, number: int) -> Iterator[Notebook]:
    """Yield the memory file for a record of this moment, whose id has this number, so that every run is the same."""
    yield satchel.memory.notebook._replace(clock=lambda: moment, draw=lambda: f"{number:06x}")


def remember(satchel: Satchel, setup: Mapping[str, Any], now: float, moment_of: MomentOf) -> dict[str, str]:
    """Write the records of a project; returns the name of each by its id."""
    names: dict[str, str] = {}
    for number, row in enumerate(setup.get("memory", ())):
        options = dict(row)
        key, date = options.pop("key"), options.pop("date", None)
        with _written_at(satchel, moment_of(date) if date else now, number) as notebook:
            made = Memories(notebook, satchel.opened.embedder).add(options.pop("content"), **options)
        names[f"memory:{made.memory.id}"] = f"memory:{key}"
    for number, row in enumerate(setup.get("experience", ())):
        with _written_at(satchel, moment_of(row["date"]) if "date" in row else now, number) as notebook:
            journal = Journal(notebook)
            journal.start(**row["start"])
            ended = journal.resolve(**row["resolve"])
        names[f"experience:{ended.id}"] = f"experience:{row['key']}"
    return names
