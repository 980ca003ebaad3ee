"""Write the tasks for `agent_tasks.py` of the evaluation data: what is scored, and apart from it what an agent is told.

python benchmarks/agents/gold.py --out DIR [--only unknown]        DIR/gold.json, DIR/reports.json
python benchmarks/agents/gold.py --verify                          do the places of this repository exist?
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).resolve().parents[1])

from localization.dataset import REPOSITORY_ROOT, load_instances
from questions.dataset import git

from agents.cases import TASKS, Case, load_cases, read_rows

Row = dict[str, Any]
SCORED = ("repo", "base_commit", "gold_files", "gold_lines")


def tasks(only: str = "") -> list[Row]:
    """The tasks: `unknown` those of this repository, `known` those of the evaluation data, by default both."""
    rows = read_rows(TASKS)
    instances = {row["id"]: row for row in load_instances()} if only != "unknown" else {}
    known = [{**instances[row["id"]], **row} for row in rows if "data" in row and instances]
    return [*known, *(row for row in rows if "data" not in row and only != "known")]


def problems(cases: Iterable[Case], repository: Path) -> Iterator[str]:
    """One line for each place that does not exist at the commit of its case."""
    for case in cases:
        for target in case.targets:
            try:
                lines = git(repository, "show", f"{case.commit}:{target.path}").split("\n")
            except subprocess.CalledProcessError:
                yield f"{case.id}: {target.path} is not in {case.commit[:12]}"
                continue
            if any(last > len(lines) for _, last in target.ranges):
                yield f"{case.id}: {target.path} has only {len(lines)} lines in {case.commit[:12]}"


def main() -> int:
    """Write or verify."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--only", choices=["known", "unknown"], default="")
    parser.add_argument("--verify", action="store_true")
    options = parser.parse_args()
    if options.verify:
        wrong = list(problems(load_cases(["tasks", "unknown"], {}), REPOSITORY_ROOT))
        print("\n".join([*wrong, f"{len(wrong)} problems"]))
        return int(bool(wrong))
    if options.out is None:
        parser.error("give --out or --verify")
    chosen = tasks(options.only)
    gold = [{name: row[name] for name in SCORED} for row in chosen]
    reports = {
        number: {"id": row["id"], "report": row["query"], "names": row["names"]} for number, row in enumerate(chosen, 1)
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "gold.json").write_text(json.dumps(gold, indent=1) + "\n", encoding="utf-8")
    (options.out / "reports.json").write_text(json.dumps(reports, indent=1) + "\n", encoding="utf-8")
    print(f"{len(chosen)} tasks in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
