"""The lexical index: the byte format of its append-only segments of columns and postings, and reading them by term.

A *segment* has the spans of the documents written in one transaction. Its columns are one blob; its postings are
one blob per term, so that a query reads only its own terms. One posting list serves three levels: span counts add up
to part counts and part counts to document counts; the fields that spans inherit (name, signature, path) are posted
once, at the level they belong to. The field `stem` has the terms of what a file is called, without its folders and
endings; in the place of a count it has the number of terms of the whole stem.

Columns blob: `<4sIII` (magic, spans, chunks, documents), then native little-endian arrays in the order of
`Columns`. Postings blob of one term: for each of `FIELDS` one byte with the width of a delta (0: the field is
absent, else 1, 2 or 4), and where present a 32-bit count, that many deltas of unit numbers (the first from 0), and that
many 8-bit counts. A blob that ends before a field lacks it, as those that were written before there were stems. Each
blob ends with the CRC-32 of its content: SQLite notices a damaged page only where the damage breaks its own structure.

A *lexicon* reads all segments of one kind as one: it numbers spans, chunks and documents across them. Spans of a chunk
are neighbours, and so are the chunks of a document. Deleted and hidden documents (commits that HEAD no longer reaches)
stay in their segment until it is merged; a lexicon marks them dead and leaves their postings out.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import accumulate, chain, pairwise, starmap
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar
from zlib import crc32

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel.store.records import SPAN_COLUMNS, Extraction, NewDocument, Postings
from satchel.system.cache import Cache, Fetch, Make, Size, through_all

if TYPE_CHECKING:
    import numpy.typing as npt

IntArray: TypeAlias = "npt.NDArray[np.int64]"
ByteArray: TypeAlias = "npt.NDArray[np.uint8]"
NumberArray: TypeAlias = "npt.NDArray[np.int64] | npt.NDArray[np.uint32]"
"""Numbers as computed, or as stored: at a million spans the difference is 24 MB."""

Run = tuple[IntArray, IntArray, IntArray]
"""Number of a term (or of a stored list), unit, count: parallel columns, ascending by the first, then by unit."""

FIELDS = ("body", "name", "signature", "path", "stem")
FIELD_LEVELS = (0, 1, 1, 2, 2)
"""The level that each field is posted at: spans, chunks, documents."""

MAGIC = b"SSG2"
_HEADER = struct.Struct("<4sIII")
HEADER_BYTES = _HEADER.size
_COUNT = struct.Struct("<I")
_HEAD = struct.Struct("<BI")
_CHECK = struct.Struct("<I")
_ABSENT = b"\0"


def distinct(values: IntArray) -> IntArray:
    """Return the distinct values, ascending. `np.unique` would import numpy's masked arrays, 10 ms of a process."""
    ordered = np.sort(values)
    is_first = np.ones(len(ordered), dtype=np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    return ordered[is_first]


class DamagedWordsError(ValueError):
    """A blob that was changed since it was written, or has another format."""


class Columns(NamedTuple):
    """The columns of one segment. Spans point at chunks, chunks at documents, by position in the segment."""

    span_chunk: IntArray
    span_start: NumberArray
    span_end: NumberArray
    span_characters: NumberArray
    span_terms: NumberArray
    span_words: NumberArray
    span_comment_words: NumberArray
    chunk_row: IntArray
    chunk_document: IntArray
    document_id: IntArray
    document_secondary: IntArray


_COLUMN_TYPES = ("<u4",) * 7 + ("<i8", "<u4", "<i8", "<u1")
_SPAN_LEVEL, _CHUNK_LEVEL = 7, 9
_PLAIN = range(1, 7)  # columns that index no other


def encode_columns(columns: Columns) -> bytes:
    """Return the columns of a segment as one blob."""
    arrays = [getattr(columns, name) for name in Columns._fields]
    head = _HEADER.pack(MAGIC, len(columns.span_chunk), len(columns.chunk_row), len(columns.document_id))
    body = (array.astype(kind).tobytes() for array, kind in zip(arrays, _COLUMN_TYPES, strict=True))
    return _sealed(b"".join([head, *body]))


def _sealed(blob: bytes) -> bytes:
    return blob + _CHECK.pack(crc32(blob))


def _checked(blob: bytes) -> memoryview:
    """Return the content of a sealed blob. Raises DamagedWordsError if it was changed."""
    content = memoryview(blob)[: -_CHECK.size]
    if len(blob) < _CHECK.size or _CHECK.unpack_from(blob, len(content)) != (crc32(content),):
        raise DamagedWordsError("a part of the words is not as it was written")
    return content


def decode_columns(blob: bytes) -> Columns:
    """Decode the blob of `encode_columns`. Raises DamagedWordsError for another format or a damaged blob."""
    content = _checked(blob)
    magic, spans, chunks, documents = _HEADER.unpack_from(content)
    if magic != MAGIC:
        raise DamagedWordsError(f"not a segment of this format: it starts with {magic!r}")
    arrays = []
    offset = _HEADER.size
    for index, kind in enumerate(_COLUMN_TYPES):
        count = spans if index < _SPAN_LEVEL else chunks if index < _CHUNK_LEVEL else documents
        array = np.frombuffer(content, dtype=kind, count=count, offset=offset)
        arrays.append(array if index in _PLAIN else array.astype(np.int64))
        offset += count * np.dtype(kind).itemsize
    return Columns(*arrays)


def document_count(head: bytes) -> int:
    """Return the number of documents written to a segment, from the first `HEADER_BYTES` of its columns."""
    return int(_HEADER.unpack(head)[3])


class SegmentDocument(Struct):
    """A new document with its row numbers in the store."""

    document: NewDocument
    document_id: int
    first_chunk: int


def build_segment(documents: Sequence[SegmentDocument]) -> tuple[Columns, Iterator[tuple[str, bytes]]]:
    """Return the columns and the (term, postings blob) pairs of these documents."""
    extractions = [entry.document.extraction for entry in documents]
    vocabulary: dict[str, int] = {}
    numbers: list[int] = []
    number_base = []
    base_of: dict[int, int] = {}
    for extraction in extractions:
        base = base_of.setdefault(id(extraction.vocabulary), len(numbers))  # many records share one
        number_base.append(base)
        if base == len(numbers):
            numbers += [vocabulary.setdefault(term, len(vocabulary)) for term in extraction.vocabulary]
    paths = _document_postings([entry.document.path_terms for entry in documents], vocabulary)
    stems = _document_postings([entry.document.stem_terms for entry in documents], vocabulary)
    numbering = _Numbering(np.array(numbers, dtype=np.int64), np.array(number_base, dtype=np.int64))
    span_counts = _integers(extraction.span_count for extraction in extractions)
    part_counts = _integers(len(extraction.parts) for extraction in extractions)
    counted = (("body", span_counts), ("names", part_counts), ("signatures", part_counts))
    posted = [numbering.joined([*map(attrgetter(name), extractions)], _before(counts)) for name, counts in counted]
    table = _span_table(extractions)
    table[0] += np.repeat(_before(part_counts), span_counts)
    first_chunks = _integers(entry.first_chunk for entry in documents)
    arrays = [
        *table,
        np.arange(part_counts.sum()) + np.repeat(first_chunks - _before(part_counts), part_counts),
        np.repeat(np.arange(len(documents)), part_counts),
        _integers(map(attrgetter("document_id"), documents)),
        _integers(entry.document.secondary for entry in documents),
    ]
    return Columns(*arrays), encode_postings(list(vocabulary), [*posted, paths, stems])


class _Numbering(Struct, frozen=True):
    """The number of every term of every document in one array; `base` is the index of a document's first term."""

    numbers: IntArray
    base: IntArray

    def joined(self, postings: Sequence[Postings], unit_base: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return one field of all documents: terms as numbers of the segment, units counted through, and counts."""
        sizes = _integers(len(item.counts) for item in postings)
        terms = np.frombuffer(b"".join([item.terms for item in postings]), dtype=np.uint32).astype(np.int64)
        units = np.frombuffer(b"".join([item.units for item in postings]), dtype=np.uint32).astype(np.int64)
        counts = np.frombuffer(b"".join([item.counts for item in postings]), dtype=np.uint8).astype(np.int64)
        terms += np.repeat(self.base, sizes)
        units += np.repeat(unit_base, sizes)
        return self.numbers[terms], units, counts


def _integers(values: Iterable[int]) -> IntArray:
    return np.fromiter(values, dtype=np.int64)


def _before(counts: IntArray) -> IntArray:
    """Return the running sum without the own count."""
    return np.cumsum(counts) - counts


def _span_table(extractions: Sequence[Extraction]) -> IntArray:
    """Return the span columns of all documents, one row per column."""
    tables = [
        np.frombuffer(extraction.span_columns, dtype=np.uint32).reshape(SPAN_COLUMNS, -1)
        for extraction in extractions
        if extraction.span_count
    ]
    return np.concatenate([np.zeros((SPAN_COLUMNS, 0), dtype=np.int64), *tables], axis=1)


def _document_postings(
    counted: Sequence[Mapping[str, int]], vocabulary: dict[str, int]
) -> tuple[IntArray, IntArray, IntArray]:
    """Return a field that is posted for documents from its terms and their counts in each."""
    terms: list[int] = []
    counts: list[int] = []
    sizes = []
    for term_counts in counted:
        terms += [vocabulary.setdefault(term, len(vocabulary)) for term in term_counts]
        counts += term_counts.values()
        sizes.append(len(term_counts))
    return _integers(terms), np.repeat(np.arange(len(counted)), _integers(sizes)), _integers(counts)


def encode_postings(
    vocabulary: Sequence[str], posted: Sequence[tuple[IntArray, IntArray, IntArray]]
) -> Iterator[tuple[str, bytes]]:
    """Yield (term, blob) in the order of terms from (terms, units, counts) of each field, ascending."""
    first, *others = [_encode_field(len(vocabulary), *field) for field in posted]
    # Most terms are in the first field alone.
    rest = {number: b"".join([field.get(number, _ABSENT) for field in others]) for number in set().union(*others)}
    nothing = _ABSENT * len(others)
    for number in sorted(first.keys() | rest.keys(), key=vocabulary.__getitem__):
        yield vocabulary[number], _sealed(first.get(number, _ABSENT) + rest.get(number, nothing))


def _encode_field(term_count: int, terms: IntArray, units: IntArray, counts: IntArray) -> dict[int, bytes]:
    """Return the encoded postings of one field by term number; terms that the field lacks are absent."""
    if not len(terms):
        return {}
    # Term and place are sorted as one value, in a third of the time of a stable sort.
    order = np.sort((terms << 32) | np.arange(len(terms))) & 0xFFFFFFFF
    terms, units = terms[order], units[order]
    sizes = np.bincount(terms, minlength=term_count)
    present = np.flatnonzero(sizes)
    ends = np.cumsum(sizes[present])
    begins = ends - sizes[present]
    deltas = np.diff(units, prepend=0)
    deltas[begins] = units[begins]
    largest = np.maximum.reduceat(deltas, begins)
    widths = np.where(largest < 1 << 8, 1, np.where(largest < 1 << 16, 2, 4))
    raw = {width: deltas.astype(f"<u{width}").tobytes() for width in (1, 2, 4)}
    tallies = counts[order].astype(np.uint8).tobytes()
    columns = present.tolist(), widths.tolist(), begins.tolist(), ends.tolist()
    return {
        number: _HEAD.pack(width, end - begin) + raw[width][begin * width : end * width] + tallies[begin:end]
        for number, width, begin, end in zip(*columns, strict=True)
    }


def decode_many(blobs: Sequence[bytes]) -> list[Run]:
    """Return (blob numbers, units, counts) of all postings for each of `FIELDS`, in the order of the blobs.

    Most blobs are short: decoded one by one they take ten times as long. Raises DamagedWordsError.
    """
    joined = b"".join([_checked(blob) for blob in blobs])
    heads: list[list[tuple[int, int, int, int]]] = [[] for _ in FIELDS]
    offset = end = 0
    for number, blob in enumerate(blobs):
        end += len(blob) - _CHECK.size
        for field in heads:
            if offset >= end or not (width := joined[offset]):
                offset += 1
                continue
            (size,) = _COUNT.unpack_from(joined, offset + 1)
            begin = offset + _HEAD.size
            field.append((number, begin, size, width))
            offset = begin + size * (width + 1)
        offset = end
    if not any(heads):
        nothing = np.empty(0, dtype=np.int64)
        return [(nothing, nothing, nothing) for _ in FIELDS]
    # All fields together, because most of the time of a short list are the calls of numpy.
    numbers, begins, sizes, widths = np.array([*chain.from_iterable(heads)], dtype=np.int64).T
    owners = np.repeat(numbers, sizes)
    units, counts = _decode_field(np.frombuffer(joined, dtype=np.uint8), begins, sizes, widths)
    ends = accumulate([sum([size for _, _, size, _ in field]) for field in heads], initial=0)
    return [(owners[start:stop], units[start:stop], counts[start:stop]) for start, stop in pairwise(ends)]


def _decode_field(content: ByteArray, begins: IntArray, sizes: IntArray, widths: IntArray) -> tuple[IntArray, IntArray]:
    """Return units and counts of runs of postings: `sizes` deltas of `widths` bytes from `begins`, then the counts."""
    ends = np.cumsum(sizes)
    within = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
    counts = content[np.repeat(begins + sizes * widths, sizes) + within].astype(np.int64)
    width = np.repeat(widths, sizes)
    places = np.repeat(begins, sizes) + within * width
    deltas = content[places].astype(np.int64)
    for size in (2, 4):
        wide = np.flatnonzero(width == size)
        deltas[wide] = _gathered(content, places[wide], size)
    sums = np.cumsum(deltas)
    starts = ends - sizes
    return sums - np.repeat(sums[starts] - deltas[starts], sizes), counts


def _gathered(content: ByteArray, places: IntArray, width: int) -> IntArray:
    """Return the little-endian numbers of `width` bytes at these places."""
    numbers = content[places].astype(np.int64)
    for byte in range(1, width):
        numbers |= content[places + byte].astype(np.int64) << (8 * byte)
    return numbers


Field = tuple[IntArray, IntArray]
FetchPostings = Callable[[Sequence[str], Sequence[int]], tuple[Sequence[tuple[int, int]], Sequence[Run]]]
"""Terms, ids of segments -> (number of term, segment id) of each stored list, ascending, and their `decode_many`."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Segment(Struct, frozen=True):
    """One stored segment: its id, the blob of its columns, and the positions of its dead documents."""

    id: int
    columns: bytes
    dead: IntArray


class TermPostings(NamedTuple):
    """Occurrences of one term as (units, counts): body in spans, name and signature in chunks, else in documents."""

    body: Field
    name: Field
    signature: Field
    path: Field
    stem: Field


_Tables = dict[Hashable, Cache[Any, Any]]

KEPT_BYTES_PER_SPAN = 96
"""Memory of weighed terms of a large lexicon: every other question contains common terms, which cost most."""


class Lexicon:
    """The searchable words of one kind at one revision of the store. Immutable; safe to share between threads."""

    def __init__(self, segments: Sequence[Segment], fetch: FetchPostings) -> None:
        self._fetch = fetch
        self.cache: dict[Hashable, Any] = {}
        """Values that follow from the words alone; see `derived`."""
        self._read, self._stored = _Tables(), _Tables()
        self._segments, self._dead = _state(segments)
        self._words = [_Tables() for _ in segments]
        firsts: list[tuple[int, int, int]] = []
        parts: list[list[Any]] = [[] for _ in Columns._fields]
        dead: list[IntArray] = []
        span_base = chunk_base = document_base = 0
        for segment in segments:
            columns = decode_columns(segment.columns)
            firsts.append((span_base, chunk_base, document_base))
            for store, name in zip(parts, Columns._fields, strict=True):
                store.append(getattr(columns, name))
            parts[0][-1] = columns.span_chunk + chunk_base
            parts[8][-1] = columns.chunk_document + document_base
            dead.append(segment.dead + document_base)
            span_base += len(columns.span_chunk)
            chunk_base += len(columns.chunk_row)
            document_base += len(columns.document_id)
        self._places = [*zip(self._segments, firsts, strict=True)]
        self.firsts: IntArray = np.array(firsts, dtype=np.int64).reshape(-1, 3)
        """The positions of the first span, chunk and document of each segment."""
        self.segment_spans = np.diff(self.firsts[:, 0], append=span_base).tolist()
        joined = Columns(*(np.concatenate(part) if part else np.zeros(0, dtype=np.int64) for part in parts))
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

    def at_next(self, segments: Sequence[Segment]) -> Lexicon:
        """Return the lexicon of a later revision of the same kind, with all of this one that is still true."""
        is_same = (self._segments, self._dead) == _state(segments)
        later = copy(self) if is_same else Lexicon(segments, self._fetch)
        later._read, later._stored = _Tables(), self._stored
        kept = dict(zip(self._places, self._words, strict=True))
        later._words = [kept.get(place, _Tables()) for place in later._places]
        return later

    def derived(self, name: Hashable, make: Callable[[], Value]) -> Value:
        """Return a value that follows from the documents of this kind alone, made by the first caller."""
        value: Value | None = self.cache.get(name)
        return self.cache.setdefault(name, make()) if value is None else value

    def fetched(self, name: Hashable, keys: Iterable[Key], fetch: Fetch[Key, Value]) -> dict[Key, Value]:
        """Return values of this revision by key, in their order, each fetched once; missing ones are left out."""
        return _table(self._read, name, lambda _: 300).through(list(keys), fetch)

    def stored(
        self, name: Hashable, chunks: Sequence[int], fetch: Fetch[int, Value], size: Size[Value] = lambda _: 800
    ) -> dict[int, Value]:
        """Return values of chunks by row, in the order of the chunks (positions); `fetch` takes rows.

        Values depend on the chunk, its document and its edges alone. They are kept until the chunk is deleted, also in
        later revisions.
        """
        places = np.fromiter(chunks, dtype=np.int64)
        rows: list[int] = self.columns.chunk_row[places].tolist()
        segments = (np.searchsorted(self.firsts[:, 1], places, side="right") - 1).tolist()
        keys = [*zip(map(self._segments.__getitem__, segments), rows, strict=True)]

        def missing(new: Sequence[tuple[Any, int]]) -> dict[tuple[Any, int], Value]:
            key_of = {row: (segment, row) for segment, row in new}
            return {key_of[row]: value for row, value in fetch([*key_of]).items()}

        return {row: value for (_, row), value in _table(self._stored, name, size).through(keys, missing).items()}

    def chunk_positions(self, rows: Iterable[int]) -> IntArray:
        """Return the positions of chunks by row number, dead ones included; -1 for a row of another kind."""
        return _positions(self.columns.chunk_row, self._chunk_order, rows)

    def document_positions(self, documents: Iterable[int]) -> IntArray:
        """Return the positions of documents by id, dead ones included; -1 for a document of another kind."""
        return _positions(self.columns.document_id, self._document_order, documents)

    def in_segments(
        self, name: Hashable, keys: Sequence[Key], size: Size[Value], make: Make[Key, Value]
    ) -> list[list[Value]]:
        """Return for each segment the values of the keys, in their order, kept as long as the segment is at its place.

        They depend on its words alone, those of dead documents too. `make` takes positions of segments; see `Make`.
        """
        room = KEPT_BYTES_PER_SPAN * max(1 - 100_000 / max(len(self.live_span), 1), 0)  # for more the budget is small
        sizes = zip(self._words, self.segment_spans, strict=True)
        return through_all([_table(kept, name, size, int(room * spans)) for kept, spans in sizes], keys, make)

    def runs(self, terms: Sequence[str], segments: Sequence[int] | None = None) -> list[Run]:
        """Return the occurrences of different terms in live units, for each of `FIELDS`, by term, then ascending.

        With `segments` (positions) those in these alone, but in dead units, too.
        """
        chosen = range(len(self._segments)) if segments is None else segments
        place_of = {self._segments[place][0]: place for place in chosen}
        stored, fields = self._fetch(terms, [*place_of])
        numbers = np.array([number for number, _ in stored], dtype=np.int64)
        bases = self.firsts[[place_of[segment] for _, segment in stored]]
        runs = []
        for (lists, units, counts), level in zip(fields, FIELD_LEVELS, strict=True):
            run = numbers[lists], units + bases[lists, level], counts
            if segments is None and self._any_dead:
                keep = (self.live_span, self.live_chunk, self.live_document)[level][run[1]]
                run = run[0][keep], run[1][keep], run[2][keep]
            runs.append(run)
        return runs

    def postings(self, terms: Sequence[str]) -> list[TermPostings]:
        """Return the postings of each term, live units only, ascending; empty for an unknown term."""
        found = _table(self._read, TermPostings, _size).through([*dict.fromkeys(terms)], self._postings)
        return [found[term] for term in terms]

    def _postings(self, terms: Sequence[str]) -> dict[str, TermPostings]:
        fields = []
        for numbers, units, counts in self.runs(terms):
            ends = np.searchsorted(numbers, np.arange(len(terms)), side="right").tolist()
            # Each is a copy, because a part of an array keeps all of it.
            fields.append([(units[own].copy(), counts[own].copy()) for own in starmap(slice, pairwise([0, *ends]))])
        return {term: TermPostings(*row) for term, *row in zip(terms, *fields, strict=True)}


def _size(postings: TermPostings) -> int:
    return 1_500 + sum([column.nbytes for field in postings for column in field])


def _state(segments: Sequence[Segment]) -> tuple[list[tuple[int, bytes]], list[bytes]]:
    """Return what tells one state of a kind from another: the segments, and the dead documents of each."""
    dead = [segment.dead.tobytes() for segment in segments]
    return [(segment.id, segment.columns[-_CHECK.size :]) for segment in segments], dead


def _table(tables: _Tables, name: Hashable, size: Size[Any], extra: int = 0) -> Cache[Any, Any]:
    """Return the table of this name; see `Cache`."""
    return tables.get(name) or tables.setdefault(name, Cache(size, extra))


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
