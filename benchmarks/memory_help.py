"""Whether the lesson that decides a task reaches an agent: at the hook, before an edit, in `context` and `situation`.

    python benchmarks/memory_help.py REPOSITORIES [--records 300] [--weights FOLDER] [--answers FILE] [--label NAME]
        [--out benchmarks/results/memory_help.json]

The data and their scorer, `score_memory_help.py`, are beside those of the other benchmarks (`SATCHEL_EVAL`). It asks
through the command line of this environment, in two projects with 32 tasks, each of which hangs on one record, and 32
prompts that no record fits. `--answers` is a file of judged answers as
`--json` of the scorer writes it, which is only counted.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from options import folder, keep_under, output

DOORS = ("hook", "edit", "context", "situation")
SUPERSEDED = "superseded fact"
HOOK_OR_EDIT = "hook or edit"


def figures(answers: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> dict[str, Any]:
    """Count the judged answers of one door. `kinds` are those of the tasks, by prompt."""
    tasks = [one for one in answers if one["lesson"]]
    return {
        "tasks": len(tasks),
        "arrived": sum(one["arrived"] for one in tasks),
        "superseded arrived": sum(one["arrived"] for one in tasks if kinds[one["prompt"]] == SUPERSEDED),
        "neutral with records": sum(bool(one["records"]) for one in answers if not one["lesson"]),
        "failures without outcome": sum(len(one["without_outcome"]) for one in answers),
        "tokens a task": round(fmean(one["tokens"] for one in tasks)),
    }


def joined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an agent gets from two doors at which it asks for nothing."""
    both = {name: first[name] + second[name] for name in ("records", "without_outcome", "tokens")}
    return {**first, **both, "arrived": first["arrived"] or second["arrived"]}


def counted(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> dict[str, Any]:
    """Return the figures of each door, and of hook and edit together."""
    answers = {door: [row for row in rows if row["door"] == door] for door in DOORS}
    answers[HOOK_OR_EDIT] = list(map(joined, answers["hook"], answers["edit"]))
    return {door: figures(every, kinds) for door, every in answers.items() if every}


def asked(given: argparse.Namespace, scorer: Path, answers: Path) -> None:
    """Let the scorer ask everything, and write its judged answers to a file."""
    command = [sys.executable, "-P", str(scorer), "--satchel", str(Path(sys.executable).with_name("satchel"))]
    command += ["--doors", ",".join(DOORS), "--records", given.records, "--repos", str(given.repositories)]
    command += ["--weights", str(given.weights)] if given.weights else []
    subprocess.run([*command, "--json", str(answers)], check=True)


def main() -> None:
    """Ask, or read the answers of an earlier run, and keep the figures under a label."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repositories", type=folder)
    parser.add_argument("--records", choices=("300", "3000"), default="300")
    parser.add_argument("--weights", type=folder)
    parser.add_argument("--answers", type=Path)
    parser.add_argument("--label", default="now", help="the name of these figures in the file")
    parser.add_argument("--out", type=output)
    given = parser.parse_args()
    data = folder(os.environ.get("SATCHEL_EVAL", ""))
    tasks = map(json.loads, (data / "memory_help_dev_tasks.jsonl").read_text(encoding="utf-8").splitlines())
    kinds = {task["prompt"]: task["kind"] for task in tasks if task["lesson"]}
    with tempfile.TemporaryDirectory() as temporary:
        answers = given.answers or Path(temporary, "answers.jsonl")
        if given.answers is None:
            asked(given, data / "score_memory_help.py", answers)
        rows = [*map(json.loads, answers.read_text(encoding="utf-8").splitlines())]
        keep_under(given.label, counted(rows, kinds), given.out)


if __name__ == "__main__":
    main()
