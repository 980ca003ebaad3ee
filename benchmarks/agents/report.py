"""What an answer is worth, its means over cases, and paired differences between arms with 90 % intervals."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .cases import SATCHEL, Target
from .reading import Named, Reading, Shown

BUDGETS = (500, 1_000, 2_000, 4_000)
"""Tokens from the beginning of the text."""

NAMED_LINES = 150
"""Longest range that counts as named: an agent opens it in one look; `1-900 vectors.py` says no more than the file."""

DRAWS = 1_000
SEED = 7
WEAK_MARKS = ("Weak match", "Not found here")

Row = dict[str, Any]


def judge(reading: Reading, targets: Sequence[Target], max_tokens: int, text: str = "") -> Row:
    """Return the measures of one answer.

    `first` and `first_reached` are the tokens that are read until the first deciding line is shown, or is shown or
    named; None if it never is. `cost` is `first`, or `max_tokens` where nothing is shown. `shown@N` and `reached@N` are
    the shares of the targets after N tokens, `file1` says if the first file is that of a target. Without targets, for
    a question about something that is not there, only `tokens` counts, and whether the text says so (`told`).
    """
    row: Row = {"tokens": reading.tokens}
    if not targets:
        return row | {"told": float(any(mark in text for mark in WEAK_MARKS))}
    shown = [_first_shown(target, reading.shown) for target in targets]
    named = [_first_named(target, reading.named) for target in targets]
    reached = [min(pair) for pair in zip(shown, named, strict=True)]
    for name, moments in (("shown", shown), ("reached", reached)):
        for budget in BUDGETS:
            row[f"{name}@{budget}"] = sum(moment <= budget for moment in moments) / len(targets)
    first, first_reached = min(shown), min(reached)
    return row | {
        "first": _finite(first),
        "first_reached": _finite(first_reached),
        "cost": min(first, max_tokens),
        "cost_reached": min(first_reached, max_tokens),
        "file1": float(reading.paths[:1] != [] and reading.paths[0] in {target.path for target in targets}),
    }


def _finite(tokens: float) -> float | None:
    return None if math.isinf(tokens) else tokens


def _first_shown(target: Target, shown: Iterable[Shown]) -> float:
    """Tokens until a line of the target is shown, infinite if none is."""
    wanted = {number for first, last in target.ranges for number in range(first, last + 1)}
    return min((one.tokens for one in shown if one.path == target.path and one.number in wanted), default=math.inf)


def _first_named(target: Target, named: Iterable[Named]) -> float:
    """Tokens until a short range with a line of the target is named, infinite if none is."""
    places = [one for one in named if one.path == target.path and one.last - one.first < NAMED_LINES]
    return min(
        (one.tokens for one in places if any(a <= one.last and one.first <= b for a, b in target.ranges)),
        default=math.inf,
    )


SHARES = (*(f"{name}@{budget}" for name in ("shown", "reached") for budget in BUDGETS), "file1", "told")
COMPARED = ("cost", "cost_reached", *SHARES, "tokens")


def groups(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The rows of each kind, of each group of a kind, and of the cases with likely names."""
    every: dict[str, list[Row]] = {}
    for row in rows:
        every.setdefault(row["kind"], []).append(row)
        if row["kind"] != "tasks":
            every.setdefault(f"{row['kind']}: {row['group']}", []).append(row)
        if row["has_names"] and row["repo"] != SATCHEL:
            every.setdefault(f"{row['kind']}, those with names", []).append(row)
    return dict(sorted(every.items()))


def summary(rows: Sequence[Row]) -> Row:
    """The measures of one arm in one group; an answer that failed reaches nothing and counts no tokens."""
    answered = [row for row in rows if not row["failure"]]
    result: Row = {"n": len(rows), "failed": len(rows) - len(answered)}
    firsts = [row["first"] if row["first"] is not None else math.inf for row in rows if "first" in row]
    if firsts:
        result["first_p50"] = _finite(statistics.median_low(firsts))
    for name in ("cost", "cost_reached"):
        result |= _mean(rows, name, 0)
    for name in SHARES:
        result |= _mean(rows, name, 3)
    if answered:
        result["tokens_p50"] = statistics.median_low([row["tokens"] for row in answered])
    return result


