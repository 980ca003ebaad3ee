"""`satchel brief`: what to know when a session starts, or after a failure."""

from __future__ import annotations

from typing import Any

import click

from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.question import STANDARD_INPUT, read_file, read_question
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.cli.unasked import given, packing_options, show

NOTHING_KEPT = "nothing is remembered here yet: `satchel remember TEXT` keeps what should be known"
NOTHING_ALIKE = "nothing here failed like this before, and the failure names no code of this folder"


@click.command("brief", context_settings=HELP_OPTIONS)
@click.option("--after-failure", "failed", metavar="FILE|-", help="The output of the command that failed.")
@packing_options
@click.option("--refresh/--no-refresh", default=True, help="After a failure, bring the index up to date first.")
@json_option("the brief with its items, signals, overflow and usage")
@common_options
@pass_invocation
def command(
    invocation: Invocation, /, *, failed: str | None, refresh: bool, as_json: bool, strict: bool, **options: Any
) -> int:
    """Show what to know when a session starts, or after a failure.

    At a start: the values that experience taught, recent events and the memories that matter most, in 1,000 tokens.
    With --after-failure: what failed like this before, and where in the code it happened, in 2,000 tokens. The
    failure's error, names and files are taken from its output.
    """
    text = None if failed is None else read_failure(failed, invocation.color)
    with Interrupt() as interrupt, opened(invocation) as satchel:
        request = satchel.brief_request(text, **given(options))
        notes = refresh_first(satchel, interrupt, invocation.color) if refresh and failed is not None else []
        if interrupt.requested():
            return interrupt.exit_code
        context = satchel.answer(request, notes)
    if as_json:
        from satchel.envelope import context_envelope

        streams.write_json(context_envelope(context, request))
    else:
        streams.write_text(context.text)
    nothing = NOTHING_KEPT if failed is None else NOTHING_ALIKE
    return show(context, nothing, color=invocation.color, strict=strict)


def read_failure(name: str, color: str) -> str:
    """The output of a failed command, from a file or from standard input."""
    return read_question([STANDARD_INPUT], color=color) if name == STANDARD_INPUT else read_file(name, color=color)
