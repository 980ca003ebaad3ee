"""Where the processor time of a first index goes, stage by stage, on repositories given by their paths.

    python benchmarks/index_stages.py TREE [TREE...] --out benchmarks/results/index_stages.json

One lane reads everything, so that each stage is counted in this process; git is counted apart. Timers are exclusive:
the time of an inner stage is not counted for the outer one. The trees are cloned, so nothing is written into them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from profile_stages import OTHER, Timers, commit
from speed import cloned
from stopwatch import fresh_home

import satchel
from satchel import Satchel

STAGES: Mapping[str, tuple[str, ...]] = {
    "walk and compare": ("satchel.index.build:walk", "satchel.index.build:compare"),
    "read, hash, decode": ("satchel.system.files:read_text",),
    "generated, minified": ("satchel.index.reading:unwanted",),
    "clean and redact": ("satchel.index.reading:clean_text", "satchel.index.reading:redact"),
    "parse": ("satchel.sources.code.parse:_parse",),
    "query": ("satchel.sources.code.parse:collect",),
    "outline": ("satchel.index.reading:outline_file",),
    "cut into spans": ("satchel.store.extract:cut_spans",),
    "count words": ("satchel.store.extract:count",),
    "extraction": ("satchel.index.reading:extract_files",),
    "other of a file": ("satchel.index.reading:read_files",),
    "rows": ("satchel.store.writer:Writer.put",),
    "postings": ("satchel.store.writer:Writer.write_words",),
    "history": ("satchel.index.update:update_history",),
}
"""Stage -> the functions that it consists of, each as `module:name` where it is called."""

GIT = "git, a process of its own"


def staged(tree: Path, home: Path) -> dict[str, Any]:
    """Index a tree from nothing in this process, with timers."""
    timers = Timers()
    timers.install(STAGES)
    before, started = _children(), time.process_time()
    with Satchel.open(tree, environ=fresh_home(home), settings={"index.workers": 1}) as opened:
        report = opened.index()
    total = time.process_time() - started
    seconds = {stage: timers.nanoseconds[stage] / 1e9 for stage in STAGES}
    seconds |= {OTHER: total - sum(seconds.values()), GIT: _children() - before}
    return {
        "tree": {"name": tree.name, "commit": commit(tree)},
        "files": report.files,
        "commits": report.commits_added,
        "cpu_s": round(total + seconds[GIT], 3),
        "stages": [
            {"stage": stage, "cpu_s": round(spent, 3), "ms_a_file": round(1000 * spent / report.files, 3)}
            for stage, spent in seconds.items()
        ],
    }


def _children() -> float:
    """Processor seconds of the children that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measured(tree: Path, rounds: int) -> dict[str, Any]:
    """The fastest of several runs, each in a process of its own: a second one would find the words analysed."""
    with tempfile.TemporaryDirectory(prefix="satchel-stages-") as name:
        work = cloned(tree, Path(name) / "trees")
        runs = []
        for number in range(rounds):
            command = [sys.executable, __file__, "--once", str(Path(name) / f"home-{number}"), str(work)]
            runs.append(json.loads(subprocess.run(command, check=True, capture_output=True).stdout))
    fastest: dict[str, Any] = min(runs, key=lambda run: run["cpu_s"])
    return fastest


def main() -> int:
    """Measure, print the tables and store the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path, nargs="+", help="git repositories")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each tree; the fastest counts")
    parser.add_argument("--once", type=Path, metavar="HOME", help=argparse.SUPPRESS)
    parser.add_argument("--out", type=Path, help="where to store the JSON")
    options = parser.parse_args()
    if options.once:
        print(json.dumps(staged(options.trees[0], options.once)))
        return 0
    results = [measured(tree.resolve(), options.rounds) for tree in options.trees]
    for result in results:
        print(f"{result['tree']['name']}: {result['files']} files, {result['cpu_s']} s of processor time")
        for row in result["stages"]:
            print(f"  {row['stage']:26} {row['cpu_s']:8.3f} s {row['ms_a_file']:8.3f} ms a file")
    if options.out:
        state = {
            "satchel": commit(Path(satchel.__file__).parent),
            "rounds": options.rounds,
            "load": round(os.getloadavg()[0], 1),
        }
        options.out.write_text(json.dumps(state | {"trees": results}, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
