"""A store: the documents, relations and words of one root, or of a user's memory, asked in SQL.

A database supplies connections, transactions, how it reads lists (`Lists`) and the SQL of its own; everything else is
here. A binding is `$1`, `$2` ..., which every database understands; numbers rise through the text of a query.
"""

from __future__ import annotations

import json
import struct
import zlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct, field

from satchel import text as words
from satchel.store.records import DamagedStoreError, DefinitionRow, Document, Lists, Place, Row, Stamp, StoredChunk
from satchel.system.cache import Cache, Size
from satchel.types import LINE_KINDS, NO_REVISION, EdgeType, Kind

if TYPE_CHECKING:
    from satchel.store.segments import IntArray, Lexicon, Run, Segment
    from satchel.store.vectors import Finder, NearVectors, VectorTable
    from satchel.store.writer import Writer

EXTRACTION_VERSION = f"4.{words.ANALYSIS_VERSION}"
"""Part of the version of an index: change it when the same text gives another extraction."""

WORDS_VERSION = "words_version"
"""`meta` key of the memory file for the version of the analysis (`satchel.text`) that made its search terms."""

FIRST_COMMIT = "first_commit"
"""`meta` key of the index for the first commit of the history, empty if there is none."""

VECTORS_COMPLETE = "vectors"
"""`meta` key: the fingerprint of the last complete set of vectors."""

SET_ASIDE = "set_aside"
"""`meta` key for the file name of the damaged store that this one replaces."""


class StoreStatistics(Struct, frozen=True):
    """Counts of searchable rows, largest first. `hidden` counts stored documents that search does not see.

    `chunks` are parts of files, and records; `documents` are files and records; `languages` counts files. Words are
    counted by `spans`. `redacted` secrets and `cleaned` characters were replaced or removed before files and commits
    were stored.
    """

    chunks: Mapping[Kind, int]
    documents: Mapping[Kind, int]
    hidden: Mapping[Kind, int]
    languages: Mapping[str, int]
    edges: Mapping[EdgeType, int]
    spans: Mapping[Kind, int]
    definitions: int
    text_bytes: int
    redacted: int = 0
    cleaned: int = 0


def _kinds(counted: Sequence[Row]) -> dict[Kind, int]:
    return {Kind(kind): number for kind, number in counted}


def _by(select: str) -> str:
    """Return the query grouped by its first column, the largest count first."""
    return f"{select} GROUP BY 1 ORDER BY 2 DESC, 1"


_DOCUMENT_COLUMNS = (
    "id, kind, key, language, content_hash, size, mtime_ns, changed_ns, line_count, secondary, title, tags, fields, "
    "created, updated, importance, origin, first_chunk, last_chunk, workspace"
)
_CHUNK_COLUMNS = 'row, document, role, name, twin, start, "end", signature, summary'
_EMBEDDED = f"NOT (kind = '{Kind.CODE}' AND CAST(secondary AS integer) > 0)"  # documents whose chunks may have vectors
_UNREADABLE = (ValueError, IndexError, struct.error, zlib.error)


class Derived(Struct):
    """Values derived from a store at one revision, kept until it changes. Shared by all readers of one file."""

    lexicons: dict[Kind, tuple[str, Lexicon]] = field(default_factory=dict)
    kinds: tuple[str, Mapping[Kind, int]] = ("", {})
    vectors: dict[Kind, tuple[str, str, VectorTable]] = field(default_factory=dict)
    vector_rows: dict[Kind, tuple[str, str, IntArray, VectorTable | None]] = field(default_factory=dict)
    """Where an index finds the nearest vectors: all row numbers, and of many the vectors of a sample."""
    caches: tuple[str, dict[str, Cache[Any, Any]]] = ("", {})
    """A revision, and its caches by name."""
    broken: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """Kind and key, by id, of the records of a durable store that cannot be read, and so are left out."""