def _mean(rows: Sequence[Row], name: str, digits: int) -> Row:
    values = [row[name] for row in rows if name in row]
    return {name: round(statistics.fmean(values), digits)} if values else {}


def differences(rows: Sequence[Row], base: str, other: str) -> Row:
    """`other` minus `base` for the cases that both answered: mean and 90 % interval of every measure.

    The bootstrap is paired and in two stages: repositories are drawn, then the cases of each; of a single repository
    only cases. The same rows give the same interval.
    """
    pairs: dict[str, dict[str, Row]] = {}
    for row in rows:
        if row["arm"] in {base, other} and not row["failure"]:
            pairs.setdefault(row["id"], {})[row["arm"]] = row
    both = [pair for _, pair in sorted(pairs.items()) if len(pair) == len({base, other})]
    names = [name for name in COMPARED if any(name in pair[base] for pair in both)]
    table = [[pair[other].get(name, math.nan) - pair[base].get(name, math.nan) for name in names] for pair in both]
    intervals = bootstrap(table, [pair[base]["repo"] for pair in both])
    return {"n": len(both), **dict(zip(names, intervals, strict=True))}


def bootstrap(table: Sequence[Sequence[float]], repos: Sequence[str]) -> list[list[float]]:
    """For each column the mean and the ends of its 90 % interval, over repositories and their cases.

    A case without a value (NaN) counts in its other columns.
    """
    if not table:
        return []
    values = np.asarray(table)
    ends = np.nanquantile(drawn_means(values, repos), (0.05, 0.95), axis=0)
    return [[round(float(number), 4) for number in row] for row in np.vstack([np.nanmean(values, axis=0), ends]).T]


def drawn_means(values: np.ndarray, repos: Sequence[str]) -> np.ndarray:
    """The mean of each column in each of `DRAWS` samples of repositories and their cases, a row a sample."""
    places = [np.flatnonzero(np.asarray(repos) == repo) for repo in sorted(set(repos))]
    draw = np.random.default_rng(SEED)
    means = np.full((DRAWS, values.shape[1]), math.nan)
    for index in range(DRAWS):
        some = draw.integers(len(places), size=len(places)) if len(places) > 1 else (0,)
        drawn = values[np.concatenate([draw.choice(places[one], places[one].size) for one in some])]
        counts = (~np.isnan(drawn)).sum(axis=0)
        means[index] = np.nansum(drawn, axis=0) / np.where(counts, counts, math.nan)
    return means


def tables(result: Mapping[str, Any], *, every: bool = True) -> str:
    """The result as two Markdown tables: the measures of each arm, and the differences from the first one.

    Without `every` the groups inside of a kind are left out.
    """
    result = {
        part: {group: cells for group, cells in result.get(part, {}).items() if every or ":" not in group}
        for part in ("groups", "differences")
    }
    names = ("first_p50", "cost", *SHARES, "tokens_p50")
    lines = ["| group | arm | n | " + " | ".join(names) + " |", "|---" * (len(names) + 3) + "|"]
    lines += _rows(result["groups"], lambda cell: [str(cell["n"]), *(_number(cell, name) for name in names)])
    if result["differences"]:
        lines += ["", "| group | difference | n | " + " | ".join(COMPARED) + " |", "|---" * (len(COMPARED) + 3) + "|"]
        lines += _rows(result["differences"], lambda cell: [str(cell["n"]), *(_range(cell, name) for name in COMPARED)])
    return "\n".join(lines)


def _rows(cells: Mapping[str, Mapping[str, Row]], written: Callable[[Row], list[str]]) -> list[str]:
    return [
        f"| {group} | {name} | " + " | ".join(written(cell)) + " |"
        for group, named in cells.items()
        for name, cell in named.items()
    ]


def _number(cell: Row, name: str) -> str:
    value = cell.get(name)
    if value is None:
        return "never" if name == "first_p50" and name in cell else ""
    return f"{value:.3f}".replace("0.", ".", 1) if name in SHARES else f"{value:,.0f}"


def _range(cell: Row, name: str) -> str:
    if name not in cell:
        return ""
    form = "+.3f" if name in SHARES else "+,.0f"
    mean, low, high = (format(value, form) for value in cell[name])
    return f"{mean} [{low}, {high}]"
