"""What an item consists of: entities, each with its name, its type, its score and the pieces that are shown of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any

from satchel.assemble.render.labels import line_range, shown_range, touches
from satchel.assemble.render.layout import file_path
from satchel.assemble.render.records import heading_name, kind_label, record_body
from satchel.types import ContextItem, Detail, Freshness, Piece, Trust

WHOLE_FILE = "file"
"""The type of an entity where nothing that is shown of its file has a name."""

_MARKED = re.compile(r"([\d,=-]+)(?: \(([a-z, ]+)\))?")


@dataclass(frozen=True, slots=True)
class Entity:
    """One definition of a file, or one record (its path is empty).

    Without any name the entity is the file, named by its path. `start` and `end` are the lines of the entity itself
    where they are known, else of what is shown. `imports` are pieces without a name, apart from and before the first
    entity.
    """

    name: str
    type: str
    score: float
    path: str
    start: int
    end: int
    pieces: tuple[Piece, ...]
    imports: tuple[Piece, ...] = ()

    @property
    def all_pieces(self) -> tuple[Piece, ...]:
        """The pieces in line order, imports and all."""
        return (*self.imports, *self.pieces)


def entities(item: ContextItem) -> list[Entity]:
    """The entities of an item in line order. Every piece belongs to exactly one."""
    path = file_path(item)
    if not path:
        piece = Piece(0, 0, "", record_body(item), item.detail)
        kind = str(item.metadata.get("type") or item.source)
        return [Entity(_record_name(item), kind, item.relevance, "", 0, 0, (piece,))]
    first = next((number for number, piece in enumerate(item.pieces) if piece.name), 0)
    apart = first
    while apart and touches(item.pieces[apart - 1], item.pieces[apart]):
        apart -= 1
    imports, pieces = item.pieces[:apart], item.pieces[apart:]
    last = next((piece.name for piece in pieces if piece.name), "")
    owned: list[tuple[str, Piece]] = []
    for piece in pieces:
        last = piece.name or last
        owned.append((last, piece))
    made = [
        _entity(item, path, name, tuple(piece for _, piece in group))
        for name, group in groupby(owned, key=itemgetter(0))
    ]
    return [replace(made[0], imports=imports), *made[1:]]


def _record_name(item: ContextItem) -> str:
    """The name of a record, whose type is said beside it; what is to be followed says so in its name."""
    name, label = heading_name(item), kind_label(item)
    return " ".join(filter(None, (label, name))) if item.trust is Trust.GUIDANCE or not name else name


def _entity(item: ContextItem, path: str, name: str, pieces: tuple[Piece, ...]) -> Entity:
    row = next((row for row in item.metadata.get("entities", ()) if row["qualified_name"] == (name or path)), None)
    if row is None:
        kind = WHOLE_FILE if not name else str(item.metadata.get("type") or item.source)
        return Entity(name or path, kind, item.relevance, path, pieces[0].start, pieces[-1].end, pieces)
    return Entity(name or path, row["type"], row["score"], path, row["start_line"], row["end_line"], pieces)


def place(pieces: Sequence[Piece], *, shown: bool) -> str:
    """The ranges with their marks: `15-18 (window); 19-37=1 (line)`."""
    write = shown_range if shown else line_range
    return "; ".join(
        f"{','.join(map(write, group))}{f' ({marks})' if marks else ''}"
        for marks, group in groupby(pieces, key=marks_of)
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


def range_fields(pieces: Sequence[Piece], *, show_code: bool) -> Sequence[Mapping[str, Any]]:
    """The pieces as plain values."""
    return [
        {
            "start": piece.start,
            "end": piece.end,
            **({} if piece.detail is Detail.FULL else {"detail": piece.detail.value}),
            **({} if piece.freshness is None else {"freshness": piece.freshness.value}),
            **({"text": piece.text} if show_code else {}),
        }
        for piece in pieces
    ]
