"""How long satchel takes and how much memory it needs, on a repository given by its path.

    python benchmarks/speed.py TREE [--also TREE...] --out benchmarks/results/speed.json

Writes the JSON and, beside it, a page with the table. The tree is cloned, so nothing is written into it.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from localization.dataset import load_instances
from localization.rivals import rival_system
from stopwatch import Lap, PeakMemory, fresh_home, lap, laps, quantiles, run, spread, summary

import satchel
from satchel import Satchel

SATCHEL = (sys.executable, "-m", "satchel")
RIVAL = "contextsmith-lexical"
MEMORY_FILES = 2_800
PROFILE_ROWS = 25
CHANGED_FILES = 12
MAX_TOKENS = 4000
CODE_SUFFIXES = (".c", ".go", ".h", ".java", ".js", ".py", ".rs", ".ts", ".tsx")

SHORT_QUESTIONS = (
    "where are fixtures torn down",
    "how is the assertion rewritten",
    "parametrize with indirect",
    "which hook collects tests",
    "tmp_path cleanup",
    "capture of standard error",
    "conftest discovery order",
    "how are warnings turned into errors",
    "junit xml report",
    "skip and xfail marks",
    "monkeypatch undo",
    "where is the exit code decided",
    "configuration file lookup",
    "plugin registration from entry points",
    "log level on the command line",
    "last failed cache",
    "doctest collection",
    "approx comparison of floats",
    "traceback style short",
    "unittest TestCase support",
)
"""Twenty questions that a person types. Those of the evaluation data are whole issues, which are longer."""

TARGETS: tuple[tuple[str, str, float], ...] = (
    ("first index, whole process, s", "first_index.satchel.{clock}_s.median", 2.5),
    ("ContextSmith's first index / satchel's", "first_index.{ratio}.median", 1.0),
    ("unchanged check, in process, s", "unchanged.in_process.{clock}_s.median", 0.15),
    ("one changed file, in process, s", "changed_file.{clock}_s.median", 0.05),
    ("warm `find`, code, p50 ms", "question.find_code.first_time.{clock}_ms.p50", 30),
    ("warm `find`, code, p95 ms", "question.find_code.first_time.{clock}_ms.p95", 60),
    ("the same again, p50 ms", "question.find_code.asked_again.{clock}_ms.p50", 20),
    ("the same again, p95 ms", "question.find_code.asked_again.{clock}_ms.p95", 40),
    ("warm `read`, code, p50 ms", "question.read_code.first_time.{clock}_ms.p50", 20),
    ("warm `read`, all kinds, p95 ms", "question.read_all.first_time.{clock}_ms.p95", 50),
    ("whole process of a question, s", "process.context.{clock}_s.median", 0.5),
    ("peak memory while indexing 2,800 files, MB", "memory.peak_total_mb", 400),
    ("memory after a question, MB", "memory.idle_mb", 150),
)
"""What is promised: its name, its place in the result, and its limit, for the ratio the lowest value."""

CLOCKS = {"wall": {"clock": "wall", "ratio": "ratio_spread"}, "processor": {"clock": "cpu", "ratio": "ratio_cpu"}}
"""The names in the places of `TARGETS`, by clock."""


def cloned(tree: Path, folder: Path) -> Path:
    """A clone of a repository with its history; the benchmark changes files, and rivals write into the tree."""
    target = folder / tree.name
    subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(tree), str(target)], check=True)
    return target


def questions(tree: Path) -> dict[str, list[str]]:
    """The questions of the evaluation data about this repository, if there are any, and the short ones."""
    try:
        rows = [row["query"] for row in load_instances() if row["repo"].rpartition("/")[2] == tree.name]
    except FileNotFoundError:
        rows = []
    return {"issues": rows, "short": [*SHORT_QUESTIONS]}


class Homes:
    """Homes that nothing was written to yet."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def new(self) -> dict[str, str]:
        """The environment of the next one."""
        self._count += 1
        return fresh_home(self._folder / str(self._count))


