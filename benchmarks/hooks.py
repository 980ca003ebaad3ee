"""What an editor hook costs the person who waits for it, and how often it speaks where it should not.

    python benchmarks/hooks.py --out benchmarks/results/hooks.json [--documents 100000] [--runs 40] [--keep FOLDER]
    python benchmarks/hooks.py --out benchmarks/results/hooks.json --trees FOLDER --repositories FOLDER

The first measures whole processes, from start to end, one event after the other, over a tree of so many chunks with
some memories and experiences: Python files of an installation, as `code_pool.py` copies them (`--keep` builds
the tree in a folder and takes it from there the next time). Bytecode is compiled before, as an installation has it.
The second asks work trees (`FOLDER/OWNER+NAME`, as `questions/run.py` makes them) the questions about them, questions
about another world, issues of theirs and of other repositories, questions about people and places, and small talk, and
counts which are answered; `--keep` has the indexes. With the bare repositories that `usual_words.py` reads, each
prompt is also answered by tables that have not seen the repository that is asked nor the one whose title it is, and
each repository by the floor that is best for the others (leave one out): the figures to expect in a new repository.
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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import usual_words
from code_pool import documents, load_pool, questions
from localization.dataset import evaluation_folder, load_instances
from options import keep
from questions.dataset import load
from stopwatch import Lap, fresh_home, lap, quantiles

from satchel import Satchel
from satchel.config import SETTINGS, Folders
from satchel.hooks import answers
from satchel.hooks.answers import PROMPT_CHARACTERS, PROMPT_TOKENS, asks_something, prompt_certainty
from satchel.safety.trust import load_key
from satchel.types import Kind

TARGET_P95_MS = 300.0
SEED = 7
MEMORIES, EXPERIENCES = 200, 100
SMALL_TALK = Path(__file__).with_name("small_talk.txt")
FLOORS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8)
OWN, FOREIGN, SMALL = "own title", "title of another repository", "small talk"
LEAST_OWN, MAX_FOREIGN = 0.9, 0.1


def build(folder: Path, chunks: int) -> tuple[Path, dict[str, str]]:
    """A tree with so many chunks and its index, unless the folder holds one; returns its root and environment."""
    root, home = folder / "tree", fresh_home(folder / "home")
    if root.exists():
        return root, home
    root.mkdir(parents=True)
    pool = load_pool(Path(sysconfig.get_paths()["purelib"]))
    for _ in documents(pool, chunks, root, load_key(Folders.from_environment(home).state)):
        pass  # each file is written when its document is made
    with Satchel.open(root, root=root, environ=home) as opened:
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
        opened.index()
    (folder / "questions.json").write_text(json.dumps(questions(pool)), encoding="utf-8")
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
        rows[name] = quantiles([lap(partial(subprocess.run, command, env=environ, check=True)) for _ in range(10)])
    return rows


@dataclass(frozen=True)
class Asked:
    """A prompt in a repository: its sort, its certainty, and that by tables that have not seen the repositories."""

    repository: str
    sort: str
    best: float
    held_out: float


def relevance(trees: Path, repositories: Path | None, keep: Path | None) -> dict[str, Any]:
    """Which prompts of each sort would be answered, at several floors and at the one in force."""
    rows = list(_asked(trees, repositories, fresh_home(keep or Path(tempfile.mkdtemp(prefix="satchel-hooks-")))))
    floor = SETTINGS["hooks.min_relevance"].default
    found = {
        "repositories": len({row.repository for row in rows}),
        "floor": floor,
        "answered": _answered(rows, lambda row, least: row.best >= least, floor),
    }
    if repositories is None:
        return found
    chosen = {
        one: _floor([row for row in rows if row.repository != one]) for one in sorted({r.repository for r in rows})
    }
    of_others = Counter(row.sort for row in rows if row.held_out >= chosen[row.repository])
    count = Counter(row.sort for row in rows)
    return found | {
        "unseen": _answered(rows, lambda row, least: row.held_out >= least, floor),
        "leave_one_out": {
            "floors": chosen,
            "answered": {sort: round(of_others[sort] / count[sort], 4) for sort in sorted(count)},
        },
    }


def _answered(rows: list[Asked], is_answered: Callable[[Asked, float], bool], floor: float) -> dict[str, Any]:
    found = {}
    for sort in sorted({row.sort for row in rows}):
        own = [row for row in rows if row.sort == sort]
        by_floor = {str(other): _share([is_answered(row, other) for row in own]) for other in FLOORS}
        found[sort] = {"prompts": len(own), "share": _share([is_answered(row, floor) for row in own])} | {
            "by_floor": by_floor
        }
    return found


def _floor(rows: list[Asked]) -> float:
    """The floor with the most room to both targets, at which small talk is not answered."""

    def room(floor: float) -> tuple[bool, float]:
        share = {
            sort: _share([row.held_out >= floor for row in rows if row.sort == sort]) for sort in (OWN, FOREIGN, SMALL)
        }
        return share[SMALL] == 0, min(share[OWN] - LEAST_OWN, MAX_FOREIGN - share[FOREIGN])

    return max((step / 100 for step in range(30, 80)), key=room)


def _asked(trees: Path, bare: Path | None, environ: dict[str, str]) -> Iterator[Asked]:
    rng = random.Random(SEED)
    environ |= {"SATCHEL_EMBED_PROVIDER": "off"}
    shares = {one.name: usual_words.shares(one) for one in sorted(bare.iterdir())} if bare else {}

    @cache
    def unseen(*names: str) -> Mapping[str, float]:
        tables = [table for name, table in shares.items() if name not in names]
        return {stem: 0.5**power for power, stems in usual_words.usual(tables).items() for stem in stems}

    for repository in sorted({one.repo for one in load()}):
        asked = prompts(repository, rng)
        name = repository.replace("/", "+")
        with Satchel.open(trees / name, root=trees / name, environ=environ) as engine:
            engine.index()
            for sort, some in asked.items():
                for one in some:
                    prompt, source = one if isinstance(one, tuple) else (one, repository)
                    table = unseen(*sorted({name, source.replace("/", "+")})) if shares else None
                    yield Asked(repository, sort, *_best(engine, prompt, table))
        print(repository, file=sys.stderr, flush=True)


def prompts(repository: str, rng: random.Random) -> dict[str, list[Any]]:
    """The prompts for a repository by sort; of the titles of other ones each is a pair of title and repository."""
    questions, instances = load(), load_instances()
    people = [row["question"] for row in _lines(evaluation_folder() / "memory_locomo_dev_questions.jsonl")]
    places = [row["question"] for row in _lines(evaluation_folder() / "multihop_dev_questions.jsonl")]
    own = [one for one in questions if one.repo == repository]
    issues = [row for row in instances if row["repo"] == repository]
    others = [(_title(row), row["repo"]) for row in instances if row["repo"] != repository]
    return {
        "question": [one.question for one in own if one.kind != "absent"],
        "question about what is not there": [
            one.question for one in own if one.kind == "absent" and not one.id.startswith("foreign")
        ],
        "question about another world": [one.question for one in own if one.id.startswith("foreign")],
        OWN: [_title(row) for row in issues],
        "own issue": [row["query"] for row in issues],
        FOREIGN: rng.sample(others, 50),
        "about people": rng.sample(people, 10),
        "about places and facts": rng.sample(places, 10),
        SMALL: SMALL_TALK.read_text(encoding="utf-8").split("\n")[:-1],
    }


def _best(engine: Satchel, prompt: str, unseen: Mapping[str, float] | None) -> tuple[float, float]:
    """The certainty that decides about a prompt, with the table in force and another; -1 if it asks nothing."""
    if not asks_something(prompt):
        return -1.0, -1.0
    request = engine.request(prompt[:PROMPT_CHARACTERS], max_tokens=PROMPT_TOKENS)
    context = engine.answers.unrecorded(request)
    best = prompt_certainty(prompt, context, engine)
    if unseen is None:
        return best, best
    shipped, answers.usual_shares = answers.usual_shares, lambda: unseen  # type: ignore[assignment]
    try:
        return best, prompt_certainty(prompt, context, engine)
    finally:
        answers.usual_shares = shipped


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
    parser.add_argument("--repositories", type=Path, help="folder with bare repositories, for held-out figures")
    parser.add_argument("--out", type=Path, help="where to store the result")
    options = parser.parse_args()
    result = json.loads(options.out.read_text(encoding="utf-8")) if options.out and options.out.exists() else {}
    if options.trees:
        result["relevance"] = relevance(options.trees, options.repositories, options.keep)
    else:
        folder = options.keep or Path(tempfile.mkdtemp(prefix="satchel-hooks-"))
        result["processes"] = measure(folder, options.documents, options.runs)
        if not options.keep:
            shutil.rmtree(folder)
    keep(result, options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
