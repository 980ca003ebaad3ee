"""Write documents, words and vectors in one transaction of any database, and merge segments."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from msgspec.structs import astuple

from satchel import lazy_numpy as np
from satchel.store.records import NewDocument, SkippedFile, Stamp, WriteConnection, numbered, rows
from satchel.store.segments import (
    FIELD_LEVELS,
    HEADER_BYTES,
    Columns,
    IntArray,
    SegmentDocument,
    build_segment,
    decode_columns,
    decode_many,
    document_count,
    encode_columns,
    encode_postings,
)
from satchel.types import EdgeType, Kind

MAX_SEGMENTS = 8
"""Segments of one kind above which they are merged: each costs a look-up and a decode for every query term."""

LAST_SEGMENT = "last_segment"
"""`meta` key for the largest id that a segment ever had."""

INHERITED = (
    LAST_SEGMENT, "revision", "reading_version", "history", "history_form", "history_unknown", "renames",
    "renames_by_commit", "visible_commits", "published", "mailmap",
)  # fmt: skip
"""`meta` keys that are true of a copy, too."""

RANGE_TERMS = 1_000
"""Terms of one segment that are merged at once: together 10 to 50 ms of work, and some megabytes."""


class _Stopped(Exception):  # noqa: N818 - not a fault: another run merges
    """The caller stops while segments are merged."""


def merge_segments(connection: WriteConnection, should_stop: Callable[[], bool], gone_share: float = 0.5) -> None:
    """Merge the segments of each kind where due, in the caller's transaction; a stopped merge changes nothing.

    A segment is rewritten if more than `gone_share` of its documents are deleted.
    """
    for (kind,) in rows(connection, "SELECT DISTINCT kind FROM segments ORDER BY kind"):
        chosen = _due(connection, kind, gone_share)
        if not chosen or should_stop():
            continue
        connection.execute("SAVEPOINT merging")
        try:
            _merge(connection, kind, chosen, should_stop)
        except _Stopped:
            connection.execute("ROLLBACK TO merging")
        connection.execute("RELEASE merging")


def _due(connection: WriteConnection, kind: str, gone_share: float) -> list[int]:
    """Return the ids of segments to rewrite: those with more deleted ones, and of too many all but a far larger one."""
    segments = rows(
        connection,
        f"SELECT id, spans, substr(columns, 1, {HEADER_BYTES}), length(dead) FROM segments WHERE kind = $1 "
        "ORDER BY spans DESC, id",
        (kind,),
    )
    chosen = {row[0] for row in segments if row[3] and _gone_share(connection, row[0], row[2]) > gone_share}
    if len(segments) > MAX_SEGMENTS:
        rest = sum(row[1] for row in segments[1:])
        keep_first = segments[0][1] > 2 * rest
        chosen.update(row[0] for row in segments[1 if keep_first else 0 :])
    return sorted(chosen)


def _gone_share(connection: WriteConnection, segment: int, head: bytes) -> float:
    """Return the share of a segment's documents that were deleted. Hidden ones do not count: rewriting keeps them."""
    ((remaining,),) = rows(connection, "SELECT count(*) FROM documents WHERE segment = $1", (segment,))
    return 1 - int(remaining) / max(document_count(head), 1)


def _merge(connection: WriteConnection, kind: str, ids: Sequence[int], should_stop: Callable[[], bool]) -> None:
    parts: list[list[Any]] = [[] for _ in Columns._fields]
    renumber: dict[int, tuple[IntArray, IntArray, IntArray]] = {}
    bases = (0, 0, 0)
    for segment in ids:
        ((blob,),) = rows(connection, "SELECT columns FROM segments WHERE id = $1", (segment,))
        kept, numbers, bases = _living(connection, segment, decode_columns(blob), bases)
        if len(kept.document_id):
            renumber[segment] = numbers
        for store, name in zip(parts, Columns._fields, strict=True):
            store.append(getattr(kept, name))
    merged = Columns(*(np.concatenate(part) for part in parts))
    parts.clear()
    target = _next_segment(connection)
    among, listed = connection.lists.within(1), (connection.lists.bound(ids),)
    documents = merged.document_id
    if len(documents):
        hidden = rows(connection, f"SELECT id FROM documents WHERE hidden AND segment {among}", listed)
        dead_positions = np.flatnonzero(np.isin(documents, [row[0] for row in hidden]))
        connection.execute(
            "INSERT INTO segments VALUES ($1, $2, $3, $4, $5)",
            (target, kind, len(merged.span_chunk), encode_columns(merged), dead_positions.astype("<i8").tobytes()),
        )
    del merged  # of a million documents 70 MB, which the postings need now
    if renumber:
        _merge_postings(connection, renumber, target, should_stop)
    connection.execute(f"DELETE FROM postings WHERE segment {among}", listed)
    connection.execute(f"DELETE FROM segments WHERE id {among}", listed)
    connection.executemany(
        "UPDATE documents SET segment = $1, position = $2 WHERE id = $3",
        ((target, position, document) for position, document in enumerate(documents.tolist())),
    )


