"""A gate against slow changes: is this version slower than the last release, in processor time.

    python benchmarks/gate.py [TREE] [--base COMMIT] [--rounds 3] [--limit 1.15]

Twelve figures of both versions, measured in turns on one machine: each step is done by one version and at once by the
other one, so that other work on the machine slows both. A figure is the sum over its steps of the smallest of several
rounds; what is compared is the ratio new / old. Exit code 1 if a ratio is above the limit. The base is the last tag,
or with `--base` any commit; its package is taken from the history of this repository. The tree that is indexed and
asked about is this repository, or any git work tree. Children are counted, the network is not used.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from stopwatch import lap, run

HERE = Path(__file__).resolve().parents[1]
CHANGED = "src/satchel/engine.py"
QUESTIONS = (
    "where is the token budget enforced", "how are segments of the index merged", "redact secrets in files",
    "which errors end with exit code 2", "`rank_files` weights of the signals", "why are hidden commits kept",
    "TypeError: 'NoneType' object is not subscriptable in satchel/answer/packing.py line 120",
    "how does a hook decide that there is nothing to say", "cache of weighed terms between questions",
    "the lock of the index is held by another process", "parse imports of a Python file",
    "settings from the environment",
)  # fmt: skip

WORKER = """
import gc, json, os, resource, sys, time
from satchel import Satchel
tree, home, changed, questions = json.loads(sys.argv[1])
environ = {"PATH": os.environ["PATH"], "HOME": home, "SATCHEL_HOME": home}
engine = None
def timed(action):
    gc.collect()
    began = spent()
    action()
    return spent() - began
def spent():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
def ask(number, types):
    return timed(lambda: engine.assemble(questions[number], types=types, max_tokens=4000, refresh=False))
def opened():
    global engine
    if engine is not None:
        engine.close()
    engine = Satchel.open(tree, environ=environ)
    return 0.0
def edited(text):
    with open(changed, "a") as file:
        file.write(text)
    return timed(engine.index)
def memory():
    return int(open("/proc/self/statm").read().split()[1])
steps = {"open": opened, "index": lambda: timed(engine.index), "ask": ask, "edit": edited, "memory": memory}
for line in sys.stdin:
    name, *given = json.loads(line)
    print(steps[name](*given), flush=True)
"""


class Version:
    """One version of the package, with a clone of the tree and a home of its own, and a process that does its steps."""

    def __init__(self, package: Path, tree: Path, folder: Path) -> None:
        self._tree, self._home = folder / "tree", folder / "home"
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(tree), str(self._tree)], check=True)
        keep = {name: value for name, value in os.environ.items() if not name.startswith("SATCHEL_")}
        self._environment = keep | {
            "PYTHONPATH": str(package),
            "HOME": str(self._home),
            "SATCHEL_HOME": str(self._home),
        }
        changed = self._tree / CHANGED
        if not changed.exists():
            changed = max(self._tree.rglob("*.py"), key=lambda path: (path.stat().st_size, path))
        given = json.dumps([str(self._tree), str(self._home), str(changed), QUESTIONS])
        self._process = subprocess.Popen(
            [sys.executable, "-c", WORKER, given], env=self._environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def step(self, *step: Any) -> float:
        """Do a step in the process; returns its processor seconds."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(step) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def command(self, *arguments: str) -> float:
        """Run a command in a process of its own; returns its processor seconds."""
        command = [sys.executable, "-m", "satchel", *arguments]
        return lap(lambda: run(command, self._tree, self._environment)).cpu

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def measured(versions: list[Version], rounds: int) -> dict[str, list[float]]:
    """The figures of both versions: for each the sum of its smallest steps."""
    best: dict[str, dict[Any, list[float]]] = {}

    def note(figure: str, key: Any, values: list[float]) -> None:
        kept = best.setdefault(figure, {}).setdefault(key, values)
        best[figure][key] = [min(pair) for pair in zip(kept, values, strict=True)]

    def step(figure: str, key: Any, *given: Any) -> None:
        note(figure, key, [version.step(*given) for version in versions])

    step("open", 0, "open")
    step("first index", 0, "index")
    for turn in range(rounds):
        for kinds, types in (("code", ["code"]), ("all kinds", [])):
            step("open", 0, "open")
            step("open", 0, "ask", 0, types)
            for again in ("first", "second"):
                for number in range(1, len(QUESTIONS)):
                    step(f"{kinds}, {again} time", number, "ask", number, types)
        for number in range(1, len(QUESTIONS)):
            step("one changed file", 0, "edit", f"\n# {turn} {number}\n")
            step("question after a change", number, "ask", number, ["code"])
        step("nothing changed", 0, "index")
        for name, arguments in (
            ("process: version", ["--version"]),
            ("process: context", ["context", QUESTIONS[turn % 2], "--types", "code"]),
            ("process: search", ["search", QUESTIONS[turn % 2]]),
        ):
            note(name, turn % 2, [version.command(*arguments) for version in versions])
    step("memory", 0, "memory")
    del best["open"]
    return {figure: [sum(column) for column in zip(*rows.values(), strict=True)] for figure, rows in best.items()}


def package_of(commit: str, folder: Path) -> Path:
    """The package as it was at a commit of this repository."""
    done = subprocess.run(["git", "-C", str(HERE), "archive", commit, "src"], check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(done.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def main() -> int:
    """Measure both versions, print the ratios, and return 1 if one is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, nargs="?", default=HERE, help="a git work tree; default this repository")
    parser.add_argument("--base", help="the commit to compare with; default the last tag")
    parser.add_argument("--rounds", type=int, default=3, help="times that everything but the first index is done")
    parser.add_argument("--limit", type=float, default=1.15, help="the largest ratio new / old")
    options = parser.parse_args()
    describe = ["git", "-C", str(HERE), "describe", "--tags", "--abbrev=0"]
    base = options.base or subprocess.run(describe, capture_output=True, text=True).stdout.strip()
    if not base:
        parser.error("there is no tag yet: name a commit with --base")
    with tempfile.TemporaryDirectory(prefix="satchel-gate-") as name:
        folder = Path(name)
        packages = {"old": package_of(base, folder / "base"), "new": HERE / "src"}
        versions = [Version(package, options.tree, folder / label) for label, package in packages.items()]
        figures = measured(versions, options.rounds)
        for version in versions:
            version.close()
    slow = [figure for figure, (old, new) in figures.items() if new > options.limit * old]
    for figure, (old, new) in figures.items():
        print(f"{figure:26}{old:10.4g} {new:10.4g} {new / old:6.2f}{'  too slow' if figure in slow else ''}")
    return int(bool(slow))


if __name__ == "__main__":
    sys.exit(main())
