"""`satchel graph`: the context around a topic or a node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from satchel.calls.empty import no_walk
from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.moment import parse_moment
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation, session_option
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.tokens import TOKENIZERS

PARTLY_DONE = 3
NOTHING_FOUND = 1


@click.command("graph", context_settings=HELP_OPTIONS)
@click.argument("query", nargs=-1, required=True, metavar="QUERY|ID")
@click.option("--and", "blend", metavar="QUERY", multiple=True, help="Blend another topic or node in. May be repeated.")
@click.option("--depth", type=int, metavar="1-5", help="How many steps to walk (2, as far as the lens allows).")
@click.option("--lens", metavar="NAME", help="Which relations to follow: general, writing, coding, planning, "
              "meeting-prep, code, impact, or one of your settings.")  # fmt: skip
@click.option("--max-tokens", type=int, metavar="N", help="The budget in tokens. It is never exceeded.")
@click.option("--format", "format_", metavar="NAME", help="How the context is written: markdown or json.")
@click.option("--include-fields/--no-include-fields", default=None, help="Show the fields of nodes (the default).")
@json_option("the context with its nodes, signals, overflow and usage")
@click.option("--tokenizer", type=click.Choice(TOKENIZERS), help="What counts the tokens.")
@session_option
@click.option("--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default).")
@click.option("--now", metavar="TIME", help="The time to answer for: a date, a date with time, or epoch seconds.")
@click.option("--strict", is_flag=True, help="End with 1 if nothing was found, with 3 if something failed.")
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    query: Sequence[str],
    *,
    blend: Sequence[str],
    as_json: bool,
    refresh: bool,
    strict: bool,
    format_: str | None,
    now: str | None,
    **options: Any,
) -> int:
    """Walk from a topic or a node to what it is related to.

    QUERY is a topic, or the id of a node: a note, a file, a definition. What is near, relevant and new comes first.
    """
    given = {**options, "format": format_, "now": parse_moment(now) if now is not None else None}
    if invocation.workspace:
        given["workspace"] = invocation.workspace
    with Interrupt() as interrupt, opened(invocation) as satchel:
        request = satchel.graph_request(" ".join(query), blend=blend, **given)
        notes = refresh_first(satchel, interrupt, invocation.color) if refresh else []
        if interrupt.requested():
            return interrupt.exit_code
        context = satchel.graph_answer(request, notes)
    if as_json:
        from satchel.envelope import graph_envelope

        streams.write_json(graph_envelope(context, request))
    else:
        streams.write_text(context.text)
    if not context.text:
        streams.note(no_walk(context), color=invocation.color)
        for failure in context.failures:
            streams.failure(failure, color=invocation.color)
    for warning in context.meta["warnings"] if context.text else ():
        streams.note(warning, color=invocation.color)
    if not strict:
        return 0
    return PARTLY_DONE if context.failures else 0 if context.meta["reached"] else NOTHING_FOUND
