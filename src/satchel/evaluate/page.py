"""The report as one HTML file that loads nothing and runs nothing. Every text of the history is escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from satchel import __version__
from satchel.evaluate.answers import Answer
from satchel.evaluate.fixes import Fix
from satchel.evaluate.plots import bars, hit_curve, intervals, timeline
from satchel.evaluate.report import BUDGET_USED, day, hits_within, measures, named_share, settings_lines
from satchel.evaluate.run import Outcome
from satchel.evaluate.tune import FEWEST_FIXES, Proposal

DEEPEST_RANK = 20
"""Where the curve of hits ends: as many items as a context has at most."""

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2024; --soft: #5f6b76; --line: #dde2e7; --paper: #fff; --main: #1f6f8b;
  --band: #1f6f8b2e; --card: #f6f8f9; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #9aa6b1; --line: #333b43; --paper: #14181c;
  --main: #6cc0dc; --band: #6cc0dc33; --card: #1b2126; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 50rem; padding: 2rem 1.25rem 4rem; background: var(--paper); color: var(--ink);
  font: 1rem/1.55 system-ui, sans-serif; }
h1 { font-size: 1.6rem; margin: 0 0 .25rem; } h2 { font-size: 1.15rem; margin: 2.5rem 0 .5rem; }
p { margin: .25rem 0 .75rem; max-width: 46rem; } .soft { color: var(--soft); }
figure { margin: 0 0 .75rem; padding: .75rem; overflow-x: auto; background: var(--card); border-radius: .5rem; }
svg { display: block; width: 100%; min-width: 30rem; height: auto; }
svg text { fill: var(--ink); font: 13px system-ui, sans-serif; } svg .tick { fill: var(--soft); font-size: 12px; }
svg .value { font-size: 12px; fill: var(--soft); } svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
svg .grid { stroke: var(--line); } svg .whisker { stroke: var(--main); stroke-width: 3; stroke-linecap: round; }
svg .dot, svg .bar { fill: var(--main); } svg .band { fill: var(--band); }
svg .line { fill: none; stroke: var(--main); stroke-width: 2.5; stroke-linejoin: round; }
svg .fix { fill: var(--main); fill-opacity: .4; }
.wide { overflow-x: auto; } table { border-collapse: collapse; width: 100%; font-size: .9rem; }
th, td { text-align: left; padding: .35rem .6rem; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--soft); font-weight: 600; white-space: nowrap; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code, pre { font-family: ui-monospace, monospace; font-size: .88em; }
pre { background: var(--card); padding: .75rem; border-radius: .5rem; overflow-x: auto; }
"""

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def report_page(name: str, outcome: Outcome, proposal: Proposal | None, *, is_tuned: bool) -> str:
    """The whole page. `name` is what the repository is called."""
    title = f"satchel on the history of {name}"
    body = "\n".join(_body(title, outcome, proposal, is_tuned=is_tuned))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )


def _body(title: str, outcome: Outcome, proposal: Proposal | None, *, is_tuned: bool) -> Iterator[str]:
    answers, fixes = outcome.answers, outcome.fixes
    yield f"<h1>{escape(title)}</h1>"
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
    yield f"<figure>{intervals([(row.name, row.value) for row in rows if row.name != BUDGET_USED])}</figure>"
    yield '<p class="soft">' + "; ".join(f"<b>{escape(row.name)}</b>: {escape(row.meaning)}" for row in rows) + ".</p>"
    yield "<h2>How far down the first changed file stands</h2>"
    yield f"<figure>{hit_curve([hits_within(answers, rank) for rank in range(1, DEEPEST_RANK + 1)])}</figure>"
    yield "<h2>Over time</h2>"
    yield "<p>Share of the changed places that was shown; the line is the mean of the last ten fixes.</p>"
    shown = [
        (day(fix.time), answer.span_share, f"{day(fix.time)} {fix.subject}")
        for fix, answer in zip(fixes, answers, strict=True)
    ]
    yield f"<figure>{timeline(shown)}</figure>"
    if is_tuned:
        yield from _tuning(proposal)
    yield "<h2>Commits</h2>"
    yield f"<figure>{bars({'asked about': len(answers), **dict(outcome.mined.left_out.most_common())})}</figure>"
    yield "<h2>Fixes</h2>"
    yield from _table(fixes, answers)


def _tuning(proposal: Proposal | None) -> Iterator[str]:
    yield "<h2>Weights</h2>"
    if proposal is None:
        yield f"<p>Fewer than {FEWEST_FIXES} fixes: too few to fit weights.</p>"
        return
    said = verdict(proposal)
    yield f"<p>{escape(said[:1].upper() + said[1:])}</p>"
    if proposal.is_offered:
        yield f"<pre>{escape(chr(10).join(settings_lines(proposal)))}</pre>"


def verdict(proposal: Proposal) -> str:
    """What the gain on unseen fixes means, in words."""
    gain = proposal.gain
    measured = (
        "on fixes that they had not seen, fitted weights change the mean reciprocal rank of the first changed file "
        f"from {proposal.before:.3f} to {proposal.after:.3f}: {gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f})"
    )
    if not proposal.is_offered:
        return f"{measured}. No other weights serve this history better than those in force: keep them."
    if proposal.is_sure:
        return f"{measured}. The gain is more than chance."
    return f"{measured}. The interval includes 0: this may be chance, and the weights in force are the safer choice."


def _table(fixes: Sequence[Fix], answers: Sequence[Answer]) -> Iterator[str]:
    yield '<div class="wide"><table><thead><tr><th>date</th><th>commit</th><th>message</th>'
    yield '<th class="number">files</th><th class="number">first at</th><th class="number">files shown</th>'
    yield '<th class="number">places shown</th></tr></thead><tbody>'
    for fix, answer in reversed(list(zip(fixes, answers, strict=True))):
        yield (
            f'<tr><td class="number">{day(fix.time)}</td><td><code>{escape(fix.sha[:10])}</code></td>'
            f'<td>{escape(fix.subject)}</td><td class="number">{answer.gold_files}</td>'
            f'<td class="number">{answer.rank or "none"}</td><td class="number">{answer.file_share:.0%}</td>'
            f'<td class="number">{answer.span_share:.0%}</td></tr>'
        )
    yield "</tbody></table></div>"