def first_index(tree: Path, homes: Homes, rounds: int) -> dict[str, Any]:
    """Whole processes from nothing, satchel and the rival in turns, then satchel alone inside a process."""
    own: list[Lap] = []
    rival: list[Lap] = []
    try:
        command = ["sh", "-c", rival_system(RIVAL).index]
    except RuntimeError as missing:
        print(f"left out: {missing}", file=sys.stderr)
        command = []
    run([*SATCHEL, "index", "--quiet"], tree, homes.new())  # reads the tree and the byte code into the page cache
    for _ in range(rounds):
        own.append(lap(partial(run, [*SATCHEL, "index", "--quiet"], tree, homes.new())))
        if command:
            rival.append(lap(partial(run, command, tree, homes.new())))
            subprocess.run(["git", "-C", str(tree), "clean", "-q", "-ffdx"], check=True)
    in_process = [lap(partial(indexed_once, tree, homes.new())) for _ in range(rounds)]
    result: dict[str, Any] = {"satchel": summary(own), "satchel_in_process": summary(in_process)}
    if rival:
        pairs = [theirs.wall / ours.wall for ours, theirs in zip(own, rival, strict=True)]
        processor = [theirs.cpu / ours.cpu for ours, theirs in zip(own, rival, strict=True)]
        result |= {"rival": RIVAL, RIVAL: summary(rival), "ratio": spread(pairs, 2)["median"]}
        result |= {"ratio_spread": spread(pairs, 2), "ratio_cpu": spread(processor, 2)}
    return result


def indexed_once(tree: Path, environment: dict[str, str]) -> None:
    """Open a tree and index it."""
    with Satchel.open(tree, environ=environment) as opened:
        opened.index()


def unchanged(opened: Satchel, tree: Path, environment: dict[str, str], rounds: int) -> dict[str, Any]:
    """Looking at a tree that is as it was."""
    whole = laps(partial(run, [*SATCHEL, "index", "--quiet"], tree, environment), rounds)
    return {"in_process": summary(laps(opened.index, rounds * 2)), "whole_process": summary(whole)}


