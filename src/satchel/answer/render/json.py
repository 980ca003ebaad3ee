"""JSON: the packed context itself, compact, each text once; in a view one object per entity."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from satchel.answer.render.frame import (
    DEFAULT_TITLE,
    QUERY_SHOWN,
    FooterNote,
    RenderRequest,
    counts_line,
    head_notes,
    notes,
    notice,
)
from satchel.answer.render.labels import ShownEntity, file_path, heading, record_body
from satchel.types import ContextItem, Detail, Piece, View

JOIN = ","

_SURROGATE = re.compile("[\ud800-\udfff]")


def head(request: RenderRequest, items: Sequence[ContextItem]) -> str:  # noqa: ARG001 - the protocol of all formats
    """Return the object up to its first item or group, without a list of the best: items are in order."""
    frame: dict[str, Any] = {"title": request.title} if request.title != DEFAULT_TITLE else {}
    frame["notice"] = notice(request)
    if request.query and len(request.query) <= QUERY_SHOWN:
        frame["query"] = request.query
    if request.hunks:
        frame["change"] = request.hunks
    frame |= _noted(head_notes(request))
    return f'{{"context":{dumped(frame)[:-1]},"{"groups" if request.form.group_by_type else "items"}":['


def section(title: str, *, grouped: bool) -> tuple[str, str]:
    """Return a group as an object; sections of single kinds are not written, because every item names its kind."""
    return (f'{{"title":{dumped(title)},"items":[', "]}") if grouped else ("", "")


def item(request: RenderRequest, item: ContextItem) -> str:
    """Return one object: a file has `path` and `ranges`, a record `title` and `text`."""
    path = file_path(item)
    fields: dict[str, Any] = {"source": item.source}
    if item.section:
        fields["section"] = item.section
    if path:
        ranges = [_range(piece, show_code=request.form.show_code, is_named=True) for piece in item.pieces]
        fields |= {"path": path, "ranges": ranges}
    else:
        fields |= {"title": heading(item), "text": record_body(item)} | _detail(item.detail)
    return dumped(fields | _nonce(item))


def tail(request: RenderRequest, items: Sequence[ContextItem]) -> str:
    """Return the rest of the object: counts and notes."""
    frame = {"footer": counts_line(request, items)} | _noted(notes(request, items))
    return f"],{dumped(frame)[1:]}}}"


def _noted(listed: Iterable[FooterNote]) -> dict[str, Any]:
    """Return the entries of each note by its key, and the number of further entries."""
    frame: dict[str, Any] = {}
    for note in listed:
        frame[note.key] = note.entries[0] if note.is_single else note.entries
        if note.more:
            frame[f"{note.key}_more"] = note.more
    return frame


def entity(request: RenderRequest, item: ContextItem, entity: ShownEntity) -> str:
    """Return one object."""
    fields: dict[str, Any] = {"name": entity.name, "type": entity.type}
    is_block = request.form.view is View.BLOCKS
    if is_block:
        fields = {"entity": fields, "score": entity.score}
    fields |= {"summary": entity.summary} if entity.summary else {}
    if not entity.path:
        piece = entity.pieces[0]
        fields |= {"source": item.source, "text": piece.text} | _detail(piece.detail)
        return dumped(fields | _nonce(item))
    fields |= (
        {"location": {"file": entity.path, "start": entity.start, "end": entity.end}}
        if is_block
        else {"file": entity.path}
    )
    if entity.imports:
        fields["imports"] = [_range(piece, show_code=request.form.show_code) for piece in entity.imports]
    fields["ranges"] = [_range(piece, show_code=request.form.show_code) for piece in entity.pieces]
    return dumped(fields | _nonce(item))


def _range(piece: Piece, *, show_code: bool, is_named: bool = False) -> Mapping[str, Any]:
    """Return one piece as plain values."""
    fields: dict[str, Any] = {"start": piece.start, "end": piece.end}
    if is_named and piece.name:
        fields["name"] = piece.name
    fields |= _detail(piece.detail)
    if piece.freshness is not None:
        fields["freshness"] = piece.freshness.value
    return fields | {"text": piece.text} if show_code else fields


def _detail(detail: Detail) -> dict[str, Any]:
    return {} if detail is Detail.FULL else {"detail": detail.value}


def _nonce(item: ContextItem) -> dict[str, Any]:
    return {"nonce": item.nonce} if item.nonce else {}


def dumped(value: object) -> str:
    """Return compact JSON. Only lone surrogates are escaped, which are not valid UTF-8: fewer tokens."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return text if text.isascii() else _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
