"""`satchel context`: the packed context for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from satchel.calls.empty import no_answer
from satchel.cli import streams
from satchel.cli.change import UNASKED, change_options, separated
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
from satchel.cli.question import read_question
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.cli.spelling import SPELLING
from satchel.errors import UsageError
from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, Context, Format, View

NOTHING_FOUND = 1
PARTLY_DONE = 3


@click.command("context", context_settings=HELP_OPTIONS)
@click.argument("question", nargs=-1, metavar="QUESTION|-")
@click.option("--types", metavar="TYPE,...", multiple=True, help=f"Only these of {', '.join(CONTEXT_TYPES)}.")
@click.option("--max-tokens", type=int, metavar="N", help="The budget in tokens. It is never exceeded.")
@click.option("--limit", type=int, metavar="N", help="At most so many items, over all types.")
@click.option(
    "--format", "format_", type=click.Choice([format_.value for format_ in Format]), help="How the context is written."
)
@json_option("the context with its items, signals, overflow and usage")
@click.option("--explain", "explained", is_flag=True, help="Say on standard error why each item is in or out.")
@change_options
@click.option("--handles", "show_handles", is_flag=True, help="List at the end the handles of what is shown in part.")
@click.option("--group-by-type", is_flag=True, help="One section for code, one for docs, one for the rest.")
@click.option("--sources/--no-sources", "show_sources", default=None, help="List the sources at the end.")
@click.option("--code/--no-code", "show_code", default=None, help="Show the lines, or only where they are.")
@click.option("--strategy", metavar="NAME", help="How to shorten: ladder, signature-first or bookend.")
@click.option("--view", type=click.Choice([view.value for view in View]), help="By file, by entity, or in blocks.")
@click.option("--meta", "show_meta", is_flag=True, default=None, help="Say at the end how it was counted and cut.")
@click.option("--path", "paths", metavar="GLOB", multiple=True, help="Only files whose path matches.")
@click.option("--include", metavar="PATH[:a-b]", multiple=True, help="Show this in any case, before what is found.")
@click.option("--exclude", metavar="GLOB", multiple=True, help="No files whose path matches.")
@click.option("--for", "purpose", type=click.Choice(["find", "edit"]), help="Many places, or whole functions.")
@click.option("--tokenizer", type=click.Choice(TOKENIZERS), help="What counts the tokens.")
@click.option("--context-lines", type=int, metavar="N", help="Show N lines more around what answers (0).")
@click.option("--imports/--no-imports", default=None, help="Show the import lines that shown code needs (the default).")
@click.option("--fill", is_flag=True, default=None, help="Spend the whole budget, also on what is hardly worth it.")
@click.option("--reserve", "reserves", metavar="TYPE=N", multiple=True, help="Tokens that a type gets in any case.")
@click.option("--min-score", type=float, metavar="X", help="Least relevance of an item, 0 to 1.")
@session_option
@click.option("--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default).")
@click.option("--now", metavar="TIME", help="The time to answer for: a date, a date with time, or epoch seconds.")
@click.option("--strict", is_flag=True, help="End with 1 if nothing was found, with 3 if something failed.")
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    question: Sequence[str],
    *,
    as_json: bool,
    explained: bool,
    revision: str | None,
    staged: bool,
    refresh: bool,
    strict: bool,
    **options: Any,
) -> int:
    """Pack what matters for a question into a token budget.

    QUESTION may be an issue text, an error message or a stack trace; `-` reads it from standard input.
    """
    asked = engine_options(options)
    words_given, since = separated([*question], revision, staged=staged)
    text = read_question(words_given, color=invocation.color) if words_given else UNASKED
    with Interrupt() as interrupt, opened(invocation) as satchel:
        request = satchel.request(text, **asked)
        notes = refresh_first(satchel, interrupt, invocation.color) if refresh else []
        if interrupt.requested():
            return interrupt.exit_code
        if since is not None:
            request, found = satchel.about_change(request, since, staged=staged, is_asked=bool(words_given))
            notes = [*notes, *found]
        context = satchel.answer(request, notes)
        if as_json:
            from satchel.envelope import context_envelope

            streams.write_json(context_envelope(context, request))
        else:
            streams.write_text(context.text)
    if not context.items:
        streams.note(no_answer(context, SPELLING), color=invocation.color)
    if not as_json and not context.text:
        for failure in context.failures:
            streams.failure(failure, color=invocation.color)
    if explained:
        from satchel.cli.explain import explain

        explain(context, color=invocation.color)
    return _strict_code(context) if strict else 0


def engine_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given, as the engine names them; settings decide the others."""
    renamed = dict(options) | {
        "format": options["format_"],
        "types": [name for listed in options["types"] for name in listed.split(",")],
        "reserves": dict(_reserve(text) for text in options["reserves"]) or None,
        "now": parse_moment(options["now"]) if options["now"] is not None else None,
    }
    del renamed["format_"]
    return {name: value for name, value in renamed.items() if value is not None}


def _reserve(text: str) -> tuple[str, int]:
    name, _, tokens = text.partition("=")
    if not tokens.strip().isdecimal():
        raise UsageError(f"--reserve {text!r} says no number of tokens: write it as memories=300")
    return name.strip(), int(tokens)


def _strict_code(context: Context) -> int:
    if context.failures:
        return PARTLY_DONE
    return 0 if context.items or context.shown_before else NOTHING_FOUND
