"""How processor time and memory of one question grow with its token budget.

    python benchmarks/budgets.py TREE... [--before SRC] [--runs N] [--out benchmarks/results/budgets.json]

Each question is asked in a process of its own with an engine that is warm (index up to date and not checked again, one
question asked before): the median of its processor time over N runs, and the peak memory of the process. The answer
either spends the budget (`fill`, with no bound on the number of items) or ends where value ends (`default`). `--before`
names the `src` folder of an older version, which is asked once per budget up to 32,000 tokens, with a time limit.
`--explain` is measured through the command. The trees are only read.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from stopwatch import base_home, fresh_home, laps, run
from two_versions import provider_of

BUDGETS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 50_000, 100_000)
BEFORE_BUDGETS = BUDGETS[:6]
EVERY_ITEM = 1_000
"""Items per answer: with the default of 20, budgets above 10,000 tokens would not be spent."""

LIMIT_SECONDS = 60
"""A question that takes longer is stopped, and larger budgets are not tried."""

EXPLAINED_TOKENS = 4_000
QUESTIONS = (
    "how is the session cookie signed",
    "how does the router match a path with wildcard",
    "where are errors of a handler turned into a response",
    "which middleware or hook runs before a request",
)
MODES: Mapping[str, Mapping[str, Any]] = {"fill": {"fill": True, "limit": EVERY_ITEM}, "default": {"purpose": "find"}}
BEFORE: Mapping[str, Any] = {"limit": EVERY_ITEM}
"""The version before filled the budget always."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One question at one budget: median seconds of both clocks, peak memory of the process, tokens of the answer."""

    cpu_s: float
    wall_s: float
    peak_mb: float
    tokens: int


def ask(tree: str, question: str, options: Mapping[str, Any], runs: int) -> Asked:
    """Ask a question in this process, whose engine is warm. Uses only what the older version has as well."""
    from satchel import Satchel

    with Satchel.open(tree) as opened:
        opened.index()
        opened.assemble(question, refresh=False, max_tokens=BUDGETS[0])
        used: list[int] = []
        measured = laps(lambda: used.append(opened.assemble(question, refresh=False, **options).usage.used), runs)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    processor, wall = statistics.median(one.cpu for one in measured), statistics.median(one.wall for one in measured)
    return Asked(round(processor, 4), round(wall, 4), round(peak, 1), used[0])


def asked_apart(
    tree: Path, question: str, options: Mapping[str, Any], runs: int, environment: Mapping[str, str]
) -> Asked | None:
    """Ask a question in a process of its own; None where it takes longer than the limit."""
    command = [sys.executable, __file__, "--ask", json.dumps([str(tree), question, options, runs])]
    try:
        done = subprocess.run(
            command, env=environment, check=True, stdout=subprocess.PIPE, timeout=LIMIT_SECONDS * runs
        )
    except subprocess.TimeoutExpired:
        return None
    return Asked(**json.loads(done.stdout))


def grown(
    tree: Path, budgets: Sequence[int], options: Mapping[str, Any], runs: int, environment: Mapping[str, str]
) -> dict[str, Any]:
    """All questions at all budgets, up to the first budget at which one takes too long, and how the time grows."""
    run(
        [sys.executable, "-m", "satchel", "index", "--quiet"], tree, environment
    )  # its memory is not that of a question
    rows: list[dict[str, Any]] = []
    stopped = None
    for budget in budgets:
        every = []
        for question in QUESTIONS:
            answer = asked_apart(tree, question, {**options, "max_tokens": budget}, runs, environment)
            if answer is None:
                stopped = budget
                break
            every.append(answer)
        if stopped is not None:
            break
        rows.append(row(budget, every))
        print(f"{tree.name} {budget:>7,} tokens: {rows[-1]['cpu_s']} s", file=sys.stderr)
    times = [(one["budget"], one["cpu_s"]) for one in rows]
    return {"rows": rows, "exponent": exponent(times), "too_long_from": stopped}


