"""A gate against slow changes: is this version slower than the last release, in processor time.

    python benchmarks/gate.py [TREE] [--base COMMIT] [--rounds 3]

The figures of both versions, measured in turns: each step is done by one version and at once by the other one, so
that other work on the machine slows both. A figure is the sum over its steps of the smallest of several rounds; what
is compared is the ratio new / old. Exit code 1 if a ratio is above the limit. The base is the last tag, or with
`--base` any commit of this repository, which is also the tree that is indexed unless another one is named.
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

from stopwatch import fresh_home, lap, resident_bytes, run

HERE, LIMIT = Path(__file__).resolve().parents[1], 1.15
QUESTIONS = (
    "where is the token budget enforced", "how are segments of the index merged", "redact secrets in files",
    "which errors end with exit code 2", "`rank_files` weights of the signals", "why are hidden commits kept",
    "TypeError: 'NoneType' object is not subscriptable in satchel/answer/packing.py line 120",
    "how does a hook decide that there is nothing to say", "cache of weighed terms between questions",
    "the lock of the index is held by another process", "parse imports of a Python file", "read the settings",
)  # fmt: skip
ASKED: tuple[tuple[str, list[str], str], ...] = (
    ("find code", ["code"], "find"),
    ("read code", ["code"], "read"),
    ("find all kinds", [], "find"),
)
"""Questions by name: their kinds and their purpose."""

COMMANDS = {
    "process: version": ["--version"], "process: context": ["context", QUESTIONS[0], "--types", "code"],
    "process: search": ["search", QUESTIONS[0]],
}  # fmt: skip

WORKER = """
import gc, json, resource, sys, time
from satchel import Satchel
tree, changed, questions = json.loads(sys.argv[1])
def spent():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime
def timed(action):
    gc.collect()
    began = spent()
    action()
    return spent() - began
def ask(number, types, purpose):
    return timed(
        lambda: engine.assemble(questions[number], types=types, purpose=purpose, max_tokens=4000, refresh=False)
    )
def opened():
    global engine
    engine = Satchel.open(root=tree)
    return 0.0
def edited(text):
    with open(changed, "a") as file:
        file.write(text)
    return timed(engine.index)
steps = {"open": opened, "index": lambda: timed(engine.index), "ask": ask, "edit": edited}
for line in sys.stdin:
    name, *given = json.loads(line)
    print(steps[name](*given), flush=True)
"""


class Version:
    """One version of the package, with a clone of the tree, a home, and a process that does its steps."""

    def __init__(self, package: Path, tree: Path, folder: Path) -> None:
        self._tree, self._folder = folder / "tree", folder
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(tree), str(self._tree)], check=True)
        self._environment = fresh_home(folder / "home") | {"PYTHONPATH": str(package)}
        changed = max(self._tree.rglob("*.py"), key=lambda path: (path.stat().st_size, path))
        given = json.dumps([str(self._tree), str(changed), QUESTIONS])
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
        return lap(lambda: run([sys.executable, "-m", "satchel", *arguments], self._tree, self._environment)).cpu

    def first_index(self) -> float:
        """Index the tree for a home that is new, without vectors; returns the processor seconds of the command."""
        with tempfile.TemporaryDirectory(dir=self._folder) as home:
            package = {"PYTHONPATH": self._environment["PYTHONPATH"]}
            environment = fresh_home(Path(home)) | package | {"SATCHEL_EMBED_PROVIDER": "off"}
            return lap(lambda: run([sys.executable, "-m", "satchel", "index"], self._tree, environment)).cpu

    def memory(self) -> float:
        """Return the memory of the process in megabytes."""
        return resident_bytes(self._process.pid) / 1e6

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def measured(versions: list[Version], rounds: int) -> dict[str, list[float]]:
    """The figures of both versions: for each the sum of its smallest steps. They take turns at being first."""
    best: dict[str, dict[Any, list[float]]] = {}

    def step(figure: str, key: int, *given: Any, method: str = "step") -> None:
        ordered = list(enumerate(versions))[:: 1 if turn % 2 else -1]
        values = {place: getattr(version, method)(*given) for place, version in ordered}
        kept = best.setdefault(figure, {}).setdefault(key, [values[0], values[1]])
        best[figure][key] = [min(kept[0], values[0]), min(kept[1], values[1])]

    for turn in range(rounds):
        step("first index", 0, method="first_index")
        for asked, types, purpose in ASKED:
            step("open", 0, "open")
            step("nothing changed" if turn or (asked, types, purpose) != ASKED[0] else "indexed", 0, "index")
            for again in ("warm up", "first time", "second time"):
                for number in range(len(QUESTIONS)) if again != "warm up" else (0,):
                    step(f"{asked}, {again}", number, "ask", number, types, purpose)
        for number in range(len(QUESTIONS)):
            step("one changed file", 0, "edit", f"\n# {turn} {number}\n")
            step("question after a change", number, "ask", number, ["code"], "find")
        for name, arguments in COMMANDS.items():
            step(name, 0, *arguments, method="command")
    step("memory, MB", 0, method="memory")
    left_out = {"open", "indexed", *(f"{asked}, warm up" for asked, _, _ in ASKED)}
    return {name: [*map(sum, zip(*best[name].values(), strict=True))] for name in best if name not in left_out}


def package_of(commit: str, folder: Path) -> Path:
    """The package as it was at a commit of this repository."""
    with tarfile.open(fileobj=io.BytesIO(run(["git", "archive", commit, "src"], HERE, os.environ))) as archive:
        archive.extractall(folder, filter="data")
    return folder / "src"


def main() -> int:
    """Measure both versions, print the ratios, and return 1 if one is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, nargs="?", default=HERE, help="a git work tree; default this repository")
    parser.add_argument("--base", help="the commit to compare with; default the last tag")
    parser.add_argument("--rounds", type=int, default=3, help="times that everything is done")
    options = parser.parse_args()
    tagged = ["git", "-C", str(HERE), "describe", "--tags", "--abbrev=0"]
    base = options.base or subprocess.run(tagged, capture_output=True, text=True, check=False).stdout.strip()
    if not base:
        parser.error("there is no tag yet: name a commit with --base")
    with tempfile.TemporaryDirectory(prefix="satchel-gate-") as name:
        packages = {"old": package_of(base, Path(name) / "base"), "new": HERE / "src"}
        for package in packages.values():  # so that neither version compiles its modules while it is measured
            run([sys.executable, "-m", "compileall", "-q", str(package)], HERE, os.environ)
        versions = [Version(package, options.tree, Path(name) / label) for label, package in packages.items()]
        figures = measured(versions, options.rounds)
        for version in versions:
            version.close()
    print(f"{'':26}{'old':>10} {'new':>10}  ratio")
    for figure, (old, new) in figures.items():
        print(f"{figure:26}{old:10.4g} {new:10.4g} {new / old:6.2f}{'  too slow' if new > LIMIT * old else ''}")
    return int(any(new > LIMIT * old for old, new in figures.values()))


if __name__ == "__main__":
    sys.exit(main())
