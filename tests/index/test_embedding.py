"""Filling vectors in a real store, with the hash embedder on the true seam."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from msgspec.structs import replace

from satchel.embed import fingerprint
from satchel.errors import EmbeddingError
from satchel.index import embedding
from satchel.index.embedding import BATCH_CHUNKS, VectorCache, counts, fill
from satchel.store.extract import chunk_texts
from satchel.store.protocol import VECTORS_COMPLETE
from satchel.store.records import NewDocument
from satchel.store.sqlite import SqliteStore
from satchel.testing import HashEmbedder
from satchel.types import Kind, Part, Role
from tests.contracts.documents import file_document, record_document

if TYPE_CHECKING:
    from satchel.embed import Vectors

KINDS = (Kind.MEMORY, Kind.DOC)
KEY = b"k" * 32
PATIENCE_SECONDS = 300.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "store.db")
    yield opened
    opened.close()


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[VectorCache]:
    opened = VectorCache(tmp_path / "cache" / "vectors.db", KEY)
    yield opened
    opened.close()


def memories(*texts: str) -> list[NewDocument]:
    return [record_document(f"m{number}", text, kind=Kind.MEMORY) for number, text in enumerate(texts)]


def put(store: SqliteStore, documents: Sequence[NewDocument]) -> None:
    with store.write() as writer:
        writer.put(documents)


def test_every_chunk_gets_the_vector_of_its_text(store: SqliteStore, cache: VectorCache) -> None:
    put(store, [*memories("red apples", "blue sky"), file_document("a.py")])
    embedder = HashEmbedder()
    assert fill(store, KINDS, embedder, cache) == 2
    table = store.vectors(Kind.MEMORY, fingerprint(embedder))
    wanted = embedder.embed_documents(["red apples", "blue sky"])
    assert np.allclose(table.matrix, wanted, atol=1e-3)
    assert counts(store, KINDS, embedder).kinds == {Kind.MEMORY: (2, 2)}
    assert counts(store, KINDS, embedder).is_complete
    assert len(store.vectors(Kind.CODE, fingerprint(embedder)).rows) == 0


def test_nothing_is_written_when_nothing_is_missing(store: SqliteStore, cache: VectorCache) -> None:
    put(store, memories("red apples"))
    fill(store, KINDS, HashEmbedder(), cache)
    before = store.revision
    assert fill(store, KINDS, HashEmbedder(), cache) == 0
    assert store.revision == before


def test_an_unchanged_text_is_not_embedded_twice(store: SqliteStore, cache: VectorCache) -> None:
    embedder = HashEmbedder()
    put(store, memories("red apples", "red apples", "blue sky"))
    fill(store, KINDS, embedder, cache)
    assert embedder.texts == 2, "two documents of one text are one text"
    put(store, memories("red apples", "green grass"))
    assert fill(store, KINDS, embedder, cache) == 2
    assert embedder.texts == 3


def test_another_fingerprint_starts_anew_and_takes_the_place_of_the_old_one(
    store: SqliteStore, cache: VectorCache
) -> None:
    put(store, memories("red apples", "blue sky"))
    old, new = HashEmbedder(), HashEmbedder(revision="2")
    fill(store, KINDS, old, cache)
    stops = iter([False, True])
    put(store, memories(*(f"text {number}" for number in range(2 * BATCH_CHUNKS))))
    fill(store, KINDS, new, cache, should_stop=lambda: next(stops))
    assert counts(store, KINDS, new).done == BATCH_CHUNKS
    assert store.meta(VECTORS_COMPLETE) == fingerprint(old), "the old set goes when the new one is complete"
    fill(store, KINDS, new, cache)
    assert store.meta(VECTORS_COMPLETE) == fingerprint(new)
    assert counts(store, KINDS, old).done == 0
    assert counts(store, KINDS, new).is_complete


def test_a_stopped_run_keeps_what_it_made_and_the_next_one_goes_on(store: SqliteStore, cache: VectorCache) -> None:
    put(store, memories(*(f"text number {number}" for number in range(40))))
    embedder = HashEmbedder()
    stops = iter([False, False, True])
    assert fill(store, KINDS, embedder, cache, should_stop=lambda: next(stops)) == 2 * BATCH_CHUNKS
    assert counts(store, KINDS, embedder).done == 2 * BATCH_CHUNKS
    assert fill(store, KINDS, embedder, cache) == 40 - 2 * BATCH_CHUNKS
    assert embedder.texts == 40


def test_a_failure_keeps_what_was_made_before_it(store: SqliteStore, cache: VectorCache) -> None:
    put(store, memories(*(f"text number {number}" for number in range(40))))
    embedder = FailsLater(calls=1)
    with pytest.raises(EmbeddingError, match="no more"):
        fill(store, KINDS, embedder, cache)
    assert counts(store, KINDS, embedder).done == BATCH_CHUNKS


class Slow(HashEmbedder):
    """Not quick; each batch waits until it is let go."""

    def __init__(self) -> None:
        super().__init__()
        self.is_quick = False
        self.asked, self.let_go = threading.Event(), threading.Event()
        self.batches: list[int] = []

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.batches.append(len(texts))
        self.asked.set()
        assert self.let_go.wait(PATIENCE_SECONDS)
        return super().embed_documents(texts)


def test_a_stop_does_not_wait_for_an_embedder_that_may_take_long(store: SqliteStore, cache: VectorCache) -> None:
    put(store, memories(*(f"text number {number}" for number in range(40))))
    embedder = Slow()
    assert fill(store, KINDS, embedder, cache, should_stop=embedder.asked.is_set) == 0, "it was not let go"
    assert embedder.batches == [BATCH_CHUNKS], "the first batch is small: how long it takes is not known"
    embedder.let_go.set()
    assert fill(store, KINDS, embedder, cache) == 40


def test_batches_grow_where_the_embedder_is_known_to_be_far_away(store: SqliteStore, cache: VectorCache) -> None:
    put(store, memories(*(f"text number {number}" for number in range(40))))
    embedder = Slow()
    embedder.let_go.set()
    assert fill(store, KINDS, embedder, cache) == 40
    assert embedder.batches == [BATCH_CHUNKS, 40 - BATCH_CHUNKS]


def test_a_model_that_is_built_by_its_first_batch_stays_with_small_ones(store: SqliteStore, cache: VectorCache) -> None:
    class Built(Slow):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            self.is_quick = True
            return super().embed_documents(texts)

    put(store, memories(*(f"text number {number}" for number in range(40))))
    embedder = Built()
    embedder.let_go.set()
    assert fill(store, KINDS, embedder, cache) == 40
    assert max(embedder.batches) == BATCH_CHUNKS


@pytest.mark.parametrize("error", [EmbeddingError("the server is away"), TimeoutError("its own")], ids=type)
def test_what_goes_wrong_far_away_is_raised_here(store: SqliteStore, cache: VectorCache, error: Exception) -> None:
    class Away(Slow):
        def embed_documents(self, texts: Sequence[str]) -> Vectors:
            assert texts
            raise error

    put(store, memories("red apples"))
    with pytest.raises(type(error), match=str(error)):
        fill(store, KINDS, Away(), cache)


class FailsLater(HashEmbedder):
    """Works for some calls, then fails."""

    def __init__(self, calls: int, then: Callable[[], None] | None = None) -> None:
        super().__init__()
        self.left, self.then = calls, then

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not self.left:
            if self.then is None:
                raise EmbeddingError("no more")
            self.then()
        self.left -= 1
        return super().embed_documents(texts)


def test_a_chunk_that_changed_while_it_was_embedded_gets_no_wrong_vector(
    store: SqliteStore, cache: VectorCache
) -> None:
    put(store, memories("red apples", "blue sky"))
    embedder = FailsLater(calls=0, then=lambda: put(store, [record_document("m1", "new words", kind=Kind.MEMORY)]))
    fill(store, KINDS, embedder, cache)
    (changed,) = store.without_vector(KINDS, fingerprint(embedder))
    assert chunk_texts(store, [changed], 100)[0].text == "new words"
    fill(store, KINDS, embedder, cache)
    table = store.vectors(Kind.MEMORY, fingerprint(embedder))
    assert np.allclose(table.matrix, embedder.embed_documents(["red apples", "new words"]), atol=1e-3)


def test_vectors_are_published_now_and_then(
    store: SqliteStore, cache: VectorCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedding, "PUBLISH_CHUNKS", BATCH_CHUNKS)
    put(store, memories(*(f"text number {number}" for number in range(40))))
    before = int(store.revision)
    fill(store, KINDS, HashEmbedder(), cache)
    assert int(store.revision) == before + 40 // BATCH_CHUNKS + 1, "each batch, and the mark that all is done"


def test_the_text_of_a_section_has_its_heading_and_that_of_a_record_only_its_lines(store: SqliteStore) -> None:
    section, record = replace(file_document("a.md"), kind=Kind.DOC), record_document("m1", "a record", kind=Kind.MEMORY)
    section.extraction.parts = (Part(Role.SECTION, "Guide.Setup", 1, 2), Part(Role.SECTION, "os", 1, 1))
    record.extraction.parts = (Part(Role.RECORD, "strategy", 1, 1),)
    put(store, [section, record, record_document("m2", "", kind=Kind.MEMORY)])
    texts = [entry.text for entry in chunk_texts(store, [1, 2, 3, 4, 99], 1_000)]
    assert texts == ["Guide.Setup\nimport os", "import os", "a record", ""]
    assert chunk_texts(store, [3], 0)[0].text == "a record", "at least its title"
