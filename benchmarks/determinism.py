"""The same question gives the same bytes: fresh processes, random hash seeds, different numbers of threads.

    python benchmarks/determinism.py TREE [--runs 20] [--output benchmarks/results/determinism.json]

Every run is a process of its own with its own `PYTHONHASHSEED`, and every second one an index of its own that was built
with another number of workers. Compared are the whole envelopes without their durations; the key is fixed, as the
nonces come from it. A second part says how stable the text is when only little changes: 10 % more budget, one
more line somewhere, one more line in the first file that is shown.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

QUESTIONS = (
    "session cookie is not saved when the response is streamed",
    "blueprint error handler is not called for 404",
    "TypeError in url_for with an unknown endpoint",
    "config from a file with an environment prefix",
)

FORMATS = ("markdown", "xml", "plain", "json")

SOME_BYTES = 5_000
"""The file that is edited elsewhere is the first of at least this size."""

THREADS = ("1", "2", "4")


def ask(tree: Path, home: Path, question: str, layout: str, *, seed: int, workers: int, budget: int = 4000) -> bytes:
    """Standard output of one fresh process."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(seed),
        "SATCHEL_HOME": str(home),
        "SATCHEL_KEY": "7" * 64,
        "SATCHEL_INDEX_WORKERS": str(workers),
        **dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), THREADS[seed % len(THREADS)]),
    }
    command = (sys.executable, "-m", "satchel", "context", question, "--json", "--now", "2026-01-01")
    options = ("--format", layout, "--max-tokens", str(budget), "--root", str(tree))
    return subprocess.run([*command, *options], env=environment, capture_output=True, check=True).stdout


def comparable(raw: bytes) -> str:
    """An envelope without its durations and without the counter of the store, as a hash."""
    envelope = json.loads(raw)
    del envelope["meta"]["timings"]
    return hashlib.sha256(json.dumps(envelope, sort_keys=False).encode()).hexdigest()


def same_bytes(tree: Path, folder: Path, runs: int) -> dict[str, Any]:
    """How many different answers each question has over all runs: 1 is the promise."""
    found: dict[str, set[str]] = {}
    for run in range(runs):
        own = folder / (f"home{run}" if run % 2 else "shared")
        question, layout = QUESTIONS[run % len(QUESTIONS)], FORMATS[(run // len(QUESTIONS)) % len(FORMATS)]
        for asked, written in dict.fromkeys([(QUESTIONS[0], "markdown"), (question, layout)]):
            raw = ask(tree, own, asked, written, seed=run + 1, workers=1 + run % 3)
            found.setdefault(f"{asked} ({written})", set()).add(comparable(raw))
    return {"runs": runs, "answers": {name: len(hashes) for name, hashes in sorted(found.items())}}


def kept_prefix(before: str, after: str) -> float:
    """The share of the first text that the second begins with, 0 to 1: what a prompt cache can use again."""
    same = next((i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), len(before))
    return same / len(before) if before else 1.0


def moved_items(before: Sequence[str], after: Sequence[str]) -> int:
    """Neighbours of the first answer that are both in the second, in the other order."""
    place = {identity: number for number, identity in enumerate(after)}
    both = [identity for identity in before if identity in place]
    return sum(place[first] > place[second] for first, second in pairwise(both))


def stability(tree: Path, folder: Path) -> list[dict[str, Any]]:
    """What of each answer stays where it was after one edited line, and with 10 % more budget."""
    copy = folder / "copy"
    shutil.copytree(tree, copy, symlinks=True)
    home, rows = folder / "stability", []
    elsewhere = next(path for path in sorted(copy.rglob("*.py")) if path.stat().st_size > SOME_BYTES)
    for question in QUESTIONS:
        first = json.loads(ask(copy, home, question, "markdown", seed=1, workers=1))
        shown = next(item["location"]["path"] for item in first["items"] if item["source"] == "code")
        others = {
            "larger_budget": json.loads(ask(copy, home, question, "markdown", seed=1, workers=1, budget=4400)),
            "edit_elsewhere": edited(copy, home, question, elsewhere),
            "edit_of_the_first_file": edited(copy, home, question, copy / shown),
        }
        rows.append({"question": question, **{name: compared(first, other) for name, other in others.items()}})
    return rows


def edited(tree: Path, home: Path, question: str, path: Path) -> dict[str, Any]:
    """The answer while one line stands at the end of a file that is otherwise not there."""
    text = path.read_text(encoding="utf-8")
    path.write_text(f"{text}\nONE_MORE_LINE = 1\n", encoding="utf-8")
    answer: dict[str, Any] = json.loads(ask(tree, home, question, "markdown", seed=1, workers=1))
    path.write_text(text, encoding="utf-8")
    return answer


def compared(first: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """What of the first answer is where it was in the other."""
    ids = [[item["id"] for item in one["items"]] for one in (first, other)]
    return {
        "kept_prefix": round(kept_prefix(first["text"], other["text"]), 3),
        "moved_items": moved_items(*ids),
        "same_items": len({*ids[0]} & {*ids[1]}),
        "items": len(ids[0]),
    }


def main() -> int:
    """Run both parts; ends with 1 if any question had two answers."""
    parser = argparse.ArgumentParser(description="Same question, same bytes.")
    parser.add_argument("tree", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--output", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        result = {
            "tree": options.tree.name,
            **same_bytes(options.tree.resolve(), folder, options.runs),
            "stability": stability(options.tree.resolve(), folder),
        }
    text = json.dumps(result, indent=2)
    print(text)
    if options.output is not None:
        options.output.write_text(f"{text}\n", encoding="utf-8")
    return 0 if set(result["answers"].values()) == {1} else 1


if __name__ == "__main__":
    sys.exit(main())
