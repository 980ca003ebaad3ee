"""What to know before and after: `satchel premortem` and `satchel brief`."""

from __future__ import annotations

from typing import Any

import click

from satchel.cli import streams
from satchel.cli.operation_command import operation_command
from satchel.cli.options import Invocation, strict_option
from satchel.cli.session import ask, show, strict_code
from satchel.operations.situations import AFTER_FAILURE, BRIEF, PREMORTEM, PREMORTEM_OPERATION


@operation_command(
    PREMORTEM_OPERATION,
    "premortem",
    shows="the premortem with its items, signals, overflow and usage",
    without=("mode", "failure", "refresh"),
    needed=("domain",),
)
@strict_option
def premortem_command(invocation: Invocation, arguments: dict[str, Any], *, strict: bool) -> int:
    """Show what went wrong before in this kind of work.

    Past failures, how the strategy went, surprises, root causes and principles, from the experiences that are
    remembered here; each is shown once. The budget is 1,500 tokens.
    """
    return _answer(invocation, {**arguments, "mode": PREMORTEM}, strict=strict)


@operation_command(
    PREMORTEM_OPERATION,
    "brief",
    shows="the brief with its items, signals, overflow and usage",
    without=("mode", "domain", "strategy", "failure"),
)
@click.option("--after-failure", "failed", metavar="FILE|-", help="The output of the command that failed.")
@strict_option
def brief_command(invocation: Invocation, arguments: dict[str, Any], *, failed: str | None, strict: bool) -> int:
    """Show what to know when a session starts, or after a failure.

    At a start: the values that experience taught, recent events and the memories that matter most, in 1,000 tokens.
    With --after-failure: what failed like this before, and where in the code it happened, in 2,000 tokens. The
    failure's error, names and files are taken from its output.
    """
    if failed is None:
        return _answer(invocation, {**arguments, "mode": BRIEF}, strict=strict)
    read = _read_failure(failed, invocation.color)
    return _answer(invocation, {**arguments, "mode": AFTER_FAILURE, "failure": read}, strict=strict)


def _answer(invocation: Invocation, arguments: dict[str, Any], *, strict: bool) -> int:
    answered = ask(invocation, PREMORTEM_OPERATION, arguments)
    show(invocation, answered)
    return strict_code(answered.envelope) if strict else 0


def _read_failure(name: str, color: str) -> str:
    is_input = name == streams.STANDARD_INPUT
    return streams.read_question([name], color=color) if is_input else streams.read_file(name, color=color)
