"""Markdown: `### name`, `*path:lines*` and a fence.

A block says its type before its name and its score behind, and has a fence for its imports and one for its code.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from satchel.assemble.render.labels import quote, quoted, touches
from satchel.assemble.render.markdown import fenced
from satchel.assemble.render.views.entity import Entity, entities, marks_of, place
from satchel.types import ContextItem, Piece

GAP_LINE = "…"
"""Stands between two ranges with lines missing between them. One token with its line break; three dots would be
valid code in some languages."""

_ENDING = re.compile(r"[:\"\[]|\)\Z")


def entity(item: ContextItem, *, show_code: bool) -> str:
    """Every entity of an item under its own heading."""
    return "".join(
        f"### {quote(one.name)}\n*{_location(one, one.all_pieces, show_code=show_code)}*\n\n"
        f"{_shown(item, one, one.all_pieces, show_code=show_code)}"
        for one in entities(item)
    )


def block(item: ContextItem, *, show_code: bool) -> str:
    """Every entity of an item with its type, its score, its imports and its code."""
    return "".join(_block(item, one, show_code=show_code) for one in entities(item))


def _block(item: ContextItem, one: Entity, *, show_code: bool) -> str:
    heading = (
        f"### {colonless(one.type)}: {quote(one.name)}\n"
        f"*{_location(one, one.pieces, show_code=show_code)}* (score: {one.score:.2f})\n\n"
    )
    if not one.path:
        return heading + _shown(item, one, one.pieces, show_code=show_code)
    imports = f"**Imports:** {place(one.imports, shown=show_code)}\n" if one.imports else ""
    if imports:
        imports += _shown(item, one, one.imports, show_code=show_code) or "\n"
    code = _shown(item, one, one.pieces, show_code=show_code)
    return f"{heading}{imports}" + (f"**Code:**\n{code}" if code else "")


def colonless(text: str) -> str:
    """A name or path that neither a colon nor a mark behind it can end too early: as it is, or as a JSON string."""
    return quoted(text) if _ENDING.search(text) else quote(text)


def _location(one: Entity, pieces: Sequence[Piece], *, show_code: bool) -> str:
    if one.path:
        return f"{colonless(one.path)}:{place(pieces, shown=show_code)}"
    marks = marks_of(one.pieces[0])
    return f"{colonless(one.type)}{f' ({marks})' if marks else ''}"


def _shown(item: ContextItem, one: Entity, pieces: Sequence[Piece], *, show_code: bool) -> str:
    return f"{fenced(item, _gapped(pieces))}\n\n" if show_code or not one.path else ""


def _gapped(pieces: Sequence[Piece]) -> str:
    """The texts of the pieces with a gap line wherever lines are missing."""
    texts = [pieces[0].text]
    for earlier, later in pairwise(pieces):
        if not touches(earlier, later):
            texts.append(GAP_LINE)
        texts.append(later.text)
    return "\n".join(texts)
