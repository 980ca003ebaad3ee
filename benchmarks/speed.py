"""How long satchel takes and how much memory it needs, beside an older version, goals and rivals: one table.

    python benchmarks/speed.py PYTEST MYPY SYMPY --base COMMIT --out benchmarks/results/speed.json

Both versions do each step in turns, and so do the rivals where their environments are here, so that other work on the
machine slows all. Trees are git work trees, which are cloned. Every figure has two clocks: wall, and processor with all
processes of the step. Writes the JSON and, beside it, a page with the table.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from http_load import Server, cell, questions_of
from localization.rivals import rival_system
from speed_questions import questions, thinned
from stopwatch import Lap, fresh_home, lap, milliseconds, run, spread
from two_versions import HERE, MAX_TOKENS, Conversation, Turns, Version, cloned, compiled, package_now, package_of

BEFORE, AFTER = "before", "after"
INDEXING_RIVAL = "contextsmith-lexical"
ASKED_RIVALS = (INDEXING_RIVAL, "bm25-chunks")
CODE_SUFFIXES = (".c", ".go", ".h", ".java", ".js", ".py", ".rs", ".ts", ".tsx")
CHANGED_FILES = 12
SWITCHED_FILES = 530
MIXED_QUESTIONS = 500
AT_ONCE = 16
HTTP_TOKENS = 2_000
WARM_REQUESTS = 64
PASSES = ("first", "second")
ASKED: tuple[tuple[str, list[str], str], ...] = (
    ("find code", ["code"], "find"),
    ("find all kinds", [], "find"),
    ("read code", ["code"], "read"),
    ("edit code", ["code"], "edit"),
)
"""Warm questions by name: their kinds and purpose. Agents, hooks, HTTP and the command line ask to `find`."""

GOALS: Mapping[tuple[str, str, str], float] = {
    ("pytest", "find code, first", "p50"): 30, ("pytest", "find code, first", "p95"): 60,
    ("pytest", "find code, second", "p50"): 20, ("pytest", "find code, second", "p95"): 40,
    ("mypy", "find code, first", "p50"): 60, ("mypy", "find code, first", "p95"): 130,
    ("mypy", "find code, second", "p50"): 40, ("mypy", "find code, second", "p95"): 100,
    ("sympy", "find code, first", "p50"): 60, ("sympy", "find code, first", "p95"): 130,
    ("sympy", "find code, second", "p50"): 40, ("sympy", "find code, second", "p95"): 100,
    ("pytest", "process: context", "p50"): 300, ("pytest", "process: search", "p50"): 220,
    ("pytest", "process: --version", "p50"): 45, ("pytest", "process: hook prompt", "p50"): 220,
    ("pytest", "MCP: first answer", "p50"): 350, ("pytest", "MCP: call", "p50"): 35,
    ("pytest", "first index", "p50"): 2600, ("sympy", "first index", "p50"): 11000,
    ("sympy", "switch of 530 files", "p50"): 1200,
    ("pytest", "memory after 500 questions", "MB"): 130, ("sympy", "memory after 500 questions", "MB"): 200,
    ("pytest", "HTTP, 1 worker", "requests a second"): 60,
    ("pytest", "HTTP, 2 workers, memory", "MB"): 300,
}  # fmt: skip
"""What is aimed at, by tree, figure and measure: milliseconds of processor, or what the measure says."""

WALL_GOALS = {
    ("sympy", "first answer without an index", "p50"): 5000,
    ("pytest", "HTTP, 2 workers", "requests a second"): 100,
}
"""What is aimed at by the wall clock, on idle cores."""


PARTS = ("index", "questions", "changes", "process", "mcp", "http", "memory")
GIT = ("git", "-c", "user.name=bench", "-c", "user.email=bench@example.com")


class RivalQuestions:
    """A rival that stays and is asked question after question, in a process of its own. Raises RuntimeError."""

    def __init__(self, name: str, tree: Path, folder: Path) -> None:
        system, environment = rival_system(name), fresh_home(folder)
        if system.index:
            run(["sh", "-c", system.index], tree, environment)
        command = system.command.format(max_tokens=MAX_TOKENS).replace(" ask ", " time ")
        self._process = subprocess.Popen(
            ["sh", "-c", f"exec {command}"], cwd=tree, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.ask("warm up the process")

    def ask(self, question: str) -> Lap:
        """One question."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError("it ended before it answered: is what benchmarks/requirements.txt names installed?")
        wall, processor = json.loads(line)
        return Lap(wall, processor, os.getloadavg()[0])

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


