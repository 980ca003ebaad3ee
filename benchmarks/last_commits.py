"""Whether `--diff` names every changed line or its file, and whether the tests it lists are those that cover it.

    python benchmarks/last_commits.py FOLDER REPOSITORY... [--python PYTHON] [--out results/last_commits.json]

FOLDER has clones of these repositories. The last commit of each that is no merge is asked about as a change. Of a
changed line, `shown` counts those with their number in the answer, `named` those whose file is named there, and
`missing` the others. With `--python`, an interpreter that can run the tests of the first repository and has pytest-cov,
its last commits that change production code are asked for their tests to run, and the tests that run a changed line are
those that cover it.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from options import folder, output

TREE = Path(__file__).resolve().parents[1]
COMMITS = 5
"""Commits whose tests are run."""

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_CONTEXTS = """
import json, coverage
data = coverage.CoverageData(); data.read()
rows = {name: {line: tests for line, tests in data.contexts_by_lineno(name).items()} for name in data.measured_files()}
print(json.dumps(rows))
"""


def git(tree: Path, *arguments: str) -> str:
    """Run git in a tree and return what it prints."""
    command = ["git", "-C", str(tree), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def changed_lines(tree: Path) -> dict[str, set[str]]:
    """Return the changed lines of a commit by file: `-3` of before, `+4` of now."""
    lines: dict[str, set[str]] = {}
    path = ""
    for line in git(tree, "diff", "-U0", "--no-color", "HEAD~1", "HEAD").split("\n"):
        if line.startswith("diff --git"):
            path = line.rpartition(" b/")[2]
            lines.setdefault(path, set())
        elif match := _HUNK.match(line):
            old, old_count, new, new_count = (int(each) if each else 1 for each in match.groups())
            lines[path] |= {f"-{old + place}" for place in range(old_count)}
            lines[path] |= {f"+{new + place}" for place in range(new_count)}
    return lines


def told(tree: Path, home: str, *options: str) -> str:
    """Return what the command line answers about the last commit as a change."""
    environment = {**os.environ, "SATCHEL_HOME": home, "PYTHONPATH": str(TREE / "src")}
    command = [sys.executable, "-m", "satchel", "context", "--diff", "HEAD~1", *options]
    done = subprocess.run(command, cwd=tree, env=environment, capture_output=True, text=True, check=True)
    return done.stdout


def of_commit(tree: Path, home: str) -> dict[str, Any]:
    """Return the counts of the lines of one commit."""
    text, counts = told(tree, home, "--max-tokens", "4000"), {"shown": 0, "named": 0, "missing": 0}
    sections = dict(re.findall(r"^[-*#` ]*([^\s`:]+\.?[^\s`:]*)`?:? ?(.*)$", text, re.M))
    for path, lines in changed_lines(tree).items():
        shown = {line for line in lines if re.search(rf"^{re.escape(line)}\t", text, re.M)}
        is_named = path in text or any(path.endswith(f"/{name}") for name in sections)
        counts["shown"] += len(shown) if is_named else 0
        counts["named" if is_named else "missing"] += len(lines) - (len(shown) if is_named else 0)
    tests = [line for line in told(tree, home, "--tests").split("\n") if line.strip()]
    return {"commit": git(tree, "rev-parse", "--short", "HEAD").strip(), **counts, "tests": len(tests)}


def covering(tree: Path, python: Path, lines: dict[str, set[str]]) -> set[str]:
    """Return the names of the tests that run a changed line of production code."""
    tests = [
        str(python),
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--cov",
        "--cov-context=test",
        "--cov-report=",
    ]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    subprocess.run(tests, cwd=tree, env=environment, capture_output=True, check=False)  # some tests may fail
    printed = subprocess.run(
        [str(python), "-c", _CONTEXTS], cwd=tree, capture_output=True, text=True, check=True
    ).stdout
    found: set[str] = set()
    for name, rows in json.loads(printed).items():
        path = os.path.relpath(name, tree)
        for line, contexts in rows.items():
            if f"+{line}" in lines.get(path, ()) and not path.startswith("tests/"):
                found |= {re.sub(r"\[.*", "", context.partition("|")[0]) for context in contexts if context}
    return found


def covered(tree: Path, home: str, python: Path) -> list[dict[str, Any]]:
    """Compare the listed tests with those that cover the change, for the last commits of production code."""
    rows = []
    for commit in git(tree, "log", "--no-merges", "--format=%H", f"-{COMMITS}", "--", "src/*.py").split():
        git(tree, "checkout", "-q", commit)
        really = covering(tree, python, changed_lines(tree))
        listed = {
            line.strip() for line in told(tree, home, "--tests", "--max-tokens", "4000").split("\n") if "::" in line
        }
        files = {test.partition("::")[0] for test in really}
        row = {"commit": commit[:8], "covering": len(really), "listed": len(listed), "both": len(really & listed)}
        rows.append(
            row | {"files": len(files), "files listed": len(files & {one.partition("::")[0] for one in listed})}
        )
    return rows


def main() -> None:
    """Measure, print, and store where asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=folder)
    parser.add_argument("repositories", nargs="+")
    parser.add_argument("--python", type=Path)
    parser.add_argument("--out", type=output)
    arguments = parser.parse_args()
    result: dict[str, Any] = {"commits": {}, "covered": []}
    with tempfile.TemporaryDirectory() as place:
        for number, name in enumerate(arguments.repositories):
            tree, home = Path(place) / name, f"{place}/home-{name}"
            source = str((arguments.folder / name).resolve())
            subprocess.run(["git", "clone", "-q", "--shared", source, str(tree)], check=True, capture_output=True)
            git(tree, "checkout", "-q", git(tree, "log", "--no-merges", "-1", "--format=%H").strip())
            result["commits"][name] = of_commit(tree, home)
            print(name, result["commits"][name], flush=True)
            if arguments.python and not number:
                result["covered"] = covered(tree, home, arguments.python)
                print(json.dumps(result["covered"]), flush=True)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