def row(budget: int, every: Sequence[Asked]) -> dict[str, Any]:
    """The medians of all questions at one budget, and the slowest and the largest."""
    return {
        "budget": budget,
        "cpu_s": round(statistics.median(one.cpu_s for one in every), 4),
        "wall_s": round(statistics.median(one.wall_s for one in every), 4),
        "slowest_cpu_s": max(one.cpu_s for one in every),
        "peak_mb": max(one.peak_mb for one in every),
        "tokens": round(statistics.median(one.tokens for one in every)),
        "questions": [asdict(one) for one in every],
    }


def exponent(times: Sequence[tuple[int, float]]) -> float | None:
    """The slope of log time over log budget, fitted by least squares: 1 is linear. None for fewer than two budgets."""
    if len(times) < 2:
        return None
    logs = [(math.log(budget), math.log(max(seconds, 1e-6))) for budget, seconds in times]
    return round(statistics.linear_regression(*zip(*logs, strict=True)).slope, 3)


def explained(tree: Path, runs: int, environment: Mapping[str, str]) -> dict[str, float]:
    """Processor seconds of the whole command, plain and with `--explain`, and their ratio."""
    seconds: dict[str, float] = {}
    for name, extra in (("plain", ()), ("explain", ("--explain",))):
        measured = []
        for question in QUESTIONS:
            command = [sys.executable, "-m", "satchel", "context", question, *extra]
            command += ["--max-tokens", str(EXPLAINED_TOKENS)]
            quiet = ["sh", "-c", 'exec "$@" 2>/dev/null', "sh", *command]
            measured += [one.cpu for one in laps(partial(run, quiet, tree, environment), runs)]
        seconds[name] = round(statistics.median(measured), 4)
    return {**seconds, "ratio": round(seconds["explain"] / seconds["plain"], 3)}


def measured_tree(tree: Path, runs: int, before: Path | None, homes: Path) -> dict[str, Any]:
    """Everything about one repository."""
    environment = base_home(homes / "now" / tree.name)
    result: dict[str, Any] = {name: grown(tree, BUDGETS, options, runs, environment) for name, options in MODES.items()}
    result["explain"] = explained(tree, runs, environment)
    if before is not None:
        variables = {"PYTHONPATH": str(before), "SATCHEL_EMBED_PROVIDER": provider_of(before)}
        old = fresh_home(homes / "before" / tree.name) | variables
        result["before"] = grown(tree, BEFORE_BUDGETS, BEFORE, 1, old)
    return result


def table(trees: Mapping[str, Mapping[str, Any]]) -> str:
    """A line per repository and budget: seconds of each mode, tokens and memory of the answers that fill it."""
    lines = [f"{'tree':8} {'budget':>8} {'fill s':>8} {'default s':>9} {'before s':>9} {'tokens':>8} {'MB':>6}"]
    for name, result in trees.items():
        other = {mode: {one["budget"]: one["cpu_s"] for one in result.get(mode, {}).get("rows", ())} for mode in result}
        for one in result["fill"]["rows"]:
            budget = one["budget"]
            default, before = (other.get(mode, {}).get(budget, "") for mode in ("default", "before"))
            times = f"{one['cpu_s']:>8} {default:>9} {before:>9}"
            lines.append(f"{name:8} {budget:>8,} {times} {one['tokens']:>8,} {one['peak_mb']:>6}")
        exponents = {mode: result[mode]["exponent"] for mode in ("fill", "default", "before") if mode in result}
        lines.append(f"{name:8} exponents {exponents}; explain / plain {result['explain']['ratio']}")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, and write the result."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs="*", type=Path, metavar="TREE")
    parser.add_argument("--before", type=Path, metavar="SRC")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--ask", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.ask:
        print(json.dumps(asdict(ask(*json.loads(chosen.ask)))))
        return
    with tempfile.TemporaryDirectory() as homes:
        before = chosen.before.resolve() if chosen.before else None
        trees = {tree.name: measured_tree(tree.resolve(), chosen.runs, before, Path(homes)) for tree in chosen.trees}
    print(table(trees))
    if chosen.out:
        result = {
            "measured": datetime.now(UTC).date().isoformat(),
            "cores": os.cpu_count(),
            "questions": QUESTIONS,
            "runs": chosen.runs,
            "limit_s": LIMIT_SECONDS,
            "trees": trees,
        }
        chosen.out.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
