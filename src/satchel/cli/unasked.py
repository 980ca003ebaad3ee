"""What the commands that need no question share: their options, and how their answer is shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

from satchel.calls.empty import no_items
from satchel.cli import streams
from satchel.cli.moment import parse_moment
from satchel.cli.options import session_option
from satchel.cli.spelling import SPELLING
from satchel.tokens import TOKENIZERS
from satchel.types import Context, Format

PARTLY_DONE = 3
NOTHING_FOUND = 1

Function = TypeVar("Function", bound=Callable[..., Any])


def packing_options(function: Function) -> Function:
    """The options that say how the answer is packed."""
    for option in reversed(
        (
            click.option("--max-tokens", type=int, metavar="N", help="The budget in tokens. It is never exceeded."),
            click.option("--limit", type=int, metavar="N", help="At most so many items of each section."),
            click.option("--format", type=click.Choice([str(name) for name in Format]), help="How it is written."),
            click.option("--tokenizer", type=click.Choice(TOKENIZERS), help="What counts the tokens."),
            click.option("--handles", "show_handles", is_flag=True, default=None,
                         help="List at the end the handles of what is shown in part."),
            session_option,
            click.option("--now", metavar="TIME",
                         help="The time to answer for: a date, a date with time, or epoch seconds."),
            click.option("--strict", is_flag=True, help="End with 1 if nothing was found, with 3 if something failed."),
        )
    ):  # fmt: skip
        function = option(function)
    return function


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, as the engine names them."""
    moment = parse_moment(options["now"]) if options["now"] is not None else None
    return {name: value for name, value in {**options, "now": moment}.items() if value is not None}


def show(context: Context, why_empty: str, *, color: str, strict: bool) -> int:
    """Say on standard error why there is nothing and what failed; returns the exit code."""
    if not context.items:
        streams.note(no_items(context, why_empty, SPELLING), color=color)
    if not context.text:
        for failure in context.failures:
            streams.failure(failure, color=color)
    if not strict:
        return 0
    return PARTLY_DONE if context.failures else 0 if context.items or context.shown_before else NOTHING_FOUND
