"""Checks of a store file: whether it keeps its own rules, and its contents without the numbers of its rows.

A check takes a second or more for a large index.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import apsw
import numpy as np

from satchel.store.records import rows
from satchel.store.segments import (
    FIELDS,
    IntArray,
    Lexicon,
    Run,
    Segment,
    decode_columns,
    decode_many,
)

MAX_FAULTS = 20
"""Faults that are listed; one is enough to build an index again."""

# Each finds rows that point at nothing, or that nothing points at.
_BROKEN_LINKS: Mapping[str, str] = {
    "a document without text": "SELECT key FROM documents WHERE id NOT IN (SELECT document FROM texts)",
    "a text without document": "SELECT document FROM texts WHERE document NOT IN (SELECT id FROM documents)",
    "a chunk without document": "SELECT row FROM chunks WHERE document NOT IN (SELECT id FROM documents)",
    "a document without all of its chunks": (
        "SELECT key FROM documents WHERE last_chunk - first_chunk + 1 != "
        "(SELECT count(*) FROM chunks WHERE document = documents.id AND row BETWEEN first_chunk AND last_chunk)"
    ),
    "a chunk outside its document": (
        "SELECT row FROM chunks JOIN documents ON document = id WHERE row NOT BETWEEN first_chunk AND last_chunk"
    ),
    "a definition without chunk": ("SELECT name FROM definitions WHERE chunk NOT IN (SELECT row FROM chunks)"),
    "an edge without source": (
        "SELECT target FROM edges WHERE source NOT IN (SELECT row FROM chunks) "
        "AND source NOT IN (SELECT first_chunk FROM documents)"
    ),
    "a document without segment": "SELECT key FROM documents WHERE segment NOT IN (SELECT id FROM segments)",
    "a document in a segment of another kind": (
        "SELECT key FROM documents JOIN segments ON segments.id = segment WHERE segments.kind != documents.kind"
    ),
    "postings without segment": "SELECT DISTINCT segment FROM postings WHERE segment NOT IN (SELECT id FROM segments)",
    "a file both indexed and skipped": (
        "SELECT path FROM skipped WHERE path IN (SELECT key FROM documents WHERE kind IN ('code', 'doc'))"
    ),
}


def faults(connection: apsw.Connection) -> list[str]:
    """What is wrong with a store, empty if nothing is; at most `MAX_FAULTS`. Reads one state and changes nothing."""
    found: list[str] = []
    with connection:
        found += [str(row[0]) for row in rows(connection, f"PRAGMA integrity_check({MAX_FAULTS})") if row[0] != "ok"]
        for what, query in _BROKEN_LINKS.items():
            found += [f"{what}: {row[0]}" for row in rows(connection, f"{query} LIMIT {MAX_FAULTS}")]
        for kind in _kinds(connection):
            found += _wrong_words(connection, kind)
            found += _wrong_segments(connection, kind)
    return found[:MAX_FAULTS]


def _kinds(connection: apsw.Connection) -> list[str]:
    return [row[0] for row in rows(connection, "SELECT DISTINCT kind FROM segments ORDER BY kind")]


def _wrong_words(connection: apsw.Connection, kind: str) -> Iterator[str]:
    """Where the words of one kind do not agree with its rows."""
    lexicon, positions = _lexicon(connection, kind)
    hidden: dict[int, int] = dict(rows(connection, "SELECT id, hidden FROM documents WHERE kind = ?", (kind,)))
    yield from (f"{kind} {document} has no words" for document in sorted(hidden.keys() - positions.keys()))
    wrong = [
        document for document, place in positions.items() if lexicon.live_document[place] == bool(hidden[document])
    ]
    yield from (f"{kind} {document} is found though hidden, or the other way round" for document in wrong)
    count = "SELECT count(*), coalesce(sum(last_chunk - first_chunk + 1), 0) FROM documents WHERE NOT hidden"
    ((documents, chunks),) = rows(connection, f"{count} AND kind = ?", (kind,))
    if (documents, chunks) != (lexicon.document_count, lexicon.chunk_count):
        found = f"{lexicon.document_count} documents with {lexicon.chunk_count} chunks"
        yield f"{kind} has words of {found}, but rows of {documents} with {chunks}"


def _wrong_segments(connection: apsw.Connection, kind: str) -> Iterator[str]:
    """Where a segment does not agree with itself."""
    for segment, spans, blob in rows(connection, "SELECT id, spans, columns FROM segments WHERE kind = ?", (kind,)):
        columns = decode_columns(blob)
        sizes = (len(columns.span_chunk), len(columns.chunk_row), len(columns.document_id))
        if spans != sizes[0]:
            yield f"segment {segment} says that it has {spans} spans, but it has {sizes[0]}"
        for term, body in rows(connection, "SELECT term, body FROM postings WHERE segment = ?", (segment,)):
            fields = zip(decode_many([body]), (sizes[0], sizes[1], sizes[1], sizes[2], sizes[2]), strict=True)
            if any(_is_wrong(units, size) for (_, units, _), size in fields):
                yield f"the postings of {term!r} in segment {segment} are out of range or out of order"


def _is_wrong(units: IntArray, size: int) -> bool:
    return bool(len(units)) and bool(units[-1] >= size or np.any(np.diff(units) <= 0))


def _lexicon(connection: apsw.Connection, kind: str) -> tuple[Lexicon, dict[int, int]]:
    """The words of a kind, and the place among them of every document that there is."""
    segments = []
    positions: dict[int, int] = {}
    base = 0
    select = "SELECT id, columns, dead FROM segments WHERE kind = ? ORDER BY id"
    for segment, blob, dead in rows(connection, select, (kind,)):
        columns = decode_columns(blob)
        segments.append(Segment(segment, blob, np.frombuffer(dead, dtype="<i8")))
        ids = columns.document_id.tolist()
        placed = rows(connection, "SELECT id, position FROM documents WHERE segment = ?", (segment,))
        positions |= {document: base + place for document, place in placed if ids[place : place + 1] == [document]}
        base += len(ids)
    return Lexicon(segments, partial(_postings, connection)), positions


def _postings(
    connection: apsw.Connection, terms: Sequence[str], segments: Sequence[int]
) -> tuple[list[tuple[int, int]], Sequence[Run]]:
    select = "SELECT segment, body FROM postings WHERE term = ? AND segment IN (SELECT value FROM json_each(?))"
    listed = json.dumps([*segments])
    found = [
        (number, *row) for number, term in enumerate(terms) for row in sorted(rows(connection, select, (term, listed)))
    ]
    return [(number, segment) for number, segment, _ in found], decode_many([body for *_, body in found])


def contents(connection: apsw.Connection) -> dict[str, Any]:
    """Everything that search and answers can see, by keys and names: equal for two stores that say the same.

    Left out are row numbers, segments, file times and the revision, which depend on how a store came to be.
    """
    said: dict[str, Any] = {}
    with connection:
        keys: dict[int, _Key] = {
            document: (kind, key)
            for document, kind, key in rows(connection, "SELECT id, kind, key FROM documents WHERE NOT hidden")
        }
        chunks: dict[int, _Chunk] = {
            row: (*keys[document], *rest)
            for row, document, *rest in rows(connection, "SELECT * FROM chunks")
            if document in keys
        }
        said["documents"] = {keys[document]: rest for document, *rest in rows(connection, _DOCUMENTS)}
        texts = rows(connection, "SELECT document, body FROM texts")
        said["texts"] = {keys[document]: zlib.decompress(body).decode() for document, body in texts if document in keys}
        said["chunks"] = sorted(chunks.values())
        said["definitions"] = _named(rows(connection, "SELECT chunk, name, owner, line FROM definitions"), chunks)
        first = rows(connection, "SELECT first_chunk, id FROM documents WHERE NOT hidden")
        # The edges of an empty file start from a chunk that it does not have.
        sources = {row: keys[document] for row, document in first} | chunks
        said["edges"] = _named(rows(connection, "SELECT source, type, target, weight FROM edges"), sources)
        said["words"] = _words(connection, chunks, keys)
        said["skipped"] = sorted(rows(connection, "SELECT path, reason FROM skipped"))
    return said


_Key = tuple[str, str]
_Chunk = tuple[Any, ...]
_DOCUMENTS = """
SELECT id, language, content_hash, size, line_count, secondary, title, tags, fields, created, importance, origin
FROM documents WHERE NOT hidden
"""


def _named(found: Sequence[tuple[Any, ...]], names: Mapping[int, _Chunk]) -> list[tuple[Any, ...]]:
    """The rows with the name in place of the number that they start with; those without a name are left out."""
    return sorted((*names[number], *rest) for number, *rest in found if number in names)


def _words(
    connection: apsw.Connection, chunks: Mapping[int, _Chunk], keys: Mapping[int, _Key]
) -> dict[tuple[str, str, str], list[tuple[Any, int]]]:
    """Where every term occurs and how often: (kind, term, field) -> (place, count)."""
    found: dict[tuple[str, str, str], list[tuple[Any, int]]] = {}
    for kind in _kinds(connection):
        lexicon, _ = _lexicon(connection, kind)
        columns = lexicon.columns
        in_chunks = [chunks.get(row) for row in columns.chunk_row.tolist()]
        spans = (columns.span_chunk.tolist(), columns.span_start.tolist(), columns.span_end.tolist())
        in_spans = [(in_chunks[chunk], start, end) for chunk, start, end in zip(*spans, strict=True)]
        in_documents = [keys.get(document) for document in columns.document_id.tolist()]
        places: tuple[Sequence[Any], ...] = (in_spans, in_chunks, in_chunks, in_documents, in_documents)
        select = "SELECT DISTINCT term FROM postings WHERE segment IN (SELECT id FROM segments WHERE kind = ?)"
        terms = [row[0] for row in rows(connection, select, (kind,))]
        for term, postings in zip(terms, lexicon.postings(terms), strict=True):
            for field, names in zip(FIELDS, places, strict=True):
                units, counts = getattr(postings, field)
                if len(units):
                    found[(kind, term, field)] = sorted(
                        (names[unit], count) for unit, count in zip(units.tolist(), counts.tolist(), strict=True)
                    )
    return found
