"""XML: an `entity` element; a block has its place in an element of its own, as the specification of blocks has it."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.assemble.render.labels import line_range
from satchel.assemble.render.views.entity import Entity, entities
from satchel.assemble.render.xml import attribute, detail_attribute, escaped, freshness_attribute
from satchel.types import ContextItem, Piece


def entity(item: ContextItem, *, show_code: bool) -> str:
    """Every entity of an item."""
    return "".join(
        f"<entity name={attribute(one.name)} type={attribute(one.type)}{_file(one)}{_nonce(item)}>\n"
        f"{_lines(one, one.all_pieces, 'lines', show_code=show_code)}</entity>\n"
        for one in entities(item)
    )


def block(item: ContextItem, *, show_code: bool) -> str:
    """Every entity of an item with its score and its location."""
    return "".join(
        f'<entity type={attribute(one.type)} name={attribute(one.name)} score="{one.score:.2f}"{_nonce(item)}>\n'
        f"{_location(one)}{_lines(one, one.imports, 'imports', show_code=show_code)}"
        f"{_lines(one, one.pieces, 'code', show_code=show_code)}</entity>\n"
        for one in entities(item)
    )


def _file(one: Entity) -> str:
    return f" file={attribute(one.path)}" if one.path else ""


def _location(one: Entity) -> str:
    return f'<location file={attribute(one.path)} start="{one.start}" end="{one.end}"/>\n' if one.path else ""


def _nonce(item: ContextItem) -> str:
    return f" nonce={attribute(item.nonce)}" if item.nonce else ""


def _lines(one: Entity, pieces: Sequence[Piece], tag: str, *, show_code: bool) -> str:
    rows = []
    for piece in pieces:
        place = f' range="{line_range(piece)}"' if one.path else ""
        start = f"<{tag}{place}{detail_attribute(piece.detail)}{freshness_attribute(piece)}"
        rows.append(f"{start}/>\n" if one.path and not show_code else f"{start}>\n{escaped(piece.text)}\n</{tag}>\n")
    return "".join(rows)
