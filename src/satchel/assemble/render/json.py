"""JSON: the packed context itself, compact, each text once."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from satchel.assemble.render.layout import (
    QUERY_SHOWN,
    counts_line,
    file_path,
    notes,
    notice,
)
from satchel.assemble.render.records import record_body, record_title
from satchel.assemble.render.request import DEFAULT_TITLE, RenderRequest
from satchel.types import ContextItem, Detail, Piece

ITEM_JOIN = ","
SECTION_JOIN = ","

_SURROGATE = re.compile("[\ud800-\udfff]")


def head(request: RenderRequest) -> str:
    """The object up to its first item or group."""
    frame = {"title": request.title} if request.title != DEFAULT_TITLE else {}
    frame["notice"] = notice(request)
    if request.query and len(request.query) <= QUERY_SHOWN:
        frame["query"] = request.query
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
        fields |= {"title": record_title(item), "text": record_body(item)} | detail_fields(item.detail)
    return dumped(fields | {"nonce": item.nonce} if item.nonce else fields)


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """The rest of the object: counts and what there is to note."""
    frame: dict[str, Any] = {"footer": counts_line(request, items)}
    for note in notes(request, items):
        frame[note.key] = note.entries[0] if note.key == "summary" else note.entries
    return f"],{dumped(frame)[1:]}}}"


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
