"""The arrangement of items in sections, and for views the entities of an item.

In a view an item becomes one entity for each name of its pieces, in line order, all with the nonce of the item; lines
without a name belong to the entity beside them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

from satchel.assemble.render.labels import (
    file_path,
    heading_name,
    kind_label,
    line_range,
    quote,
    quoted,
    record_body,
    shown_range,
    touches,
)
from satchel.types import CONTEXT_TYPES, ContextItem, Detail, Kind, Piece, Trust, View

WHOLE_FILE = "file"
"""The type of an entity of a file without names."""

_GROUP_TITLES = {
    "code": "Relevant Code",
    "documentation": "Related Documentation",
    "conversation": "Previous Conversations",
    "other": "Other Context",
}
_GROUP_OF_TYPE = {
    **dict.fromkeys(("function", "method", "class", "interface", "type", "file", "module", "code"), "code"),
    **dict.fromkeys(("variable", "constant", "property", "enum", "namespace", "struct", "trait", "gap"), "code"),
    **dict.fromkeys(("document", "section", "requirement", "feature", "doc", "user-story"), "documentation"),
    **dict.fromkeys(("session", "message", "decision", "question", "conversation", "commit"), "conversation"),
}
_ENDING = re.compile(r"[:\"\[]|\)\Z")


class ItemSection(NamedTuple):
    """A titled run of items; never empty."""

    title: str
    items: tuple[ContextItem, ...]


@dataclass(frozen=True, slots=True)
class ShownEntity:
    """One definition of a file, or one record (its path is empty).

    Without any name the entity is the file, named by its path. `start` and `end` are the lines of the entity itself
    where they are known, else of what is shown. `imports` are, in blocks, pieces without a name, apart from and before
    the first entity; elsewhere they are among its `pieces`.
    """

    name: str
    type: str
    score: float
    path: str
    start: int
    end: int
    pieces: tuple[Piece, ...]
    imports: tuple[Piece, ...] = ()


def sections(
    items: Sequence[ContextItem], *, group_by_type: bool, view: View = View.SECTIONS, lead: Kind | None = None
) -> list[ItemSection]:
    """Return items by kind in the order of the context types, `lead` first, or by type in the order of the four groups.

    Items keep their order inside a section; empty sections are left out. Sections that items name themselves come last,
    in the order of their first items. Blocks have no sections unless grouped.
    """
    if view is View.BLOCKS and not group_by_type:
        return [ItemSection("", tuple(items))] if items else []
    kinds = sorted(CONTEXT_TYPES.values(), key=lambda kind: kind is not lead)
    titles = _GROUP_TITLES.values() if group_by_type else (kind.heading for kind in kinds)
    members: dict[str, list[ContextItem]] = {title: [] for title in titles}
    for item in items:
        title = _GROUP_TITLES[_group(item)] if group_by_type else item.section or Kind(item.source).heading
        members.setdefault(title, []).append(item)
    return [ItemSection(title, tuple(chosen)) for title, chosen in members.items() if chosen]


def group_of(entity_type: str) -> str | None:
    """Return `code`, `documentation` or `conversation` for a type of entity, None for any other type."""
    return _GROUP_OF_TYPE.get(entity_type.lower())


def _group(item: ContextItem) -> str:
    """Return the group of an item: by its finer type where it has one, else by its kind."""
    return group_of(str(item.metadata.get("type", ""))) or group_of(item.source) or "other"


def entities(item: ContextItem, view: View) -> list[ShownEntity]:
    """Return the entities of an item in line order. Every piece belongs to exactly one."""
    path = file_path(item)
    if not path:
        piece = Piece(0, 0, "", record_body(item), item.detail)
        kind = str(item.metadata.get("type") or item.source)
        return [ShownEntity(_record_name(item), kind, item.relevance, "", 0, 0, (piece,))]
    apart = _imports_end(item.pieces) if view is View.BLOCKS else 0
    owner = next((piece.name for piece in item.pieces if piece.name), "")
    owned: list[tuple[str, Piece]] = []
    for piece in item.pieces[apart:]:
        owner = piece.name or owner
        owned.append((owner, piece))
    first, *rest = [
        _entity(item, path, name, tuple(piece for _, piece in group))
        for name, group in groupby(owned, key=itemgetter(0))
    ]
    return [replace(first, imports=item.pieces[:apart]), *rest]


def _imports_end(pieces: Sequence[Piece]) -> int:
    """Return the number of pieces before the first named one and those that touch it."""
    end = next((number for number, piece in enumerate(pieces) if piece.name), 0)
    while end and touches(pieces[end - 1], pieces[end]):
        end -= 1
    return end


def _record_name(item: ContextItem) -> str:
    """Return the name of a record without its type; guidance is marked in the name."""
    name, label = heading_name(item), kind_label(item)
    return " ".join(filter(None, (label, name))) if item.trust is Trust.GUIDANCE or not name else name


def _entity(item: ContextItem, path: str, name: str, pieces: tuple[Piece, ...]) -> ShownEntity:
    row = next((row for row in item.metadata.get("entities", ()) if row["qualified_name"] == (name or path)), None)
    if row is None:
        kind = WHOLE_FILE if not name else str(item.metadata.get("type") or item.source)
        return ShownEntity(name or path, kind, item.relevance, path, pieces[0].start, pieces[-1].end, pieces)
    return ShownEntity(name or path, row["type"], row["score"], path, row["start_line"], row["end_line"], pieces)


def place(pieces: Sequence[Piece], *, shown: bool) -> str:
    """Return the ranges with their marks: `15-18 (span); 19-37=1 (line)`."""
    write = shown_range if shown else line_range
    return "; ".join(
        f"{','.join(map(write, group))}{f' ({marks})' if marks else ''}"
        for marks, group in groupby(pieces, key=marks_of)
    )


def marks_of(piece: Piece) -> str:
    """Return how a piece differs from the full, fresh text of its definition: `span, moved`; empty if it does not."""
    marks = [] if piece.detail is Detail.FULL else [piece.detail.value]
    return ", ".join([*marks, *([piece.freshness.value] if piece.freshness is not None else [])])


def colonless(text: str) -> str:
    """Return a name or path that can be followed by a colon or mark: unchanged, or as a JSON string."""
    return quoted(text) if _ENDING.search(text) else quote(text)
