"""The byte format of the lexical index: append-only segments of columns and postings.

A *segment* holds the windows of the bundles written in one transaction. Its columns are one blob; its postings are
one blob a term, so that a query reads only its own terms. One posting list serves three levels: window counts add up
to part counts and part counts to bundle counts; the fields that windows inherit (name, signature, path) are posted
once, at the level where they stand.

Columns blob: `<4sIII` (magic, windows, documents, bundles), then native little-endian arrays in the order of
`Columns`. Postings blob of one term: for each of the fields body, name, signature, path one byte with the width of a
delta (0: the field is absent, else 1, 2 or 4), and where present a 32-bit count, that many deltas of unit numbers
(the first from 0), and that many 8-bit counts.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from satchel.store.records import WINDOW_COLUMNS, NewBundle, Postings

IntArray = npt.NDArray[np.int64]

FIELDS = ("body", "name", "signature", "path")
MAGIC = b"SSG1"
_HEADER = struct.Struct("<4sIII")
_COUNT = struct.Struct("<I")
_WIDTHS: tuple[tuple[int, np.dtype[Any]], ...] = ((1, np.dtype("<u1")), (2, np.dtype("<u2")), (4, np.dtype("<u4")))
_DTYPES: dict[int, np.dtype[Any]] = dict(_WIDTHS)
_ABSENT = b"\0"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of one segment. Windows point at documents, documents at bundles, by position in the segment."""

    window_document: IntArray
    window_start: IntArray
    window_end: IntArray
    window_characters: IntArray
    window_terms: IntArray
    window_words: IntArray
    window_comment_words: IntArray
    document_row: IntArray
    document_bundle: IntArray
    bundle_id: IntArray
    bundle_secondary: IntArray


_COLUMN_TYPES = ("<u4",) * 7 + ("<i8", "<u4", "<i8", "<u1")
_WINDOW_LEVEL, _DOCUMENT_LEVEL = 7, 9


def encode_columns(columns: Columns) -> bytes:
    """The columns of a segment as one blob."""
    arrays = [getattr(columns, name) for name in Columns.__slots__]
    head = _HEADER.pack(MAGIC, len(columns.window_document), len(columns.document_row), len(columns.bundle_id))
    return head + b"".join(array.astype(kind).tobytes() for array, kind in zip(arrays, _COLUMN_TYPES, strict=True))


def decode_columns(blob: bytes) -> Columns:
    """The opposite of `encode_columns`. Raises ValueError for a blob of another format or length."""
    magic, windows, documents, bundles = _HEADER.unpack_from(blob)
    if magic != MAGIC:
        raise ValueError(f"not a segment of this format: it starts with {magic!r}")
    arrays = []
    offset = _HEADER.size
    for index, kind in enumerate(_COLUMN_TYPES):
        count = windows if index < _WINDOW_LEVEL else documents if index < _DOCUMENT_LEVEL else bundles
        arrays.append(np.frombuffer(blob, dtype=kind, count=count, offset=offset).astype(np.int64))
        offset += count * np.dtype(kind).itemsize
    return Columns(*arrays)


@dataclass(slots=True)
class SegmentBundle:
    """A new bundle with the row numbers that the store gave it."""

    bundle: NewBundle
    bundle_id: int
    first_document: int


