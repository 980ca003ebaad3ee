"""Where the processor time of a warm question goes, stage by stage, on repositories given by their paths.

    python benchmarks/profile_stages.py TREE... [--rounds 5] --out benchmarks/results/profile_stages.json

The timers are exclusive: the time of an inner stage is not counted for the outer one. They add about a millisecond to a
question; the totals are measured without them. The trees are cloned, so nothing is written into them.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from speed_questions import questions
from stopwatch import base_home, milliseconds
from two_versions import MAX_TOKENS, cloned

import satchel
from satchel import Satchel

OTHER = "other"
"""What no timer covers: opening snapshots, how strong the match is, whole parts, further files, building the answer."""

STAGES: Mapping[str, tuple[str, ...]] = {
    "plan": (
        "satchel.services.answer:AnswerService.request",
        "satchel.answer.search:analyse",
        "satchel.answer.search:impact_of_question",
        "satchel.answer.search:plan_of",
    ),
    "postings": ("satchel.search.bm25:score", "satchel.store.segments:Lexicon.postings"),
    "file scores": ("satchel.search.rank_files:rank",),
    "records": ("satchel.search.searcher:search_records",),
    "passages": ("satchel.answer.search:search_kind",),
    "missing words": ("satchel.answer.findings:absent_words",),
    "candidates": ("satchel.answer.pipeline:sections_of",),
    "glimpses": ("satchel.answer.pipeline:with_glimpses",),
    "reading": ("satchel.answer.source_lines:FileLines.read",),
    "packing": (
        "satchel.answer.packing:Packing.__init__",
        "satchel.answer.packing:Packing.fit",
        "satchel.answer.packing:Packing.refill",
        "satchel.answer.packing:Packing.take_back",
    ),
    "items": ("satchel.answer.write:build_items",),
    "places to look at next": ("satchel.answer.hops:Hops.__call__", "satchel.answer.write:places"),
    "rendering": (
        "satchel.answer.write:render_with_usage",
        "satchel.answer.write:render",
        "satchel.answer.fitting:render",
    ),
    "counting": ("satchel.tokens:ExactCounter.count",),
    "receipts": (
        "satchel.answer.pipeline:context_of",
        "satchel.answer.pipeline:counted_items",
        "satchel.services.answer:handles_of",
        "satchel.services.receipts:ReceiptService.keep",
    ),
}
"""Stage -> the functions that it consists of, each as `module:name` where it is called."""


class Timers:
    """Exclusive processor time by stage, over all threads, since the last `clear`."""

    def __init__(self) -> None:
        self._local = threading.local()
        self._guard = threading.Lock()
        self.nanoseconds: Counter[str] = Counter()
        self.calls: Counter[str] = Counter()

    def clear(self) -> None:
        """Set everything to zero."""
        self.nanoseconds.clear()
        self.calls.clear()

    def install(self, stages: Mapping[str, Sequence[str]] = STAGES) -> None:
        """Put a timer around each function of some stages. Raises AttributeError for a name that is gone."""
        for stage, places in stages.items():
            for place in places:
                module, _, path = place.partition(":")
                *outer, name = path.split(".")
                owner = functools.reduce(getattr, outer, import_module(module))
                setattr(owner, name, self._timed(stage, getattr(owner, name)))

    def _timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def timed(*arguments: Any, **options: Any) -> Any:
            stack: list[str] = self._local.__dict__.setdefault("stack", [])
            self._switch(stack)
            stack.append(stage)
            try:
                return function(*arguments, **options)
            finally:
                self._switch(stack)
                stack.pop()
                with self._guard:
                    self.calls[stage] += 1

        return timed

    def _switch(self, stack: Sequence[str]) -> None:
        """Add the time since the last switch to the innermost stage of this thread."""
        now = time.thread_time_ns()
        if stack:
            with self._guard:
                self.nanoseconds[stack[-1]] += now - self._local.since
        self._local.since = now


def asked(opened: Satchel, every: Sequence[str], types: Sequence[str], rounds: int, timers: Timers | None) -> list[Row]:
    """Ask each question `rounds` times, all in turn; return the fastest round of each."""
    best: dict[str, Row] = {}
    for _ in range(rounds):
        for question in every:
            if timers is not None:
                timers.clear()
            started = time.process_time_ns()
            opened.assemble(question, types=types, purpose="find", max_tokens=MAX_TOKENS, refresh=False)
            total = time.process_time_ns() - started
            stages = dict(timers.nanoseconds) if timers is not None else {}
            calls = dict(timers.calls) if timers is not None else {}
            if question not in best or total < best[question][0]:
                best[question] = (total, stages | {OTHER: total - sum(stages.values())}, calls)
    return list(best.values())


Row = tuple[int, dict[str, int], dict[str, int]]
"""One question: its nanoseconds, those of each stage, and the calls of each stage."""


def table(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Milliseconds and calls of each stage, median and mean over the questions."""
    return [
        {
            "stage": stage,
            "median_ms": round(statistics.median(stages.get(stage, 0) for _, stages, _ in rows) / 1e6, 2),
            "mean_ms": round(statistics.mean(stages.get(stage, 0) for _, stages, _ in rows) / 1e6, 2),
            "calls": round(statistics.mean(calls.get(stage, 0) for _, _, calls in rows), 1),
        }
        for stage in (*STAGES, OTHER)
    ]


