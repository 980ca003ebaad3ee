"""Plain text: one block an item, from `=== file PATH NONCE` to `=== NONCE`, a label above each piece.

A record opens with its title instead, a file whose lines are not shown with `places`.

Whoever wrote the content does not know the nonce, and a label says how many lines belong to it, so a line that only
looks like one is content.
"""

from __future__ import annotations

from collections.abc import Sequence

from satchel.assemble.render.labels import labelled, quote
from satchel.assemble.render.layout import counts_line, file_path, note_lines
from satchel.assemble.render.opening import head_lines
from satchel.assemble.render.records import heading, record_body
from satchel.assemble.render.request import RenderRequest
from satchel.types import ContextItem, Detail

ITEM_JOIN = ""
SECTION_JOIN = ""

NO_NONCE = "-"
"""Stands in the mark of an item without a nonce, so that the last word of a mark is never part of a title."""


def head(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Title, notice and the list of the best."""
    return "\n".join([request.title, *head_lines(request, items)]) + "\n\n"


def section(title: str, *, grouped: bool) -> tuple[str, str]:  # noqa: ARG001 - the protocol of all formats
    """The title of a section; nothing closes it."""
    return f"=== {title} ===\n\n", ""


def item(item: ContextItem, *, show_code: bool) -> str:
    """The block of one item, then a blank line."""
    path = file_path(item)
    if path:
        title = f"{'file' if show_code else 'places'} {quote(path)}"
        body = labelled(item.pieces, shown=show_code)
    else:
        mark = "" if item.detail is Detail.FULL else f" ({item.detail})"
        title = f"{quote(heading(item))}{mark}"
        body = record_body(item)
    nonce = item.nonce or NO_NONCE
    run = "==="
    # Content that holds the very line which ends its block, nonce included: a longer run is a different line.
    while f"\n{run} {nonce}\n" in f"\n{body}\n":
        run += "="
    return f"{run} {title} {nonce}\n{body}\n{run} {nonce}\n\n"


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """The footer: counts, then what there is to note."""
    return f"{counts_line(request, items)}{note_lines(request, items)}"
