"""What is set up before the questions of a project: its git history, and its records as the memory file stores them.

What a record of a project does not tell has an ordinary value, the same for all, so that it decides nothing.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from satchel import Satchel
from satchel.memory.model import Experience, Lesson, Memory, Outcome, Record, RootCause, Value
from satchel.memory.portable import put_exchanges
from satchel.memory.records import document_of
from satchel.sources.conversations import Exchange
from satchel.vocabulary import ConfidenceTier, Domain, MemoryCategory, OutcomeStatus, RootCauseCategory, Strategy

FIRST_DATE = "2024-01-02"
"""Date of the commit that adds the corpus."""

MomentOf = Callable[[str], float]
Row = Mapping[str, Any]


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

    def add(message: str, date: str, changes: Mapping[str, bytes], author: str = "Ada") -> None:
        text = message.encode()
        by = b"%b <%b@example.invalid> %d +0000" % (author.encode(), author.lower().encode(), moment_of(date))
        stream.extend(b"commit refs/heads/main\nauthor %b\ncommitter %b\n" % (by, by))
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
        changes |= {f"others/{n}.bin": b"%d" % number for n in range(commit.get("others", 0))}
        add(commit["message"], commit["date"], changes, commit.get("author", "Ada"))
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


def remember(satchel: Satchel, setup: Row, now: float, moment_of: MomentOf) -> dict[str, str]:
    """Write the records of a project, all at once; returns the name of each by its id.

    The services would search for similar ones before each, in a transaction of its own.
    """

    def dated(row: Row) -> float:
        return moment_of(row["date"]) if "date" in row else now

    made = {
        f"{kind}:{row['key']}": make(row, dated(row)) for kind, make in _MAKERS.items() for row in setup.get(kind, ())
    }
    if made:
        with satchel.memory_store.write() as writer:
            writer.put([document_of(record) for record in made.values()])
    names = {f"{name.partition(':')[0]}:{record.id}": name for name, record in made.items()}
    for row in setup.get("conversation", ()):
        exchanges = _exchanges(row, dated(row))
        put_exchanges(exchanges, satchel.memory.notebook, origin="ranking")
        names |= {f"conversation:{one.key}": f"conversation:{row['key']}/{n}" for n, one in enumerate(exchanges, 1)}
    return names


def _memory(row: Row, moment: float) -> Memory:
    return Memory(
        id=f"mem_{row['key']}",
        content=row["content"],
        category=MemoryCategory(row.get("category", "fact")),
        importance=row.get("importance", 0.5),
        tags=tuple(row.get("tags", ())),
        created=moment,
        updated=moment,
        superseded_by=f"mem_{row['replaced_by']}" if "replaced_by" in row else "",
    )


def _experience(row: Row, moment: float) -> Experience:
    cause = row.get("cause", "")
    return Experience(
        id=f"ghap_{row['key']}",
        domain=Domain(row.get("domain", "debugging")),
        strategy=Strategy(row.get("strategy", "read-the-error")),
        goal=row["goal"],
        hypothesis=row.get("hypothesis", "-"),
        action=row.get("action", "-"),
        prediction=row.get("prediction", "-"),
        created=moment,
        updated=moment,
        outcome=Outcome(OutcomeStatus(row.get("status", "falsified")), row.get("result", "-"), moment),
        surprise=row.get("surprise", ""),
        root_cause=RootCause(RootCauseCategory.OVERSIGHT, cause) if cause else None,
        lesson=Lesson(row.get("lesson", "-"), row.get("takeaway", "")),
        confidence_tier=ConfidenceTier(row.get("tier", "silver")),
    )


def _value(row: Row, moment: float) -> Value:
    return Value(
        id=f"val_{row['key']}",
        text=row["content"],
        axis="strategy",
        cluster_id=f"cluster_{row['key']}",
        cluster_size=row.get("size", 5),
        domains=row.get("domains", {}),
        strategies=row.get("strategies", {}),
        created=moment,
    )


def _exchanges(row: Row, moment: float) -> Sequence[Exchange]:
    """Return the turns of a conversation, a minute apart; each is `NAME: text`."""
    turns = [turn.partition(": ") for turn in row["turns"]]
    return [
        Exchange(row["key"], f"{number:06d}", moment + 60 * number, text, speaker=speaker)
        for number, (speaker, _, text) in enumerate(turns)
    ]


_MAKERS: Mapping[str, Callable[[Row, float], Record]] = {"memory": _memory, "experience": _experience, "value": _value}
