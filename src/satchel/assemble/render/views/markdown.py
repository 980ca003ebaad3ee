"""Markdown: `### name`, `*path:lines*` and a fence; a block says its type before its name and its score behind."""

from __future__ import annotations

import re

from satchel.assemble.render.labels import quote, quoted
from satchel.assemble.render.markdown import fenced, gapped
from satchel.assemble.render.views.entity import Entity, entities, marks_of, place
from satchel.types import ContextItem

_ENDING = re.compile(r"[:\"\[]|\)\Z")


def entity(item: ContextItem, *, show_code: bool) -> str:
    """Every entity of an item under its own heading."""
    return "".join(
        _written(item, one, f"### {quote(one.name or one.path)}\n*{_location(one, show_code=show_code)}*", show_code)
        for one in entities(item)
    )


def block(item: ContextItem, *, show_code: bool) -> str:
    """Every entity of an item with its type and its score."""
    return "".join(
        _written(
            item,
            one,
            f"### {colonless(one.type)}: {quote(one.name or one.path)}\n"
            f"*{_location(one, show_code=show_code)}* (score: {one.score:.2f})",
            show_code,
        )
        for one in entities(item)
    )


def colonless(text: str) -> str:
    """A name or path that neither a colon nor a mark behind it can end too early: as it is, or as a JSON string."""
    return quoted(text) if _ENDING.search(text) else quote(text)


def _location(one: Entity, *, show_code: bool) -> str:
    if one.path:
        return f"{colonless(one.path)}:{place(one, shown=show_code)}"
    marks = marks_of(one.pieces[0])
    return f"{colonless(one.type)}{f' ({marks})' if marks else ''}"


def _written(item: ContextItem, one: Entity, heading: str, show_code: bool) -> str:
    if one.path and not show_code:
        return f"{heading}\n\n"
    return f"{heading}\n\n{fenced(item, gapped(one.pieces))}\n\n"
