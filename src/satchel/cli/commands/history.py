"""`satchel history`: who changed a file when, which files change most, and who works on them."""

from __future__ import annotations

import os
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from satchel.calls.state import unread_commits
from satchel.cli import streams
from satchel.cli.interrupt import Interrupt
from satchel.cli.moment import parse_moment
from satchel.cli.options import HELP_OPTIONS, Invocation, common_options, json_option, pass_invocation
from satchel.cli.refresh import refresh_first
from satchel.cli.session import opened
from satchel.cli.table import Column, plain_lines
from satchel.types import Failure

if TYPE_CHECKING:
    from satchel.search.changes import Author, FileChurn, FileHistory

DEFAULT_LIMIT = 20
"""Rows: what fits on a screen."""

DEFAULT_DAYS = 90

_HASH_SHOWN = 7


@click.command("history", context_settings=HELP_OPTIONS)
@click.argument("path", required=False, default="")
@click.option(
    "--churn",
    "days",
    type=int,
    is_flag=False,
    flag_value=DEFAULT_DAYS,
    metavar="[DAYS]",
    help=f"The files that changed most often in so many days ({DEFAULT_DAYS} by default).",
)
@click.option("--authors", "by_author", is_flag=True, help="Who made the changes, most commits first.")
@click.option("-n", "--limit", type=int, default=DEFAULT_LIMIT, metavar="N", help="At most so many rows.")
@click.option("--now", metavar="TIME", help="The moment that --churn counts back from, as a date or epoch seconds.")
@click.option("--refresh/--no-refresh", default=True, help="Bring the index up to date first (the default).")
@json_option("the rows")
@common_options
@pass_invocation
def command(
    invocation: Invocation,
    path: str,
    *,
    days: int | None,
    by_author: bool,
    limit: int,
    now: str | None,
    refresh: bool,
    as_json: bool,
) -> int:
    """Show the commits that touched a file, which files change most, or who changed them.

    PATH is a file or a folder, one that is gone too; without it everything counts. Told from the index: the commits
    that HEAD reaches, without merges, under the present names of files that moved unchanged. With --churn write PATH
    first, or `--` before it.
    """
    if days is not None and by_author:
        raise click.UsageError("--churn and --authors are two views: give one of them")
    if now is not None and days is None:
        raise click.UsageError("--now is the moment that --churn counts back from: give --churn too")
    moment = parse_moment(now) if now is not None else None
    with Interrupt() as interrupt, opened(invocation) as satchel:
        notes = refresh_first(satchel, interrupt, invocation.color) if refresh else []
        if interrupt.requested():
            return interrupt.exit_code
        below = below_root(path, satchel.places.root)
        if days is not None:
            churn = satchel.churn(days, path=below, limit=limit, now=moment, refresh=False)
            data: dict[str, Any] = {"path": below, "days": days, "files": [asdict(row) for row in churn]}
            lines = churn_lines(churn)
        elif by_author:
            authors = satchel.authors(below, limit=limit, refresh=False)
            data, lines = {"path": below, "authors": [asdict(row) for row in authors]}, author_lines(authors)
        else:
            history = satchel.file_history(below, limit=limit, refresh=False)
            data, lines = asdict(history), history_lines(history)
        notes = [*notes, *unread_commits(satchel)]
    _show(data, lines, notes, invocation.color, as_json=as_json)
    return 0


def _show(data: dict[str, Any], lines: list[str], notes: list[Failure], color: str, *, as_json: bool) -> None:
    if as_json:
        from satchel.envelope import failure_data

        streams.write_json(data | {"failures": [failure_data(note) for note in notes]})
        return
    for line in lines:
        streams.write_line(line)
    if not lines:
        streams.note("no commit of that time and place is indexed", color=color)
    for note in notes:
        streams.failure(note, color=color)


def below_root(path: str, root: Path) -> str:
    """A path as a person writes it: from the current folder where something is there, else from the root."""
    here = Path(os.path.normpath(Path.cwd() / path))
    if path and os.path.lexists(here) and here.is_relative_to(root):
        return here.relative_to(root).as_posix()
    return path


def history_lines(history: FileHistory) -> list[str]:
    """`1a2b3c4  2024-05-01  Ada  Wait between attempts`, newest first; then what else there is to know."""
    lines = [
        f"{change.sha[:_HASH_SHOWN]}  {day(change.time)}  {change.author}  {change.subject}"
        for change in history.changes
    ]
    if history.total > len(lines):
        lines.append(f"{history.total - len(lines):,} more: raise --limit to see them")
    if history.former:
        lines.append(f"before it moved: {', '.join(history.former)}")
    return lines


def churn_lines(rows: list[FileChurn]) -> list[str]:
    """One file a line, most commits first."""
    cells = [[row.path, f"{row.commits:,}", f"{row.authors:,}", day(row.last)] for row in rows]
    columns = [Column("file"), Column("commits", is_number=True), Column("authors", is_number=True), Column("last")]
    return plain_lines(columns, cells) if cells else []


def author_lines(rows: list[Author]) -> list[str]:
    """One person a line, most commits first."""
    cells = [[row.name, f"{row.commits:,}", day(row.first), day(row.last)] for row in rows]
    columns = [Column("author"), Column("commits", is_number=True), Column("first"), Column("last")]
    return plain_lines(columns, cells) if cells else []


def day(moment: float) -> str:
    """The day (UTC) of a time."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"