def _next_segment(connection: WriteConnection) -> int:
    """Return an id that no segment had in an earlier revision: readers keep what they know of a segment."""
    latest = "SELECT max(id) FROM segments UNION SELECT CAST(value AS INTEGER) FROM meta WHERE key = $1"
    return 1 + max(row[0] or 0 for row in rows(connection, latest, (LAST_SEGMENT,)))


def _living(
    connection: WriteConnection, segment: int, columns: Columns, bases: tuple[int, int, int]
) -> tuple[Columns, tuple[IntArray, IntArray, IntArray], tuple[int, int, int]]:
    """Return the columns without deleted documents, new numbers of old spans, chunks, documents (-1), and the next."""
    alive = rows(connection, "SELECT position FROM documents WHERE segment = $1", (segment,))
    document_kept = np.zeros(len(columns.document_id), dtype=bool)
    document_kept[[row[0] for row in alive]] = True
    chunk_kept = document_kept[columns.chunk_document]
    span_kept = chunk_kept[columns.span_chunk]
    spans, chunks, documents = (
        np.where(kept, np.cumsum(kept) - 1 + base, -1)
        for kept, base in zip((span_kept, chunk_kept, document_kept), bases, strict=True)
    )
    arrays = {name: getattr(columns, name)[span_kept] for name in Columns._fields[:7]}
    arrays["span_chunk"] = chunks[arrays["span_chunk"]]
    arrays["chunk_row"] = columns.chunk_row[chunk_kept]
    arrays["chunk_document"] = documents[columns.chunk_document[chunk_kept]]
    arrays["document_id"] = columns.document_id[document_kept]
    arrays["document_secondary"] = columns.document_secondary[document_kept]
    following = (
        bases[0] + int(span_kept.sum()), bases[1] + int(chunk_kept.sum()), bases[2] + int(document_kept.sum())
    )  # fmt: skip
    return Columns(**arrays), (spans, chunks, documents), following


def _merge_postings(
    connection: WriteConnection,
    renumber: Mapping[int, tuple[IntArray, IntArray, IntArray]],
    target: int,
    should_stop: Callable[[], bool],
) -> None:
    """Renumber the postings of segments by ranges of terms, in the memory and pages of one range."""
    segments = sorted(renumber)
    flat = [np.concatenate([renumber[segment][level] for segment in segments]) for level in range(3)]
    sizes = [[len(renumber[segment][level]) for segment in segments] for level in range(3)]
    bases = np.array([np.cumsum(level) - level for level in sizes], dtype=np.int64)
    place = {segment: number for number, segment in enumerate(segments)}
    among, listed = f"segment {connection.lists.within(1)}", connection.lists.bound(segments)
    after = ""
    while True:
        if should_stop():
            raise _Stopped
        last = _range_end(connection, segments, after)
        bounds = (listed, after) if last is None else (listed, after, last)
        chosen = f"FROM postings WHERE {among} AND term > $2" + ("" if last is None else " AND term <= $3")
        postings = rows(connection, f"SELECT term, segment, body {chosen}", bounds)
        connection.execute(f"DELETE {chosen}", bounds)
        postings.sort(key=itemgetter(0, 1))
        vocabulary: dict[str, int] = {}
        numbers = np.array([vocabulary.setdefault(row[0], len(vocabulary)) for row in postings], dtype=np.int64)
        places = np.array([place[row[1]] for row in postings], dtype=np.int64)
        posted = []
        for level, (owners, units, counts) in zip(FIELD_LEVELS, decode_many([row[2] for row in postings]), strict=True):
            moved = flat[level][units + bases[level][places[owners]]]
            kept = moved >= 0
            posted.append((numbers[owners[kept]], moved[kept], counts[kept]))
        connection.executemany(
            "INSERT INTO postings VALUES ($1, $2, $3)",
            ((term, target, blob) for term, blob in encode_postings(list(vocabulary), posted)),
        )
        if last is None:
            return
        after = last


