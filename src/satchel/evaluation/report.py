"""The report of an evaluation as values, shared by the table of the command, the JSON and the HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from html import escape
from operator import attrgetter
from typing import Any

from satchel import __version__
from satchel.evaluation.fixes import Estimate, Fix, estimate
from satchel.evaluation.run import EvaluationResult, FixAnswer

RANKS = (1, 5, 10)
"""`hit@k`: a changed file is among the first k files of the context."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5f6b76; --line: #dde2e7; --paper: #fff; --card: #f6f8f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa6b1; --line: #333b43; --paper: #14181c;
  --card: #1b2126; } }
body { margin: 0 auto; max-width: 50rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
.soft { color: var(--soft); } .wide { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


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


def moved(before: Sequence[FixAnswer], after: Sequence[FixAnswer]) -> tuple[int, int]:
    """Return how many questions show more of their right files in the second run, and how many fewer."""
    shares = {answer.sha: answer.file_share for answer in before}
    changes = [answer.file_share - shares.get(answer.sha, answer.file_share) for answer in after]
    return sum(change > 0 for change in changes), sum(change < 0 for change in changes)


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


def report_page(name: str, outcome: EvaluationResult) -> str:
    """Return the report as one HTML file that loads nothing and runs nothing, with every text of the history escaped.

    `name` is the name of the repository.
    """
    title = escape(f"satchel on the history of {name}")
    body = "\n".join(_body(title, outcome))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _body(title: str, outcome: EvaluationResult) -> Iterator[str]:
    answers, fixes = outcome.answers, outcome.fixes
    yield f"<h1>{title}</h1>"
    yield (
        f'<p class="soft">{len(answers)} small fixes of {outcome.mined.commits:,} commits, '
        f"{day(fixes[0].time)} to {day(fixes[-1].time)}; {outcome.max_tokens:,} tokens; satchel {__version__}"
        f"{'; stopped before the end' if outcome.is_stopped else ''}</p>"
    )
    yield (
        "<p>The message of each fix was the question, asked at the state before it: index and history end there. Right "
        "are the lines that the fix changed. Messages are written by those who know the answer, "
        f"and {named_share(fixes):.0%} name a changed file: people's questions are harder than these.</p>"
    )
    yield "<h2>Measures</h2>"
    rows = measures(answers, outcome.max_tokens)
    yield from _table(
        ["measure", "share of", "mean", "95 % interval"],
        [[row.name, row.meaning, f"{row.value.mean:.3f}", f"{row.value.low:.3f} to {row.value.high:.3f}"]
         for row in rows],
        first_number=2,
    )  # fmt: skip
    yield "<h2>Commits</h2>"
    counts = {"asked about": len(answers), **dict(outcome.mined.left_out.most_common())}
    yield from _table(["commits", "number"], [[kind, f"{count:,}"] for kind, count in counts.items()], first_number=1)
    yield "<h2>Fixes</h2>"
    yield from _table(
        ["date", "commit", "message", "files", "first at", "files shown", "places shown"],
        [[day(fix.time), fix.sha[:10], fix.subject, f"{answer.gold_files}", f"{answer.rank or 'none'}",
          f"{answer.file_share:.0%}", f"{answer.span_share:.0%}"]
         for fix, answer in reversed(list(zip(fixes, answers, strict=True)))],
        first_number=3,
    )  # fmt: skip


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, first_number: int) -> Iterator[str]:
    """Yield a table of texts; the columns from `first_number` on are numbers."""
    yield '<div class="wide"><table>'
    for tag, cells in (("th", heads), *(("td", row) for row in rows)):
        classes = ["", ' class="number"']
        shown = [f"<{tag}{classes[at >= first_number]}>{escape(cell)}</{tag}>" for at, cell in enumerate(cells)]
        yield f"<tr>{''.join(shown)}</tr>"
    yield "</table></div>"