def first_time(opened: Satchel, every: Sequence[str], types: Sequence[str]) -> dict[str, float]:
    """Milliseconds of each question when it is asked for the first time, in a process that has answered another."""
    opened.assemble("warm up the process", types=types, purpose="find", max_tokens=MAX_TOKENS, refresh=False)
    return milliseconds([row[0] / 1e9 for row in asked(opened, every, types, 1, None)])


def measure(tree: Path, rounds: int) -> dict[str, Any]:
    """All figures of one tree, of code alone and of every kind that there is."""
    with tempfile.TemporaryDirectory(prefix="satchel-profile-") as name:
        folder = Path(name)
        work = cloned(tree, folder / "trees")
        every = questions(work)
        kinds = {"code": ["code"], "all": []}
        with Satchel.open(work, environ=base_home(folder / "home")) as opened:
            opened.index()
            result: dict[str, dict[str, Any]] = {
                name: {
                    "first_cpu_ms": first_time(opened, every, types),
                    "again_cpu_ms": milliseconds(
                        [row[0] / 1e9 for row in asked(opened, every, types, rounds, timers=None)]
                    ),
                }
                for name, types in kinds.items()
            }
            timers = Timers()
            timers.install()
            for name, types in kinds.items():
                result[name] |= {"stages": table(asked(opened, every, types, rounds, timers))}
        return {
            "satchel": commit(Path(satchel.__file__).parent),
            "tree": {"name": tree.name, "commit": commit(work)},
            "questions": len(every),
            "rounds": rounds,
            "max_tokens": MAX_TOKENS,
            "load": round(os.getloadavg()[0], 1),
            **result,
        }


def commit(folder: Path) -> str:
    """The commit that a folder is at, with a mark if files of the folder differ from it."""
    command = ["git", "-C", str(folder), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def main() -> int:
    """Measure, print the tables and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path, nargs="+", metavar="TREE", help="a git work tree")
    parser.add_argument("--rounds", type=int, default=5, help="times that each question is asked; the fastest counts")
    parser.add_argument("--out", type=Path, help="where to store the JSON")
    options = parser.parse_args()
    every = [measure(tree.resolve(), options.rounds) for tree in options.trees]
    for result in every:
        for name in ("code", "all"):
            figures = result[name]
            print(f"{result['tree']['name']}, {name}: first {figures['first_cpu_ms']}, again {figures['again_cpu_ms']}")
            for row in figures["stages"]:
                print(f"  {row['stage']:22} {row['median_ms']:8.2f} {row['mean_ms']:8.2f} ms {row['calls']:8.1f} calls")
    if options.out:
        options.out.write_text(json.dumps(every, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
