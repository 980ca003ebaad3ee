"""`satchel remember`: the short way to `satchel memory add`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from satchel.cli.commands.memory import add_options, remember
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation


@click.command("remember", context_settings=HELP_OPTIONS)
@add_options
@json_option("the memory and what it resembles")
@common_options
@pass_invocation
def command(invocation: Invocation, /, text: Sequence[str], *, as_json: bool, **options: Any) -> int:
    """Remember something, as `satchel memory add` does.

    TEXT is one thing in a sentence or a few; `-` reads it from standard input.
    """
    return remember(invocation, text, as_json=as_json, **options)
