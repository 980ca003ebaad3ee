"""What an editor hook costs the person who waits for it, and how often it speaks where it should not.

    python benchmarks/hooks.py --out benchmarks/results/hooks.json [--documents 100000] [--runs 40] [--keep FOLDER]
    python benchmarks/hooks.py --out benchmarks/results/hooks.json --trees FOLDER

The first measures whole processes, from start to end, one event after the other, over a tree of so many chunks with
some memories and experiences: made of the Python files of an installation, as `scaling.py` makes it (`--keep` builds
the tree in a folder and takes it from there the next time). Bytecode is compiled before, as an installation has it.
The second asks work trees (`FOLDER/OWNER+NAME`, as `questions/run.py` makes them) the questions about them, questions
about another world, issues of theirs and of other repositories, questions about people and places, and small talk, and
counts which are answered; `--keep` is not needed.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import scaling
from localization.dataset import evaluation_folder, load_instances
from questions.dataset import load
from stopwatch import Lap, fresh_home, lap, quantiles

from satchel import Satchel
from satchel.config import SETTINGS, Folders
from satchel.hooks.answers import PROMPT_CHARACTERS, asks_something, prompt_certainty
from satchel.safety.trust import load_key
from satchel.types import Kind

TARGET_P95_MS = 300.0
SEED = 7
MEMORIES, EXPERIENCES = 200, 100
SMALL_TALK = Path(__file__).with_name("small_talk.txt")
FLOORS = (0.1, 0.15, 0.2, 0.225, 0.25, 0.275, 0.3, 0.35)


def build(folder: Path, chunks: int) -> tuple[Path, dict[str, str]]:
    """A tree with so many chunks and its index, unless the folder holds one; returns its root and environment."""
    root, home = folder / "tree", fresh_home(folder / "home")
    if root.exists():
        return root, home
    root.mkdir(parents=True)
    pool = scaling.load_pool(Path(sysconfig.get_paths()["purelib"]))
    key = load_key(Folders.from_environment(home).state)
    with Satchel.open(root, root=root, environ=home) as opened:
        made = scaling.documents(pool, chunks, root, key, largest_tree=chunks)
        scaling.write(opened, made, 3_600)
        for number in range(MEMORIES):
            opened.memories.add(
                f"Rule {number}: release {number} needs the migration of table {number}", importance=0.5
            )
        for number in range(EXPERIENCES):
            opened.experiences.start(
                domain="debugging", strategy="read-the-error", goal=f"Find failure {number}", action="Read the log",
                hypothesis=f"Module {number} is not imported", prediction="The log names it",
            )  # fmt: skip
            opened.experiences.resolve(
                status="falsified", result=f"Table {number} was locked", surprise="Nobody had it open",
                root_cause="wrong-assumption", root_cause_description="A backup runs at that time",
            )  # fmt: skip
    (root / ".satchel.toml").write_text("", encoding="utf-8")
    with Satchel.open(root, root=root, environ=home) as opened:
        opened.index()  # what was written by hand has no times of its files: they are looked at once
    (folder / "questions.json").write_text(json.dumps(scaling.questions(pool)), encoding="utf-8")
    return root, home


def events(root: Path, prompts: list[str], runs: int) -> dict[str, list[tuple[str, dict[str, Any]]]]:
    """The events to measure, each so often, every one of a session of its own: (word, what is sent)."""
    rng = random.Random(SEED)
    files = sorted(path.relative_to(root).as_posix() for path in root.rglob("*.py"))

    def sent(number: int, **fields: Any) -> dict[str, Any]:
        return {"session_id": f"run-{number}-{time.time_ns()}", "cwd": str(root), **fields}

    def failure(number: int) -> str:
        file = rng.choice(files)
        return (
            f'Exit code 1\nTraceback:\n  File "{file}", line {number + 3}, in run\nValueError: row {number} is locked'
        )

    def rows(word: str, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
        return [(word, sent(number, **fields)) for number in range(runs)]

    return {
        "session start": rows("session-start", source="startup"),
        "prompt": [("prompt", sent(n, prompt=prompts[n % len(prompts)])) for n in range(runs)],
        "prompt that asks nothing": rows("prompt", prompt="yes, go on"),
        "failed test": [
            ("after-tool", sent(n, hook_event_name="PostToolUseFailure", tool_name="Bash",
                                tool_input={"command": "pytest -q"}, error=failure(n)))
            for n in range(runs)
        ],
        "edit": rows("after-tool", tool_name="Edit", tool_input={"file_path": str(root / files[0])}),
        "other command": rows("after-tool", tool_name="Bash", tool_input={"command": "ls"}),
        "before compaction": rows("before-compaction", trigger="auto"),
        "after compaction": rows("session-start", source="compact"),
        "session end": rows("session-end", reason="exit"),
    }  # fmt: skip


def measure(folder: Path, chunks: int, runs: int) -> dict[str, Any]:
    """Time whole processes of each event."""
    root, home = build(folder, chunks)
    environ = home | {"PYTHONPYCACHEPREFIX": str(folder / "bytecode"), "SATCHEL_EMBED_PROVIDER": "off"}
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    prompts = json.loads((folder / "questions.json").read_text(encoding="utf-8"))["sentences"]
    with Satchel.open(root, root=root, environ=home) as opened:
        counted = opened.store.statistics()
    found: dict[str, Any] = {
        "documents": counted.chunks[Kind.CODE], "files": counted.documents[Kind.CODE], "cores": os.cpu_count(),
        "interpreter": _bare(environ), "target_p95_ms": TARGET_P95_MS, "events": {},
    }  # fmt: skip
    for name, told in events(root, prompts, runs).items():
        tell(*told[0], environ)  # warm up: files of the system, and bytecode the first time
        rows, sizes = [], []
        for word, sent in told[1:]:
            measured, out = tell(word, sent, environ)
            rows.append(measured)
            sizes.append(len(out))
        row = quantiles(rows)
        row["answered"] = sum(size > 0 for size in sizes)
        row["largest_characters"] = max(sizes)
        row["met"] = row["wall_ms"]["p95"] <= TARGET_P95_MS
        found["events"][name] = row
        print(name, json.dumps(row), file=sys.stderr, flush=True)
    return found


def tell(word: str, sent: Mapping[str, Any], environ: Mapping[str, str]) -> tuple[Lap, str]:
    """One event, from the start of the process to its end."""
    command = [sys.executable, "-m", "satchel", "hook", word]
    said: list[str] = []

    def once() -> None:
        done = subprocess.run(
            command, input=json.dumps(sent), capture_output=True, text=True, env=environ, cwd=sent["cwd"], check=True
        )
        said.append(done.stdout)

    return lap(once), said[0]


def _bare(environ: Mapping[str, str]) -> dict[str, Any]:
    """What an interpreter takes that does nothing, and one that imports numpy: what no hook can be below."""
    rows = {}
    for name, code in (("nothing", "pass"), ("numpy", "import numpy")):
        command = [sys.executable, "-c", code]
        rows[name] = quantiles([lap(lambda c=command: subprocess.run(c, env=environ, check=True)) for _ in range(10)])
    return rows


def relevance(trees: Path) -> dict[str, Any]:
    """Which prompts of each sort would be answered, at several floors and at the one in force."""
    rng = random.Random(SEED)
    questions, instances = load(), load_instances()
    people = [row["question"] for row in _lines(evaluation_folder() / "memory_locomo_dev_questions.jsonl")]
    places = [row["question"] for row in _lines(evaluation_folder() / "multihop_dev_questions.jsonl")]
    talk = SMALL_TALK.read_text(encoding="utf-8").split("\n")[:-1]
    environ = fresh_home(Path(tempfile.mkdtemp(prefix="satchel-hooks-"))) | {"SATCHEL_EMBED_PROVIDER": "off"}
    found: dict[str, list[float]] = {}
    repositories = sorted({one.repo for one in questions})
    for repository in repositories:
        own = [one for one in questions if one.repo == repository]
        issues = [row for row in instances if row["repo"] == repository]
        others = [_title(row) for row in instances if row["repo"] != repository]
        asked = {
            "question": [one.question for one in own if one.kind != "absent"],
            "question about what is not there": [
                one.question for one in own if one.kind == "absent" and not one.id.startswith("foreign")
            ],
            "question about another world": [one.question for one in own if one.id.startswith("foreign")],
            "own title": [_title(row) for row in issues],
            "own issue": [row["query"] for row in issues],
            "title of another repository": rng.sample(others, 50),
            "about people": rng.sample(people, 10),
            "about places and facts": rng.sample(places, 10),
            "small talk": talk,
        }
        tree = trees / repository.replace("/", "+")
        with Satchel.open(tree, root=tree, environ=environ) as engine:
            engine.index()
            for name, prompts in asked.items():
                found.setdefault(name, []).extend(_best(engine, prompt) for prompt in prompts)
    floor = SETTINGS["hooks.min_relevance"].default
    return {
        "repositories": len(repositories),
        "floor": floor,
        "answered": {
            name: {
                "prompts": len(rows),
                "share": _share([best >= floor for best in rows]),
                "by_floor": {str(other): _share([best >= other for best in rows]) for other in FLOORS},
            }
            for name, rows in sorted(found.items())
        },
    }


def _best(engine: Satchel, prompt: str) -> float:
    """The certainty that decides whether a prompt is answered, -1 for one that asks nothing."""
    if not asks_something(prompt):
        return -1.0
    request = engine.request(prompt[:PROMPT_CHARACTERS], max_tokens=engine.settings.hooks_prompt_tokens)
    return prompt_certainty(prompt, engine.unrecorded(request), engine)


def _share(answered: list[bool]) -> float:
    return round(math.fsum(answered) / len(answered), 4)


def _title(row: Mapping[str, Any]) -> str:
    return next(line for line in str(row["query"]).splitlines() if line.strip()).lstrip("# ")[:300]


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def main() -> int:
    """Measure, and store the result beside what the other part found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000, help="documents of the tree")
    parser.add_argument("--runs", type=int, default=40, help="events of each kind")
    parser.add_argument("--keep", type=Path, help="folder of the tree; one that is there is used again")
    parser.add_argument("--trees", type=Path, help="folder with work trees of the repositories asked about")
    parser.add_argument("--out", type=Path, help="where to store the result")
    options = parser.parse_args()
    result = json.loads(options.out.read_text(encoding="utf-8")) if options.out and options.out.exists() else {}
    if options.trees:
        result["relevance"] = relevance(options.trees)
    else:
        folder = options.keep or Path(tempfile.mkdtemp(prefix="satchel-hooks-"))
        result["processes"] = measure(folder, options.documents, options.runs)
        if not options.keep:
            shutil.rmtree(folder)
    text = json.dumps(result, indent=1)
    if options.out:
        options.out.write_text(text + "\n", encoding="utf-8")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
