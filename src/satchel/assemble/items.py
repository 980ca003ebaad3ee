"""From what is shown to the items that are rendered: one a file or record, with its pieces in line order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from satchel.assemble.fit import Section
from satchel.assemble.shown import Group
from satchel.keys import handle, nonce
from satchel.types import ContextItem, Detail, Kind, Location, Piece

_DETAIL_ORDER = (Detail.LINE, Detail.SIGNATURE, Detail.WINDOW, Detail.FULL)


def build_items(sections: Sequence[Section], key: bytes) -> list[ContextItem]:
    """Items of all sections, section by section, best first within each."""
    items = []
    for section in sections:
        groups = sorted(section.groups.values(), key=_rank)
        items += [_file_item(group, key) if group.lines is not None else _record_item(group, key) for group in groups]
    return items


def _rank(group: Group) -> tuple[float, float, str]:
    """Files by their file score, records by their value; ties by id."""
    best = max(candidate.value for candidate, _ in group.picks)
    return (-max(candidate.hit.file_score for candidate, _ in group.picks), -best, group.key)


def _file_item(group: Group, key: bytes) -> ContextItem:
    assert group.lines is not None
    pieces = tuple(_piece(group, start, end) for start, end in group.ranges)
    first, _ = group.picks[0]
    location = first.document.location
    content_hash = location.content_hash if location is not None else ""
    content = "\n".join(piece.text for piece in pieces)
    identity = f"{group.kind}:{group.key}"
    spans = tuple(group.ranges)
    return ContextItem(
        id=identity,
        source=group.kind.value,
        title=group.key,
        content=content,
        relevance=max(candidate.hit.relevance for candidate, _ in group.picks),
        metadata=_file_metadata(group),
        tokens=group.tokens,
        detail=max((step.detail for _, step in group.picks), key=_DETAIL_ORDER.index),
        location=Location(group.key, spans[0][0], spans[-1][1], content_hash),
        spans=spans,
        pieces=pieces,
        signals=first.hit.signals,
        handle=handle(identity, content_hash, spans),
        nonce=nonce(key, identity, content),
        language=str(first.document.fields.get("language", "")),
        origins=tuple(dict.fromkeys(candidate.document.id for candidate, _ in group.picks)),
    )


def _piece(group: Group, start: int, end: int) -> Piece:
    assert group.lines is not None
    inside = [
        (candidate, step) for candidate, step in group.picks if any(start <= a and b <= end for a, b in step.ranges)
    ]
    names = dict.fromkeys(c.document.title for c, _ in inside if c.document.signature or c.kind is not Kind.CODE)
    named = [name for name in names if name != group.key]
    label = ", ".join(named[:2]) + (f" +{len(named) - 2}" if len(named) > 2 else "")
    details = [step.detail for _, step in inside]
    detail = max(details, key=_DETAIL_ORDER.index) if details else Detail.WINDOW
    if detail is Detail.WINDOW and any(step.ranges[0] == (start, end) and len(step.ranges) > 1 for _, step in inside):
        detail = Detail.SIGNATURE
    return Piece(start, end, label, group.lines.text(start, end)[:-1], detail)


def _file_metadata(group: Group) -> Mapping[str, Any]:
    first, _ = group.picks[0]
    location = first.document.location
    return {
        "file_path": group.key,
        "start_line": group.ranges[0][0],
        "end_line": group.ranges[-1][1],
        "language": first.document.fields.get("language", ""),
        "qualified_name": first.document.title if location is not None else "",
        "names": list(dict.fromkeys(c.document.title for c, _ in group.picks if c.document.title)),
    }


def _record_item(group: Group, key: bytes) -> ContextItem:
    candidate, step = group.picks[-1]
    document = candidate.document
    piece = Piece(0, 0, "", step.text, step.detail)
    return ContextItem(
        id=document.id,
        source=document.kind.value,
        title=document.title,
        content=step.text,
        relevance=candidate.hit.relevance,
        metadata=_record_metadata(document.id, document.fields, document.created),
        tokens=group.tokens,
        detail=step.detail,
        pieces=(piece,),
        signals=candidate.hit.signals,
        handle=handle(document.id, "", ()),
        nonce=nonce(key, document.id, step.text),
    )


def _record_metadata(identity: str, fields: Mapping[str, Any], created: float) -> Mapping[str, Any]:
    hidden = {"bundle", "summary", "language"}
    shown = {name: value for name, value in fields.items() if name not in hidden}
    if identity.startswith("commit:"):
        shown |= {"sha": identity.partition(":")[2], "files_changed": shown.pop("files", [])}
    return {"id": identity.partition(":")[2], "timestamp": created, **shown}
