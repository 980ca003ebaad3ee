"""Plain text: one block per item, from `=== file PATH NONCE` to `=== NONCE`, a label above each piece.

A record opens with its title instead, a file whose lines are not shown with `places`. Authors of content do not
know the nonce, and a label tells how many lines belong to it, so a line that only looks like a label is content.

A view has a block per entity, titled by its name and place: `--- 15-18:` is above lines that are shown, `--- 15-18`
means lines that are not.
"""

from __future__ import annotations

from collections.abc import Sequence

from satchel.answer.render.frame import RenderRequest, counts_line, head_lines, note_lines, place_lines
from satchel.answer.render.labels import (
    ShownEntity,
    colonless,
    file_path,
    heading,
    labelled,
    line_range,
    marks_of,
    quote,
    quoted_path,
    record_body,
    shown_range,
)
from satchel.types import ContextItem, Detail, View

JOIN = ""

NO_NONCE = "-"
"""Replaces a missing nonce in the mark of an item, so that the last word of a mark is never part of a title."""


def head(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Return title, notice and the list of the best files."""
    first, *others = head_lines(request, items)
    return "\n".join([request.title, first, *request.hunks, *others]) + "\n\n"


def section(title: str, *, grouped: bool) -> tuple[str, str]:  # noqa: ARG001 - the protocol of all formats
    """Return the title of a section; nothing closes it."""
    return f"=== {title} ===\n\n", ""


def item(request: RenderRequest, item: ContextItem) -> str:
    """Return the block of one item, then a blank line."""
    path = file_path(item)
    if path:
        return _block(
            item,
            f"{'file' if request.form.show_code else 'places'} {quoted_path(path)}",
            labelled(item.pieces, shown=request.form.show_code, numbered=request.is_numbered, cuts=item.cuts),
        )
    mark = "" if item.detail is Detail.FULL else f" ({item.detail})"
    return _block(item, f"{quote(heading(item))}{mark}", record_body(item))


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Return the places, then the footer: counts and notes."""
    places = place_lines(request)
    listed = f"Places:\n{places}\n" if places else ""
    return f"{listed}{counts_line(request, items)}{note_lines(request, items)}"


def _block(item: ContextItem, title: str, body: str) -> str:
    nonce = item.nonce or NO_NONCE
    run = "==="
    # Content may contain the line that ends its block, with the nonce: a longer run is a different line.
    while f"\n{run} {nonce}\n" in f"\n{body}\n":
        run += "="
    return f"{run} {title} {nonce}\n{body}\n{run} {nonce}\n\n"


def entity(request: RenderRequest, item: ContextItem, entity: ShownEntity) -> str:
    """Return the block of one entity, then a blank line."""
    texts: list[str] = []
    title = f"{quote(entity.name)} [{colonless(entity.path or entity.type)}]"
    if request.form.view is View.BLOCKS:
        title = f"{colonless(entity.type)}: {quote(entity.name)}"
        texts += [f"File: {colonless(entity.path)}:{entity.start}"] if entity.path else []
        texts.append(f"Score: {entity.score:.2f}")
    texts += [f"Summary: {quote(entity.summary)}"] if entity.summary else []
    for piece in (*entity.imports, *entity.pieces):
        lines = (shown_range(piece) if request.form.show_code else line_range(piece)) if entity.path else ""
        marks = marks_of(piece)
        heading = " ".join(filter(None, ("---", lines, f"({marks})" if marks else "")))
        texts += [f"{heading}:", piece.text] if request.form.show_code or not entity.path else [heading]
    return _block(item, title, "\n".join(texts))
