"""`satchel doctor`: check everything, and say how to mend what is broken."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation

if TYPE_CHECKING:
    from satchel.doctor import Check

FAILED = 1

COLORS = {"ok": "green", "warn": "yellow", "fail": "red"}


@click.command("doctor", context_settings=HELP_OPTIONS)
@json_option("the checks")
@common_options
@pass_invocation
def command(invocation: Invocation, *, as_json: bool) -> int:
    """Check that everything satchel needs works, and say how to mend it.

    Changes nothing. Ends with 1 when a check fails; a warning costs something, but answers are right.
    """
    from satchel.doctor import check_data, examine

    checks = []
    for check in examine(Path(), invocation.root):
        checks.append(check)
        if not as_json:
            streams.write_line(check_text(check, colored=streams.wants_color(sys.stdout, invocation.color)))
    if as_json:
        streams.write_json({"checks": [check_data(check) for check in checks]})
    return FAILED if any(check.outcome == "fail" for check in checks) else 0


def check_text(check: Check, *, colored: bool = False) -> str:
    """`ok    python: Python 3.12.1`; the fix stands on a line of its own."""
    label = f"{check.outcome.value:<5}"
    if colored:
        label = click.style(label, fg=COLORS[check.outcome.value], bold=check.outcome.value == "fail")
    line = f"{label} {check.name}: {check.message}"
    return f"{line}\n      fix: {check.fix}" if check.fix else line
