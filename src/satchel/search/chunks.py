"""Chunks made from stored ones, and the ids of chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace

from msgspec import structs

from satchel.sources.experiences import lesson_line
from satchel.store.protocol import Store
from satchel.store.records import DefinitionRow, Document, StoredChunk
from satchel.types import RECORD_KINDS, Chunk, Hit, Kind, Location, Role

GIVEN_ORIGIN = "given"
"""The origin of a record that came with a call and is in no store: it has no handle, which would lead nowhere."""

FILE_ORIGIN = "file"
"""The origin of a document that was read from a file of the root."""

ITEM_KEY = "item key"
"""The field with the key of the item of a chunk, where that differs from its path."""

REVISION = "revision"
"""The field of a record that may be asked for again as it was: the content hash and the lines that its handle means."""


def chunk_of(document: Document, part: StoredChunk) -> Chunk:
    """Return a stored chunk with the data of its document; its body is read later.

    A chunk of a record has the title of the record; its side of the record is in the id. The title of an experience
    says how it ended.
    """
    is_record = document.kind in RECORD_KINDS and not (document.kind is Kind.NOTE and document.origin == FILE_ORIGIN)
    location = None if is_record else Location(document.key, part.start, part.end, document.content_hash)
    return Chunk(
        id=identity_of(document, part),
        kind=document.kind,
        title=_title(document) if is_record else part.name or document.title,
        body="",
        location=location,
        role=Role(part.role),
        signature=part.signature,
        tags=document.tags,
        fields={**document.fields, "language": document.language, "summary": part.summary},
        created=document.created,
        updated=document.updated,
        importance=document.importance,
        origin=document.origin,
        document=document.id,
    )


def _title(document: Document) -> str:
    if document.kind is Kind.EXPERIENCE and document.fields.get("outcome_status"):
        # Length limit of a title: a list of what is left out has many.
        return lesson_line(document.fields, 100)
    return document.title


def in_workspace(hit: Hit, prefix: str) -> Hit:
    """Return a hit with its workspace (`web/`, empty for none) before its paths, and before ids of files and notes.

    A commit and what is remembered have the same id in every workspace.
    """
    chunk, location = hit.chunk, hit.chunk.location
    if not prefix:
        return hit
    if chunk.kind is Kind.COMMIT:
        files = [f"{prefix}{path}" for path in chunk.fields.get("files", ())]
        fields = {**chunk.fields, "files": files, "workspace": prefix.rstrip("/")}
        return structs.replace(hit, chunk=replace(chunk, fields=fields))
    if location is None and chunk.kind is not Kind.NOTE:
        return hit
    identity, title = f"{chunk.kind}:{prefix}{chunk.id.partition(':')[2]}", chunk.title
    if location is not None:
        title = f"{prefix}{title}" if title == location.path else title
        location = location._replace(path=f"{prefix}{location.path}")
    fields = {name: f"{prefix}{value}" if name == ITEM_KEY else value for name, value in chunk.fields.items()}
    copies = tuple(copy._replace(path=f"{prefix}{copy.path}") for copy in hit.copies)
    return structs.replace(
        hit, chunk=replace(chunk, id=identity, title=title, location=location, fields=fields), copies=copies
    )


def stored_rows(store: Store, rows: Iterable[int]) -> dict[int, tuple[Document, StoredChunk]]:
    """Return stored chunks by row, each with its document, in the order of the rows; unknown rows are left out."""
    listed = list(rows)
    parts = store.chunks(listed)
    documents = store.documents({part.document for part in parts.values()})
    return {row: (documents[parts[row].document], parts[row]) for row in listed if row in parts}


def chunks_of(store: Store, rows: Iterable[int]) -> dict[int, tuple[StoredChunk, Chunk]]:
    """Return stored chunks by row, each with its `chunk_of`, in the order of the rows."""
    return {row: (part, chunk_of(document, part)) for row, (document, part) in stored_rows(store, rows).items()}


def records_of(store: Store, rows: Iterable[int]) -> dict[int, tuple[Document, StoredChunk, Chunk]]:
    """Return stored chunks by row, each with its document and its `chunk_of`, in the order of the rows."""
    found = stored_rows(store, rows).items()
    return {row: (document, part, chunk_of(document, part)) for row, (document, part) in found}


def definitions_of(store: Store, limit: int, names: Sequence[str]) -> dict[str, list[DefinitionRow]]:
    """Return the definitions of each name; none of a name that more than `limit` chunks define."""
    rows: dict[str, list[DefinitionRow]] = {name: [] for name in names}
    for definition in store.definitions(sorted(names), most=limit):
        rows[definition.name].append(definition)
    return rows


def identity_of(document: Document, part: StoredChunk) -> str:
    """Return the id of a stored chunk."""
    return chunk_id(document.kind, document.key, part.name, part.twin, part.start, part.end)


def chunk_id(kind: Kind, key: str, name: str, twin: int, start: int, end: int) -> str:
    """Return `kind:key`, with `::name` for a named chunk, `~2` for its twins, `#La-b` for an unnamed part of a file."""
    if not name:
        return f"{kind}:{key}" if kind in RECORD_KINDS else f"{kind}:{key}#L{start}-{end}"
    return f"{kind}:{key}::{name}" + (f"~{twin}" if twin > 1 else "")


def with_former_names(paths: Sequence[str], store: Store) -> list[str]:
    """Return these paths and the former names of the same files."""
    renames = json.loads(store.meta("renames") or "{}")
    now = frozenset(paths)
    return sorted({*paths, *(old for old, new in renames.items() if new in now)})