class Bench:
    """The measurements of one tree: two versions, the rivals that are here, and the laps of all of them."""

    def __init__(self, tree: Path, packages: Mapping[str, Path], folder: Path, options: argparse.Namespace) -> None:
        self.work = with_branch(cloned(tree, folder / "tree"))
        self.asked = thinned(questions(self.work), options.count)
        self.versions = {side: Version(package, self.work, folder / side) for side, package in packages.items()}
        self.turns = Turns([*packages])
        self.more: dict[str, dict[str, dict[str, float]]] = {}
        self.wrong: dict[str, int] = {}
        self._folder, self._options = folder, options
        self._home = 0

    def both(self, figure: str, key: Any, action: Callable[..., Lap], *given: Any) -> None:
        """Do a step with both versions."""
        self.turns.take(figure, key, [partial(action, version, *given) for version in self.versions.values()])

    def both_open(self) -> None:
        """Both processes open the tree and bring their index up to date, which is not measured."""
        for version in self.versions.values():
            version.step("open")
            version.step("index")

    def rival_home(self) -> Path:
        """A folder for a rival that nothing was written to yet."""
        self._home += 1
        return self._folder / f"rival-{self._home}"

    def index(self) -> None:
        """Whole processes from nothing: an index, and an answer."""
        peaks: dict[Version, list[float]] = {version: [] for version in self.versions.values()}
        rival = self.rival_index()
        for turn in range(self._options.rounds):
            self.both("first index", turn, lambda version: version.first_index(peaks[version]))
            if rival:
                self.rival_lap("first index", INDEXING_RIVAL, lap(partial(self.index_rival, rival)))
            self.both("first answer without an index", turn, first_answer, self.asked[turn % len(self.asked)])
        for side, version in self.versions.items():
            self.more.setdefault("memory of the first index", {})[side] = {"MB": round(max(peaks[version]), 1)}

    def rival_index(self) -> str:
        """The command that indexes with the rival, empty with a message where its environment is missing."""
        try:
            return rival_system(INDEXING_RIVAL).index
        except RuntimeError as missing:
            print(f"left out: {missing}", file=sys.stderr)
            return ""

    def index_rival(self, command: str) -> None:
        """Index with the rival and remove what it wrote into the tree."""
        run(["sh", "-c", command], self.work, fresh_home(self.rival_home()))
        subprocess.run(["git", "-C", str(self.work), "clean", "-q", "-ffdx"], check=True)

    def rival_lap(self, figure: str, name: str, measured: Lap) -> None:
        """Keep the lap of a rival."""
        laps = self.turns.laps.setdefault(figure, {}).setdefault(name, {})
        laps[len(laps)] = [measured]

    def questions(self) -> None:
        """Warm questions, each once and then all again; the rivals after them, over code."""
        for name, types, purpose in ASKED:
            self.both_open()
            self.both(f"{name}, warm up", 0, Version.ask, "warm up the process", types, purpose)
            for turn in PASSES:
                for question in self.asked:
                    self.both(f"{name}, {turn}", question, Version.ask, question, types, purpose)
        for name in ASKED_RIVALS:
            try:
                rival = RivalQuestions(name, self.work, self.rival_home())
            except RuntimeError as missing:
                print(f"left out: {name}: {missing}", file=sys.stderr)
                continue
            for turn in PASSES:
                for question in self.asked:
                    self.rival_lap(f"find code, {turn}", name, rival.ask(question))
            rival.close()
            subprocess.run(["git", "-C", str(self.work), "clean", "-q", "-ffdx"], check=True)

    def changes(self) -> None:
        """Bringing the index up to date: nothing, one file, or the files of another branch changed."""
        self.both_open()
        for turn in range(self._options.rounds):
            self.both("nothing changed", turn, Version.step, "index")
        names = run(["git", "ls-files"], self.work, os.environ).decode().splitlines()
        files = [name for name in names if name.endswith(CODE_SUFFIXES) and (self.work / name).is_file()]
        for name in thinned(files, CHANGED_FILES):
            self.both("one changed file", name, changed_file, name)
        for turn in range(self._options.rounds):
            for branch in ("satchel-other", "satchel-main"):
                self.both(f"switch of {SWITCHED_FILES} files", (turn, branch), switched, branch)

    def process(self) -> None:
        """Processes from start to end, with an index that is up to date and no server."""
        for turn in range(self._options.rounds):
            for question in thinned(self.asked, 3):
                self.both("process: context", (turn, question), Version.command, "context", question)
                self.both("process: search", (turn, question), Version.command, "search", question)
                self.both("process: hook prompt", (turn, question), Version.hook, question)
                self.both("process: --version", (turn, question), Version.command, "--version")

    def mcp(self) -> None:
        """A client starts the server, asks once, and goes on to ask."""
        for turn in range(self._options.rounds):
            talks = [Conversation(version) for version in self.versions.values()]
            self.turns.take("MCP: first answer", turn, [partial(talk.first, self.asked[0]) for talk in talks])
            for question in self.asked[1:] if turn == 0 else ():
                self.turns.take("MCP: call", question, [partial(talk.call, question) for talk in talks])
            for talk in talks:
                talk.close()

    def http(self) -> None:
        """Many clients of `satchel serve`: questions a second of wall clock and of processor, and memory."""
        asked = questions_of(self.work, self._options.requests)
        for workers in (1, 2):
            figure = f"HTTP, {workers} worker{'s' if workers > 1 else ''}"
            for side, version in self.versions.items():
                server = Server(version.tree, version.environment, workers)
                try:
                    for question in asked[:WARM_REQUESTS]:
                        server.ask(question, "code", HTTP_TOKENS)
                    found = cell(server, asked, "code", HTTP_TOKENS, AT_ONCE)
                finally:
                    server.process.kill()
                    server.process.wait()
                rates = {"wall": found["a_second"], "cpu": round(1000 / found["processor_ms_a_question"], 1)}
                self.more.setdefault(figure, {})[side] = {
                    f"requests a second, {clock}": n for clock, n in rates.items()
                }
                self.more.setdefault(f"{figure}, memory", {})[side] = {"MB": found["memory_mb"]}
                wrong = found["questions"] - found["answered"] + found["different_from_alone"]
                self.wrong[f"{figure}, {side}"] = wrong + found["with_another_question"]

    def memory(self) -> None:
        """What a process keeps that opened the tree and answered many questions of every purpose and kind."""
        asked = questions_of(self.work, self._options.mixed)
        for side, version in self.versions.items():
            version.command("context", asked[0])  # a home that was used before has files that spare memory
            version.restart()
            version.step("open")
            version.step("index")
            version.step("mixed", asked)
            figure = f"memory after {MIXED_QUESTIONS} questions"
            self.more.setdefault(figure, {})[side] = {"MB": round(version.memory_mb(), 1)}

    def measured(self) -> dict[str, Any]:
        """All figures: milliseconds of every side by clock, and what is no time."""
        for part in self._options.only:
            before = os.getloadavg()[0]
            getattr(self, part)()
            print(f"{self.work.name}: {part}, load {before:.1f} to {os.getloadavg()[0]:.1f}", file=sys.stderr)
        for version in self.versions.values():
            version.close()
        figures: dict[str, Any] = {
            figure: {side: clocks([one for laps in steps.values() for one in laps]) for side, steps in sides.items()}
            for figure, sides in self.turns.laps.items()
            if not figure.endswith("warm up")
        }
        head = run(["git", "rev-parse", "satchel-main"], self.work, os.environ).decode().strip()
        tracked = len(run(["git", "ls-files"], self.work, os.environ).splitlines())
        return {
            "commit": head,
            "tracked_files": tracked,
            "questions": len(self.asked),
            "figures": figures | self.more,
            "wrong_answers_over_http": self.wrong,
        }


