"""Paired differences of two versions: means, 95 % intervals of a bootstrap, and how many cases are better and worse."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from agents.report import drawn_means

from .versions import BASE, NOW

Row = dict[str, Any]

ENDS = (0.025, 0.975)
FEWEST_REPOSITORIES = 8
"""With fewer repositories or sets the bootstrap draws only cases: to draw two projects of two says nothing."""

DIGITS = 4
LOWER_IS_BETTER = ("tokens", "neutral", "shown as one", "what is not there", "another", "small talk", "about ")
"""Parts of the names of figures that are costs: what is read, and answers where there should be none."""

F1_COUNTS = 3
"""A value of an F1 is three counts of a case: true positive, false positive, false negative."""


def is_cost(figure: str) -> bool:
    """Whether a smaller value is better."""
    return any(part in figure for part in LOWER_IS_BETTER) and not figure.startswith("lines, ")


def compared(cases: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, Row]]:
    """The figures of each part: `n`, `base`, `now`, `difference`, its `interval`, cases `better` and `worse`, `mark`.

    Only cases that both versions have answered count. `mark` is `better` or `worse` if 0 is outside of the interval.
    """
    pairs: dict[str, list[tuple[Row, Row]]] = defaultdict(list)
    before = {(row["part"], row["case"]): row for row in cases[BASE]}
    for row in cases[NOW]:
        if (row["part"], row["case"]) in before:
            pairs[row["part"]].append((before[row["part"], row["case"]], row))
    return {part: _part(found) for part, found in pairs.items()}


def by_repository(cases: Mapping[str, Sequence[Row]]) -> dict[str, dict[str, dict[str, Row]]]:
    """The figures of each repository or set apart, by its name."""
    repos = sorted({row["repo"] for row in cases[BASE]})
    return {
        repo: compared({name: [row for row in rows if row["repo"] == repo] for name, rows in cases.items()})
        for repo in repos
    }


def _part(pairs: Sequence[tuple[Row, Row]]) -> dict[str, Row]:
    repos = [before["repo"] for before, _ in pairs]
    if len(set(repos)) < FEWEST_REPOSITORIES:
        repos = [""] * len(pairs)
    names = dict.fromkeys(name for before, _ in pairs for name in before["figures"])
    return {name: _figure(name, [(b["figures"].get(name), n["figures"].get(name)) for b, n in pairs], repos)
            for name in names}  # fmt: skip


def _figure(name: str, values: Sequence[tuple[Any, Any]], repos: Sequence[str]) -> Row:
    """One figure from its values in each case, None where a case does not have it."""
    kept = [(*pair, repo) for pair, repo in zip(values, repos, strict=True) if None not in pair]
    columns = np.asarray([[*_counts(old), *_counts(new)] for old, new, _ in kept], dtype=float)
    places = [repo for _, _, repo in kept]
    before, after = np.split(columns, 2, axis=1)
    base, now = (_value(half.mean(axis=0, keepdims=True))[0] for half in (before, after))
    if np.array_equal(before, after):
        low = high = 0.0
    else:
        drawn = np.split(drawn_means(columns, places), 2, axis=1)
        low, high = np.nanquantile(_value(drawn[1]) - _value(drawn[0]), ENDS)
    each = [_gain(old, new) * (-1 if is_cost(name) else 1) for old, new, _ in kept]
    low, high = (round(float(end), DIGITS) for end in (low, high))
    return {
        "n": len(kept),
        "base": round(float(base), DIGITS),
        "now": round(float(now), DIGITS),
        "difference": round(float(now - base), DIGITS),
        "interval": [low, high],
        "better": sum(gain > 0 for gain in each),
        "worse": sum(gain < 0 for gain in each),
        "mark": _mark(low, high, is_cost(name)),
    }


def _counts(value: Any) -> Sequence[float]:
    return value if isinstance(value, list) else [value]


def _value(means: np.ndarray) -> np.ndarray:
    """The figure of each row of means: the mean itself, or F1 = 2 tp / (2 tp + fp + fn)."""
    if means.shape[1] != F1_COUNTS:
        return means[:, 0]
    twice = 2 * means[:, 0]
    total = twice + means[:, 1] + means[:, 2]
    return np.asarray(np.divide(twice, total, out=np.zeros_like(total), where=total > 0))


def _gain(before: Any, after: Any) -> float:
    """How much more a case counts; of an F1 a case with fewer errors counts more."""
    if isinstance(before, list):
        return float(sum(before[1:]) - sum(after[1:]))
    return float(after - before)


def _mark(low: float, high: float, cost: bool) -> str:
    if low <= 0 <= high or math.isnan(low):
        return ""
    return "better" if (low > 0) != cost else "worse"


def table(parts: Mapping[str, Mapping[str, Row]]) -> str:
    """The figures as a Markdown table; a figure whose interval excludes 0 is marked."""
    lines = ["| part | figure | n | base | now | difference | 95 % | better | worse | |", "|---" * 10 + "|"]
    for part, figures in parts.items():
        for name, row in figures.items():
            digits = 0 if "tokens" in name.replace(", 1,000 tokens", "").replace(", 4,000 tokens", "") else 3
            low, high = (_number(end, digits, "+") for end in row["interval"])
            cells = [part, name, str(row["n"]), *(_number(row[key], digits) for key in ("base", "now"))]
            cells += [
                _number(row["difference"], digits, "+"),
                f"{low} to {high}",
                str(row["better"]),
                str(row["worse"]),
            ]
            lines.append(f"| {' | '.join(cells)} | {row['mark'] and '**' + row['mark'] + '**'} |")
    return "\n".join(lines)


def _number(value: float, digits: int, sign: str = "") -> str:
    """`.812`, `+.014`, `1,204`; a difference of nothing is `0`."""
    if sign and not round(value, digits):
        return "0"
    text = f"{value:{sign},.{digits}f}"
    return text.replace("0.", ".", 1) if digits and abs(value) < 1 else text


def moved(parts: Mapping[str, Mapping[str, Row]]) -> Iterable[str]:
    """The names of the figures whose interval excludes 0."""
    return (f"{part}: {name}" for part, figures in parts.items() for name, row in figures.items() if row["mark"])
