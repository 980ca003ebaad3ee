"""Means with 95 % intervals by group, as a table and as JSON, and the paired comparison of two systems."""

from __future__ import annotations

import json
import math
import re
import statistics
from collections.abc import Iterable
from typing import Any

Row = dict[str, Any]

SHARES = ("file", "span", "fn", "hit", "r5", "acc5", "precision")
"""Measures that count 0 for an answer that failed; higher is better."""
COSTS = ("fill", "over", "framing", "seen", "lines", "files")
"""Measures of the answers that did not fail."""
NORMAL_95 = 1.96
GROUPED_BY = ("lang", "source", "repo", "path_in_query")
COLUMNS = ("file", "span", "fn", "hit", "r5", "acc5", "precision", "fill", "over", "framing", "seen")


def interval(values: list[float]) -> dict[str, float]:
    """Mean, half-width of the 95 % interval (normal approximation) and number of values."""
    spread = statistics.stdev(values) if len(values) > 1 else 0.0
    half = NORMAL_95 * spread / math.sqrt(len(values))
    return {"mean": round(statistics.fmean(values), 4), "ci95": round(half, 4), "n": len(values)}


def values_of(rows: Iterable[Row], name: str) -> list[float]:
    """The values of one measure; a failed answer counts 0 in a share and is absent from a cost."""
    values = []
    for row in rows:
        value = row.get(name)
        if value is not None and not row.get("failure"):
            values.append(float(value))
        elif value is not None and name in SHARES:
            values.append(0.0)
    return values


def seconds(rows: Iterable[Row], name: str) -> dict[str, float]:
    """Median and 95th percentile of a time, wall clock, process start included."""
    times = sorted(row[name] for row in rows if name in row)
    if not times:
        return {}
    late = times[min(int(len(times) * 0.95), len(times) - 1)]
    return {"p50": round(statistics.median(times), 3), "p95": round(late, 3)}


def summarise(rows: list[Row]) -> dict[str, Any]:
    """Every measure of one group of rows."""
    measures = {name: interval(found) for name in SHARES + COSTS if (found := values_of(rows, name))}
    return {
        "n": len(rows),
        "failed": sum(bool(row.get("failure")) for row in rows),
        **measures,
        "index_s": seconds(rows, "index_s"),
        "ask_s": seconds(rows, "ask_s"),
    }


def groups(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows of `all`, then by language, source, repository and whether the question names a gold path."""
    found: dict[str, list[Row]] = {"all": rows}
    for key in GROUPED_BY:
        for row in sorted(rows, key=lambda item: str(item[key])):
            found.setdefault(f"{key} {str(row[key]).lower() if key == 'path_in_query' else row[key]}", []).append(row)
    return found


def by_system(rows: list[Row]) -> dict[str, list[Row]]:
    """Rows of each system, in order of first appearance."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row["system"], []).append(row)
    return found


def summary(rows: list[Row], **about: Any) -> dict[str, Any]:
    """The stored result: `about` (data, budget, selection) and each system's groups."""
    systems = {
        name: {group: summarise(members) for group, members in groups(found).items()}
        for name, found in by_system(rows).items()
    }
    return {"about": about, "systems": systems}


def summary_text(result: dict[str, Any]) -> str:
    """The summary as JSON with each interval on one line."""
    text = json.dumps(result, indent=1)
    return (
        re.sub(r"\{\s+(\"(?:mean|p50)\"[^}]*?)\s+\}", lambda found: "{" + " ".join(found[1].split()) + "}", text) + "\n"
    )


def _cell(value: dict[str, float] | None) -> str:
    return f"{value['mean']:7.3f}" if value else "      -"


def table(rows: list[Row], *, all_groups: bool = True) -> str:
    """One line a system and group; `fn` is over the instances whose gold functions could be located."""
    head = f"{'system':24s} {'group':34s} {'n':>4s} {'fail':>4s} "
    lines = [head + " ".join(f"{name[:7]:>7s}" for name in COLUMNS) + "  ±file  index_p50  ask_p50  ask_p95"]
    for name, found in by_system(rows).items():
        for group, members in groups(found).items():
            if group != "all" and not all_groups:
                break
            result = summarise(members)
            cells = " ".join(_cell(result.get(column)) for column in COLUMNS)
            index, ask = result["index_s"].get("p50", 0), result["ask_s"]
            lines.append(
                f"{name:24s} {group[:34]:34s} {result['n']:4d} {result['failed']:4d} {cells}"
                f" {result['file']['ci95']:6.3f} {index:9.2f}s {ask.get('p50', 0):7.2f}s {ask.get('p95', 0):7.2f}s"
            )
    return "\n".join(lines)


def compare(first: list[Row], second: list[Row]) -> dict[str, Any]:
    """Paired mean difference (first - second) with its 95 % interval, over the instances that both answered."""
    left, right = ({row["id"]: row for row in rows} for rows in (first, second))
    shared = sorted(left.keys() & right.keys())
    result: dict[str, Any] = {"n": len(shared)}
    for name in SHARES:
        pairs = [(values_of([left[key]], name), values_of([right[key]], name)) for key in shared]
        differences = [a[0] - b[0] for a, b in pairs if a and b]
        if differences:
            wins = sum(value > 0 for value in differences)
            losses = sum(value < 0 for value in differences)
            result[name] = interval(differences) | {"better": wins, "worse": losses}
    return result
