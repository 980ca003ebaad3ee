"""Plain text: the block of the canonical layout, one an entity, titled by its name and place.

`--- 15-18:` stands above lines that are shown, `--- 15-18` for lines that are not.
"""

from __future__ import annotations

from satchel.assemble.render.labels import line_range, quote, shown_range
from satchel.assemble.render.plain import NO_NONCE
from satchel.assemble.render.views.entity import Entity, entities, marks_of
from satchel.assemble.render.views.markdown import colonless
from satchel.types import ContextItem


def entity(item: ContextItem, *, show_code: bool) -> str:
    """Every entity of an item: `=== name [path] nonce`."""
    return "".join(
        _marked(item, one, f"{quote(one.name)} [{colonless(one.path or one.type)}]", (), show_code)
        for one in entities(item)
    )


def block(item: ContextItem, *, show_code: bool) -> str:
    """Every entity of an item: `=== type: name nonce`, its file and its score."""
    return "".join(
        _marked(
            item,
            one,
            f"{colonless(one.type)}: {quote(one.name)}",
            ((f"File: {quote(one.path)}",) if one.path else ()) + (f"Score: {one.score:.2f}",),
            show_code,
        )
        for one in entities(item)
    )


def _marked(item: ContextItem, one: Entity, title: str, facts: tuple[str, ...], show_code: bool) -> str:
    rows = list(facts)
    is_shown = show_code or not one.path
    for piece in one.all_pieces:
        marks = marks_of(piece)
        place = (shown_range(piece) if show_code else line_range(piece)) if one.path else ""
        words = ["---", *([place] if place else []), *([f"({marks})"] if marks else [])]
        rows.append(" ".join(words) + (":" if is_shown else ""))
        if is_shown:
            rows.append(piece.text)
    body = "\n".join(rows)
    nonce = item.nonce or NO_NONCE
    run = "==="
    while f"\n{run} {nonce}\n" in f"\n{body}\n":
        run += "="
    return f"{run} {title} {nonce}\n{body}\n{run} {nonce}\n\n"
