"""Stored parts as documents, and how documents are named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from satchel.store.protocol import Store
from satchel.store.records import Bundle, StoredPart
from satchel.types import Document, Kind, Location, Role

RECORD_KINDS = frozenset({Kind.COMMIT, Kind.MEMORY, Kind.EXPERIENCE, Kind.VALUE, Kind.CONVERSATION, Kind.NOTE})
"""Kinds whose documents are whole records, or sides of one, rather than parts of files. Notes may be either."""

FILE_ORIGIN = "file"
"""The origin of what was read from a file of the root."""

ALSO = "also"
"""The field of a hit that holds the ids of the other documents of its record that were found."""


def document_of(bundle: Bundle, part: StoredPart, more: Mapping[str, Any] | None = None) -> Document:
    """The document that a stored part is, with `more` fields; its body is read later, from the file or the store.

    The title of a record is that of the record; the side of it that the part is stands in the id.
    """
    is_record = bundle.kind in RECORD_KINDS and not (bundle.kind is Kind.NOTE and bundle.origin == FILE_ORIGIN)
    location = None if is_record else Location(bundle.key, part.start, part.end, bundle.content_hash)
    return Document(
        id=identity_of(bundle, part),
        kind=bundle.kind,
        title=bundle.title if is_record else part.name or bundle.title,
        body="",
        location=location,
        role=Role(part.role),
        signature=part.signature,
        tags=bundle.tags,
        fields={
            **bundle.fields,
            "language": bundle.language,
            "bundle": bundle.id,
            "summary": part.summary,
            **(more or {}),
        },
        created=bundle.created,
        updated=bundle.updated,
        importance=bundle.importance,
        origin=bundle.origin,
    )


def documents_of(store: Store, rows: Iterable[int]) -> dict[int, tuple[StoredPart, Document]]:
    """Stored parts by row, each with its document, in the order of the rows."""
    listed = list(rows)
    parts = store.parts(listed)
    bundles = store.bundles({part.bundle for part in parts.values()})
    return {row: (parts[row], document_of(bundles[parts[row].bundle], parts[row])) for row in listed if row in parts}


def identity_of(bundle: Bundle, part: StoredPart) -> str:
    """The id of a stored part as a document."""
    return document_id(bundle.kind, bundle.key, part.name, part.twin, part.start, part.end)


def document_id(kind: Kind, key: str, name: str, twin: int, start: int, end: int) -> str:
    """`kind:key`, with `::name` for a named part, `~2` for its twins, and `#La-b` for an unnamed part of a file."""
    if not name:
        return f"{kind}:{key}" if kind in RECORD_KINDS else f"{kind}:{key}#L{start}-{end}"
    return f"{kind}:{key}::{name}" + (f"~{twin}" if twin > 1 else "")
