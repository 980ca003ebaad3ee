"""The byte format of the words: what is written is read back, one blob at a time or many at once."""

from __future__ import annotations

from zlib import crc32

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.store.segments import FIELDS, decode_many, encode_postings

Postings = dict[int, int]
"""Unit -> count."""

units = st.one_of(st.integers(0, 300), st.integers(0, 70_000), st.integers(0, 1 << 31))
postings = st.dictionaries(units, st.integers(1, 255), max_size=6)
terms = st.lists(st.tuples(*[postings] * len(FIELDS)).filter(any), max_size=8)


def blobs_of(found: list[tuple[Postings, ...]]) -> list[bytes]:
    posted = []
    for index in range(len(FIELDS)):
        rows = [(term, *row) for term, fields in enumerate(found) for row in sorted(fields[index].items())]
        columns = np.array(rows, dtype=np.int64).reshape(-1, 3)
        posted.append((columns[:, 0], columns[:, 1], columns[:, 2]))
    return [blob for _, blob in encode_postings([f"{number:03}" for number in range(len(found))], posted)]


def sealed(content: bytes) -> bytes:
    return content + crc32(content).to_bytes(4, "little")


@given(terms)
def test_postings_are_read_back_as_they_were_written(found: list[tuple[Postings, ...]]) -> None:
    for blob, fields in zip(blobs_of(found), found, strict=True):
        for (_, decoded, counts), field in zip(decode_many([blob]), fields, strict=True):
            assert list(zip(decoded.tolist(), counts.tolist(), strict=True)) == sorted(field.items())


@given(terms)
def test_many_blobs_read_at_once_say_the_same_as_one_after_the_other(found: list[tuple[Postings, ...]]) -> None:
    for index, (owners, decoded, counts) in enumerate(decode_many(blobs_of(found))):
        expected = [(term, *row) for term, fields in enumerate(found) for row in sorted(fields[index].items())]
        assert list(zip(owners.tolist(), decoded.tolist(), counts.tolist(), strict=True)) == expected


def test_a_term_that_occurs_nowhere_has_no_blob() -> None:
    assert blobs_of([({},) * 5, ({1: 1}, {}, {}, {}, {})]) == blobs_of([({1: 1}, {}, {}, {}, {})])


def test_postings_from_before_there_were_stems_are_read_without_them() -> None:
    first, second = blobs_of([({1: 1, 9: 2}, {}, {3: 1}, {}, {}), ({}, {}, {}, {4: 1}, {})])
    older = [sealed(blob[:-5]) for blob in (first, second)]
    assert [row[0].tolist() for row in decode_many([*older, first])] == [[0, 0, 2, 2], [], [0, 2], [1], []]


@pytest.mark.parametrize("place", [0, 3, -1])
def test_a_changed_byte_is_noticed(place: int) -> None:
    blob = bytearray(blobs_of([({1: 1, 9: 2}, {}, {3: 1}, {}, {})])[0])
    blob[place] ^= 1
    with pytest.raises(ValueError, match="not as it was written"):
        decode_many([bytes(blob)])
