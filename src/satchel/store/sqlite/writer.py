"""One write transaction on an embedded store."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, field
from typing import Any

import apsw
import numpy as np

from satchel.store.records import NewBundle, SkippedFile, Stamp
from satchel.store.segments import HEADER_BYTES, SegmentBundle, build_segment, bundle_count, encode_columns
from satchel.store.sqlite.connection import rows
from satchel.store.sqlite.merge import merge_segments
from satchel.types import EdgeType, Kind

_TEXT_COMPRESSION = 1
"""zlib level: the fastest one already halves source text, and indexing time matters more than the rest."""

_IN = "IN (SELECT value FROM json_each(?))"


@dataclass(slots=True)
class _NewSegment:
    """The segment of one kind that this transaction fills: its id, its bundles, and those of them that died since."""

    id: int
    entries: list[SegmentBundle] = field(default_factory=list)
    dead: list[int] = field(default_factory=list)


class SqliteWriter:
    """Collects the changes of one transaction. `finish` is called by the store before it commits.

    Rows are written as they come; the words of all bundles of a kind become one segment at the end.
    """

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection
        self._segments: dict[Kind, _NewSegment] = {}
        self._changes = connection.total_changes()

    def put(self, bundles: Sequence[NewBundle]) -> None:
        """Add these bundles, replacing those of the same kind and key with everything that hangs on them."""
        by_kind: dict[Kind, list[NewBundle]] = {}
        for bundle in bundles:
            by_kind.setdefault(bundle.kind, []).append(bundle)
        for kind, group in by_kind.items():
            self.remove(kind, [bundle.key for bundle in group])
            self._add(kind, group)

    def _add(self, kind: Kind, bundles: Sequence[NewBundle]) -> None:
        segment = self._segments.get(kind)
        if segment is None:
            segment = self._segments[kind] = _NewSegment(self._next_segment())
        connection = self._connection
        next_bundle = self._next("bundles", "id")
        next_row = self._next("documents", "row")
        entries: list[SegmentBundle] = []
        for bundle in bundles:
            entries.append(SegmentBundle(bundle, next_bundle, next_row))
            next_bundle += 1
            next_row += len(bundle.extraction.parts)
        connection.executemany(
            f"INSERT INTO bundles VALUES ({', '.join('?' * 25)})",
            (_bundle_row(entry, segment.id, place) for place, entry in enumerate(entries, len(segment.entries))),
        )
        connection.executemany("INSERT INTO texts VALUES (?, ?)", map(_text_row, entries))
        connection.executemany(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _each(entries, _document_rows)
        )
        connection.executemany("INSERT INTO definitions VALUES (?, ?, ?, ?)", _each(entries, _definition_rows))
        connection.executemany("INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?)", _each(entries, _edge_rows))
        segment.entries += entries

    def _next(self, table: str, column: str) -> int:
        ((number,),) = rows(self._connection, f"SELECT coalesce(max({column}), 0) + 1 FROM {table}")
        return int(number)

    def _next_segment(self) -> int:
        return max([self._next("segments", "id"), *(segment.id + 1 for segment in self._segments.values())])

    def _write_segments(self) -> None:
        """Write the words of what was put, one new segment a kind."""
        for kind, segment in self._segments.items():
            columns, postings = build_segment(segment.entries)
            dead = np.array(sorted(segment.dead), dtype="<i8").tobytes()
            self._connection.execute(
                "INSERT INTO segments VALUES (?, ?, ?, ?, ?)",
                (segment.id, kind, len(columns.window_document), encode_columns(columns), dead),
            )
            self._connection.executemany(
                "INSERT INTO postings VALUES (?, ?, ?)", sorted((term, segment.id, blob) for term, blob in postings)
            )
        self._segments.clear()

    def remove(self, kind: Kind, keys: Iterable[str]) -> None:
        """Delete bundles with their documents, definitions, edges, text and words; unknown keys are ignored."""
        connection = self._connection
        found = rows(
            connection,
            f"SELECT id, first_document, last_document, segment, position FROM bundles WHERE kind = ? AND key {_IN}",
            (kind, json.dumps(list(keys))),
        )
        if not found:
            return
        for table, column in (
            ("documents", "row"),
            ("definitions", "document"),
            ("edges", "source"),
            ("vectors", "document"),
        ):
            connection.executemany(
                f"DELETE FROM {table} WHERE {column} BETWEEN ? AND ?", ((row[1], row[2]) for row in found)
            )
        connection.executemany("DELETE FROM texts WHERE bundle = ?", ((row[0],) for row in found))
        connection.executemany("DELETE FROM bundles WHERE id = ?", ((row[0],) for row in found))
        gone: dict[int, list[int]] = {}
        for row in found:
            gone.setdefault(row[3], []).append(row[4])
        new = self._segments.get(kind)
        if new is not None:
            new.dead += gone.pop(new.id, [])
        for segment, positions in gone.items():
            self._add_dead(segment, positions)

    def _add_dead(self, segment: int, positions: Sequence[int]) -> None:
        ((blob,),) = rows(self._connection, "SELECT dead FROM segments WHERE id = ?", (segment,))
        self._set_dead(segment, np.union1d(np.frombuffer(blob, dtype="<i8"), np.array(positions, dtype="<i8")))

    def _set_dead(self, segment: int, positions: Any) -> None:
        blob = np.asarray(positions, dtype="<i8").tobytes()
        self._connection.execute("UPDATE segments SET dead = ? WHERE id = ?", (blob, segment))

    def relate(self, edges: Mapping[int, Sequence[tuple[EdgeType, str]]]) -> None:
        """Replace all edges that leave these documents (by row number) with these (type, target)."""
        self._connection.executemany("DELETE FROM edges WHERE source = ?", ((row,) for row in edges))
        self._connection.executemany(
            "INSERT OR IGNORE INTO edges VALUES (?, ?, ?, 1.0)",
            ((row, kind, target) for row, relations in edges.items() for kind, target in relations),
        )

    def restamp(self, stamps: Sequence[Stamp]) -> None:
        """Note new file stamps for unchanged content."""
        self._connection.executemany(
            "UPDATE bundles SET size = ?, mtime_ns = ?, changed_ns = ? WHERE id = ?",
            ((stamp.size, stamp.mtime_ns, stamp.changed_ns, stamp.bundle) for stamp in stamps),
        )

    def hide(self, kind: Kind, keys: Iterable[str]) -> None:
        """Make exactly these bundles of a kind invisible to search; all others of the kind become visible."""
        self._write_segments()
        connection = self._connection
        wanted = json.dumps(list(keys))
        connection.execute(f"UPDATE bundles SET hidden = 0 WHERE kind = ? AND hidden AND key NOT {_IN}", (kind, wanted))
        connection.execute(f"UPDATE bundles SET hidden = 1 WHERE kind = ? AND NOT hidden AND key {_IN}", (kind, wanted))
        visible: dict[int, list[int]] = {}
        for segment, position in rows(
            connection, "SELECT segment, position FROM bundles WHERE kind = ? AND NOT hidden", (kind,)
        ):
            visible.setdefault(segment, []).append(position)
        heads = f"SELECT id, substr(columns, 1, {HEADER_BYTES}), dead FROM segments WHERE kind = ?"
        for segment, head, known in rows(connection, heads, (kind,)):
            dead = np.setdiff1d(np.arange(bundle_count(head)), np.array(visible.get(segment, []), dtype=np.int64))
            if not np.array_equal(dead, np.frombuffer(known, dtype="<i8")):
                self._set_dead(segment, dead)

    def skip(self, files: Sequence[SkippedFile]) -> None:
        """Remember files that were opened and not indexed, so that they are not opened again until they change."""
        self._connection.executemany("INSERT OR REPLACE INTO skipped VALUES (?, ?, ?, ?, ?)", map(astuple, files))

    def unskip(self, paths: Iterable[str]) -> None:
        """Forget these skipped files; unknown paths are ignored."""
        self._connection.execute(f"DELETE FROM skipped WHERE path {_IN}", (json.dumps(list(paths)),))

    def set_meta(self, key: str, value: str) -> None:
        """Remember one named value."""
        self._connection.execute(
            "INSERT INTO meta VALUES (?, ?) ON CONFLICT(key) DO UPDATE SET value = excluded.value", (key, value)
        )

    def put_vectors(self, fingerprint: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Add vectors of documents by row number; older ones of the same fingerprint go."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)", ((row, fingerprint, vector) for row, vector in vectors)
        )

    def keep_vectors(self, fingerprint: str) -> None:
        """Delete the vectors of every other fingerprint."""
        self._connection.execute("DELETE FROM vectors WHERE fingerprint <> ?", (fingerprint,))

    def merge(self, should_stop: Callable[[], bool]) -> None:
        """Merge small or half-dead segments where that is due; one that is stopped midway is left as it was."""
        self._write_segments()
        merge_segments(self._connection, should_stop)

    def finish(self) -> None:
        """Complete what was put and count the revision up, unless nothing changed. Called just before the commit."""
        self._write_segments()
        if self._connection.total_changes() == self._changes:
            return
        row = self._connection.execute("SELECT value FROM meta WHERE key = 'revision'").get
        self.set_meta("revision", str(int(row or 0) + 1))


def _each(
    entries: Sequence[SegmentBundle], rows: Callable[[SegmentBundle], Iterator[tuple[Any, ...]]]
) -> Iterator[tuple[Any, ...]]:
    for entry in entries:
        yield from rows(entry)


def _bundle_row(entry: SegmentBundle, segment: int, position: int) -> tuple[Any, ...]:
    bundle = entry.bundle
    name = bundle.key.rpartition("/")[2]
    stem = name.rpartition(".")[0] or name
    return (
        entry.bundle_id, bundle.kind, bundle.key, name, stem, bundle.extraction.language, bundle.content_hash,
        bundle.size, bundle.mtime_ns, bundle.changed_ns, bundle.extraction.line_count, bundle.secondary, bundle.title,
        json.dumps(bundle.tags), json.dumps(dict(bundle.fields)), bundle.created, bundle.updated, bundle.importance,
        bundle.origin, entry.first_document, entry.first_document + len(bundle.extraction.parts) - 1, 0, segment,
        position, bundle.workspace,
    )  # fmt: skip


def _text_row(entry: SegmentBundle) -> tuple[int, bytes]:
    bundle = entry.bundle
    return entry.bundle_id, bundle.packed or zlib.compress(bundle.text.encode(), _TEXT_COMPRESSION)


def _document_rows(entry: SegmentBundle) -> Iterator[tuple[Any, ...]]:
    seen: dict[str, int] = {}
    for row, part in enumerate(entry.bundle.extraction.parts, entry.first_document):
        twin = seen[part.name] = seen.get(part.name, 0) + 1
        yield (row, entry.bundle_id, part.role, part.name, twin, part.start, part.end, part.signature, part.summary)


def _definition_rows(entry: SegmentBundle) -> Iterator[tuple[Any, ...]]:
    for row, part in enumerate(entry.bundle.extraction.parts, entry.first_document):
        for definition in part.definitions:
            yield (row, definition.name, definition.owner, definition.line)


def _edge_rows(entry: SegmentBundle) -> Iterator[tuple[Any, ...]]:
    """Edges of each part, and those of the bundle as a whole from its first document."""
    first = entry.first_document
    for item in entry.bundle.extraction.imports:
        yield (first, EdgeType.IMPORTS, item.target, 1.0)
    for reference in entry.bundle.references:
        yield (first, reference.type, reference.target, 1.0)
    for row, part in enumerate(entry.bundle.extraction.parts, first):
        for reference in part.references:
            yield (row, reference.type, reference.target, 1.0)
        owner = part.name.rpartition(".")[0]
        if owner:
            yield (row, EdgeType.CONTAINS, owner, 1.0)