def build_segment(bundles: Sequence[SegmentBundle]) -> tuple[Columns, Iterator[tuple[str, bytes]]]:
    """Columns and (term, postings blob) pairs of these bundles."""
    vocabulary: dict[str, int] = {}
    posted: list[list[tuple[IntArray, IntArray, IntArray]]] = [[], [], [], []]
    windows: list[IntArray] = []
    document_bundle: list[IntArray] = []
    document_row: list[IntArray] = []
    window_base = document_base = 0
    for index, entry in enumerate(bundles):
        extraction = entry.bundle.extraction
        part_count = len(extraction.parts)
        table = np.frombuffer(extraction.window_columns, dtype=np.uint32).astype(np.int64)
        table = table.reshape(WINDOW_COLUMNS, extraction.window_count)
        table[0] += document_base
        windows.append(table)
        document_bundle.append(np.full(part_count, index, dtype=np.int64))
        document_row.append(np.arange(entry.first_document, entry.first_document + part_count, dtype=np.int64))
        known = [vocabulary.setdefault(term, len(vocabulary)) for term in extraction.vocabulary]
        numbers = np.array(known, dtype=np.int64)
        posted[0].append(_shifted(extraction.body, numbers, window_base))
        posted[1].append(_shifted(extraction.names, numbers, document_base))
        posted[2].append(_shifted(extraction.signatures, numbers, document_base))
        posted[3].append(_path_postings(entry.bundle, vocabulary, index))
        window_base += extraction.window_count
        document_base += part_count
    table = np.concatenate(windows, axis=1) if windows else np.zeros((WINDOW_COLUMNS, 0), dtype=np.int64)
    columns = Columns(
        table[0],
        table[1],
        table[2],
        table[3],
        table[4],
        table[5],
        table[6],
        _joined(document_row),
        _joined(document_bundle),
        np.array([entry.bundle_id for entry in bundles], dtype=np.int64),
        np.array([entry.bundle.secondary for entry in bundles], dtype=np.int64),
    )
    return columns, encode_postings(list(vocabulary), [_columns_of(field) for field in posted])


def _joined(arrays: Sequence[IntArray]) -> IntArray:
    return np.concatenate(arrays) if arrays else np.zeros(0, dtype=np.int64)


def _shifted(postings: Postings, numbers: IntArray, base: int) -> tuple[IntArray, IntArray, IntArray]:
    terms = numbers[np.frombuffer(postings.terms, dtype=np.uint32)]
    units = np.frombuffer(postings.units, dtype=np.uint32).astype(np.int64) + base
    return terms, units, np.frombuffer(postings.counts, dtype=np.uint8).astype(np.int64)


def _path_postings(bundle: NewBundle, vocabulary: dict[str, int], index: int) -> tuple[IntArray, IntArray, IntArray]:
    terms = [vocabulary.setdefault(term, len(vocabulary)) for term in bundle.path_terms]
    counts = np.array(list(bundle.path_terms.values()), dtype=np.int64)
    return np.array(terms, dtype=np.int64), np.full(len(terms), index, dtype=np.int64), counts


def _columns_of(field: Sequence[tuple[IntArray, IntArray, IntArray]]) -> tuple[IntArray, IntArray, IntArray]:
    return _joined([row[0] for row in field]), _joined([row[1] for row in field]), _joined([row[2] for row in field])


def encode_postings(
    vocabulary: Sequence[str], posted: Sequence[tuple[IntArray, IntArray, IntArray]]
) -> Iterator[tuple[str, bytes]]:
    """(term, blob) for every term. `posted` has one (terms, units, counts) triple a field, units ascending a term."""
    blobs = [_encode_field(len(vocabulary), *field) for field in posted]
    for number, term in enumerate(vocabulary):
        blob = b"".join(field.get(number, _ABSENT) for field in blobs)
        yield term, blob


def _encode_field(term_count: int, terms: IntArray, units: IntArray, counts: IntArray) -> dict[int, bytes]:
    """Encoded postings of one field by term number; terms that the field lacks are absent."""
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
    """(units, counts) for each of `FIELDS`, None where the term does not occur in the field."""
    fields: list[tuple[IntArray, IntArray] | None] = []
    offset = 0
    for _ in FIELDS:
        width = blob[offset]
        offset += 1
        if not width:
            fields.append(None)
            continue
        (count,) = _COUNT.unpack_from(blob, offset)
        offset += _COUNT.size
        deltas = np.frombuffer(blob, dtype=_DTYPES[width], count=count, offset=offset)
        offset += count * width
        tallies = np.frombuffer(blob, dtype=np.uint8, count=count, offset=offset)
        offset += count
        fields.append((np.cumsum(deltas, dtype=np.int64), tallies.astype(np.int64)))
    return fields
