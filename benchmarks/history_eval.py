"""Run `satchel eval` on clones of public repositories and keep the figures.

    python benchmarks/history_eval.py --out benchmarks/results/history_eval.json REPOSITORY...

Each is asked from nothing, with folders of satchel of its own, and a second time, when everything is known already.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def measured(repository: Path, limit: int) -> dict[str, Any]:
    """The figures of one repository; seconds are of the whole process."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, "SATCHEL_HOME": home}
        command = [sys.executable, "-m", "satchel", "eval", "--root", str(repository), "--limit", str(limit)]
        runs = []
        for _ in range(2):
            started = time.monotonic()
            done = subprocess.run([*command, "--json"], env=environment, capture_output=True, text=True, check=True)
            runs.append(round(time.monotonic() - started, 1))
    data = json.loads(done.stdout)
    head = subprocess.run(
        ["git", "-C", str(repository), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
    ).stdout.strip()
    kept = ("usable", "commits", "left_out", "max_tokens", "named", "measures", "meta")
    return {"head": head, "seconds": runs[0], "seconds_again": runs[1], **{name: data[name] for name in kept}}


def main() -> int:
    """Measure, print a line for each repository, and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=Path, nargs="+", metavar="REPOSITORY")
    parser.add_argument("--limit", type=int, default=100)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for repository in options.repositories:
        row = results[repository.name] = measured(repository, options.limit)
        print(f"{repository.name}: {row['usable']} fixes in {row['seconds']} s, again in {row['seconds_again']} s")
        for name, value in row["measures"].items():
            print(f"  {name:12s} {value['mean']:.3f} ({value['low']:.3f} to {value['high']:.3f})")
    options.out.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
