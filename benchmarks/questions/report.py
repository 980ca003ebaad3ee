"""Rows of judged answers as one JSON summary and as Markdown tables."""

from __future__ import annotations

import json
import re
import statistics
from collections.abc import Iterable
from typing import Any

from localization.report import by_system

from .dataset import KINDS

Row = dict[str, Any]

ABSENT = "absent"
FOREIGN = "foreign"
"""Questions asked in the wrong repository; their ids begin so. They are a group apart from the other absent ones."""
DIGITS = 4


def _mean(values: Iterable[float | None]) -> float | None:
    numbers = [value for value in values if value is not None]
    return round(statistics.fmean(numbers), DIGITS) if numbers else None


def _share(row: Row) -> float:
    return row["shown"] / row["deciding"] if row["deciding"] else 0.0


def summarise(rows: list[Row]) -> dict[str, Any]:
    """The measures of one group; a failed answer shows nothing and counts in every share.

    `lines` share of all deciding lines shown, `mean` the mean of that share over questions, `complete` share of the
    questions with all of them, `relevant` mean share of the shown tokens in files that matter, each over the questions
    that have an answer; `used` median tokens, `filled` mean share of the budget used, `named` mean share of the absent
    words that are called not found.
    """
    decided = [row for row in rows if row["deciding"]]
    lines = sum(row["deciding"] for row in decided)
    return {
        "n": len(rows),
        "failed": sum(bool(row["failure"]) for row in rows),
        "over": sum(row["over"] for row in rows),
        "lines": round(sum(row["shown"] for row in decided) / lines, DIGITS) if lines else None,
        "mean": _mean(map(_share, decided)),
        "complete": _mean(float(row["shown"] == row["deciding"]) for row in decided),
        "relevant": _mean(row["relevant"] for row in decided),
        "used": int(statistics.median(row["used"] for row in rows)),
        "filled": _mean(row["used"] / row["budget"] for row in rows),
        "named": _mean(row["named"] for row in rows),
    }


def _kind(row: Row) -> str:
    return FOREIGN if row["question"].startswith(FOREIGN) else str(row["kind"])


def groups(rows: list[Row]) -> dict[str, list[Row]]:
    """The questions that have an answer, then each kind, then each repository; absent ones only count in their kind."""
    answerable = [row for row in rows if row["kind"] != ABSENT]
    grouped = {"all": answerable}
    grouped |= {kind: [row for row in rows if _kind(row) == kind] for kind in (*KINDS, FOREIGN)}
    for repo in sorted({row["repo"] for row in rows}):
        grouped[repo] = [row for row in answerable if row["repo"] == repo]
    return {name: members for name, members in grouped.items() if members}


def _by_budget(rows: list[Row]) -> dict[int, list[Row]]:
    return {budget: [row for row in rows if row["budget"] == budget] for budget in sorted({r["budget"] for r in rows})}


def summary(rows: list[Row], **about: Any) -> dict[str, Any]:
    """`about`, the groups of every system and budget, and how many deciding lines each question shows."""
    systems = {
        name: {
            str(budget): {group: summarise(members) for group, members in groups(asked).items()}
            for budget, asked in _by_budget(members_of_system).items()
        }
        for name, members_of_system in by_system(rows).items()
    }
    questions: dict[str, dict[str, dict[str, str]]] = {}
    for row in sorted(rows, key=lambda row: (row["question"], row["system"], row["budget"])):
        if row["deciding"]:
            shown = questions.setdefault(row["question"], {}).setdefault(row["system"], {})
            shown[str(row["budget"])] = f"{row['shown']}/{row['deciding']}"
    return {"about": about, "systems": systems, "questions": questions}


def summary_text(result: dict[str, Any]) -> str:
    """The summary as JSON in which each innermost object is one line."""
    text = json.dumps(result, indent=1)
    return re.sub(r"\{[^{}]*\}", lambda match: " ".join(match[0].split()), text) + "\n"


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}".lstrip("0") if 0 <= value < 1 else f"{value:.2f}"


def tables(result: dict[str, Any]) -> str:
    """Two Markdown tables: the measures of each system and budget, and `mean` by kind."""
    kinds = [kind for kind in KINDS if kind != ABSENT]
    shares = "lines | mean | complete | relevant | used | absent: named | filled | foreign: named | filled | failed"
    first = [f"| system | budget | {shares} |", "|" + "---|" * 12]
    second = ["| system | budget | " + " | ".join(kinds) + " |", "|" + "---|" * (len(kinds) + 2)]
    for system, budgets in result["systems"].items():
        for budget, measured in budgets.items():
            every, absent, foreign = (measured.get(name, {}) for name in ("all", ABSENT, FOREIGN))
            failed = sum(group.get("failed", 0) for group in (every, absent, foreign))
            cells = [_cell(every.get(name)) for name in ("lines", "mean", "complete", "relevant")]
            cells += [str(every.get("used", ""))]
            cells += [_cell(group.get(name)) for group in (absent, foreign) for name in ("named", "filled")]
            cells += [str(failed)]
            first.append(f"| {system} | {budget} | " + " | ".join(cells) + " |")
            by_kind = [_cell(measured.get(kind, {}).get("mean")) for kind in kinds]
            second.append(f"| {system} | {budget} | " + " | ".join(by_kind) + " |")
    return "\n".join([*first, "", "Mean share of the deciding lines, by kind of question:", "", *second]) + "\n"
