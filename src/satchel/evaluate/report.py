"""What a run found, as values to show: the same for the table, the JSON and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any

from satchel import __version__
from satchel.evaluate.answers import Answer
from satchel.evaluate.fixes import Fix
from satchel.evaluate.run import Outcome
from satchel.evaluate.statistics import Estimate, estimate
from satchel.evaluate.tune import FEWEST_FIXES, Proposal

BUDGET_USED = "budget used"

RANKS = (1, 5, 10)
"""`hit@k`: a changed file is among the first k files of the context."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One row: its name, what it says, and its value over all fixes."""

    name: str
    meaning: str
    value: Estimate


def measures(answers: Sequence[Answer], max_tokens: int) -> list[Measure]:
    """The rows of the table, none where nothing was measured."""
    if not answers:
        return []
    rows = [Measure(f"hit@{k}", _first(k), hits_within(answers, k)) for k in RANKS]
    files = estimate([answer.file_share for answer in answers])
    spans = estimate([answer.span_share for answer in answers])
    used = estimate([answer.used for answer in answers])
    return [
        *rows,
        Measure(f"file@{max_tokens}", "changed files with a changed line shown", files),
        Measure(f"span@{max_tokens}", "changed places shown", spans),
        Measure(BUDGET_USED, "tokens of the budget", used),
    ]


def _first(rank: int) -> str:
    place = "whose first file is a changed one" if rank == 1 else f"with a changed file among the first {rank}"
    return f"fixes {place}"


def hits_within(answers: Sequence[Answer], rank: int) -> Estimate:
    """The share of fixes with a changed file among the first so many."""
    return estimate([float(0 < answer.rank <= rank) for answer in answers])


def report_data(outcome: Outcome, proposal: Proposal | None, *, is_tuned: bool) -> dict[str, Any]:
    """Everything as plain JSON values; the messages are cleaned, and the lines of the fixes only counted."""
    return {
        "usable": len(outcome.answers),
        "commits": outcome.mined.commits,
        "left_out": dict(outcome.mined.left_out.most_common()),
        "asked": outcome.asked,
        "stopped": outcome.is_stopped,
        "max_tokens": outcome.max_tokens,
        "named": named_share(outcome.fixes),
        "measures": {row.name: asdict(row.value) for row in measures(outcome.answers, outcome.max_tokens)},
        "fixes": [
            fix_data(fix, answer) for fix, answer in zip(outcome.fixes, outcome.answers, strict=True)
        ],
        **({"tuning": proposal_data(proposal)} if is_tuned else {}),
        "meta": {"version": __version__},
    }  # fmt: skip


def named_share(fixes: Sequence[Fix]) -> float:
    """The share of messages that name a changed file: their questions are easier than those of people."""
    return sum(fix.names_a_file for fix in fixes) / len(fixes) if fixes else 0.0


def fix_data(fix: Fix, answer: Answer) -> dict[str, Any]:
    """One fix and its measures."""
    return {
        "commit": fix.sha,
        "date": day(fix.time),
        "subject": fix.subject,
        "files": answer.gold_files,
        "rank": answer.rank or None,
        "file_share": round(answer.file_share, 4),
        "span_share": round(answer.span_share, 4),
    }


def proposal_data(proposal: Proposal | None) -> Mapping[str, Any]:
    """Proposed weights, or why there are none."""
    if proposal is None:
        return {"proposal": None, "reason": f"fewer than {FEWEST_FIXES} fixes"}
    return {
        "proposal": {setting_key(name): weight for name, weight in proposal.weights.items()},
        "fixes": proposal.fixes,
        "before": round(proposal.before, 4),
        "after": round(proposal.after, 4),
        "gain": asdict(proposal.gain),
        "is_offered": proposal.is_offered,
        "is_sure": proposal.is_sure,
    }


def setting_key(signal: str) -> str:
    """The setting that holds the weight of a signal."""
    return f"search.weights.{signal.replace(' ', '_')}"


def settings_lines(proposal: Proposal) -> list[str]:
    """The proposed weights as lines for a settings file."""
    lines = [f"{signal.replace(' ', '_')} = {weight:g}" for signal, weight in proposal.weights.items()]
    return ["[search.weights]", *lines]


def day(seconds: float) -> str:
    """A date of a commit (UTC)."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d}"


def left_out_text(left_out: Mapping[str, int]) -> str:
    """`merge 120, no fix 40`, the most frequent first."""
    rows = sorted(left_out.items(), key=lambda row: (-row[1], row[0]))
    return ", ".join(f"{reason} {count:,}" for reason, count in rows)