class VectorIndex(Protocol):
    """Finds the nearest vectors of a store without comparing all."""

    def finder(self, state: Store, kind: Kind, fingerprint: str) -> Finder | None:
        """Return what finds those of a kind in this state, None where all have to be compared."""


class Store(ABC):
    """Chunks, relations and words. Reads see the last published state.

    With `workspaces`, only documents of these are searched, counted and listed; None means all of them. Look-ups by
    key or number find documents of every workspace. `lexicon`, `vectors` and `kinds` are cached until the store
    changes; `statistics` reads every table, which takes some milliseconds.
    """

    def __init__(self, derived: Derived, lists: Lists, workspaces: Sequence[str] | None = None) -> None:
        self._derived = derived
        self._lists = lists
        self.workspaces = tuple(workspaces) if workspaces is not None else None
        self.vector_index: VectorIndex | None = None
        """What finds the nearest vectors without comparing all, None where nothing does."""

    @abstractmethod
    def snapshot(self) -> AbstractContextManager[Store]:
        """Return the state published now, until the block ends; several threads can read it, none can write."""

    @abstractmethod
    def write(self) -> AbstractContextManager[Writer]:
        """Start the only write transaction. Raises LockedError when another process holds it too long."""

    @abstractmethod
    def close(self) -> None:
        """Release the store. Using it afterwards is an error."""

    @abstractmethod
    def _rows(self, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
        """Return all rows of a query. Raises LockedError and DamagedStoreError."""

    @abstractmethod
    def _damaged(self, error: Exception) -> DamagedStoreError:
        """Remember that the file is damaged, and return what to raise."""

    @property
    def user(self) -> str:
        """In whose name is read and written, empty for a file."""
        return ""

    @property
    def broken(self) -> Mapping[int, tuple[str, str]]:
        """Kind and key, by id, of the records that cannot be read: they are neither searched nor listed."""
        return self._derived.broken

    @contextmanager
    def _decoding(self) -> Iterator[None]:
        """Report a value that cannot be decoded as damage."""
        try:
            yield
        except _UNREADABLE as error:
            raise self._damaged(error) from error

    def _rows_in(self, sql: str, values: Iterable[Any], extra: Sequence[Any] = ()) -> list[Row]:
        """Return the rows of a query whose first binding is a list; none for an empty list."""
        listed = list(values)
        return self._rows(sql, (self._lists.bound(listed), *extra)) if listed else []

    @property
    def revision(self) -> str:
        """A value that changes with every published write."""
        return self.meta("revision") or NO_REVISION

    @property
    def is_published(self) -> bool:
        """Whether anything was ever published."""
        return self.revision != NO_REVISION

    def cache(self, name: str, size: Size[Any]) -> Cache[Any, Any]:  # noqa: ARG002 - what shares caches finds them by it
        """Return the cache of this name for values derived from this state; the readers of a snapshot share it.

        A store that shares nothing returns a new one.
        """
        return Cache(size)

    def meta(self, key: str) -> str | None:
        """Return a value stored by `set_meta`."""
        rows = self._rows("SELECT value FROM meta WHERE key = $1", (key,))
        return str(rows[0][0]) if rows else None

    def metas(self, prefix: str) -> dict[str, str]:
        """Return all values whose key has this prefix, by key."""
        return dict(
            self._rows("SELECT key, value FROM meta WHERE substr(key, 1, $1) = $2 ORDER BY key", (len(prefix), prefix))
        )

    def records_of(self, workspace: str) -> int:
        """Return the number of documents of a workspace, of all kinds."""
        return int(self._rows("SELECT count(*) FROM documents WHERE workspace = $1", (workspace,))[0][0])

    def stamps(self, kind: Kind) -> Mapping[str, Stamp]:
        """Return the stamp of every document of a kind, by key."""
        rows = self._rows(
            "SELECT key, id, content_hash, size, mtime_ns, changed_ns FROM documents WHERE kind = $1", (kind,)
        )
        return {row[0]: Stamp(*row[1:]) for row in rows}

    def skipped_stamps(self) -> Mapping[str, tuple[int, int, int]]:
        """Return (size, mtime_ns, changed_ns) of the skipped files, by path."""
        return {row[0]: row[1:] for row in self._rows("SELECT path, size, mtime_ns, changed_ns FROM skipped")}

    def skipped_files(self) -> Sequence[tuple[str, str]]:
        """Return (path, reason) of the skipped files, by path."""
        return [(row[0], row[1]) for row in self._rows("SELECT path, reason FROM skipped ORDER BY path")]

    def skipped_reasons(self) -> Mapping[str, int]:
        """Return the number of skipped files by reason."""
        return dict(self._rows("SELECT reason, count(*) FROM skipped GROUP BY reason ORDER BY reason"))

    def keys(self, kind: Kind) -> set[str]:
        """Return keys of all documents of a kind, hidden ones too, of every workspace."""
        return {row[0] for row in self._rows("SELECT key FROM documents WHERE kind = $1", (kind,))}

    def hidden_keys(self, kind: Kind) -> set[str]:
        """Return keys of the hidden documents of a kind, of every workspace."""
        return {row[0] for row in self._rows("SELECT key FROM documents WHERE kind = $1 AND hidden", (kind,))}

    def _in_sight(self, number: int) -> tuple[str, tuple[Any, ...]]:
        """Return the SQL condition on documents that are searched, counted and listed, with its binding if it has one.

        `number` is that of the binding: the condition comes after all others.
        """
        visible = f"NOT hidden AND id NOT IN ({', '.join(map(str, self.broken))})" if self.broken else "NOT hidden"
        if self.workspaces is None:
            return visible, ()
        return f"{visible} AND workspace {self._lists.within(number)}", (self._lists.bound(self.workspaces),)

    def _out_of_sight(self, kind: Kind) -> dict[int, list[int]]:
        """Return the positions of the documents of other workspaces and of broken ones, by segment."""
        positions: dict[int, list[int]] = {}
        if self.workspaces is not None or self.broken:
            in_sight, bindings = self._in_sight(2)
            sql = f"SELECT segment, position FROM documents WHERE kind = $1 AND NOT hidden AND NOT ({in_sight})"
            for segment, position in self._rows(sql, (kind, *bindings)):
                positions.setdefault(segment, []).append(position)
        return positions

    def iterate_keys(self, kind: Kind) -> Iterator[str]:
        """Return keys of visible documents in order."""
        in_sight, bindings = self._in_sight(2)
        rows = self._rows(f"SELECT key FROM documents WHERE kind = $1 AND {in_sight} ORDER BY key", (kind, *bindings))
        return chain.from_iterable(rows)

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Return documents by id; unknown and broken ones are left out."""
        sql = f"SELECT {_DOCUMENT_COLUMNS} FROM documents WHERE id {self._lists.within(1)}"
        with self._decoding():
            return {
                row[0]: _document(row)
                for row in self._rows_in(sql, (identifier for identifier in ids if identifier not in self.broken))
            }

    def document(self, kind: Kind, key: str) -> Document | None:
        """Return the document with this key."""
        rows = self._rows(f"SELECT {_DOCUMENT_COLUMNS} FROM documents WHERE kind = $1 AND key = $2", (kind, key))
        with self._decoding():
            return _document(rows[0]) if rows else None

    def newest(self, kind: Kind, most: int) -> list[int]:
        """Return ids of the newest visible documents of a kind, at most `most`, the newest first; ties by key."""
        in_sight, bindings = self._in_sight(2)
        limit = 2 + len(bindings)
        sql = f"SELECT id FROM documents WHERE kind = $1 AND {in_sight} ORDER BY created DESC, key LIMIT ${limit}"
        return [row[0] for row in self._rows(sql, (kind, *bindings, most))]

    def document_ids(self, kind: Kind, keys: Iterable[str]) -> dict[str, int]:
        """Return ids of the documents with these keys; unknown keys are left out."""
        sql = f"SELECT key, id FROM documents WHERE key {self._lists.within(1)} AND kind = $2"
        return dict(self._rows_in(sql, keys, (kind,)))

    def first_rows(self, kind: Kind, keys: Iterable[str]) -> dict[str, int]:
        """Return row numbers of the first chunks of the documents with these keys; unknown keys are left out."""
        sql = f"SELECT key, first_chunk FROM documents WHERE key {self._lists.within(1)} AND kind = $2"
        return dict(self._rows_in(sql, keys, (kind,)))

    def places(self, rows: Iterable[int]) -> dict[int, Place]:
        """Return the places of these chunks by row number; unknown and hidden ones are left out."""
        in_sight, bindings = self._in_sight(2)
        sql = (
            "SELECT row, document, kind, key, chunks.name, twin, tags, "
            "CASE WHEN updated > created THEN updated ELSE created END, secondary, "
            "row = first_chunk FROM chunks JOIN documents ON documents.id = document "
            f"WHERE row {self._lists.within(1)} AND {in_sight}"
        )
        with self._decoding():
            return {row[0]: _place(row) for row in self._rows_in(sql, rows, bindings)}

    def text(self, document: int) -> str:
        """Return the redacted text of a document."""
        return self.texts((document,)).get(document, "")

    def texts(self, documents: Iterable[int]) -> dict[int, str]:
        """Return the redacted texts of these documents; unknown ids are left out."""
        sql = f"SELECT document, body FROM texts WHERE document {self._lists.within(1)}"
        with self._decoding():
            return {document: zlib.decompress(body).decode() for document, body in self._rows_in(sql, documents)}

    def chunks(self, rows: Iterable[int]) -> dict[int, StoredChunk]:
        """Return chunks by row number; unknown rows are left out."""
        sql = f"SELECT {_CHUNK_COLUMNS} FROM chunks WHERE row {self._lists.within(1)}"
        return {row[0]: StoredChunk(*row) for row in self._rows_in(sql, rows)}

    def definitions(self, names: Sequence[str], *, most: int | None = None) -> list[DefinitionRow]:
        """Return where these names (case-sensitive, unqualified) are defined, without those above `most` chunks."""
        few, chosen, extra = self._few(most)
        sql = f"{few}SELECT name, owner, chunk, line FROM definitions WHERE name {chosen} ORDER BY name, chunk, line"
        return [DefinitionRow(*row) for row in self._rows_in(sql, names, extra)]

    def files_defining(self, names: Sequence[str], *, most: int) -> list[tuple[DefinitionRow, str, str]]:
        """Return the `definitions` of these names in code, each with the path and the language of its file."""
        few, chosen, extra = self._few(most)
        sql = (
            f"{few}SELECT d.name, d.owner, d.chunk, d.line, o.key, o.language FROM definitions d "
            "JOIN chunks c ON c.row = d.chunk JOIN documents o ON o.id = c.document "
            f"WHERE d.name {chosen} AND o.kind = 'code' ORDER BY d.name, d.chunk, d.line"
        )
        return [(DefinitionRow(*row[:4]), *row[4:]) for row in self._rows_in(sql, names, extra)]

    def _few(self, most: int | None) -> tuple[str, str, tuple[int, ...]]:
        """Return what comes before a query, the condition on names that at most so many chunks define, its bindings."""
        if most is None:
            return "", self._lists.within(1), ()
        # Counted once for each name: in one condition a server may count for each of its definitions.
        count = "SELECT count(*) FROM (SELECT DISTINCT chunk FROM definitions WHERE name = value LIMIT $2) AS held"
        few = f"WITH few AS MATERIALIZED (SELECT value FROM {self._lists.table(1)} WHERE ({count}) <= $3) "
        return few, "IN (SELECT value FROM few)", (most + 1, most)

    def paths_named(self, names: Sequence[str], stems: Sequence[str]) -> list[tuple[int, str]]:
        """Return (document id, path) of files with one of these file names, or stems (name without its last suffix)."""
        rows = self._rows_in(f"SELECT id, key FROM documents WHERE name {self._lists.within(1)}", names)
        return sorted(
            {*rows, *self._rows_in(f"SELECT id, key FROM documents WHERE stem {self._lists.within(1)}", stems)}
        )

    def edges_from(self, rows: Sequence[int], types: Sequence[EdgeType]) -> list[tuple[int, str, str]]:
        """Return (source row, type, target) of the edges from these chunks."""
        return self._edges("source", rows, types, "source, type, target")

    def edges_to(self, targets: Sequence[str], types: Sequence[EdgeType]) -> list[tuple[int, str, str]]:
        """Return (source row, type, target) of the edges to one of these names or paths."""
        return self._edges("target", targets, types, "target, type, source")

    def edge_targets(self, types: Sequence[EdgeType]) -> list[str]:
        """Return the different targets of all edges of these types, in their order."""
        rows = self._rows_in(
            f"SELECT DISTINCT target FROM edges WHERE type {self._lists.within(1)} ORDER BY target", types
        )
        return [target for (target,) in rows]

    def _edges(
        self, column: str, values: Sequence[Any], types: Sequence[EdgeType], order: str
    ) -> list[tuple[int, str, str]]:
        chosen = f"{column} {self._lists.within(1)} AND type {self._lists.within(2)}"
        sql = f"SELECT source, type, target FROM edges WHERE {chosen} ORDER BY {order}"
        return self._rows_in(sql, values, (self._lists.bound(types),))

    def lexicon(self, kind: Kind) -> Lexicon:
        """Return the words of one kind at this revision."""
        revision = self.revision
        cached = self._derived.lexicons.get(kind)
        if cached is None or cached[0] != revision:
            from satchel.store.segments import Lexicon  # here and below, because callers only name this class

            rows = self._rows("SELECT id, columns, dead FROM segments WHERE kind = $1 ORDER BY id", (kind,))
            others = self._out_of_sight(kind)
            with self._decoding():
                segments = [_segment(row, others.get(row[0], ())) for row in rows]
                lexicon = cached[1].at_next(segments) if cached is not None else Lexicon(segments, _nothing)
            cached = self._derived.lexicons[kind] = revision, lexicon
        return cached[1].over(self._fetch_postings)

    def _fetch_postings(self, terms: Sequence[str], segments: Sequence[int]) -> tuple[list[tuple[int, int]], list[Run]]:
        from satchel.store.segments import decode_many

        chosen = f"term {self._lists.within(1)} AND segment {self._lists.within(2)}"
        sql = f"SELECT term, segment, body FROM postings WHERE {chosen}"
        numbers = {term: number for number, term in enumerate(terms)}
        with self._decoding():
            rows = [(numbers[row[0]], *row[1:]) for row in self._rows_in(sql, terms, (self._lists.bound(segments),))]
            rows.sort()
            return [row[:2] for row in rows], decode_many([row[2] for row in rows])

    def vectors(self, kind: Kind, fingerprint: str) -> VectorTable:
        """Return the vectors of this fingerprint of the visible chunks of a kind, by row number."""
        revision = self.revision
        cached = self._derived.vectors.get(kind)
        if cached is None or cached[:2] != (revision, fingerprint):
            rows = self._vector_rows(kind, fingerprint, "v.chunk, v.vector")
            cached = self._derived.vectors[kind] = (revision, fingerprint, self._table(rows, fingerprint))
        return cached[2]

    def _vector_rows(self, kind: Kind, fingerprint: str, columns: str) -> list[Row]:
        in_sight, bindings = self._in_sight(3)
        return self._rows(
            f"SELECT {columns} FROM vectors v JOIN chunks ON row = v.chunk JOIN documents ON id = document "
            f"WHERE v.fingerprint = $1 AND kind = $2 AND {in_sight} ORDER BY v.chunk",
            (fingerprint, kind, *bindings),
        )

    def _table(self, rows: Sequence[tuple[int, bytes]], fingerprint: str, *, of_many: bool = False) -> VectorTable:
        from satchel.store.vectors import decode  # here, because most roots have no vectors

        with self._decoding():
            return decode([row[0] for row in rows], [row[1] for row in rows], fingerprint, of_many=of_many)

    def nearness(self, kind: Kind, fingerprint: str) -> VectorTable | NearVectors:
        """Return what compares a vector with those of `vectors`: all of them, or with an index the nearest of many."""
        find = self.vector_index.finder(self, kind, fingerprint) if self.vector_index is not None else None
        if find is None:
            return self.vectors(kind, fingerprint)
        import numpy as np

        from satchel.store import vectors

        def read(rows: Sequence[int]) -> VectorTable:
            chosen = f"chunk {self._lists.within(1)} AND fingerprint = $2"
            sql = f"SELECT chunk, vector FROM vectors WHERE {chosen} ORDER BY chunk"
            return self._table(self._rows_in(sql, rows, (fingerprint,)), fingerprint, of_many=True)

        revision = self.revision
        cached = self._derived.vector_rows.get(kind)
        if cached is None or cached[:2] != (revision, fingerprint):
            rows = [row for (row,) in self._vector_rows(kind, fingerprint, "v.chunk")]
            is_large = len(rows) > vectors.EXACT_VECTORS
            sample = read(rows[:: -(-len(rows) // vectors.SAMPLED)]) if is_large else None
            cached = revision, fingerprint, np.array(rows, dtype=np.int64), sample
            self._derived.vector_rows[kind] = cached
        if cached[3] is None:
            return self.vectors(kind, fingerprint)
        return vectors.NearVectors(cached[2], cached[3], find, read)

    def without_vector(self, kinds: Sequence[Kind], fingerprint: str) -> list[int]:
        """Return row numbers of the visible chunks of these kinds without such a vector, newest first.

        Tests and examples among the code are left out, here and in `vector_counts`.
        """
        in_sight, bindings = self._in_sight(3)
        sql = (
            "SELECT c.row FROM documents d JOIN chunks c ON c.document = d.id "
            f"WHERE d.kind {self._lists.within(1)} AND {_EMBEDDED} AND NOT EXISTS "
            "(SELECT 1 FROM vectors v WHERE v.fingerprint = $2 AND v.chunk = c.row) "
            f"AND {in_sight} ORDER BY c.row DESC"
        )
        return [row[0] for row in self._rows_in(sql, kinds, (fingerprint, *bindings))]

    def vector_counts(self, kinds: Sequence[Kind], fingerprint: str) -> Mapping[Kind, tuple[int, int]]:
        """Return (chunks with a vector of this fingerprint, visible chunks) for each of these kinds that has chunks."""
        among = f"kind {self._lists.within(1)}"
        in_sight, bindings = self._in_sight(3)
        sql = (
            "SELECT kind, count(*) FROM vectors v JOIN chunks ON row = v.chunk JOIN documents ON id = document "
            f"WHERE {among} AND v.fingerprint = $2 AND {in_sight} GROUP BY kind"
        )
        done: dict[str, int] = dict(self._rows_in(sql, kinds, (fingerprint, *bindings)))
        in_sight, bindings = self._in_sight(2)
        sizes = f"SELECT kind, sum(last_chunk - first_chunk + 1) FROM documents WHERE {among} AND {_EMBEDDED}"
        totals: dict[str, int] = dict(self._rows_in(f"{sizes} AND {in_sight} GROUP BY kind", kinds, bindings))
        return {kind: (done.get(kind, 0), int(totals[kind])) for kind in self.kinds() if kind in totals}

    def kinds(self) -> Mapping[Kind, int]:
        """Return the number of visible chunks of each kind that has any."""
        revision = self.revision
        cached = self._derived.kinds
        if cached[0] != revision:
            with self._decoding():
                cached = self._derived.kinds = (revision, self._counted())
        return cached[1]

    def _counted(self) -> dict[Kind, int]:
        """Count the visible chunks. Where words were read before, they are read anyway, and have the numbers."""
        if self._derived.lexicons:
            kinds = [Kind(kind) for (kind,) in self._rows("SELECT DISTINCT kind FROM segments ORDER BY kind")]
            return {kind: words.chunk_count for kind in kinds if (words := self.lexicon(kind)).document_count}
        in_sight, bindings = self._in_sight(1)
        sql = f"SELECT kind, sum(last_chunk - first_chunk + 1) FROM documents WHERE {in_sight} GROUP BY kind"
        return _kinds(self._rows(sql, bindings))

    def statistics(self) -> StoreStatistics:
        """Return counts over all tables."""
        chunks = "SELECT kind, sum(last_chunk - first_chunk + 1) FROM documents WHERE NOT hidden"
        languages = "SELECT language, count(*) FROM documents WHERE NOT hidden AND language NOT IN ('', 'commit')"
        documents = "SELECT kind, count(*) FROM documents WHERE"
        # Only commits are hidden, and a commit is one chunk.
        edges = "SELECT type, count(*) FROM edges WHERE source NOT IN (SELECT first_chunk FROM documents WHERE hidden)"
        removed = ", ".join(f"coalesce(sum(json_extract(fields, '$.{name}')), 0)" for name in ("redacted", "cleaned"))
        rows = self._rows
        ((redacted, cleaned),) = rows(f"SELECT {removed} FROM documents WHERE NOT hidden")
        with self._decoding():
            return StoreStatistics(
                chunks=_kinds(rows(_by(chunks))),
                documents=_kinds(rows(_by(f"{documents} NOT hidden"))),
                hidden=_kinds(rows(_by(f"{documents} hidden"))),
                languages=dict(rows(_by(languages))),
                edges={EdgeType(name): number for name, number in rows(_by(edges))},
                spans={kind: self.lexicon(kind).span_count for kind in self.kinds()},
                definitions=rows("SELECT count(*) FROM definitions")[0][0],
                text_bytes=rows("SELECT coalesce(sum(length(body)), 0) FROM texts")[0][0],
                redacted=redacted,
                cleaned=cleaned,
            )


def _segment(row: Sequence[Any], others: Sequence[int]) -> Segment:
    """Return a segment in which documents of other workspaces count as dead."""
    import numpy as np

    from satchel.store.segments import Segment, distinct

    dead = np.frombuffer(row[2], dtype="<i8")
    hidden = distinct(np.concatenate([dead, np.array(others, dtype="<i8")])) if others else dead
    return Segment(row[0], row[1], hidden)


def _document(row: Sequence[Any]) -> Document:
    values = list(row)
    values[1] = Kind(values[1])
    values[9] = bool(values[9])
    values[11] = () if values[11] == "[]" else tuple(json.loads(values[11]))
    values[12] = _file_fields(values[12]) if values[1] in LINE_KINDS else json.loads(values[12])
    return Document(*values)


@lru_cache(maxsize=512)
def _file_fields(text: str) -> Mapping[str, Any]:
    """Return the fields of a file, shared by its chunks; imports are tuples, which the garbage collector lets go."""
    fields: dict[str, Any] = json.loads(text)
    for where in ("imports", "inner"):
        if rows := fields.get(where):
            fields[where] = tuple([(target, tuple(names), *lines) for target, names, *lines in rows])
    return fields


def _place(row: Sequence[Any]) -> Place:
    number, document, kind, key, name, twin, tags, updated, secondary, is_first = row
    listed = () if tags == "[]" else tuple(json.loads(tags))
    return Place(number, document, Kind(kind), key, name, twin, listed, updated, bool(secondary), bool(is_first))


def _nothing(_: Sequence[str], __: Sequence[int]) -> tuple[Sequence[tuple[int, int]], Sequence[Run]]:
    return (), ()
