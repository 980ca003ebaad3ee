"""The contract of stored vectors, for every store, and for every index that finds the nearest of them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.embed import normalised
from satchel.store import vectors
from satchel.store.protocol import Store
from satchel.store.vectors import NearVectors, decode, encode
from satchel.types import IN_STEPS, Kind
from tests.contracts.documents import file_document, record_document
from tests.contracts.test_store import STORES

ONE, OTHER = "model@1/2/body/1", "model@2/2/body/1"
ALL = (Kind.CODE, Kind.MEMORY)
ASKED = np.array([2.0, 1.0], dtype=np.float32)


@pytest.fixture(params=["all compared", "qdrant"])
def store(
    request: pytest.FixtureRequest, store_kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Store]:
    opened = STORES[store_kind](tmp_path)
    if request.param == "qdrant":
        pytest.importorskip("qdrant_client", reason="the extra 'qdrant' is not installed")
        from satchel.store.qdrant import QdrantIndex

        opened.vector_index = QdrantIndex(str(tmp_path / "qdrant"), str(tmp_path))
        monkeypatch.setattr("satchel.store.vectors.EXACT_VECTORS", 0)
    with opened.write() as writer:
        writer.put(
            [file_document("a.py"), *(record_document(key, key, kind=Kind.MEMORY) for key in ("m1", "m2", "m3"))]
        )
    yield opened
    opened.close()


def rows(store: Store, key: str, kind: Kind = Kind.MEMORY) -> list[int]:
    document = store.document(kind, key)
    assert document is not None
    return list(document.rows)


def put(store: Store, fingerprint: str, *chunks: int) -> None:
    made = encode(np.array([[row / 10, 1.0] for row in chunks], dtype=np.float32))
    with store.write() as writer:
        writer.put_vectors(fingerprint, list(zip(chunks, made, strict=True)))


def seen(store: Store, fingerprint: str, kind: Kind = Kind.MEMORY) -> list[int]:
    """The rows that a question is compared with; an index knows them all, and each gets its own value."""
    near = store.nearness(kind, fingerprint)
    if isinstance(near, NearVectors):
        assert set(near.find(ASKED, 10)) >= set(near.rows.tolist())
    else:
        assert vectors.EXACT_VECTORS or not len(near.rows)
    assert np.allclose(near.products(ASKED) if len(near.rows) else [], near.rows / 5 + 1, atol=1e-2)
    return [int(row) for row in near.rows]


def test_vectors_are_read_back_by_kind_and_row(store: Store) -> None:
    (first,), (second,) = rows(store, "m1"), rows(store, "m2")
    put(store, ONE, second, first, *rows(store, "a.py", Kind.CODE))
    table = store.vectors(Kind.MEMORY, ONE)
    assert table.rows.tolist() == [first, second]
    assert np.allclose(table.matrix, [[first / 10, 1], [second / 10, 1]], atol=1e-3)
    assert seen(store, ONE) == [first, second]
    assert len(seen(store, ONE, Kind.CODE)) == 3
    assert store.vectors(Kind.COMMIT, ONE).matrix.shape == (0, 0)


def test_vectors_of_two_fingerprints_are_never_mixed(store: Store) -> None:
    (first,), (second,) = rows(store, "m1"), rows(store, "m2")
    put(store, ONE, first)
    put(store, OTHER, second)
    assert seen(store, ONE) == [first]
    assert seen(store, OTHER) == [second]
    with store.write() as writer:
        writer.keep_vectors(OTHER)
    assert seen(store, ONE) == []
    assert seen(store, OTHER) == [second]


def test_what_lacks_a_vector_is_listed_newest_first_and_counted(store: Store) -> None:
    assert store.vector_counts(ALL, ONE) == {Kind.CODE: (0, 3), Kind.MEMORY: (0, 3)}
    put(store, ONE, *rows(store, "m2"))
    assert store.without_vector([Kind.MEMORY], ONE) == [*rows(store, "m3"), *rows(store, "m1")]
    assert store.vector_counts(ALL, ONE) == {Kind.CODE: (0, 3), Kind.MEMORY: (1, 3)}
    assert len(store.without_vector(ALL, OTHER)) == 6
    assert store.without_vector([], ONE) == []


def test_a_vector_goes_with_its_chunk_and_is_replaced_by_the_next_one(store: Store) -> None:
    (first,) = rows(store, "m1")
    put(store, ONE, first)
    put(store, ONE, first)
    assert len(seen(store, ONE)) == 1
    with store.write() as writer:
        writer.remove(Kind.MEMORY, ["m1"])
    assert seen(store, ONE) == []


def test_hidden_chunks_have_no_part_in_it(store: Store) -> None:
    put(store, ONE, *rows(store, "m1"), *rows(store, "m2"))
    with store.write() as writer:
        writer.hide(Kind.MEMORY, ["m1"])
    assert seen(store, ONE) == rows(store, "m2")
    assert store.vector_counts([Kind.MEMORY], ONE) == {Kind.MEMORY: (1, 2)}
    assert store.without_vector([Kind.MEMORY], ONE) == rows(store, "m3")


def test_a_snapshot_does_not_see_vectors_that_come_later(store: Store) -> None:
    with store.snapshot() as state:
        put(store, ONE, *rows(store, "m1"))
        assert seen(state, ONE) == []
    assert len(seen(store, ONE)) == 1


@given(st.lists(st.lists(st.floats(-1, 1, width=16), min_size=3, max_size=3), max_size=5))
def test_what_is_encoded_is_decoded(vectors: list[list[float]]) -> None:
    matrix = np.array(vectors, dtype=np.float32).reshape(len(vectors), 3)
    table = decode(range(len(vectors)), encode(matrix))
    assert np.array_equal(table.matrix, matrix.reshape(table.matrix.shape))


def test_many_vectors_are_held_in_eight_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.store.vectors.BLOCK_ROWS", 3)
    vectors = normalised(np.random.default_rng(1).normal(size=(8, 48)).astype(np.float32))
    vectors[4] = 0.0
    exact = decode(range(8), encode(vectors))
    monkeypatch.setattr("satchel.store.vectors.WIDE_BYTES", 100)
    coarse = decode(range(8), encode(vectors))
    assert (exact.matrix.itemsize, coarse.matrix.itemsize) == (4, 1)
    assert np.allclose(coarse.products(vectors[0]), exact.products(vectors[0]), atol=5e-3)
    for place in range(8):
        assert np.allclose(coarse.vector(place), exact.vector(place), atol=5e-3)


def test_vectors_whose_fingerprint_says_so_are_stored_in_eight_bits() -> None:
    vectors = normalised(np.random.default_rng(2).normal(size=(8, 48)).astype(np.float32))
    vectors[4] = 0.0
    stored = encode(vectors, f"table@1/body/1{IN_STEPS}")
    assert {len(one) for one in stored} == {48}
    table = decode(range(8), stored, f"table@1/body/1{IN_STEPS}")
    assert np.allclose(table.products(vectors[0]), vectors @ vectors[0], atol=5e-3)
    assert np.allclose(np.linalg.norm(table.matrix, axis=1), [1, 1, 1, 1, 0, 1, 1, 1])
    assert decode([], [], f"table@1/body/1{IN_STEPS}").matrix.shape == (0, 0)


def test_vectors_of_different_lengths_are_no_table() -> None:
    with pytest.raises(ValueError, match="differ in length"):
        decode([1, 2], [b"aa", b"aaaa"])
