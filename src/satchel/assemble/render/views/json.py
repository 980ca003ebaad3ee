"""JSON: one object an entity; a block names entity, score and location as the specification of blocks does."""

from __future__ import annotations

from typing import Any

from satchel.assemble.render.json import dumped
from satchel.assemble.render.views.entity import Entity, entities, range_fields
from satchel.types import ContextItem


def entity(item: ContextItem, *, show_code: bool) -> str:
    """The entities of an item, with commas between them."""
    return ",".join(
        dumped(
            {"name": one.name, "type": one.type, **({"file": one.path} if one.path else {"source": item.source})}
            | _shown(item, one, show_code=show_code)
        )
        for one in entities(item)
    )


def block(item: ContextItem, *, show_code: bool) -> str:
    """The blocks of an item, with commas between them."""
    return ",".join(
        dumped(
            {"entity": {"name": one.name, "type": one.type}, "score": one.score}
            | ({"location": {"file": one.path, "start": one.start, "end": one.end}} if one.path else {})
            | ({} if one.path else {"source": item.source})
            | _shown(item, one, show_code=show_code, splits=True)
        )
        for one in entities(item)
    )


def _shown(item: ContextItem, one: Entity, *, show_code: bool, splits: bool = False) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if one.path:
        if splits and one.imports:
            fields["imports"] = range_fields(one.imports, show_code=show_code)
        fields["ranges"] = range_fields(one.pieces if splits else one.all_pieces, show_code=show_code)
    else:
        piece = one.pieces[0]
        fields |= {"text": piece.text} | ({} if piece.detail == "full" else {"detail": piece.detail.value})
    return fields | ({"nonce": item.nonce} if item.nonce else {})
