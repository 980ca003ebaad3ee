"""`satchel search`: the best matches for a question, one a line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from satchel.calls.lines import hit_line
from satchel.cli import streams
from satchel.cli.filters import filter_options, given_filters
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.question import read_question
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.types import CONTEXT_TYPES

DEFAULT_LIMIT = 10
"""Of each type: what fits on a screen."""


@click.command("search", context_settings=HELP_OPTIONS)
@click.argument("question", nargs=-1, required=True, metavar="QUESTION|-")
@click.option("--types", metavar="TYPE,...", multiple=True, help=f"Only these of {', '.join(CONTEXT_TYPES)}.")
@click.option("-n", "limit", type=int, default=DEFAULT_LIMIT, metavar="N", help="At most so many of each type.")
@click.option("--min-score", type=float, metavar="X", help="Least relevance of a match, 0 to 1.")
@filter_options()
@click.option("--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default).")
@json_option("the matches with their signals")
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    question: Sequence[str],
    types: Sequence[str],
    *,
    limit: int,
    min_score: float | None,
    refresh: bool,
    as_json: bool,
    **options: Any,
) -> int:
    """List the best matches for a question.

    QUESTION may be an issue text, an error message or a stack trace; `-` reads it from standard input. What a filter
    says nothing of (the category of a commit) it lets through.
    """
    text = read_question(question, color=invocation.color)
    asked = [name for listed in types for name in listed.split(",")]
    with Interrupt() as interrupt, opened(invocation) as satchel:
        request = satchel.request(text, types=asked, limit=limit)
        filters = given_filters(options, asked)
        notes = refresh_first(satchel, interrupt, invocation.color) if refresh else []
        if interrupt.requested():
            return interrupt.exit_code
        hits = satchel.search(text, types=asked, limit=limit, filters=filters, min_score=min_score, refresh=False)
        if as_json:
            from satchel.envelope import search_envelope

            hits, uncounted = satchel.count_lines(hits)
            streams.write_json(search_envelope(request.query, hits, [*notes, *uncounted], satchel.store.revision))
            return 0
    for hit in hits:
        streams.write_line(hit_line(hit))
    if not hits:
        streams.note("nothing here matches the question", color=invocation.color)
    for failure in notes:
        streams.failure(failure, color=invocation.color)
    return 0
