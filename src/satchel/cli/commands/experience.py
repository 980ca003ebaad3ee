"""`satchel experience`: what was tried, what was expected, and what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TextIO

import click

from satchel.calls.records import experience_json, experience_line, experience_text
from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.moment import parse_moment
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.session import opened
from satchel.vocabulary import (
    ACTIVE,
    ConfidenceTier,
    Domain,
    OutcomeStatus,
    RootCauseCategory,
    Strategy,
)

if TYPE_CHECKING:
    from satchel.learn.entries import Experience

DEFAULT_LIMIT = 20
"""Rows: what fits on a screen."""

_SESSION = click.option(
    "--session", default="default", metavar="ID", help="Whose experience; one default a repository."
)
_LESSON_OPTIONS = (
    click.option("--surprise", metavar="TEXT", help="What was not expected."),
    click.option("--root-cause", metavar="CATEGORY", help=f"Why it was wrong: {', '.join(RootCauseCategory)}."),
    click.option("--root-cause-description", metavar="TEXT", help="The root cause in a sentence."),
    click.option("--lesson", metavar="TEXT", help="What worked."),
    click.option("--takeaway", metavar="TEXT", help="What to do next time."),
)


def _lesson_options(function: Any) -> Any:
    for option in reversed(_LESSON_OPTIONS):
        function = option(function)
    return function


@click.group("experience", context_settings=HELP_OPTIONS)
@common_options
def command() -> None:
    """Keep what was tried, what was expected, and what came of it.

    Start with a hypothesis, update it as it changes, and resolve it: a session has one active experience at a time.
    Resolved ones are found by questions, in contexts and before similar work.
    """


@command.command("start")
@click.option("--domain", required=True, metavar="D", help=f"The kind of work: {', '.join(Domain)}.")
@click.option("--strategy", required=True, metavar="S", help=f"How it is gone about: {', '.join(Strategy)}.")
@click.option("--goal", required=True, metavar="TEXT", help="What should be true in the end.")
@click.option("--hypothesis", required=True, metavar="TEXT", help="What is wrong, and where.")
@click.option("--action", required=True, metavar="TEXT", help="What is done about it.")
@click.option("--prediction", required=True, metavar="TEXT", help="What will be seen if the hypothesis is right.")
@_SESSION
@json_option("the experience")
@common_options
@pass_invocation
def start(invocation: Invocation, /, *, as_json: bool, **options: Any) -> int:
    """Begin an experience."""
    with opened(invocation) as satchel:
        started = satchel.experiences.start(**options)
    _say(started.experience, as_json=as_json)
    for orphan in started.orphans:
        streams.note(_orphan_text(orphan), color=invocation.color)
    return 0


@command.command("update")
@click.option("--hypothesis", metavar="TEXT", help="What is believed now.")
@click.option("--action", metavar="TEXT", help="What is done now.")
@click.option("--prediction", metavar="TEXT", help="What is expected now.")
@click.option("--strategy", metavar="S", help=f"How it is gone about now: {', '.join(Strategy)}.")
@_SESSION
@json_option("the experience")
@common_options
@pass_invocation
def update(invocation: Invocation, /, *, as_json: bool, **options: Any) -> int:
    """Change what is believed, done or expected; the earlier attempt stays in the history."""
    with opened(invocation) as satchel:
        changed = satchel.experiences.update(**options)
    _say(changed, as_json=as_json)
    return 0


@command.command("note")
@click.argument("text", nargs=-1, required=True, metavar="TEXT|-")
@_SESSION
@json_option("the experience")
@common_options
@pass_invocation
def note(invocation: Invocation, text: Sequence[str], *, session: str, as_json: bool) -> int:
    """Add a note to the active experience."""
    from satchel.cli.question import read_question

    said = read_question(text, color=invocation.color)
    with opened(invocation) as satchel:
        changed = satchel.experiences.note(said, session=session)
    _say(changed, as_json=as_json)
    return 0


@command.command("resolve")
@click.option("--status", required=True, metavar="STATUS", help=f"How it ended: {', '.join(OutcomeStatus)}.")
@click.option("--result", required=True, metavar="TEXT", help="What happened.")
@_lesson_options
@_SESSION
@json_option("the experience")
@common_options
@pass_invocation
def resolve(invocation: Invocation, /, *, as_json: bool, **options: Any) -> int:
    """End the active experience by hand.

    A falsified one needs its surprise and its root cause, with a description: that is what is learned from it.
    """
    with opened(invocation) as satchel:
        done = satchel.experiences.resolve(**options)
    _say(done, as_json=as_json)
    return 0


@command.command("capture", context_settings={**HELP_OPTIONS, "ignore_unknown_options": True})
@click.option(
    "--expect",
    type=click.Choice(["success", "failure"]),
    default="success",
    show_default=True,
    help="What the hypothesis predicts of the command.",
)
@_lesson_options
@_SESSION
@common_options
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
@pass_invocation
def capture(
    invocation: Invocation, /, arguments: Sequence[str], *, expect: str, session: str, **lesson: str | None
) -> int:  # fmt: skip
    """Run a command, and end the active experience by what it says.

    The command runs as by itself: its output passes through and its exit code is kept. When it ends as expected, the
    hypothesis is confirmed, else it is falsified. Test counts of pytest, unittest, cargo, go, jest and make are noted.
    A run that was interrupted ends nothing.
    """
    with Interrupt() as interrupt, opened(invocation) as satchel:
        satchel.experiences.require_active(session)
        captured = satchel.run_captured(arguments, _bytes_of(sys.stdout), _bytes_of(sys.stderr))
        if interrupt.requested() or captured.is_interrupted:
            streams.note("the run was interrupted, the experience is still active", color=invocation.color)
            return interrupt.exit_code or captured.exit_code
        is_expected = captured.is_success == (expect == "success")
        status = OutcomeStatus.CONFIRMED if is_expected else OutcomeStatus.FALSIFIED
        done = satchel.experiences.resolve(
            status=status, result=captured.result, session=session, auto_captured=True, **lesson
        )
    streams.say(f"{done.id} {done.status} ({done.confidence_tier}): {captured.result}", color=invocation.color)
    return captured.exit_code


@command.command("list")
@click.option("--domain", metavar="D", help=f"Only of one domain: {', '.join(Domain)}.")
@click.option("--strategy", metavar="S", help=f"Only with one strategy: {', '.join(Strategy)}.")
@click.option("--outcome", metavar="STATUS", help=f"Only of one outcome: {', '.join((ACTIVE, *OutcomeStatus))}.")
@click.option("--tier", metavar="TIER", help=f"Only of one tier: {', '.join(ConfidenceTier)}.")
@click.option("--since", metavar="TIME", help="Only newer ones: a date, a date with time, or epoch seconds.")
@click.option("-n", "--limit", type=int, default=DEFAULT_LIMIT, metavar="N", help="At most so many.")
@_SESSION
@json_option("the experiences")
@common_options
@pass_invocation
def list_(invocation: Invocation, /, *, since: str | None, session: str, as_json: bool, **filters: Any) -> int:
    """List experiences, newest first, active ones too.

    Active ones of other sessions than --session are pointed out: they were begun and never resolved.
    """
    moment = parse_moment(since, "--since") if since is not None else None
    with opened(invocation) as satchel:
        found = satchel.experiences.listed(since=moment, **filters)
        orphans = satchel.experiences.orphans(session)
    if as_json:
        listed = [experience_json(experience) for experience in found]
        streams.write_json({"experiences": listed, "orphans": [orphan.id for orphan in orphans]})
        return 0
    for experience in found:
        streams.write_line(experience_line(experience))
    if not found:
        streams.note("there is no such experience here", color=invocation.color)
    for orphan in orphans:
        streams.note(_orphan_text(orphan), color=invocation.color)
    return 0


@command.command("show")
@click.argument("identity", metavar="[ID]", required=False)
@_SESSION
@json_option("the experience")
@common_options
@pass_invocation
def show(invocation: Invocation, identity: str | None, *, session: str, as_json: bool) -> int:
    """Show one experience with its history and notes; without ID the active one."""
    with opened(invocation) as satchel:
        journal = satchel.experiences
        experience = journal.get(identity) if identity is not None else journal.require_active(session)
    if as_json:
        streams.write_json(experience_json(experience))
    else:
        streams.write(experience_text(experience))
    return 0


def _bytes_of(stream: TextIO | None) -> IO[bytes]:
    """The bytes of a standard stream, or nowhere if it is closed."""
    return stream.buffer if stream is not None else Path(os.devnull).open("wb")


def _say(experience: Experience, *, as_json: bool) -> None:
    """A minimal answer: whoever wrote it knows what it says."""
    if as_json:
        streams.write_json(experience_json(experience))
    else:
        tier = experience.confidence_tier
        streams.write_line(f"{experience.id}  {experience.status}" + (f"  {tier}" if tier is not None else ""))


def _orphan_text(orphan: Experience) -> str:
    session = orphan.session_id
    return f"{orphan.id} of session {session!r} is still active: `satchel experience resolve --session {session} ...`"