def changed_file(opened: Satchel, tree: Path) -> dict[str, Any]:
    """One file gets another line and the index is brought up to date, for files all over the tree."""
    names = subprocess.run(["git", "-C", str(tree), "ls-files"], check=True, capture_output=True, text=True).stdout
    files = [tree / name for name in names.splitlines() if name.endswith(CODE_SUFFIXES)]
    measured = []
    for file in files[:: max(len(files) // CHANGED_FILES, 1)][:CHANGED_FILES]:
        before = file.read_bytes()
        file.write_bytes(before + b"\n")
        measured.append(lap(opened.index))
        file.write_bytes(before)
        opened.index()
    return summary(measured)


def ask_all(opened: Satchel, asked: Sequence[str], types: Sequence[str], purpose: str) -> dict[str, Any]:
    """Each question once after a warm-up with another one, then all of them again."""
    ask = partial(opened.assemble, types=types, purpose=purpose, max_tokens=MAX_TOKENS, refresh=False)
    ask("warm up the process")
    return {
        name: quantiles([lap(partial(ask, question)) for question in asked]) for name in ("first_time", "asked_again")
    }


def asked_in_process(opened: Satchel, asked: dict[str, list[str]]) -> dict[str, Any]:
    """Warm questions for each purpose, about code alone and about every kind that there is.

    Agents, hooks, HTTP and the command line ask to `find`, the Python interface asks to `read`.
    """
    everything = [question for group in asked.values() for question in group]
    found: dict[str, Any] = {
        f"{purpose}_{kinds}": ask_all(opened, everything, types, purpose)
        for kinds, types in {"code": ["code"], "all": list[str]()}.items()
        for purpose in ("find", "read", "edit")
    }
    return found | {"kinds": dict(opened.store.kinds())}


def whole_process(tree: Path, environment: dict[str, str], rounds: int) -> dict[str, Any]:
    """Processes from start to end, and what the interpreter and its heavy packages alone would take."""
    asked = (SHORT_QUESTIONS * rounds)[: rounds * 3]
    context = [lap(partial(run, [*SATCHEL, "context", question], tree, environment)) for question in asked]
    code = [
        lap(partial(run, [*SATCHEL, "context", question, "--types", "code"], tree, environment)) for question in asked
    ]
    parts: dict[str, Callable[[], Any]] = {
        "version": partial(run, [*SATCHEL, "--version"], tree, environment),
        "bare_interpreter": partial(run, [sys.executable, "-c", "pass"], tree, environment),
        "imports_of_packages": partial(run, [sys.executable, "-c", "import apsw, click, numpy"], tree, environment),
        "token_table": partial(
            run, [sys.executable, "-c", "from rs_bpe.bpe import openai; openai.o200k_base()"], tree, environment
        ),
    }
    return {
        "context": summary(context),
        "context_code": summary(code),
        **{name: summary(laps(action, rounds)) for name, action in parts.items()},
        "imports": import_profile(tree, environment, rounds),
    }


def import_profile(tree: Path, environment: dict[str, str], rounds: int) -> dict[str, Any]:
    """The modules that take longest to import during a question: the smallest time of several runs each."""
    own: dict[str, int] = {}
    total: dict[str, int] = {}
    command = [sys.executable, "-X", "importtime", "-m", "satchel", "context", SHORT_QUESTIONS[0]]
    for _ in range(rounds):
        done = subprocess.run(command, cwd=tree, env=environment, check=True, capture_output=True, text=True)
        for self_us, cumulative_us, name in re.findall(r"^import time: +(\d+) \| +(\d+) \| +(\S+)$", done.stderr, re.M):
            own[name] = min(own.get(name, sys.maxsize), int(self_us))
            total[name] = min(total.get(name, sys.maxsize), int(cumulative_us))
    largest = sorted(own, key=lambda name: (-own[name], name))[:PROFILE_ROWS]
    rows = [{"module": name, "self_us": own[name], "cumulative_us": total[name]} for name in largest]
    return {"modules": len(own), "self_ms": round(sum(own.values()) / 1000, 1), "largest": rows}


IDLE = """
import gc, sys
from satchel import Satchel
with Satchel.open(".") as opened:
    opened.assemble(sys.argv[1], purpose="find")
    gc.collect()
    print(open("/proc/self/status").read())
"""


def memory(trees: Sequence[Path], folder: Path, homes: Homes) -> dict[str, Any]:
    """Peak of all processes while a large tree is indexed, and what one process keeps after a question about it."""
    large = folder / "large"
    copied = copy_files(trees, large)
    environment = homes.new()
    command = [*SATCHEL, "index", "--quiet", "--root", str(large)]
    with subprocess.Popen(command, cwd=large, env=environment) as process, PeakMemory(process.pid) as peak:
        returned = process.wait()
    if returned:
        raise RuntimeError(f"indexing {copied} files ended with {returned}")
    status = run([sys.executable, "-c", IDLE, SHORT_QUESTIONS[0]], large, environment).decode()
    found = dict(re.findall(r"^(Vm\w+):\s+(\d+) kB$", status, re.M))
    return {
        "files": copied,
        "peak_total_mb": round(peak.total / 1e6, 1),
        "peak_largest_process_mb": round(peak.largest / 1e6, 1),
        "processes": peak.processes,
        "idle_mb": round(int(found["VmRSS"]) * 1024 / 1e6, 1),
        "idle_peak_mb": round(int(found["VmHWM"]) * 1024 / 1e6, 1),
    }


def copy_files(trees: Sequence[Path], target: Path) -> int:
    """Copy tracked files of the trees in turn until there are enough; returns how many there are."""
    count = 0
    for tree, name in _tracked(trees):
        source, copy = tree / name, target / tree.name / name
        if not source.is_file() or source.is_symlink():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(source.read_bytes())
        count += 1
        if count == MEMORY_FILES:
            break
    return count


def _tracked(trees: Sequence[Path]) -> Iterator[tuple[Path, str]]:
    for tree in trees:
        names = subprocess.run(["git", "-C", str(tree), "ls-files", "-z"], check=True, capture_output=True).stdout
        for name in names.decode("utf-8", "surrogateescape").split("\0"):
            if name:
                yield tree, name


def look_up(result: dict[str, Any], path: str) -> float | None:
    """A figure of the result by its dotted place; None where it was not measured."""
    value: Any = result
    for name in path.split("."):
        if name not in value:
            return None
        value = value[name]
    return float(value)


def judged(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Every target with what was measured by both clocks; it is met or missed by the processor's, which load spares."""
    rows = []
    for name, place, limit in TARGETS:
        figures = {clock: look_up(result, place.format(**names)) for clock, names in CLOCKS.items()}
        value = figures["processor"]
        met = None if value is None else value >= limit if "{ratio}" in place else value <= limit
        rows.append({"name": name, "target": limit, "is_time": "{" in place, **figures, "met": met})
    return rows


def page(result: dict[str, Any]) -> str:
    """The table of the targets as Markdown."""
    machine = result["machine"]
    origin = (
        f"Written by `benchmarks/speed.py` from `speed.json`: {result['tree']['name']} "
        f"({result['tree']['tracked_files']} tracked files), {machine['cores']} cores, Python {machine['python']}, "
        f"load average {machine['load_before']:.1f} before and {machine['load_after']:.1f} after."
    )
    lines = [
        "# Speed",
        "",
        origin,
        "Other work on the machine lengthens the wall clock, so a time is compared with its target in processor time,",
        "which counts all processes of an action. Memory has one figure.",
        "",
        "| figure | target | wall clock | processor | met |",
        "|---|---|---|---|---|",
    ]
    for row in result["targets"]:
        sign = "≥" if row["name"].startswith("ContextSmith") else "≤"
        wall, processor = ("not measured" if row[clock] is None else f"{row[clock]:g}" for clock in CLOCKS)
        met = {None: "", True: "yes", False: "no"}[row["met"]]
        shown = f"{wall} | {processor}" if row["is_time"] else f"{wall} |"
        lines.append(f"| {row['name']} | {sign} {row['target']:g} | {shown} | {met} |")
    return "\n".join(lines) + "\n"


def measure(tree: Path, also: Sequence[Path], rounds: int) -> dict[str, Any]:
    """All figures of one tree."""
    before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="satchel-speed-") as name:
        folder = Path(name)
        homes = Homes(folder / "homes")
        work = cloned(tree, folder / "trees")
        head = run(["git", "rev-parse", "HEAD"], work, fresh_home(folder)).decode().strip()
        listed = run(["git", "ls-files"], work, fresh_home(folder)).decode().splitlines()
        result: dict[str, Any] = {
            "tree": {"name": tree.name, "commit": head, "tracked_files": len(listed)},
            "date": datetime.now(UTC).strftime("%Y-%m-%d"),
            "satchel": satchel.__version__,
            "first_index": first_index(work, homes, rounds),
        }
        environment = homes.new()
        with Satchel.open(work, environ=environment) as opened:
            opened.index()
            result["unchanged"] = unchanged(opened, work, environment, rounds)
            result["changed_file"] = changed_file(opened, work)
            result["question"] = asked_in_process(opened, questions(tree))
        result["process"] = whole_process(work, environment, rounds)
        result["memory"] = memory([work, *also], folder, homes)
    result["machine"] = {
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "load_before": round(before, 1),
        "load_after": round(os.getloadavg()[0], 1),
    }
    return result | {"targets": judged(result)}


def main() -> int:
    """Measure and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", type=Path, help="a git work tree")
    parser.add_argument("--also", type=Path, nargs="*", default=[], help=f"more trees, until {MEMORY_FILES:,} files")
    parser.add_argument("--rounds", type=int, default=5, help="runs of everything that takes long")
    parser.add_argument("--out", type=Path, help="where to store the JSON; the page lies beside it")
    options = parser.parse_args()
    result = measure(options.tree.resolve(), [tree.resolve() for tree in options.also], options.rounds)
    text = json.dumps(result, indent=1, ensure_ascii=False) + "\n"
    if options.out:
        options.out.write_text(text, encoding="utf-8")
        options.out.with_suffix(".md").write_text(page(result), encoding="utf-8")
    print(page(result) if options.out else text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
