"""One write transaction on an embedded store."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple
from typing import Any

import apsw
import numpy as np

from satchel.store.records import NewBundle, SkippedFile, Stamp
from satchel.store.segments import SegmentBundle, build_segment, encode_columns
from satchel.store.sqlite.connection import rows
from satchel.store.sqlite.merge import merge_segments
from satchel.types import EdgeType, Kind

_TEXT_COMPRESSION = 1
"""zlib level: the fastest one already halves source text, and indexing time matters more than the rest."""

_IN = "IN (SELECT value FROM json_each(?))"


class SqliteWriter:
    """Collects the changes of one transaction. `finish` is called by the store before it commits."""

    def __init__(self, connection: apsw.Connection) -> None:
        self._connection = connection

    def put(self, bundles: Sequence[NewBundle]) -> None:
        """Add these bundles, replacing those of the same kind and key with everything that hangs on them."""
        by_kind: dict[Kind, list[NewBundle]] = {}
        for bundle in bundles:
            by_kind.setdefault(bundle.kind, []).append(bundle)
        for kind, group in by_kind.items():
            self.remove(kind, [bundle.key for bundle in group])
            self._add(kind, group)

    def _add(self, kind: Kind, bundles: Sequence[NewBundle]) -> None:
        connection = self._connection
        next_bundle = self._next("bundles", "id")
        next_row = self._next("documents", "row")
        segment_id = self._next("segments", "id")
        entries: list[SegmentBundle] = []
        for bundle in bundles:
            entries.append(SegmentBundle(bundle, next_bundle, next_row))
            next_bundle += 1
            next_row += len(bundle.extraction.parts)
        places = "?, " * 22
        connection.executemany(
            f"INSERT INTO bundles VALUES ({places.rstrip(', ')}, ?, ?)",
            (_bundle_row(entry, segment_id, position) for position, entry in enumerate(entries)),
        )
        connection.executemany(
            "INSERT INTO texts VALUES (?, ?)",
            ((entry.bundle_id, zlib.compress(entry.bundle.text.encode(), _TEXT_COMPRESSION)) for entry in entries),
        )
        connection.executemany(
            "INSERT INTO documents VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)", _each(entries, _document_rows)
        )
        connection.executemany("INSERT INTO definitions VALUES (?, ?, ?, ?)", _each(entries, _definition_rows))
        connection.executemany("INSERT OR IGNORE INTO edges VALUES (?, ?, ?, ?)", _each(entries, _edge_rows))
        columns, postings = build_segment(entries)
        connection.execute(
            "INSERT INTO segments VALUES (?, ?, ?, ?, ?)",
            (segment_id, kind, len(columns.window_document), encode_columns(columns), b""),
        )
        connection.executemany(
            "INSERT INTO postings VALUES (?, ?, ?)", sorted((term, segment_id, blob) for term, blob in postings)
        )

    def _next(self, table: str, column: str) -> int:
        ((number,),) = rows(self._connection, f"SELECT coalesce(max({column}), 0) + 1 FROM {table}")
        return int(number)

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
        for segment, positions in gone.items():
            self._add_dead(segment, positions)

    def _add_dead(self, segment: int, positions: Sequence[int]) -> None:
        known = np.frombuffer(
            self._connection.execute("SELECT dead FROM segments WHERE id = ?", (segment,)).get, dtype="<i8"
        )
        self._set_dead(segment, np.union1d(known, np.array(positions, dtype="<i8")))

    def _set_dead(self, segment: int, positions: Any) -> None:
        blob = np.asarray(positions, dtype="<i8").tobytes()
        self._connection.execute("UPDATE segments SET dead = ? WHERE id = ?", (blob, segment))

    def restamp(self, stamps: Sequence[Stamp]) -> None:
        """Note new file stamps for unchanged content."""
        self._connection.executemany(
            "UPDATE bundles SET size = ?, mtime_ns = ?, changed_ns = ? WHERE id = ?",
            ((stamp.size, stamp.mtime_ns, stamp.changed_ns, stamp.bundle) for stamp in stamps),
        )

    def hide(self, kind: Kind, keys: Iterable[str]) -> None:
        """Make exactly these bundles of a kind invisible to search; all others of the kind become visible."""
        connection = self._connection
        connection.execute("UPDATE bundles SET hidden = 0 WHERE kind = ? AND hidden", (kind,))
        connection.execute(
            f"UPDATE bundles SET hidden = 1 WHERE kind = ? AND key {_IN}", (kind, json.dumps(list(keys)))
        )
        visible: dict[int, list[int]] = {}
        for segment, position in rows(
            connection, "SELECT segment, position FROM bundles WHERE kind = ? AND NOT hidden", (kind,)
        ):
            visible.setdefault(segment, []).append(position)
        for segment, columns in rows(connection, "SELECT id, columns FROM segments WHERE kind = ?", (kind,)):
            count = int.from_bytes(columns[12:16], "little")
            self._set_dead(segment, np.setdiff1d(np.arange(count), np.array(visible.get(segment, []), dtype=np.int64)))

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

    def merge(self, should_stop: Callable[[], bool]) -> None:
        """Merge small or half-dead segments where that is due."""
        merge_segments(self._connection, should_stop)

    def finish(self) -> None:
        """Count the revision up. Called by the store just before it commits."""
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
        position,
    )  # fmt: skip


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
