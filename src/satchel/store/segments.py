"""The byte format of the lexical index: append-only segments of columns and postings.

A *segment* has the spans of the documents written in one transaction. Its columns are one blob; its postings are
one blob per term, so that a query reads only its own terms. One posting list serves three levels: span counts add up
to part counts and part counts to document counts; the fields that spans inherit (name, signature, path) are posted
once, at the level they belong to.

Columns blob: `<4sIII` (magic, spans, chunks, documents), then native little-endian arrays in the order of
`Columns`. Postings blob of one term: for each of the fields body, name, signature, path one byte with the width of a
delta (0: the field is absent, else 1, 2 or 4), and where present a 32-bit count, that many deltas of unit numbers
(the first from 0), and that many 8-bit counts. Each blob ends with the CRC-32 of its content: SQLite notices a damaged
page only where the damage breaks its own structure.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from satchel.store.records import SPAN_COLUMNS, Extraction, NewDocument, Postings

IntArray = npt.NDArray[np.int64]
ByteArray = npt.NDArray[np.uint8]
NumberArray = npt.NDArray[np.int64] | npt.NDArray[np.uint32]
"""Numbers as computed, or as stored: at a million spans the difference is 24 MB."""

FIELDS = ("body", "name", "signature", "path")
MAGIC = b"SSG2"
_HEADER = struct.Struct("<4sIII")
HEADER_BYTES = _HEADER.size
_COUNT = struct.Struct("<I")
_CHECK = struct.Struct("<I")
CHECK_BYTES = _CHECK.size
_WIDTHS: tuple[tuple[int, np.dtype[Any]], ...] = ((1, np.dtype("<u1")), (2, np.dtype("<u2")), (4, np.dtype("<u4")))
_DTYPES: dict[int, np.dtype[Any]] = dict(_WIDTHS)
_ABSENT = b"\0"


class DamagedWordsError(ValueError):
    """A blob that was changed since it was written, or has another format."""


@dataclass(frozen=True, slots=True)
class Columns:
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
    arrays = [getattr(columns, name) for name in Columns.__slots__]
    head = _HEADER.pack(MAGIC, len(columns.span_chunk), len(columns.chunk_row), len(columns.document_id))
    body = b"".join(array.astype(kind).tobytes() for array, kind in zip(arrays, _COLUMN_TYPES, strict=True))
    return _sealed(head + body)


def _sealed(blob: bytes) -> bytes:
    return blob + _CHECK.pack(crc32(blob))


def _checked(blob: bytes) -> memoryview:
    """Return the content of a sealed blob. Raises DamagedWordsError if it was changed."""
    content = memoryview(blob)[: -_CHECK.size]
    if len(blob) < _CHECK.size or _CHECK.unpack_from(blob, len(content)) != (crc32(content),):
        raise DamagedWordsError("a part of the words is not as it was written")
    return content


NO_POSTINGS = _sealed(_ABSENT * len(FIELDS))
"""The blob of a term without postings."""


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


@dataclass(slots=True)
class SegmentDocument:
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
    paths = _path_postings(documents, vocabulary)
    numbering = _Numbering(np.array(numbers, dtype=np.int64), np.array(number_base, dtype=np.int64))
    span_counts = _integers(extraction.span_count for extraction in extractions)
    part_counts = _integers(len(extraction.parts) for extraction in extractions)
    posted = [
        numbering.joined([extraction.body for extraction in extractions], _before(span_counts)),
        numbering.joined([extraction.names for extraction in extractions], _before(part_counts)),
        numbering.joined([extraction.signatures for extraction in extractions], _before(part_counts)),
        paths,
    ]
    table = _span_table(extractions)
    table[0] += np.repeat(_before(part_counts), span_counts)
    first_chunks = _integers(entry.first_chunk for entry in documents)
    arrays = [
        *table,
        np.arange(part_counts.sum()) + np.repeat(first_chunks - _before(part_counts), part_counts),
        np.repeat(np.arange(len(documents)), part_counts),
        _integers(entry.document_id for entry in documents),
        _integers(entry.document.secondary for entry in documents),
    ]
    return Columns(*arrays), encode_postings(list(vocabulary), posted)


@dataclass(frozen=True, slots=True)
class _Numbering:
    """The number in the segment of every term of every document; `base` is the index of a document's first term.

    One array for all documents: small arrays would be slow for thousands of commits of twenty words each.
    """

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


def _path_postings(
    documents: Sequence[SegmentDocument], vocabulary: dict[str, int]
) -> tuple[IntArray, IntArray, IntArray]:
    terms: list[int] = []
    counts: list[int] = []
    sizes = []
    for entry in documents:
        term_counts = entry.document.path_terms
        terms += [vocabulary.setdefault(term, len(vocabulary)) for term in term_counts]
        counts += term_counts.values()
        sizes.append(len(term_counts))
    return _integers(terms), np.repeat(np.arange(len(documents)), _integers(sizes)), _integers(counts)


def encode_postings(
    vocabulary: Sequence[str], posted: Sequence[tuple[IntArray, IntArray, IntArray]]
) -> Iterator[tuple[str, bytes]]:
    """Yield (term, blob). `posted` has a (terms, units, counts) triple for each field, units ascending by term."""
    blobs = [_encode_field(len(vocabulary), *field) for field in posted]
    for number, term in enumerate(vocabulary):
        yield term, _sealed(b"".join([field.get(number, _ABSENT) for field in blobs]))


def _encode_field(term_count: int, terms: IntArray, units: IntArray, counts: IntArray) -> dict[int, bytes]:
    """Return the encoded postings of one field by term number; terms that the field lacks are absent."""
    if not len(terms):
        return {}
    order = np.argsort(terms, kind="stable")
    terms, units = terms[order], units[order]
    sizes = np.bincount(terms, minlength=term_count)
    present = np.flatnonzero(sizes)
    ends = np.cumsum(sizes[present])
    begins = ends - sizes[present]
    deltas = np.diff(units, prepend=0)
    deltas[begins] = units[begins]
    largest = np.maximum.reduceat(deltas, begins)
    widths = np.where(largest < 1 << 8, 1, np.where(largest < 1 << 16, 2, 4))
    raw = {width: deltas.astype(kind).tobytes() for width, kind in _WIDTHS}
    tallies = counts[order].astype(np.uint8).tobytes()
    encoded: dict[int, bytes] = {}
    for number, width, begin, end in zip(
        present.tolist(), widths.tolist(), begins.tolist(), ends.tolist(), strict=True
    ):
        head = bytes((width,)) + _COUNT.pack(end - begin)
        encoded[number] = head + raw[width][begin * width : end * width] + tallies[begin:end]
    return encoded


def decode_postings(blob: bytes) -> list[tuple[IntArray, IntArray] | None]:
    """Return (units, counts) for each of `FIELDS`, None where the term does not occur in the field.

    Raises DamagedWordsError.
    """
    content = _checked(blob)
    fields: list[tuple[IntArray, IntArray] | None] = []
    offset = 0
    for _ in FIELDS:
        width = content[offset]
        offset += 1
        if not width:
            fields.append(None)
            continue
        (count,) = _COUNT.unpack_from(content, offset)
        offset += _COUNT.size
        deltas = np.frombuffer(content, dtype=_DTYPES[width], count=count, offset=offset)
        offset += count * width
        tallies = np.frombuffer(content, dtype=np.uint8, count=count, offset=offset)
        offset += count
        fields.append((np.cumsum(deltas, dtype=np.int64), tallies.astype(np.int64)))
    return fields


def decode_many(blobs: Sequence[bytes]) -> list[tuple[IntArray, IntArray, IntArray]]:
    """Return (blob numbers, units, counts) of all postings for each of `FIELDS`, in the order of the blobs.

    For short blobs this takes a tenth of the time of `decode_postings`. Raises DamagedWordsError.
    """
    joined = b"".join([_checked(blob) for blob in blobs])
    content = np.frombuffer(joined, dtype=np.uint8)
    lengths = _integers(len(blob) - _CHECK.size for blob in blobs)
    offsets = _before(lengths)
    fields = []
    for _ in FIELDS:
        widths = content[offsets].astype(np.int64)
        offsets += 1
        present = np.flatnonzero(widths)
        begins = offsets[present]
        sizes = _gathered(content, begins, 4)
        begins += _COUNT.size
        fields.append((np.repeat(present, sizes), *_decode_field(content, begins, sizes, widths[present])))
        offsets[present] = begins + sizes * (widths[present] + 1)
    return fields


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
