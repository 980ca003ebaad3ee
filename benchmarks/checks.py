"""How long the checks take: each target of `make check` and `make check-all`, the rooms, and the longest tests.

    python benchmarks/checks.py --out benchmarks/results/checks.json [--only lint,types,base,test]

Everything has to be installed: what is timed is a run on a machine that has run the checks before. Each target runs
alone; with `--only` the others stay as they are stored. `load` is how many processes wanted a processor on average in
the minute before it ended.
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
from pathlib import Path
from typing import Any

from options import output

ROOT = Path(__file__).resolve().parents[1]
CHECK = ("lint", "types", "base", "test")
REST = ("test-thorough", "test-server", "check-adapters")


def timed(target: str) -> dict[str, Any]:
    """Run a target; its output is shown. Raises CalledProcessError if it fails."""
    with tempfile.TemporaryDirectory() as folder:
        seconds = Path(folder) / "seconds.jsonl"
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        subprocess.run(["make", target], cwd=ROOT, check=True, env={**os.environ, "SATCHEL_SECONDS": str(seconds)})
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        row: dict[str, Any] = {
            "wall": round(time.monotonic() - started, 1),
            "processor": round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, 1),
            "load": round(os.getloadavg()[0], 1),
        }
        lines = seconds.read_text(encoding="utf-8").splitlines() if seconds.exists() else []
        return row | ({"runs": [json.loads(line) for line in lines]} if lines else {})


def main() -> None:
    """Time the targets, store and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(CHECK + REST), help="targets of the Makefile, with commas")
    parser.add_argument("--out", type=output, required=True)
    options = parser.parse_args()
    chosen = options.only.split(",")
    if unknown := [target for target in chosen if target not in CHECK + REST]:
        parser.error(f"unknown target {', '.join(unknown)}: choose from {', '.join(CHECK + REST)}")
    stored = json.loads(options.out.read_text(encoding="utf-8"))["targets"] if options.out.exists() else {}
    try:
        targets = stored | {target: timed(target) for target in chosen}
    except subprocess.CalledProcessError as problem:
        sys.exit(f"{' '.join(problem.cmd)} failed: a check that is red has no time")
    commands = {"check": CHECK, "check-all": CHECK + REST}
    sums = {
        name: {unit: round(sum(targets[part][unit] for part in parts), 1) for unit in ("wall", "processor")}
        for name, parts in commands.items()
        if targets.keys() >= {*parts}
    }
    options.out.write_text(json.dumps({"sums": sums, "targets": targets}, indent=1) + "\n", encoding="utf-8")
    for name, row in sums.items():
        print(f"make {name}: {row['wall']} s wall, {row['processor']} s processor")


if __name__ == "__main__":
    main()