def _range_end(connection: WriteConnection, segments: Sequence[int], after: str) -> str | None:
    """Return the last term of the next range, None if it reaches the end."""
    step = "SELECT term FROM postings WHERE segment = $1 AND term > $2 ORDER BY term LIMIT 1 OFFSET $3"
    terms = [row[0] for segment in segments for row in rows(connection, step, (segment, after, RANGE_TERMS))]
    return min(terms, default=None)


LONGEST_NAME_BYTES = 2_000
"""A longer name, which only a generated file has, is not stored as a definition or as the target of a relation."""


@dataclass(slots=True)
class _NewSegment:
    """The new segment of one kind: its id, its documents, and the positions of those deleted since."""

    id: int
    entries: list[SegmentDocument] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)


class Writer:
    """One transaction: published at once when the block of `Store.write` ends, rolled back when it raises.

    Rows are written at once; the words of all documents of a kind become one segment at `write_words`, which `finish`
    calls. A merge that is stopped midway leaves the segments as they were. Rows and segments are numbered from `first`.
    """

    def __init__(self, connection: WriteConnection, first: int = 1) -> None:
        self._connection = connection
        self._first = first
        self._segments: dict[Kind, _NewSegment] = {}
        self.changes = connection.total_changes()
        """Changes of the connection that are not those of this writer."""
        self.is_purged = False
        """Whether removed texts must not be readable in the file either."""

    def put(self, documents: Sequence[NewDocument]) -> None:
        """Add documents; those of the same kind and key are removed first, as by `remove`."""
        by_kind: dict[Kind, list[NewDocument]] = {}
        for document in documents:
            by_kind.setdefault(document.kind, []).append(document)
        for kind, group in by_kind.items():
            self.remove(kind, [document.key for document in group])
            self._add(kind, group)

    def _add(self, kind: Kind, documents: Sequence[NewDocument]) -> None:
        segment = self._segments.get(kind)
        if segment is None:
            segment = self._segments[kind] = _NewSegment(self._next_segment())
        connection = self._connection
        next_document = self._next("documents", "id")
        next_row = self._next("chunks", "row")
        entries: list[SegmentDocument] = []
        for document in documents:
            entries.append(SegmentDocument(document, next_document, next_row))
            next_document += 1
            next_row += len(document.extraction.parts)
        connection.executemany(
            f"INSERT INTO documents VALUES ({numbered(25)})",
            (_document_row(entry, segment.id, place) for place, entry in enumerate(entries, len(segment.entries))),
        )
        connection.executemany("INSERT INTO texts VALUES ($1, $2)", map(_text_row, entries))
        connection.executemany(
            "INSERT INTO chunks VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            [row for entry in entries for row in _chunk_rows(entry)],
        )
        connection.executemany(
            "INSERT INTO definitions VALUES ($1, $2, $3, $4)",
            [row for entry in entries for row in _definition_rows(entry)],
        )
        connection.executemany(
            "INSERT INTO edges VALUES ($1, $2, $3, 1.0) ON CONFLICT DO NOTHING",
            [edge for entry in entries for edge in _edge_rows(entry) if _is_name(edge[2])],
        )
        segment.entries += entries

    def replace_words(self, kind: Kind, entries: Sequence[SegmentDocument]) -> None:
        """Replace the words of all documents of a kind, which are `entries`; everything else of them stays."""
        connection = self._connection
        segment = self._segments[kind] = _NewSegment(self._next_segment(), list(entries))
        connection.execute("DELETE FROM postings WHERE segment IN (SELECT id FROM segments WHERE kind = $1)", (kind,))
        connection.execute("DELETE FROM segments WHERE kind = $1", (kind,))
        connection.executemany(
            "UPDATE documents SET segment = $1, position = $2 WHERE id = $3",
            ((segment.id, position, entry.document_id) for position, entry in enumerate(entries)),
        )
        hidden = rows(connection, "SELECT position FROM documents WHERE kind = $1 AND hidden", (kind,))
        segment.dead += [row[0] for row in hidden]

    def _next(self, table: str, column: str) -> int:
        ((number,),) = rows(self._connection, f"SELECT coalesce(max({column}), 0) + 1 FROM {table}")
        return max(self._first, int(number))

    def _next_segment(self) -> int:
        return max(
            [self._first, _next_segment(self._connection), *(segment.id + 1 for segment in self._segments.values())]
        )

    def write_words(self) -> None:
        """Write the words of the new documents, one segment for each kind, which needs their extractions no more."""
        for kind, segment in self._segments.items():
            columns, postings = build_segment(segment.entries)
            dead = np.array(sorted(segment.dead), dtype="<i8").tobytes()
            self._connection.execute(
                "INSERT INTO segments VALUES ($1, $2, $3, $4, $5)",
                (segment.id, kind, len(columns.span_chunk), encode_columns(columns), dead),
            )
            self._connection.executemany(
                "INSERT INTO postings VALUES ($1, $2, $3)", ((term, segment.id, blob) for term, blob in postings)
            )
        self._segments.clear()

    def remove(self, kind: Kind, keys: Iterable[str]) -> None:
        """Delete documents with their chunks, definitions, edges, text and words; unknown keys are ignored."""
        connection = self._connection
        columns = "id, first_chunk, last_chunk, segment, position"
        sql = f"SELECT {columns} FROM documents WHERE kind = $1 AND key {connection.lists.within(2)}"
        removed = rows(connection, sql, (kind, connection.lists.bound(keys)))
        if not removed:
            return
        for column in ("chunks.row", "definitions.chunk", "edges.source", "vectors.chunk"):
            connection.executemany(
                f"DELETE FROM {column.partition('.')[0]} WHERE {column} BETWEEN $1 AND $2",
                ((row[1], row[2]) for row in removed),
            )
        connection.executemany("DELETE FROM texts WHERE document = $1", ((row[0],) for row in removed))
        connection.executemany("DELETE FROM documents WHERE id = $1", ((row[0],) for row in removed))
        gone: dict[int, list[int]] = {}
        for row in removed:
            gone.setdefault(row[3], []).append(row[4])
        new = self._segments.get(kind)
        if new is not None:
            new.dead += gone.pop(new.id, [])
        for segment, positions in gone.items():
            self._add_dead(segment, positions)

    def _add_dead(self, segment: int, positions: Sequence[int]) -> None:
        self._set_dead(segment, np.union1d(self._dead(segment), np.array(positions, dtype="<i8")))

    def _dead(self, segment: int) -> Any:
        ((blob,),) = rows(self._connection, "SELECT dead FROM segments WHERE id = $1", (segment,))
        return np.frombuffer(blob, dtype="<i8")

    def _set_dead(self, segment: int, positions: Any) -> None:
        blob = np.asarray(positions, dtype="<i8").tobytes()
        self._connection.execute("UPDATE segments SET dead = $1 WHERE id = $2", (blob, segment))

    def relate(self, edges: Mapping[int, Sequence[tuple[EdgeType, str]]]) -> None:
        """Replace all edges from these chunks (by row number) with these (type, target)."""
        self._connection.executemany("DELETE FROM edges WHERE source = $1", ((row,) for row in edges))
        self._connection.executemany(
            "INSERT INTO edges VALUES ($1, $2, $3, 1.0) ON CONFLICT DO NOTHING",
            ((row, kind, target) for row, ends in edges.items() for kind, target in ends if _is_name(target)),
        )

    def restamp(self, stamps: Sequence[Stamp]) -> None:
        """Store new file stamps for unchanged content."""
        self._connection.executemany(
            "UPDATE documents SET size = $1, mtime_ns = $2, changed_ns = $3 WHERE id = $4",
            ((stamp.size, stamp.mtime_ns, stamp.changed_ns, stamp.document) for stamp in stamps),
        )

    def set_fields(self, fields: Mapping[int, Mapping[str, Any]]) -> None:
        """Replace the fields of documents by id; words, edges and everything else of them stays."""
        self._connection.executemany(
            "UPDATE documents SET fields = $1 WHERE id = $2",
            ((json.dumps(dict(own)), document) for document, own in fields.items()),
        )

    def forget_stamps(self, *, keeps_vectors: bool = False) -> None:
        """Make a copy of another root's index the start of an own one: all is read again, its notes and vectors go."""
        connection = self._connection
        connection.execute("PRAGMA secure_delete = 1")
        connection.execute("UPDATE documents SET changed_ns = 0 WHERE origin = 'file'")
        connection.execute("DELETE FROM skipped" if keeps_vectors else "DELETE FROM skipped; DELETE FROM vectors")
        lists = connection.lists
        connection.execute(f"DELETE FROM meta WHERE NOT key {lists.within(1)}", (lists.bound(INHERITED),))

    def date_files(self) -> None:
        """Set the date of every file to that of its stamp, also of those whose content was known."""
        self._connection.execute("UPDATE documents SET updated = mtime_ns / 1e9 WHERE origin = 'file'")

    def hide(self, kind: Kind, keys: Iterable[str], shown: Iterable[str] | None = None) -> None:
        """Hide these documents of a kind from search; those `shown`, by default all others, become visible."""
        self.write_words()
        hidden = list(keys)
        others = ("NOT key", hidden) if shown is None else ("key", shown)
        shown_again = self._places("SET hidden = false WHERE hidden AND", kind, *others)
        newly_hidden = self._places("SET hidden = true WHERE NOT hidden AND", kind, "key", hidden)
        for segment in shown_again.keys() | newly_hidden.keys():
            dead = np.setdiff1d(self._dead(segment), shown_again.get(segment, []))
            self._set_dead(segment, np.union1d(dead, newly_hidden.get(segment, [])))

    def _places(self, change: str, kind: Kind, column: str, keys: Iterable[str]) -> dict[int, list[int]]:
        """Change documents, and return the positions of those that changed, by segment."""
        places: dict[int, list[int]] = {}
        lists = self._connection.lists
        sql = f"UPDATE documents {change} kind = $1 AND {column} {lists.within(2)} RETURNING segment, position"
        for segment, position in rows(self._connection, sql, (kind, lists.bound(keys))):
            places.setdefault(segment, []).append(position)
        return places

    def skip(self, files: Sequence[SkippedFile]) -> None:
        """Store files that were opened and not indexed, so that they are not opened again until they change."""
        self.unskip(file.path for file in files)
        self._connection.executemany("INSERT INTO skipped VALUES ($1, $2, $3, $4, $5)", map(astuple, files))

    def unskip(self, paths: Iterable[str]) -> None:
        """Forget these skipped files; unknown paths are ignored."""
        lists = self._connection.lists
        self._connection.execute(f"DELETE FROM skipped WHERE path {lists.within(1)}", (lists.bound(paths),))

    def set_meta(self, key: str, value: str) -> None:
        """Store one named value."""
        self.unset_meta(key)
        self._connection.execute("INSERT INTO meta VALUES ($1, $2)", (key, value))

    def unset_meta(self, key: str) -> None:
        """Remove one named value."""
        self._connection.execute("DELETE FROM meta WHERE key = $1", (key,))

    def move(self, workspaces: Sequence[str], workspace: str) -> int:
        """Give the documents of some workspaces to another one; returns their number."""
        lists = self._connection.lists
        sql = f"SELECT id, fields FROM documents WHERE workspace {lists.within(1)}"
        moved = rows(self._connection, sql, (lists.bound(workspaces),))
        changed = ((workspace, _moved(fields, workspace), identity) for identity, fields in moved)
        self._connection.executemany("UPDATE documents SET workspace = $1, fields = $2 WHERE id = $3", changed)
        return len(moved)

    def put_vectors(self, fingerprint: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Store vectors (`satchel.store.vectors`) by row number; they replace older ones of this fingerprint."""
        lists = self._connection.lists
        older = f"DELETE FROM vectors WHERE fingerprint = $1 AND chunk {lists.within(2)}"
        self._connection.execute(older, (fingerprint, lists.bound(row for row, _ in vectors)))
        self._connection.executemany(
            "INSERT INTO vectors VALUES ($1, $2, $3)", ((row, fingerprint, vector) for row, vector in vectors)
        )

    def keep_vectors(self, *fingerprints: str) -> None:
        """Delete the vectors of every other fingerprint."""
        lists = self._connection.lists
        self._connection.execute(
            f"DELETE FROM vectors WHERE NOT fingerprint {lists.within(1)}", (lists.bound(fingerprints),)
        )

    def merge(self, should_stop: Callable[[], bool]) -> None:
        """Merge small or half-dead segments where that is due, unless stopped."""
        self.write_words()
        merge_segments(self._connection, should_stop)

    def purge(self) -> None:
        """Rewrite the words without removed documents; the store then writes its file anew."""
        self.write_words()
        merge_segments(self._connection, lambda: False, 0.0)
        self.is_purged = True

    def finish(self) -> None:
        """Write the new segments and increase the revision, unless nothing changed. Called just before the commit."""
        self.write_words()
        if self._connection.total_changes() == self.changes:
            return
        self.set_meta(LAST_SEGMENT, str(_next_segment(self._connection) - 1))
        ((revision,),) = rows(self._connection, "SELECT coalesce(max(value), '0') FROM meta WHERE key = 'revision'")
        self.set_meta("revision", str(int(revision) + 1))


def _document_row(entry: SegmentDocument, segment: int, position: int) -> tuple[Any, ...]:
    new, extraction = entry.document, entry.document.extraction
    name = new.key.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    return (
        entry.document_id, new.kind, new.key, name, stem, extraction.language, new.content_hash, new.size, new.mtime_ns,
        new.changed_ns, extraction.line_count, new.secondary, new.title, json.dumps(new.tags) if new.tags else "[]",
        json.dumps(dict(new.fields)), new.created, new.updated, new.importance, new.origin, entry.first_chunk,
        entry.first_chunk + len(extraction.parts) - 1, False, segment, position, new.workspace,
    )  # fmt: skip


def _text_row(entry: SegmentDocument) -> tuple[int, bytes]:
    document = entry.document
    # Zlib level: the fastest one already halves source text, and indexing time matters more than size.
    return entry.document_id, document.packed or zlib.compress(document.text.encode(), 1)


def _chunk_rows(entry: SegmentDocument) -> list[tuple[Any, ...]]:
    seen: dict[str, int] = {}
    chunks = []
    for row, part in enumerate(entry.document.extraction.parts, entry.first_chunk):
        twin = seen[part.name] = seen.get(part.name, 0) + 1
        chunks.append(
            (row, entry.document_id, part.role, part.name, twin, part.start, part.end, part.signature, part.summary)
        )
    return chunks


def _definition_rows(entry: SegmentDocument) -> list[tuple[Any, ...]]:
    return [
        (row, definition.name, definition.owner, definition.line)
        for row, part in enumerate(entry.document.extraction.parts, entry.first_chunk)
        for definition in part.definitions
        if _is_name(definition.name)
    ]


def _is_name(text: str) -> bool:
    """Return whether a name can be looked up: an index of a database takes so many bytes."""
    return len(text) * 4 <= LONGEST_NAME_BYTES or len(text.encode()) <= LONGEST_NAME_BYTES


def _edge_rows(entry: SegmentDocument) -> list[tuple[int, EdgeType, str]]:
    """Return the edges of each part, and as edges of the first chunk those of the whole document."""
    first, contains = entry.first_chunk, EdgeType.CONTAINS
    edges = [(first, EdgeType.IMPORTS, item.target) for item in entry.document.extraction.imports]
    edges += [(first, reference.type, reference.target) for reference in entry.document.references]
    for row, part in enumerate(entry.document.extraction.parts, first):
        edges += [(row, reference.type, reference.target) for reference in part.references]
        owner = part.name.rpartition(".")[0]
        if owner:
            edges.append((row, contains, owner))
    return edges


def _moved(fields: str, workspace: str) -> str:
    """Return the stored fields of a document with another workspace."""
    data = json.loads(fields)
    return json.dumps(data | {"workspace": workspace} if "workspace" in data else data)
