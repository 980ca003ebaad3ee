"""A small table on standard error: drawn by rich for a person, in plain columns for everything else."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass

from satchel.cli import streams

_GAP = "  "


@dataclass(frozen=True, slots=True)
class Column:
    """A heading; numbers stand to the right."""

    title: str
    is_number: bool = False


def show(columns: Sequence[Column], rows: Sequence[Sequence[str]], *, title: str, color: str = "") -> None:
    """Write a table to standard error."""
    if streams.can_redraw(sys.stderr):
        _draw(columns, rows, title, colored=streams.wants_color(sys.stderr, color))
    else:
        streams.say("\n".join([title, *plain_lines(columns, rows)]))


def plain_lines(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    """Headings and rows in columns as wide as their widest cell; no line ends with blanks."""
    lines = [[column.title for column in columns], *rows]
    widths = [max(len(line[index]) for line in lines) for index in range(len(columns))]
    return [
        _GAP.join(
            cell.rjust(width) if column.is_number else cell.ljust(width)
            for cell, width, column in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in lines
    ]


def _draw(columns: Sequence[Column], rows: Sequence[Sequence[str]], title: str, *, colored: bool) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(title), title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        table.add_column(column.title, justify="right" if column.is_number else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=sys.stderr, no_color=not colored, force_terminal=True, highlight=False).print(table)
