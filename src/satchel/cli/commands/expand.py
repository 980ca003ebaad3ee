"""`satchel expand`: all of what a handle stands for."""

from __future__ import annotations

from collections.abc import Sequence

import click

from satchel.cli import streams
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation, session_option
from satchel.cli.session import opened
from satchel.tokens import TOKENIZERS
from satchel.types import Format

NOTHING_FOUND = 1


@click.command("expand", context_settings=HELP_OPTIONS)
@click.argument("handles", nargs=-1, required=True, metavar="HANDLE...")
@click.option("--max-tokens", type=int, metavar="N", help="The budget in tokens. It is never exceeded.")
@click.option("--format", "format_", type=click.Choice([layout.value for layout in Format]), help="How it is written.")
@click.option("--tokenizer", type=click.Choice(TOKENIZERS), help="What counts the tokens.")
@session_option
@json_option("what was found, with the handles of what did not fit,")
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    handles: Sequence[str],
    *,
    max_tokens: int | None,
    format_: str | None,
    tokenizer: str | None,
    session: str | None,
    as_json: bool,
) -> int:
    """Show all of what a handle stands for.

    HANDLE is one of the 8-character names that `satchel context --json`, `--handles` or `--explain` gave. The text is
    that of the same revision: from the file if it still matches, else from git; otherwise a note says where it is now.
    Ends with 1 if nothing can be shown.
    """
    with opened(invocation) as satchel:
        context = satchel.expand(
            handles, max_tokens=max_tokens, format=format_, tokenizer=tokenizer, session=session or ""
        )
        if as_json:
            from satchel.envelope import expanded_envelope

            streams.write_json(expanded_envelope(context, handles))
        else:
            streams.write_text(context.text)
    if not as_json:
        for failure in context.failures:
            streams.failure(failure, color=invocation.color)
    for row in context.overflow:
        streams.note(f"{row.handle} does not fit: --max-tokens {row.budget} shows all", color=invocation.color)
    return 0 if context.items else NOTHING_FOUND
