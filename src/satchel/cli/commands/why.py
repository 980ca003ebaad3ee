"""`satchel why`: how a file, a definition or a record stands for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from satchel.clean import clean_field
from satchel.cli import streams
from satchel.cli.explain import REASONS
from satchel.cli.interrupt import Interrupt
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.question import read_question
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.types import CONTEXT_TYPES


@click.command("why", context_settings=HELP_OPTIONS)
@click.argument("target", metavar="PATH|SYMBOL")
@click.argument("question", nargs=-1, required=True, metavar="QUESTION|-")
@click.option("--types", metavar="TYPE,...", multiple=True, help=f"Only these of {', '.join(CONTEXT_TYPES)}.")
@click.option("--max-tokens", type=int, metavar="N", help="The budget to judge by.")
@click.option("--path", "paths", metavar="GLOB", multiple=True, help="Only files whose path matches.")
@click.option("--exclude", metavar="GLOB", multiple=True, help="No files whose path matches.")
@click.option("--min-score", type=float, metavar="X", help="Least relevance of an item, 0 to 1.")
@click.option("--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default).")
@json_option("rank, signals and reason")
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    /,
    target: str,
    question: Sequence[str],
    types: Sequence[str],
    *,
    refresh: bool,
    as_json: bool,
    **options: int | float | tuple[str, ...] | None,
) -> int:
    """Say how a file or a definition stands for a question, and why it is in or out.

    PATH|SYMBOL may also be the end of a path, a qualified name such as `Client.send`, or the hash of a commit.
    """
    text = read_question(question, color=invocation.color)
    given = {name: value for name, value in options.items() if value is not None}
    asked = [name for listed in types for name in listed.split(",")]
    with Interrupt() as interrupt, opened(invocation) as satchel:
        notes = refresh_first(satchel, interrupt, invocation.color) if refresh else []
        if interrupt.requested():
            return interrupt.exit_code
        rows = satchel.why(target, text, refresh=False, types=asked, **given)
        from satchel.envelope import standing_data

        standings = [standing_data(row) for row in rows]
    if as_json:
        streams.write_json({"target": target, "question": text, "standings": standings})
        return 0
    streams.write("\n".join(f"{line}\n" for line in map(described, standings)))
    for failure in notes:
        streams.failure(failure, color=invocation.color)
    return 0


def described(row: Mapping[str, Any]) -> str:
    """A few lines about one standing: what it is, whether it is in, its rank, and one line a signal."""
    noun = "files" if row["path"] else "records"
    lines = [clean_field(row["id"])]
    if row["is_shown"]:
        spans = ", ".join(f"{start}-{end}" for start, end in row["shown"])
        lines.append(f"  shown: lines {spans}" if spans else "  shown")
    else:
        lines.append(f"  not shown, {row['reason']}: {row['detail']}")
    if row["rank"]:
        place = f", {row['place']} of {row['documents']} places" if row["place"] and row["path"] else ""
        lines.append(f"  rank {row['rank']} of {row['of']} {noun} that match{place}; relevance {row['relevance']:.2f}")
    for signal in row["signals"]:
        meaning = f"  {REASONS[signal['name']]}" if signal["name"] in REASONS else ""
        lines.append(f"  {signal['name']:<16} {signal['value']:>8g} x {signal['weight']:g}{meaning}".rstrip())
    return "\n".join(lines)
