"""`satchel eval`: measure satchel on the fixes of this repository's own history."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from satchel.cli import streams
from satchel.cli.options import Invocation, command
from satchel.cli.progress import watch
from satchel.cli.session import NOTHING_FOUND, Interrupt, opened
from satchel.cli.tables import Column, plain_lines
from satchel.errors import UsageError
from satchel.operations.operation import parse_moment

if TYPE_CHECKING:
    from satchel.evaluation.run import EvaluationResult, Proposal


@command("eval", shows="the measures, the fixes and the proposed weights")
@click.option("--limit", type=int, default=100, show_default=True, metavar="N", help="At most so many fixes.")
@click.option("--max-tokens", type=int, metavar="N", help="The budget of each answer; by default the usual one.")
@click.option("--since", metavar="TIME", help="Only fixes since then: a date, a date with time, or epoch seconds.")
@click.option("--tune", is_flag=True, help="Also look for better weights, and say what they gain on unseen fixes.")
@click.option("--fresh", is_flag=True, help="Ask again what an earlier run was told.")
@click.option(
    "--html", "page", type=click.Path(path_type=Path, dir_okay=False), metavar="FILE", help="Write an HTML report."
)
def eval_command(
    invocation: Invocation,
    /,
    *,
    limit: int,
    max_tokens: int | None,
    since: str | None,
    tune: bool,
    fresh: bool,
    page: Path | None,
) -> int:
    """Measure satchel on the fixes of this repository's own history.

    The message of each small fix is asked at the state before it, and the lines that it changed are the right answer.
    Work tree, index and memories are not touched, and nothing leaves this machine. Answers are kept, so a second run
    asks only about what is new; Ctrl-C keeps what is done. --tune prints settings to copy and never changes any. Ends
    with 1 when the history has no usable fix.
    """
    from satchel.evaluation.report import report_data
    from satchel.evaluation.run import evaluate, propose

    if page is not None and not page.absolute().parent.is_dir():
        raise UsageError(f"--html {page}: there is no folder {page.parent}")
    moment = parse_moment(since, "since") if since is not None else 0.0
    with Interrupt() as interrupt, opened(invocation) as satchel:
        with watch(color=invocation.color) as progress:
            outcome = evaluate(
                satchel, limit=limit, max_tokens=max_tokens, since=moment, fresh=fresh, progress=progress,
                should_stop=interrupt.requested,
            )  # fmt: skip
        proposal = propose(outcome.answers, dict(satchel.settings.search_weights)) if tune else None
        name = satchel.places.root.name
    if invocation.as_json:
        streams.write_json(report_data(outcome, proposal, is_tuned=tune))
    elif outcome.answers:
        streams.write_line("\n".join(report_lines(outcome, proposal, is_tuned=tune)))
    if page is not None and outcome.answers:
        from satchel.evaluation.report import report_page

        page.write_text(report_page(name, outcome, proposal, is_tuned=tune), encoding="utf-8")
        streams.say(f"wrote {page}", color=invocation.color)
    if not outcome.answers:
        streams.note(why_empty(outcome), color=invocation.color)
    return interrupt.exit_code or (0 if outcome.answers else NOTHING_FOUND)


def report_lines(outcome: EvaluationResult, proposal: Proposal | None, *, is_tuned: bool) -> list[str]:
    """Return the report as text: what was asked, the table, and what tuning found."""
    from satchel.evaluation.report import day, left_out_text, measures, named_share

    answers, fixes = outcome.answers, outcome.fixes
    rows = [
        (row.name, f"{row.value.mean:.3f}", f"{row.value.low:.3f} to {row.value.high:.3f}", row.meaning)
        for row in measures(answers, outcome.max_tokens)
    ]
    kind = "fix" if len(answers) == 1 else "fixes"
    columns = [Column("measure"), Column("mean", is_number=True), Column("95 % interval"), Column("share of")]
    lines = [
        f"{len(answers):,} small {kind} of {outcome.mined.commits:,} commits, {day(fixes[0].time)} to "
        f"{day(fixes[-1].time)}, asked at the state before each" + (" (stopped)" if outcome.is_stopped else ""),
        f"left out: {left_out_text(outcome.mined.left_out)}" if outcome.mined.left_out else "left out: none",
        f"{named_share(fixes):.0%} of the messages name a changed file: people's questions are harder",
        "",
        *plain_lines(columns, rows),
    ]
    return [*lines, "", *tuning_lines(proposal)] if is_tuned else lines


def tuning_lines(proposal: Proposal | None) -> list[str]:
    """Return what fitted weights gain, and the settings to copy."""
    from satchel.evaluation.report import settings_lines, verdict
    from satchel.evaluation.run import FEWEST_FIXES

    if proposal is None:
        return [f"weights: fewer than {FEWEST_FIXES} fixes, too few to fit any; try a larger --limit"]
    lines = [f"weights: {verdict(proposal)}"]
    if proposal.is_offered:
        lines += ["for your satchel.toml, or .satchel.toml of this repository:", "", *settings_lines(proposal)]
    return lines


def why_empty(outcome: EvaluationResult) -> str:
    """Return why nothing could be measured."""
    from satchel.evaluation.report import left_out_text

    if outcome.is_stopped:
        return "stopped before the first fix was asked about"
    reasons = left_out_text(outcome.mined.left_out)
    return f"none of {outcome.mined.commits:,} commits is a usable fix" + (f" ({reasons})" if reasons else "")
