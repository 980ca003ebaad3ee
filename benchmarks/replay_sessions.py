"""What an agent reads in ten working sessions, and how much of what is remembered helps it.

    python benchmarks/replay_sessions.py [--out benchmarks/results/sessions_replayed.md] [--show]

Two projects with 46 and 49 records are written and indexed; each event of a session is sent to `satchel hook` as Claude
Code sends it, in a process of its own. `replay_sessions.toml` says what each event needs, written before the first
replay, and how the other lines that came were judged. `--show` prints every text as the agent reads it.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stopwatch import fresh_home

from satchel import Satchel, __version__
from satchel.system.telemetry import TOO_LATE, hook_entries
from satchel.testing import TinyRepository

DATA = Path(__file__).with_suffix(".toml")
WORDS = {
    "start": "session-start", "compact": "session-start", "prompt": "prompt", "edit": "before-tool",
    "fail": "after-tool", "end": "session-end",
}  # fmt: skip
TRIES = 12
LESSER = ("harmless", "wrong")
HEAD = "| event | tokens | helps | other lines | missing | code and commits |"
TITLE = f"# Ten sessions replayed with satchel {__version__}"
ABOUT = (
    "Written by `benchmarks/replay_sessions.py`; the keys are those of `replay_sessions.toml`. A record is missing"
    " where an event needs it and neither this nor an earlier event of the session brought it."
)


@dataclass
class Project:
    """A project on disk with what is remembered about it: keys by the id of their record, and by their text."""

    root: Path
    home: dict[str, str]
    keys: dict[str, str] = field(default_factory=dict)


@dataclass
class Read:
    """What an agent reads after one event, with the keys of the records in it and the tokens that the log counts."""

    text: str
    reason: str
    tokens: int
    keys: list[str]
    others: list[str]


def table(text: str) -> Iterator[list[str]]:
    """Yield the fields of each line."""
    for line in text.strip().splitlines():
        yield [part.strip() for part in line.split("|")]


def prepared(data: dict[str, Any], folder: Path) -> Project:
    """Write a project, remember everything about it, and index it."""
    repository = TinyRepository(folder / data["name"])
    repository.commit("Everything", {path: text.lstrip("\n") for path, text in data["files"].items()})
    project = Project(repository.root, fresh_home(folder / f"home-{data['name']}"))
    with Satchel.open(project.root, root=project.root, environ=project.home) as opened:
        for key, category, importance, content, files in table(data["memories"]):
            globs = files.split() if files else ()
            added = opened.memories.add(content, category=category, importance=float(importance), files=globs)
            project.keys[added.memory.id] = key
        for key, category, importance, content, old in table(data["replaced"]):
            added = opened.memories.add(old, category=category, importance=float(importance))
            project.keys[added.memory.id] = f"{key}-old"
            project.keys[opened.memories.supersede(added.memory.id, content).memory.id] = key
        for row in table(data["experiences"]):
            key, domain, goal, hypothesis, action, status, result, surprise, cause, lesson, files = row
            category, _, description = cause.partition(": ")
            opened.experiences.start(
                domain=domain, strategy="check-assumptions", goal=goal, hypothesis=hypothesis, action=action,
                prediction="It works then", files=files.split(),
            )  # fmt: skip
            ended = opened.experiences.resolve(
                status=status, result=result, surprise=surprise or None, root_cause=category or None,
                root_cause_description=description or None, lesson=lesson or None,
            )  # fmt: skip
            project.keys[ended.id] = key
        opened.index()
    return project


def sent(step: dict[str, Any], root: Path, session: str) -> dict[str, Any]:
    """Return what Claude Code sends for a step."""
    common = {"session_id": session, "cwd": str(root), "transcript_path": None, "permission_mode": "default"}
    tool = {"hook_event_name": "PreToolUse", "tool_name": "Edit"}
    match step["event"]:
        case "start":
            return common | {"hook_event_name": "SessionStart", "source": "startup"}
        case "compact":
            return common | {"hook_event_name": "SessionStart", "source": "compact"}
        case "prompt":
            return common | {"hook_event_name": "UserPromptSubmit", "prompt": step["text"]}
        case "edit":
            path = str(root / step["file"])
            return common | tool | {"tool_input": {"file_path": path, "old_string": "a", "new_string": "b"}}
        case "fail":
            failed = {"hook_event_name": "PostToolUseFailure", "tool_name": "Bash", "is_interrupt": False}
            return (
                common | failed | {"tool_input": {"command": step["command"]}, "error": f"Exit code 1\n{step['text']}"}
            )
    return common | {"hook_event_name": "SessionEnd", "reason": "prompt_input_exit"}


class LateError(Exception):
    """The machine was too busy for a hook, which then says nothing."""


def told(project: Project, step: dict[str, Any], session: str) -> Read:
    """Send a step to the hook, and return what the agent reads. Raises LateError."""
    state = Path(project.home["XDG_STATE_HOME"]) / "satchel"
    before = len(hook_entries(state))
    command = [sys.executable, "-m", "satchel", "hook", WORDS[step["event"]]]
    payload = json.dumps(sent(step, project.root, session))
    done = subprocess.run(command, input=payload, capture_output=True, text=True, check=True, env=project.home)
    answer = json.loads(done.stdout or "{}")
    entries = hook_entries(state)
    if len(entries) == before or entries[-1]["reason"].startswith(TOO_LATE):
        raise LateError
    entry = entries[-1]
    # A side of an experience is an item of its own: `experience:ghap_...::surprise`.
    shown = [item["id"].partition(":")[2].partition("::")[0] for item in entry["items"]]
    return Read(
        text=answer.get("hookSpecificOutput", {}).get("additionalContext", ""),
        reason=entry["reason"],
        tokens=entry["tokens"],
        keys=[project.keys[item] for item in shown if item in project.keys],
        others=[item for item in shown if item not in project.keys],
    )


def judged(step: dict[str, Any], read: Read, steps: list[dict[str, Any]]) -> dict[str, list[str]]:
    """Return the judgement of each record that came.

    The brief knows no task: its lines help if an event of the session needs them, and are harmless otherwise.
    """
    needs = [*step.get("needs", []), *step.get("helps", [])]
    if step["event"] in ("start", "compact"):
        needs = [key for one in steps for key in one.get("needs", [])]
        step = {"harmless": [key for key in read.keys if key not in needs]}
    verdicts: dict[str, list[str]] = {name: [] for name in ("helps", *LESSER, "noise")}
    for key in read.keys:
        verdict = next((name for name in LESSER if key in step.get(name, [])), "noise")
        verdicts["helps" if key in needs else verdict].append(key)
    return verdicts


def replayed(folder: Path, *, show: bool) -> Iterator[str]:
    """Replay every session, and yield the lines of the report."""
    data = tomllib.loads(DATA.read_text(encoding="utf-8"))
    projects = {one["name"]: prepared(one, folder) for one in data["project"]}
    total: Counter[str] = Counter()
    rows: list[str] = []
    for number, session in enumerate(data["session"], 1):
        known: set[str] = set()
        counts: Counter[str] = Counter()
        rows += ["", f"## {number}. {session['project']}: {session['title']}", "", HEAD, "|---|---|---|---|---|---|"]
        for step, read in _session(projects[session["project"]], session["steps"], f"session-{number}"):
            if show:
                print(f"[{number}] {step}\n    {read.reason}; {read.tokens} tokens\n{read.text}\n", flush=True)
            verdicts = judged(step, read, session["steps"])
            known |= set(read.keys)
            missing = [key for key in step.get("needs", []) if key not in known]
            counts += Counter({name: len(keys) for name, keys in verdicts.items()})
            counts += Counter(missing=len(missing), tokens=read.tokens, needs=len(step.get("needs", [])))
            rows.append(_row(step, read, verdicts, missing))
        total += counts
        rows.insert(len(rows), f"\n{_sum(counts)}")
    yield from (TITLE, "", _sum(total), "", ABOUT, *rows)


def _session(project: Project, steps: list[dict[str, Any]], name: str) -> list[tuple[dict[str, Any], Read]]:
    """Return what an agent reads at each step; a session in which a hook had no time is begun again."""
    for attempt in range(TRIES):
        with contextlib.suppress(LateError):
            return [(step, told(project, step, f"{name}-{attempt}")) for step in steps]
    raise SystemExit(f"this machine is too busy: of {TRIES} tries of {name} none had all answers")


def _row(step: dict[str, Any], read: Read, verdicts: dict[str, list[str]], missing: list[str]) -> str:
    about = step.get("text") or step.get("file") or ""
    first = about.splitlines()[0][:90] if about else ""
    other = [f"{name}: {', '.join(verdicts[name])}" for name in (*LESSER, "noise") if verdicts[name]]
    code = ", ".join(item.rpartition("/")[2][:24] for item in read.others)
    cells = (f"{step['event']} {first}".strip(), read.tokens, ", ".join(verdicts["helps"]), "; ".join(other),
             ", ".join(missing), code)  # fmt: skip
    return f"| {' | '.join(str(cell).replace('|', '/') for cell in cells)} |"


def _sum(counts: Counter[str]) -> str:
    parts = [f"{counts[name]} {name}" for name in ("helps", *LESSER, "noise", "missing")]
    came = counts["needs"] - counts["missing"]
    return f"{counts['tokens']} tokens; {came} of {counts['needs']} needs met; lines of records: {', '.join(parts)}."


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--show", action="store_true", help="print every text as the agent reads it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        report = "\n".join(replayed(Path(temporary), show=options.show)) + "\n"
    if options.out:
        options.out.write_text(report, encoding="utf-8")
    else:
        print(report)
