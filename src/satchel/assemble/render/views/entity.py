"""What an item consists of: entities, each with its name, its type, its score and the pieces that are shown of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from satchel.assemble.render.labels import line_range, shown_range
from satchel.assemble.render.layout import file_path
from satchel.assemble.render.records import record_body, record_title
from satchel.types import ContextItem, Detail, Freshness, Piece

NAMELESS = "lines"
"""The type of what has no name: imports, lines between two definitions, the head of a file."""

_MARKED = re.compile(r"([\d,=-]+)(?: \(([a-z, ]+)\))?")


@dataclass(frozen=True, slots=True)
class Entity:
    """One definition of a file, or one record (its path is empty).

    `name` is empty where nothing names the lines; `start` and `end` are the lines of the entity itself where they are
    known, else of what is shown.
    """

    name: str
    type: str
    score: float
    path: str
    start: int
    end: int
    pieces: tuple[Piece, ...]


def entities(item: ContextItem) -> list[Entity]:
    """The entities of an item in line order. Every piece belongs to exactly one."""
    path = file_path(item)
    if not path:
        piece = Piece(0, 0, "", record_body(item), item.detail)
        kind = str(item.metadata.get("type") or item.source)
        return [Entity(record_title(item), kind, item.relevance, "", 0, 0, (piece,))]
    return [_entity(item, path, name, tuple(group)) for name, group in groupby(item.pieces, key=lambda p: p.name)]


def _entity(item: ContextItem, path: str, name: str, pieces: tuple[Piece, ...]) -> Entity:
    known = next((row for row in item.metadata.get("entities", ()) if row["qualified_name"] == (name or path)), None)
    if known is None:
        return Entity(name, NAMELESS, item.relevance, path, pieces[0].start, pieces[-1].end, pieces)
    return Entity(name, known["type"], known["score"], path, known["start_line"], known["end_line"], pieces)


def place(entity: Entity, *, shown: bool) -> str:
    """The ranges with their marks: `15-18 (window); 19-37=1 (line)`."""
    write = shown_range if shown else line_range
    return "; ".join(
        f"{','.join(map(write, group))}{f' ({marks})' if marks else ''}"
        for marks, group in groupby(entity.pieces, key=marks_of)
    )


def marks_of(piece: Piece) -> str:
    """How a piece is not simply the whole of what it names: `window, moved`."""
    marks = [] if piece.detail is Detail.FULL else [piece.detail.value]
    return ", ".join([*marks, *([piece.freshness.value] if piece.freshness is not None else [])])


def read_marks(written: str) -> tuple[Detail, Freshness | None]:
    """`marks_of` backwards. Raises ValueError for a word that is no mark."""
    detail, freshness = Detail.FULL, None
    for word in filter(None, written.split(", ")):
        if word in set(Detail):
            detail = Detail(word)
        else:
            freshness = Freshness(word)
    return detail, freshness


def read_place(written: str) -> list[tuple[str, Detail, Freshness | None]]:
    """`place` backwards: each single range as written, with its marks. Raises ValueError for anything else."""
    rows = []
    for part in written.split("; "):
        found = _MARKED.fullmatch(part)
        if found is None:
            raise ValueError(f"{part!r} is not a range")
        rows += [(one, *read_marks(found[2] or "")) for one in found[1].split(",")]
    return rows


def range_fields(entity: Entity, *, show_code: bool) -> Sequence[Mapping[str, Any]]:
    """The pieces as plain values."""
    return [
        {
            "start": piece.start,
            "end": piece.end,
            **({} if piece.detail is Detail.FULL else {"detail": piece.detail.value}),
            **({} if piece.freshness is None else {"freshness": piece.freshness.value}),
            **({"text": piece.text} if show_code else {}),
        }
        for piece in entity.pieces
    ]
