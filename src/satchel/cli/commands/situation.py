"""`satchel situation`: the packed context for what an agent is doing right now."""

from __future__ import annotations

import json
from typing import Any

import click

from satchel.calls.empty import NO_GUIDE, no_items
from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.moment import parse_moment
from satchel.cli.options import (
    HELP_OPTIONS,
    Invocation,
    common_options,
    json_option,
    pass_invocation,
    session_option,
)
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.cli.spelling import SPELLING
from satchel.errors import UsageError
from satchel.tokens import TOKENIZERS
from satchel.types import Context, Format

NOTHING_FOUND = 1
PARTLY_DONE = 3


@click.command("situation", context_settings=HELP_OPTIONS)
@click.option("--context", "context_path", metavar="PATH", help="The folder of the current context.yaml (the root's).")
@click.option("--tool", metavar="NAME", help="The tool that is about to run, as in edit_file.")
@click.option("--params", metavar="JSON", help="Its parameters, as one JSON object.")
@click.option("--task", metavar="TEXT", help="What is to be done.")
@click.option("--intent", metavar="TEXT", help="What it is done for.")
@click.option("--files", metavar="PATH,...", multiple=True, help="The files that it is about, relative to the root.")
@click.option("--language", metavar="NAME", help="The language; by default that of the files.")
@click.option("--error", metavar="TEXT", help="The error that came up.")
@click.option("--agent", metavar="NAME", help="Who does it.")
@click.option("--tag", "tags", metavar="TAG", multiple=True, help="A word that rules may ask for.")
@click.option("--time", "time_", metavar="TIME", help="The moment, for rules about the time of day (now).")
@click.option("--max-tokens", type=int, metavar="N", help="The budget in tokens. It is never exceeded.")
@click.option("--limit", type=int, metavar="N", help="At most so many items of each type of history (5).")
@click.option(
    "--format", "format_", type=click.Choice([format_.value for format_ in Format]), help="How the context is written."
)
@click.option("--tokenizer", type=click.Choice(TOKENIZERS), help="What counts the tokens.")
@session_option
@click.option("--explain", "explained", is_flag=True, help="Say on standard error what applies and why.")
@click.option("--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default).")
@click.option("--now", metavar="TIME", help="The time to answer for: a date, a date with time, or epoch seconds.")
@click.option("--strict", is_flag=True, help="End with 1 if nothing was found, with 3 if something failed.")
@json_option("the context with its items, the rules with their verdicts, and usage")
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    *,
    context_path: str | None,
    refresh: bool,
    strict: bool,
    explained: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """Pack what guides a situation, and what history knows of it.

    The current context.yaml with what it inherits and injects, the instruction files that apply (AGENTS.md, CLAUDE.md
    and their relatives), then memories, experiences and commits. After `satchel trust` files of the folder are shown
    as guidance, before as data.
    """
    situation = situation_of(options)
    asked = engine_options(options)
    with Interrupt() as interrupt, opened(invocation) as satchel:
        notes = refresh_first(satchel, interrupt, invocation.color) if refresh else []
        if interrupt.requested():
            return interrupt.exit_code
        context, request = satchel.situation_answer(
            situation, context=context_path, refresh=False, notes=notes, **asked
        )
        if as_json:
            from satchel.envelope import context_envelope

            streams.write_json(context_envelope(context, request))
        else:
            streams.write_text(context.text)
        if explained:
            for line in why_lines(context):
                streams.say(line, color=invocation.color)
    if not context.items:
        streams.note(no_items(context, NO_GUIDE, SPELLING), color=invocation.color)
    if not as_json and not context.text:
        for failure in context.failures:
            streams.failure(failure, color=invocation.color)
    if strict and context.failures:
        return PARTLY_DONE
    return NOTHING_FOUND if strict and not (context.items or context.shown_before) else 0


def situation_of(options: dict[str, Any]) -> dict[str, Any]:
    """The fields of the situation that were given; the moment is now unless it was."""
    import time

    found = {name: options[name] for name in ("tool", "task", "intent", "language", "error", "agent") if options[name]}
    found |= {"files": [path for listed in options["files"] for path in listed.split(",")], "tags": options["tags"]}
    found["time"] = parse_moment(options["time_"], "--time") if options["time_"] is not None else time.time()
    if options["params"] is not None:
        try:
            found["params"] = json.loads(options["params"])
        except ValueError as error:
            raise UsageError(f'--params is no JSON ({error}): write it as \'{{"path": "src/a.py"}}\'') from None
    return found


def engine_options(options: dict[str, Any]) -> dict[str, Any]:
    """The other options that were given, as the engine names them; settings decide the rest."""
    renamed = {
        "max_tokens": options["max_tokens"],
        "limit": options["limit"],
        "format": options["format_"],
        "tokenizer": options["tokenizer"],
        "session": options["session"],
        "now": parse_moment(options["now"]) if options["now"] is not None else None,
    }
    return {name: value for name, value in renamed.items() if value is not None}


def why_lines(context: Context) -> list[str]:
    """What applies and what does not, each with its reason."""
    lines = [
        f"context {row['path'] or '.'}: {row['wanted_by']}, priority {row['priority']:g}"
        for row in context.meta["contexts"]
    ]
    lines += [
        f"rule {row['rule']} ({row['place']}): {row['verdict']}, {row['reason']}" for row in context.meta["rules"]
    ]
    lines += [
        f"{row['path']}: {'applies' if row['applies'] else 'does not apply'}, {row['reason']}"
        for row in context.meta["instructions"]
    ]
    return lines
