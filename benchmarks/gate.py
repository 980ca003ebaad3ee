"""A gate against slow changes: is this version slower than the last release, in processor time.

    python benchmarks/gate.py [TREE] [--base COMMIT] [--rounds 2]

Both versions are measured in turns. A figure is the sum, or the 95th percentile, over the smallest of several rounds of
each step; what is compared is the ratio new / old. Exit code 1 if one of the twelve is above the limit. The base is the
last tag, else where this branch left `main`, else the commit before; with `--base` any commit of this repository.
Without a TREE the package and the documentation of the base are indexed, as one commit.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from scoreboard.versions import base_commit
from stopwatch import Lap, milliseconds, run
from two_versions import HERE, Conversation, Turns, Version, compiled, package_now, package_of

LIMIT = 1.15
VERSIONS = 5
"""Runs of the shortest command for each question: of 15 ms the smallest of a few still differs by a tenth."""

QUESTIONS = (
    "where is the token budget enforced", "how are segments of the index merged", "redact secrets in files",
    "which errors end with exit code 2", "`rank_files` weights of the signals", "why are hidden commits kept",
    "TypeError: 'NoneType' object is not subscriptable in satchel/answer/packing.py line 120",
    "how does a hook decide that there is nothing to say", "cache of weighed terms between questions",
    "the lock of the index is held by another process", "parse imports of a Python file", "read the settings",
)  # fmt: skip
ASKED: tuple[tuple[str, list[str], str], ...] = (
    ("find code", ["code"], "find"),
    ("find all kinds", [], "find"),
    ("read code", ["code"], "read"),
)
"""Questions by name: their kinds and their purpose. The first is what agents, hooks and HTTP ask."""

FIRST, SECOND = "first time", "second time"
P95 = "p95"
COMPARED = (
    ("first index", sum),
    (f"find code, {FIRST}", sum),
    (f"find code, {FIRST}", P95),
    (f"find code, {SECOND}", sum),
    (f"find all kinds, {FIRST}", sum),
    (f"read code, {FIRST}", sum),
    ("find after an edit", sum),
    ("process: --version", sum),
    ("process: context", sum),
    ("process: hook prompt", sum),
    ("MCP: calls", sum),
    ("memory, MB", sum),
)
"""The twelve ratios: a figure, and whether its steps are added up or their 95th percentile is taken."""


def measured(versions: Sequence[Version], rounds: int) -> Turns:
    """All steps of both versions."""
    turns = Turns(("old", "new"))

    def step(figure: str, key: object, action: Callable[..., Lap], *given: object) -> None:
        turns.take(figure, key, [partial(action, version, *given) for version in versions])

    for number in range(rounds):
        step("first index", 0, Version.first_index)
        for name, types, purpose in ASKED[: 3 if number == 0 else 1]:
            step("open", 0, Version.step, "open")
            step("nothing changed" if number or name != ASKED[0][0] else "indexed", 0, index)
            for again, asked in (("warm up", QUESTIONS[:1]), (FIRST, QUESTIONS), (SECOND, QUESTIONS)):
                for question in asked:
                    step(f"{name}, {again}", question, Version.ask, question, types, purpose)
        for question in QUESTIONS[:6]:
            step("find after an edit", question, edited, question)
        for question in QUESTIONS[:2]:
            step("process: context", question, Version.command, "context", question)
            step("process: search", question, Version.command, "search", question)
            step("process: hook prompt", question, Version.hook, question)
            step("process: --version", 0, least_version)
        talks = [Conversation(version) for version in versions]
        turns.take("MCP: first answer", 0, [partial(talk.first, QUESTIONS[0]) for talk in talks])
        for question in QUESTIONS[1:]:
            turns.take("MCP: calls", question, [partial(talk.call, question) for talk in talks])
        for talk in talks:
            talk.close()
    step("memory, MB", 0, lambda version: Lap(version.memory_mb(), version.memory_mb(), os.getloadavg()[0]))
    return turns


def least_version(version: Version) -> Lap:
    """The command that does least, the fastest of some runs."""
    return min((version.command("--version") for _ in range(VERSIONS)), key=lambda one: one.cpu)


def index(version: Version) -> Lap:
    """Look at the tree and bring the index up to date."""
    return version.step("index")


def edited(version: Version, question: str) -> Lap:
    """A line is added to the largest file, the index is brought up to date, and a question is asked."""
    largest = max(version.tree.rglob("*.py"), key=lambda path: (path.stat().st_size, path))
    with largest.open("a", encoding="utf-8") as file:
        file.write("\n# one more line\n")
    first, second = version.step("index"), version.ask(question, ["code"], "find")
    return Lap(first.wall + second.wall, first.cpu + second.cpu, second.load)


def own_tree(commit: str, folder: Path) -> Path:
    """A repository with the package and the documentation of a commit: this one is larger every month."""
    package_of(commit, folder, "docs")
    git = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.com")
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "the package and its documentation")):
        run([*git, *words], folder, os.environ)
    return folder


def base_of(given: str) -> tuple[str, str]:
    """The commit to compare with and why. Raises ValueError if there is none, or if it is this version."""
    commit, reason = base_commit(given)
    changed = run(["git", "diff", "--name-only", commit, "--", "src"], HERE, os.environ)
    if not changed and not given:
        commit, reason = base_commit("HEAD^")[0], "the commit before"
    return commit, reason


def printed(turns: Turns) -> bool:
    """Print the figures; returns whether a ratio is above the limit."""
    print(f"{'seconds of processor':34}{'old':>10} {'new':>10}  ratio   wall")
    slow = False
    for figure, how in COMPARED:
        of = {
            clock: [figure_of(turns.least(figure, side, clock), how) for side in turns.sides]
            for clock in ("cpu", "wall")
        }
        (old, new), (old_wall, new_wall) = of["cpu"], of["wall"]
        slow |= new > LIMIT * old
        name = f"{figure}, {how}" if how is P95 else figure
        mark = "  too slow" if new > LIMIT * old else ""
        print(f"{name:34}{old:10.4g} {new:10.4g} {new / old:6.2f} {new_wall / old_wall:6.2f}{mark}")
    print("not compared:")
    for figure in sorted(set(turns.laps) - {name for name, _ in COMPARED}):
        if "warm up" not in figure and figure not in {"open", "indexed"}:
            old, new = (sum(turns.least(figure, side)) for side in turns.sides)
            print(f"{figure:34}{old:10.4g} {new:10.4g} {new / old:6.2f}")
    for again in (FIRST, SECOND):
        for side in turns.sides:
            print(
                f"find code, {again}, {side}, ms of processor: {milliseconds(turns.least(f'find code, {again}', side))}"
            )
    return slow


def figure_of(seconds: Sequence[float], how: object) -> float:
    """The sum of the steps, or their 95th percentile."""
    return milliseconds(seconds)[P95] / 1000 if how is P95 else sum(seconds)


def main() -> int:
    """Measure both versions, print the ratios, and return 1 if one is too large."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, nargs="?", help="a git work tree; default the package of the base")
    parser.add_argument("--base", default="", help="the commit to compare with; default the last tag")
    parser.add_argument("--rounds", type=int, default=2, help="times that everything is done")
    options = parser.parse_args()
    try:
        base, reason = base_of(options.base)
    except ValueError as problem:
        parser.error(str(problem))
    print(f"old: {base[:12]} ({reason}); new: the work tree; no ratio above {LIMIT}")
    with tempfile.TemporaryDirectory(prefix="satchel-gate-") as name:
        folder = Path(name)
        old, new = compiled(package_of(base, folder / "base")), compiled(package_now(folder / "now"))
        tree = options.tree or own_tree(base, folder / "satchel")
        versions = [Version(package, tree, folder / label) for label, package in (("old", old), ("new", new))]
        turns = measured(versions, options.rounds)
        for version in versions:
            version.close()
    return int(printed(turns))


if __name__ == "__main__":
    sys.exit(main())
