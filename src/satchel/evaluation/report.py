"""The report of an evaluation as values, shared by the table of the command and the JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from operator import attrgetter
from typing import Any

from satchel import __version__
from satchel.evaluation.fixes import Estimate, Fix, estimate
from satchel.evaluation.run import EvaluationResult, FixAnswer

RANKS = (1, 5, 10)
"""`hit@k`: a changed file is among the first k files of the context."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One row: its name, its meaning, and its value over all fixes."""

    name: str
    meaning: str
    value: Estimate


def measures(answers: Sequence[FixAnswer], max_tokens: int) -> list[Measure]:
    """Return the rows of the table, none where nothing was measured."""
    if not answers:
        return []
    meanings = {rank: f"fixes with a changed file among the first {rank}" for rank in RANKS}
    meanings[1] = "fixes whose first file is a changed one"
    rows = [(f"hit@{most}", meanings[most], _within(answers, "rank", most)) for most in RANKS]
    rows.append(("bm25 hit@5", "the same by BM25 over whole files", _within(answers, "bm25_rank", 5)))
    rows.append(("grep hit@5", "the same by grep for the rarest word", _within(answers, "grep_rank", 5)))
    files = [answer.file_share for answer in answers]
    spans = [answer.span_share for answer in answers]
    return [
        *(Measure(name, meaning, estimate(values)) for name, meaning, values in rows),
        Measure(f"file@{max_tokens}", "changed files with a changed line shown", estimate(files)),
        Measure(f"span@{max_tokens}", "changed places shown", estimate(spans)),
        Measure("budget used", "tokens of the budget", estimate([answer.used for answer in answers])),
    ]


def _within(answers: Sequence[FixAnswer], name: str, most: int) -> list[bool]:
    return [0 < rank <= most for rank in map(attrgetter(name), answers)]


def paired(first: Sequence[FixAnswer], second: Sequence[FixAnswer]) -> list[tuple[FixAnswer, FixAnswer]]:
    """Return the answers of two runs to the same questions, where as many right files are in the index of both."""
    before = {(answer.sha, answer.gold_files): answer for answer in first}
    return [(before[key], after) for after in second if (key := (after.sha, after.gold_files)) in before]


def report_data(outcome: EvaluationResult) -> dict[str, Any]:
    """Return everything as plain JSON values; the messages are cleaned, and the lines of the fixes only counted."""
    return {
        "usable": len(outcome.answers),
        "commits": outcome.mined.commits,
        "left_out": dict(outcome.mined.left_out.most_common()),
        "asked": outcome.asked,
        "stopped": outcome.is_stopped,
        "max_tokens": outcome.max_tokens,
        "named": named_share(outcome.fixes),
        "measures": {row.name: asdict(row.value) for row in measures(outcome.answers, outcome.max_tokens)},
        "fixes": [_fix_data(fix, answer) for fix, answer in zip(outcome.fixes, outcome.answers, strict=True)],
        "meta": {"version": __version__},
    }


def named_share(fixes: Sequence[Fix]) -> float:
    """Return the share of messages that name a changed file: their questions are easier than those of people."""
    return sum(fix.names_a_file for fix in fixes) / len(fixes) if fixes else 0.0


def _fix_data(fix: Fix, answer: FixAnswer) -> dict[str, Any]:
    return {
        "commit": fix.sha,
        "date": day(fix.time),
        "subject": fix.subject,
        "files": answer.gold_files,
        "rank": answer.rank or None,
        "file_share": round(answer.file_share, 4),
        "span_share": round(answer.span_share, 4),
        "bm25_rank": answer.bm25_rank or None,
        "grep_rank": answer.grep_rank or None,
        "needed": answer.needed,
    }


def day(seconds: float) -> str:
    """Return the date of a time in seconds (UTC)."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def left_out_text(left_out: Mapping[str, int]) -> str:
    """Return a text such as `merge 120, no fix 40`, the most frequent first."""
    rows = sorted(left_out.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{reason} {count:,}" for reason, count in rows)