def with_branch(tree: Path) -> Path:
    """A clone with a branch `satchel-main` as it is, and `satchel-other`, where many files have one more line."""
    git = partial(run, folder=tree, environment=os.environ)
    git([*GIT, "switch", "-q", "-C", "satchel-other"])
    names = git(["git", "ls-files"]).decode().splitlines()
    files = [name for name in names if name.endswith(CODE_SUFFIXES) and (tree / name).is_file()]
    for name in thinned(files, SWITCHED_FILES):
        with (tree / name).open("ab") as file:
            file.write(b"\n")
    git([*GIT, "commit", "-qam", "many files have one more line"])
    git([*GIT, "switch", "-q", "-C", "satchel-main", "HEAD^"])
    return tree


def first_answer(version: Version, question: str) -> Lap:
    """A question in a tree that has no index yet."""
    return version.command("context", question, environment=version.new_home())


def changed_file(version: Version, name: str) -> Lap:
    """One file gets another line and the index is brought up to date; then both are as they were."""
    before = (version.tree / name).read_bytes()
    (version.tree / name).write_bytes(before + b"\n")
    measured = version.step("index")
    (version.tree / name).write_bytes(before)
    version.step("index")
    return measured


def switched(version: Version, branch: str) -> Lap:
    """The tree is at another branch and the index is brought up to date."""
    run([*GIT, "switch", "-q", branch], version.tree, os.environ)
    return version.step("index")


