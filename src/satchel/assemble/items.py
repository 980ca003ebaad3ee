"""From what is shown to the items that are rendered: one a file or record, with its pieces in line order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from satchel.assemble.candidates import within_blanks
from satchel.assemble.fit import Section
from satchel.assemble.shown import Group
from satchel.keys import handle, nonce
from satchel.types import ContextItem, Detail, Location, Piece, Role

_DETAIL_ORDER = (Detail.LINE, Detail.SIGNATURE, Detail.WINDOW, Detail.FULL)


def build_items(sections: Sequence[Section], key: bytes) -> list[ContextItem]:
    """Items of all sections, section by section, best first within each."""
    items = []
    for section in sections:
        groups = sorted(section.groups.values(), key=_rank)
        items += [_item(group, key) for group in groups]
    return items


def _item(group: Group, key: bytes) -> ContextItem:
    if group.item is None:
        group.item = _file_item(group, key) if group.lines is not None else _record_item(group, key)
    return group.item


def _rank(group: Group) -> tuple[float, float, str]:
    """Files by their file score, records by their value; ties by id."""
    best = max(candidate.value for candidate, _ in group.picks)
    return (-max(candidate.hit.file_score for candidate, _ in group.picks), -best, group.key)


def _file_item(group: Group, key: bytes) -> ContextItem:
    assert group.lines is not None
    pieces = _pieces(group)
    first, _ = group.picks[0]
    location = first.document.location
    content_hash = location.content_hash if location is not None else ""
    content = "\n".join([piece.text for piece in pieces])
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
        origins=tuple(dict.fromkeys(candidate.document.id for candidate, _ in group.picks)),
    )


def _pieces(group: Group) -> tuple[Piece, ...]:
    """The shown ranges, cut where one document ends and the next begins."""
    assert group.lines is not None
    shown = _documents(group)
    pieces: list[Piece] = []
    for start, end in group.ranges:
        cuts = {start} | {document.start for document in shown if start < document.start <= end}
        ordered = sorted(cuts)
        for first, after in zip(ordered, [*ordered[1:], end + 1], strict=True):
            owner = next((document for document in shown if document.start <= first <= document.end), None)
            name = owner.name if owner is not None else ""
            detail = owner.detail(first, after - 1) if owner is not None else Detail.WINDOW
            pieces.append(Piece(first, after - 1, name, group.lines.text(first, after - 1)[:-1], detail))
    return tuple(pieces)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A document of which something is shown, and the fullest step that was admitted."""

    start: int
    end: int
    name: str
    best: Detail

    def detail(self, first: int, last: int) -> Detail:
        """How a piece of it is labelled: whole, lines of it, or its declaration alone."""
        if first <= self.start and last >= self.end:
            return Detail.FULL
        return Detail.WINDOW if self.best is Detail.FULL else self.best


def _documents(group: Group) -> list[_Shown]:
    best: dict[str, _Shown] = {}
    for candidate, step in group.picks:
        document = candidate.document
        location = document.location
        assert location is not None
        known = best.get(document.id)
        if known is None or _DETAIL_ORDER.index(step.detail) > _DETAIL_ORDER.index(known.best):
            name = "" if document.role is Role.GAP or document.title == group.key else document.title
            start, end = _told(group, location)
            best[document.id] = _Shown(start, end, name, step.detail)
    return sorted(best.values(), key=lambda shown: (shown.start, shown.end))


def _told(group: Group, location: Location) -> tuple[int, int]:
    """The lines of a document without blank ones at its ends, which are not shown."""
    assert group.lines is not None
    return within_blanks(group.lines, location.start_line, location.end_line)


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
