"""One record of processor times for each version, and what became slower since the last one.

    python benchmarks/speed_history.py --append     # a release: store a record in results/history.json
    python benchmarks/speed_history.py --check      # status 1 if something is slower than in the last record

The tree is made of the installed pytest, so it is the same on every machine that has the pinned tools, and needs no
network. Times are those of the processor, children included, and the smallest of several rounds. Each is divided by
that of a fixed loop that runs between its rounds: what other programs do to the caches and the clock of the
processor is then mostly left out, and records of different machines can be compared in rough terms.
"""

from __future__ import annotations

import argparse
import ast
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import _pytest
from assembly import CASES, write_pool
from profile_stages import commit
from resident import ALONE, command
from speed import MAX_TOKENS, SHORT_QUESTIONS, indexed_once
from stopwatch import adopt_orphans, fresh_home, lap, run, wait_for_orphans

import satchel
from satchel import AssemblyOptions, ContextAssembler, Satchel
from satchel.cli.session import collect_seldom

HISTORY = Path(__file__).parent / "results" / "history.json"
SLOWER = 1.15
"""An operation is called slower from this ratio to the last record on. Repeated runs differ by less on an idle machine;
with a load of 8 what touches the disk differs by a fifth."""

ROUNDS, LEAST_SECONDS = 5, 0.4
HOOK_PROMPT = "how does `FixtureDef` run its finalizers when a fixture is torn down?"
GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.com", "-c", "init.defaultBranch=main")
QUESTIONS = [f"question over {kinds}, {rank}" for kinds in ("code", "all kinds") for rank in ("p50", "p95")]
Row = dict[str, float]
DATES = ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE")


def calibrate() -> None:
    """The fixed loop: dictionaries, text, sorting and calls, about 5 ms."""
    counts: dict[str, int] = {}
    for number in range(20_000):
        word = f"word{number * 7919 % 1_013}"
        counts[word] = counts.get(word, 0) + len(word.upper())
    " ".join(sorted(counts, key=lambda one: (-counts[one], one))).split()


def make_tree(root: Path) -> None:
    """Write the source of the installed pytest, a page of documentation for each module, and a history of commits."""
    source = Path(_pytest.__file__).parent
    git = partial(run, folder=root, environment=os.environ | dict.fromkeys(DATES, "2026-01-01T00:00:00Z"))
    (root / "docs").mkdir(parents=True)
    git([*GIT, "init", "-q"])
    for path in sorted(source.rglob("*.py")):
        name, text = path.relative_to(source), path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        documented = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)]
        page = [f"## {node.name}\n\n{told}\n" for node in documented if (told := ast.get_docstring(node))]
        (root / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "src" / name).write_text(text, encoding="utf-8")
        (root / "docs" / f"{'-'.join(name.parts)}.md").write_text("\n".join([f"# {name}\n", *page]), encoding="utf-8")
        git([*GIT, "add", "-A"])
        git([*GIT, "commit", "-qm", f"{name}: {ast.get_docstring(tree) or 'added'}"])


def fastest(action: Callable[[], Any], rounds: int = ROUNDS) -> Row:
    """Milliseconds of processor time of the fastest round, also in runs of the fixed loop."""
    pairs: list[tuple[float, float]] = []
    while len(pairs) < rounds or sum(map(sum, pairs)) < LEAST_SECONDS:
        pairs.append((lap(calibrate).cpu, lap(action).cpu))
    loop, own = (min(column) for column in zip(*pairs, strict=True))
    return {"ms": round(own * 1000, 2), "loops": round(own / loop, 3)}


def asked(opened: Satchel, types: list[str]) -> tuple[Row, Row]:
    """Median and 95th percentile of warm questions."""
    ask = partial(opened.assemble, types=types, max_tokens=MAX_TOKENS, refresh=False)
    rows = sorted((fastest(partial(ask, question)) for question in SHORT_QUESTIONS), key=lambda one: one["loops"])
    return rows[len(rows) // 2], rows[int(len(rows) * 0.95)]


def operations(folder: Path) -> dict[str, Row]:
    """Every operation of a record."""
    root, home = folder / "tree", fresh_home(folder / "home")
    make_tree(root)
    homes = iter(range(1_000))
    first = fastest(lambda: indexed_once(root, fresh_home(folder / str(next(homes)))), 3)
    with Satchel.open(root, environ=home) as opened:
        opened.index()
        collect_seldom()  # as in every process of satchel that stays
        warm = zip(QUESTIONS, (*asked(opened, ["code"]), *asked(opened, [])), strict=True)
        unchanged, file = fastest(opened.index), root / "src" / "fixtures.py"
        changed = fastest(lambda: [file.write_bytes(file.read_bytes() + b"\n"), opened.index()])
    results, _ = write_pool(folder, *CASES[0][1:3])
    assembler, options = ContextAssembler(), AssemblyOptions(max_tokens=CASES[0][3], project_root=str(folder))
    sessions = iter(range(1_000))

    def hook() -> None:
        event = json.dumps({"prompt": HOOK_PROMPT, "session_id": f"bench-{next(sessions)}", "cwd": str(root)})
        words = command(ALONE, "hook", "prompt")
        if not subprocess.run(words, cwd=root, env=home, input=event.encode(), check=True, capture_output=True).stdout:
            raise RuntimeError("the hook says nothing: the benchmark would measure another thing")
        wait_for_orphans()

    adopt_orphans()
    context = partial(run, command(ALONE, "context", SHORT_QUESTIONS[0], "--types", "code"), root, home)
    return {
        **dict(warm), "question, whole process": fastest(context),
        "hook prompt, whole process": fastest(hook),
        "first index": first, "unchanged check": unchanged, "one changed file": changed,
        "10 given results": fastest(lambda: assembler.assemble_now(results, options)),
    }  # fmt: skip


def slower(record: Mapping[str, Any], last: Mapping[str, Any]) -> list[str]:
    """Return a line for each operation that takes clearly longer than in the last record."""
    earlier = last["operations"]
    both = [(name, row["loops"], earlier.get(name, row)["loops"]) for name, row in record["operations"].items()]
    return [f"{name}: {now:g} loops instead of {then:g}" for name, now, then in both if now > SLOWER * then]


def main() -> int:
    """Measure, compare with the last record, and store the new one where that is asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--append", action="store_true", help="store the record")
    parser.add_argument("--check", action="store_true", help="end with status 1 if something became slower")
    options = parser.parse_args()
    load = round(os.getloadavg()[0], 1)
    records = json.loads(HISTORY.read_text(encoding="utf-8")) if HISTORY.exists() else []
    with tempfile.TemporaryDirectory(prefix="satchel-history-") as name:
        record = {
            "version": satchel.__version__, "commit": commit(Path(satchel.__file__).parent),
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "pytest": importlib.metadata.version("pytest"), "load": load, "operations": operations(Path(name)),
        }  # fmt: skip
    print(json.dumps(record, indent=1))
    lines = slower(record, records[-1]) if records else []
    print("\n".join(lines) or "nothing is slower than in the last record")
    if options.append:
        stored = ",\n".join(json.dumps(one) for one in [*records, record])
        HISTORY.write_text(f"[\n{stored}\n]\n", encoding="utf-8")
    return 1 if options.check and lines else 0


if __name__ == "__main__":
    sys.exit(main())