def clocks(laps: Sequence[Lap]) -> dict[str, Any]:
    """Milliseconds of many laps by both clocks, and the load beside them."""
    return {
        "times": len(laps),
        "wall": milliseconds([one.wall for one in laps]),
        "cpu": milliseconds([one.cpu for one in laps]),
        "load": spread((one.load for one in laps), 1),
    }


def table(trees: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Every figure and measure: what each side needs by both clocks, beside what is aimed at."""
    return [
        {"tree": tree, "figure": figure, "measure": measure} | row_of(tree, figure, measure, sides)
        for tree, result in trees.items()
        for figure, sides in result["figures"].items()
        for measure in measures_of(figure, sides)
    ]


def measures_of(figure: str, sides: Mapping[str, Any]) -> tuple[str, ...]:
    """What is told of a figure: many different steps have tails, others a median."""
    some = sides[AFTER]
    if "cpu" not in some:
        return ("requests a second",) if figure.startswith("HTTP") and "memory" not in figure else ("MB",)
    return ("p50", "p95", "max") if "code" in figure or "kinds" in figure or figure == "MCP: call" else ("p50",)


def row_of(tree: str, figure: str, measure: str, sides: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of all sides by clock, the goals, and whether they are met."""
    found = {
        name: {clock: figure_of(side, measure, clock) for clock in ("wall", "cpu")} for name, side in sides.items()
    }
    goals = {clock: aims.get((tree, figure, measure)) for clock, aims in (("cpu", GOALS), ("wall", WALL_GOALS))}
    pairs = [(found[AFTER][clock], goal) for clock, goal in goals.items()]
    judged = [
        value >= goal if measure == "requests a second" else value <= goal
        for value, goal in pairs
        if value is not None and goal is not None
    ]
    return {"sides": found, "goal": goals, "met": all(judged) if judged else None}


def figure_of(side: Mapping[str, Any], measure: str, clock: str) -> float | None:
    """The figure of one side by a clock; memory has one, which stands with the processor's."""
    if "cpu" in side:
        return float(side[clock][measure])
    value = side.get(f"{measure}, {clock}", side.get(measure) if clock == "cpu" else None)
    return None if value is None else float(value)


def page(result: Mapping[str, Any]) -> str:
    """The table as Markdown."""
    machine = result["machine"]
    origin = (
        f"Written by `benchmarks/speed.py`: before is {result['before'][:12]}, after {result['after']}; "
        f"{machine['cores']} cores, Python {machine['python']}, "
        f"load average {machine['load_before']:.1f} to {machine['load_after']:.1f}."
    )
    lines = [
        "# Speed",
        "",
        origin,
        "Each cell is wall clock / processor, milliseconds unless the measure says otherwise; processor counts all",
        "processes of a step, and other work on the machine lengthens the wall clock only. A goal is of the processor",
        "unless it says wall. Rivals: ContextSmith 0.1.1, lexical; BM25 over functions, with its index in memory.",
        "",
        "| tree | figure | | before | after | goal | met | ContextSmith | BM25 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in result["table"]:
        cells = [row["tree"], row["figure"], row["measure"]]
        cells += [cell_of(row["sides"].get(side)) for side in (BEFORE, AFTER)]
        goals = [f"{goal:,.0f}{' wall' if clock == 'wall' else ''}" for clock, goal in row["goal"].items() if goal]
        cells += [", ".join(goals), {None: "", True: "yes", False: "no"}[row["met"]]]
        cells += [cell_of(row["sides"].get(side)) for side in ASKED_RIVALS]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def cell_of(side: Mapping[str, float | None] | None) -> str:
    """Wall clock and processor of one side; memory has one figure."""
    if side is None:
        return ""
    return " / ".join(f"{side[clock]:,.1f}" for clock in ("wall", "cpu") if side[clock] is not None)


def part_list(text: str) -> list[str]:
    """Parts by name. Raises ArgumentTypeError for an unknown one."""
    names = text.split(",")
    if unknown := [name for name in names if name not in PARTS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(PARTS)}")
    return names


def main() -> int:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", type=Path, nargs="+", metavar="TREE", help="a git work tree")
    parser.add_argument("--base", required=True, help="the commit of this repository that is before")
    parser.add_argument("--rounds", type=int, default=3, help="runs of everything that takes long")
    parser.add_argument("--count", type=int, default=0, help="questions of a tree; default all")
    parser.add_argument("--requests", type=int, default=200, help="questions over HTTP")
    parser.add_argument("--mixed", type=int, default=MIXED_QUESTIONS, help="questions before memory is looked at")
    parser.add_argument("--only", type=part_list, default=[*PARTS], help=f"of {','.join(PARTS)}")
    parser.add_argument("--out", type=Path, required=True, help="where to store the JSON; the page lies beside it")
    options = parser.parse_args()
    load = os.getloadavg()[0]
    head = run(["git", "rev-parse", options.base], HERE, os.environ).decode().strip()
    after = run(["git", "describe", "--always", "--dirty", "--exclude=*"], HERE, os.environ).decode().strip()
    result: dict[str, Any] = {
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
        "before": head,
        "after": after,
        "trees": {},
    }
    with tempfile.TemporaryDirectory(prefix="satchel-speed-") as name:
        folder = Path(name)
        packages = {
            BEFORE: compiled(package_of(head, folder / BEFORE)),
            AFTER: compiled(package_now(folder / AFTER)),
        }
        for tree in options.trees:
            bench = Bench(tree.resolve(), packages, folder / tree.name, options)
            result["trees"][tree.name.rpartition("+")[2]] = bench.measured()
            result["table"] = table(result["trees"])
            machine = {"cores": os.cpu_count(), "python": platform.python_version(), "load_before": round(load, 1)}
            result["machine"] = machine | {"load_after": round(os.getloadavg()[0], 1)}
            options.out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            options.out.with_suffix(".md").write_text(page(result), encoding="utf-8")
    print(page(result), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
