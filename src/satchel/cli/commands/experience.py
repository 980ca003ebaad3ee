"""`satchel experience`: what was tried, what was expected, and what came of it."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, TextIO

import click

from satchel.cli import streams
from satchel.cli.operation_command import operation_command
from satchel.cli.options import HELP_OPTIONS, Invocation, command, group
from satchel.cli.session import Interrupt, ask, opened, show
from satchel.operations.operation import Parameter
from satchel.operations.remember import EXPERIENCE, EXPERIENCE_ACTIONS, LIST, NEEDED, NOTE, RESOLVE, SHOW, START, UPDATE
from satchel.vocabulary import OutcomeStatus

_POSITIONAL = {NOTE: {"note": "TEXT|-"}, SHOW: {"id": "[ID]"}}
_SHOWS = {LIST: "the experiences"}


@group("experience")
def experience_command() -> None:
    """Keep what was tried, what was expected, and what came of it.

    Start with a hypothesis, update it as it changes, and resolve it: a session has one active experience at a time.
    Resolved ones are found by questions, in contexts and before similar work.
    """


def _add(action: str, help_text: str) -> None:
    """Add the command of an action."""

    def run(invocation: Invocation, arguments: dict[str, Any]) -> None:
        show(invocation, ask(invocation, EXPERIENCE, {**arguments, "action": action}))

    run.__doc__ = help_text
    operation_command(
        EXPERIENCE, action, experience_command, shows=_SHOWS.get(action, "the experience"),
        only=EXPERIENCE_ACTIONS[action], needed=NEEDED.get(action, ()), positional=_POSITIONAL.get(action),
    )(run)  # fmt: skip


_add(START, "Begin an experience.")
_add(UPDATE, "Change what is believed, done or expected; the earlier attempt stays in the history.")
_add(NOTE, "Add a note to the active experience.")
_add(
    RESOLVE,
    """End the active experience by hand.

    A falsified one needs its surprise and its root cause, with a description: that is what is learned from it.
    """,
)


def _lesson_options(function: Any) -> Any:
    """Options for what was learned, as `resolve` has them."""
    names = ("takeaway", "lesson", "root_cause_description", "root_cause", "surprise")
    rows: dict[str, Parameter] = {one.name: one for one in EXPERIENCE.parameters}
    for name in names:
        choices = f" One of {', '.join(rows[name].choices)}." if rows[name].choices else ""
        meaning = rows[name].meaning.partition(": ")[2].capitalize()
        function = click.option(f"--{name.replace('_', '-')}", metavar="TEXT", help=meaning + choices)(function)
    return function


@command("capture", experience_command, context_settings={**HELP_OPTIONS, "ignore_unknown_options": True})
@click.option(
    "--expect",
    type=click.Choice(["success", "failure"]),
    default="success",
    show_default=True,
    help="What the hypothesis predicts of the command.",
)
@_lesson_options
@click.option("--session", default="default", metavar="TEXT", help="Whose experience it is, one active each.")
@click.argument("arguments", nargs=-1, required=True, type=click.UNPROCESSED, metavar="-- COMMAND...")
def capture(
    invocation: Invocation, *, arguments: Sequence[str], expect: str, session: str, **lesson: str | None
) -> int:
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


_add(
    LIST,
    """List experiences, newest first, active ones too.

    Active ones of other sessions than --session are pointed out: they were begun and never resolved.
    """,
)
_add(SHOW, "Show one experience with its history and notes; without ID the active one.")


def _bytes_of(stream: TextIO | None) -> IO[bytes]:
    """Return the bytes of a standard stream, or nowhere if it is closed."""
    return stream.buffer if stream is not None else Path(os.devnull).open("wb")
