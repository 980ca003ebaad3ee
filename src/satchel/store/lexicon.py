"""Reading the lexical index of one kind: the columns of all its segments as one, and postings by term.

Spans, chunks and documents are numbered across the segments of the lexicon. Spans of a chunk are
neighbours, and so are the chunks of a document. Deleted and hidden documents (commits that HEAD no longer reaches) stay
in their segment until it is merged; here they are marked dead and their postings left out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from satchel.store.segments import FIELDS, Columns, IntArray

Field = tuple[IntArray, IntArray]
FetchPostings = Callable[[Sequence[str]], Iterable[tuple[str, int, list[Field | None]]]]
"""Terms -> (term, segment id, its postings by field) rows, in any order."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MOST_KEPT = 4_000
"""Values of one name that a lexicon keeps, about 1 KB each; one more, and it starts anew."""

_EMPTY: Field = (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Segment:
    """One stored segment: its columns and the positions of its dead documents.

    No other segment of the store has or had the same id and `seal`.
    """

    id: int
    columns: Columns
    dead: IntArray
    seal: bytes = b""


@dataclass(frozen=True, slots=True)
class TermPostings:
    """Occurrences of one term as (units, counts): body in spans, name and signature in chunks, path in documents."""

    body: Field
    name: Field
    signature: Field
    path: Field


class Lexicon:
    """The searchable words of one kind at one revision of the store. Immutable; safe to share between threads."""

    def __init__(self, segments: Sequence[Segment], fetch: FetchPostings) -> None:
        self._fetch = fetch
        self.cache: dict[Hashable, Any] = {}
        """Values that follow from the words alone; see `derived`."""
        self._read: dict[Hashable, dict[Any, Any]] = {}
        self._stored: dict[Hashable, dict[Any, Any]] = {}
        self._segments = [(segment.id, segment.seal) for segment in segments]
        self._dead = [segment.dead.tobytes() for segment in segments]
        self._offsets: dict[int, tuple[int, int, int]] = {}
        self._first_chunks: list[int] = []
        parts: list[list[Any]] = [[] for _ in Columns.__slots__]
        dead: list[IntArray] = []
        span_base = chunk_base = document_base = 0
        for segment in segments:
            columns = segment.columns
            self._offsets[segment.id] = (span_base, chunk_base, document_base)
            self._first_chunks.append(chunk_base)
            for store, name in zip(parts, Columns.__slots__, strict=True):
                store.append(getattr(columns, name))
            parts[0][-1] = columns.span_chunk + chunk_base
            parts[8][-1] = columns.chunk_document + document_base
            dead.append(segment.dead + document_base)
            span_base += len(columns.span_chunk)
            chunk_base += len(columns.chunk_row)
            document_base += len(columns.document_id)
        joined = Columns(*(np.concatenate(part) if part else _EMPTY[0] for part in parts))
        self.columns = joined
        self.live_document = np.ones(document_base, dtype=bool)
        if dead:
            self.live_document[np.concatenate(dead)] = False
        self.live_chunk = self.live_document[joined.chunk_document]
        self.live_span = self.live_chunk[joined.span_chunk]
        self._any_dead = not self.live_document.all()
        self.chunk_first_span, self.chunk_span_count = _ranges(joined.span_chunk, chunk_base)
        self.document_first_chunk, self.document_chunk_count = _ranges(joined.chunk_document, document_base)
        self.span_document = joined.chunk_document[joined.span_chunk]
        self.document_first_span, self.document_span_count = _ranges(self.span_document, document_base)
        self.span_length = joined.span_terms.astype(np.float64)
        self.chunk_length = _sums(joined.span_chunk, self.span_length, chunk_base)
        self.document_length = _sums(self.span_document, self.span_length, document_base)
        self._chunk_order = _order(joined.chunk_row)
        self._document_order = _order(joined.document_id)
        self.span_count = int(self.live_span.sum())
        self.chunk_count = int(self.live_chunk.sum())
        self.document_count = int(self.live_document.sum())

    def over(self, fetch: FetchPostings) -> Lexicon:
        """Return a copy that fetches its postings over another connection to the same file."""
        twin = copy(self)
        twin._fetch = fetch
        return twin

    def after(self, before: Lexicon) -> Lexicon:
        """Return this lexicon with all that is still true of an earlier revision of the same kind."""
        self._stored = before._stored
        if (self._segments, self._dead) == (before._segments, before._dead):
            self.cache = before.cache
        return self

    def derived(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return a value that follows from the documents of this kind alone, made by the first caller."""
        value: Value | None = self.cache.get(name)
        return self.cache.setdefault(name, make()) if value is None else value

    def fetched(
        self, name: Hashable, keys: Iterable[Key], fetch: Callable[[list[Key]], Mapping[Key, Value]]
    ) -> dict[Key, Value]:
        """Return values of this revision by key, in the order of the keys; each key is fetched once.

        Keys that `fetch` does not return are left out.
        """
        return _through(self._read, name, list(keys), fetch)

    def stored(
        self, name: Hashable, chunks: Sequence[int], fetch: Callable[[list[int]], Mapping[int, Value]]
    ) -> dict[int, Value]:
        """Return values of chunks by row, in the order of the chunks (positions); `fetch` takes rows.

        Values depend on the chunk, its document and its edges alone. They are kept until the chunk is deleted, also in
        later revisions.
        """
        places = np.fromiter(chunks, dtype=np.int64)
        rows: list[int] = self.columns.chunk_row[places].tolist()
        segments = (np.searchsorted(self._first_chunks, places, side="right") - 1).tolist()
        keys = [(self._segments[segment], row) for segment, row in zip(segments, rows, strict=True)]
        key_of = dict(zip(rows, keys, strict=True))

        def missing(new: Sequence[tuple[Any, int]]) -> dict[tuple[Any, int], Value]:
            return {key_of[row]: value for row, value in fetch([row for _, row in new]).items()}

        return {row: value for (_, row), value in _through(self._stored, name, keys, missing).items()}

    def chunk_positions(self, rows: Iterable[int]) -> IntArray:
        """Return the positions of chunks by row number, dead ones included; -1 for a row of another kind."""
        return _positions(self.columns.chunk_row, self._chunk_order, rows)

    def document_positions(self, documents: Iterable[int]) -> IntArray:
        """Return the positions of documents by id, dead ones included; -1 for a document of another kind."""
        return _positions(self.columns.document_id, self._document_order, documents)

    def postings(self, terms: Sequence[str]) -> list[TermPostings]:
        """Return the postings of each term, live units only, ascending; empty for an unknown term."""
        rows: dict[str, list[tuple[int, list[Field | None]]]] = {}
        for term, segment, fields in self._fetch(terms):
            rows.setdefault(term, []).append((segment, fields))
        return [self._merge(rows.get(term, ())) for term in terms]

    def _merge(self, rows: Iterable[tuple[int, list[Field | None]]]) -> TermPostings:
        ordered = sorted((self._offsets[segment], fields) for segment, fields in rows if segment in self._offsets)
        merged: list[Field] = []
        for index in range(len(FIELDS)):
            level = min(index, 1) if index < 3 else 2
            pieces = [(fields[index], offsets[level]) for offsets, fields in ordered]
            merged.append(self._live([(field, base) for field, base in pieces if field is not None], level))
        return TermPostings(*merged)

    def _live(self, pieces: Sequence[tuple[Field, int]], level: int) -> Field:
        if not pieces:
            return _EMPTY
        if len(pieces) == 1:
            (units, counts), base = pieces[0]
            units = units + base if base else units
        else:
            units = np.concatenate([field[0] + base for field, base in pieces])
            counts = np.concatenate([field[1] for field, _ in pieces])
        if self._any_dead:
            keep = (self.live_span, self.live_chunk, self.live_document)[level][units]
            units, counts = units[keep], counts[keep]
        return units, counts


def _through(
    tables: dict[Hashable, dict[Any, Any]],
    name: Hashable,
    keys: list[Key],
    fetch: Callable[[list[Key]], Mapping[Key, Value]],
) -> dict[Key, Value]:
    """Return values by key from a bounded table; missing ones are fetched. Two threads may fetch the same one."""
    kept: dict[Key, Value] = tables.setdefault(name, {})
    missing = [key for key in keys if key not in kept]
    if missing:
        if len(kept) + len(missing) > MOST_KEPT:
            kept, missing = {}, keys  # a new table: other threads may be reading the old one
            tables[name] = kept
        kept.update(fetch(missing))
    return {key: kept[key] for key in keys if key in kept}


def _order(values: IntArray) -> IntArray | None:
    """Return the sorting permutation, None for ascending values, which they are until segments are merged."""
    return None if np.all(values[1:] > values[:-1]) else np.argsort(values, kind="stable")


def _positions(values: IntArray, order: IntArray | None, numbers: Iterable[int]) -> IntArray:
    listed = np.fromiter(numbers, dtype=np.int64)
    if not len(values):
        return np.full(len(listed), -1)
    places = np.minimum(np.searchsorted(values, listed, sorter=order), len(values) - 1)
    positions = places if order is None else order[places]
    return np.where(values[positions] == listed, positions, -1)


def _ranges(owner: IntArray, owner_count: int) -> tuple[IntArray, IntArray]:
    """Return the first member and the number of members of each owner, for members sorted by owner."""
    counts = np.bincount(owner, minlength=owner_count).astype(np.int64)
    return np.cumsum(counts) - counts, counts


def _sums(owner: IntArray, values: npt.NDArray[np.float64], owner_count: int) -> npt.NDArray[np.float64]:
    return np.bincount(owner, values, owner_count).astype(np.float64)
