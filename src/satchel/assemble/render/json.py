"""JSON: the packed context itself, compact, each text once."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from satchel.assemble.render.layout import (
    QUERY_SHOWN,
    Note,
    counts_line,
    file_path,
    notes,
    notice,
)
from satchel.assemble.render.opening import head_notes
from satchel.assemble.render.records import heading, record_body
from satchel.assemble.render.request import DEFAULT_TITLE, RenderRequest
from satchel.types import ContextItem, Detail, Piece

ITEM_JOIN = ","
SECTION_JOIN = ","

_SURROGATE = re.compile("[\ud800-\udfff]")


def head(request: RenderRequest, items: Sequence[ContextItem]) -> str:  # noqa: ARG001 - the protocol of all formats
    """The object up to its first item or group; there the order of the items says which are the best."""
    frame: dict[str, Any] = {"title": request.title} if request.title != DEFAULT_TITLE else {}
    frame["notice"] = notice(request)
    if request.query and len(request.query) <= QUERY_SHOWN:
        frame["query"] = request.query
    frame |= _noted(head_notes(request))
    return f'{{"context":{dumped(frame)[:-1]},"{"groups" if request.group_by_type else "items"}":['


def section(title: str, *, grouped: bool) -> tuple[str, str]:
    """A group is an object; the sections of single kinds leave no trace, because every item names its kind."""
    return (f'{{"title":{dumped(title)},"items":[', "]}") if grouped else ("", "")


def item(item: ContextItem, *, show_code: bool) -> str:
    """One object: a file has `path` and `ranges`, a record `title` and `text`."""
    path = file_path(item)
    fields: dict[str, Any] = {"source": item.source}
    if item.section:
        fields["section"] = item.section
    if path:
        fields |= {"path": path, "ranges": [range_fields(piece, show_code=show_code) for piece in item.pieces]}
    else:
        fields |= {"title": heading(item), "text": record_body(item)} | detail_fields(item.detail)
    return dumped(fields | {"nonce": item.nonce} if item.nonce else fields)


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """The rest of the object: counts and what there is to note."""
    frame = {"footer": counts_line(request, items)} | _noted(notes(request, items))
    return f"],{dumped(frame)[1:]}}}"


def _noted(listed: Iterable[Note]) -> dict[str, Any]:
    """The entries of each note by its key, and how many there are more of them."""
    frame: dict[str, Any] = {}
    for note in listed:
        frame[note.key] = note.entries[0] if note.is_single else note.entries
        if note.more:
            frame[f"{note.key}_more"] = note.more
    return frame


def range_fields(piece: Piece, *, show_code: bool) -> Mapping[str, Any]:
    """One piece as plain values."""
    fields: dict[str, Any] = {"start": piece.start, "end": piece.end}
    if piece.name:
        fields["name"] = piece.name
    fields |= detail_fields(piece.detail)
    if piece.freshness is not None:
        fields["freshness"] = piece.freshness.value
    return fields | {"text": piece.text} if show_code else fields


def detail_fields(detail: Detail) -> dict[str, Any]:
    """How much is shown, empty for all of it."""
    return {} if detail is Detail.FULL else {"detail": detail.value}


def dumped(value: object) -> str:
    """Compact JSON. Letters stay as they are (fewer tokens); a lone surrogate cannot be written as UTF-8."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
