from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from satchel.search import weights
from satchel.search.dense import Likeness
from satchel.search.searcher import SPANS_PER_RECORD
from satchel.search.strength import relevance_of
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.search.remembered import ask, confirmed, experience, keys, memory, put, signal


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "memory.db", durable=True)
    yield opened
    opened.close()


def likeness(store: SqliteStore, kind: Kind, values: Mapping[str, float]) -> Likeness:
    """Similarities by the key of a document, for all of its chunks, in an order of no meaning."""
    rows = [
        (row, value)
        for key, value in values.items()
        if (document := store.document(kind, key)) is not None
        for row in document.rows
    ]
    rows.reverse()
    return Likeness(np.array([row for row, _ in rows], dtype=np.int64), np.array([value for _, value in rows]))


def test_an_experience_is_found_once_through_its_best_side_and_names_the_others(store: SqliteStore) -> None:
    put(store, experience("e1"), confirmed("e2"))
    hits = ask(store, Kind.EXPERIENCE, "the proxy has a limit of a minute").hits
    assert keys(hits)[0] == "e1::root_cause"
    assert len({hit.chunk.document for hit in hits}) == len(hits)
    also = set(hits[0].also)
    assert {"experience:e1::full", "experience:e1::surprise"} <= also
    assert hits[0].chunk.id not in also


def test_every_side_of_an_experience_has_an_id_of_its_own_and_the_same_title(store: SqliteStore) -> None:
    put(store, experience("e1"))
    by_axis = [
        ask(store, Kind.EXPERIENCE, "upload socket proxy error", axis=axis).hits
        for axis in ("full", "strategy", "surprise", "root_cause")
    ]
    assert [keys(hits) for hits in by_axis] == [
        ["e1::full"],
        ["e1::strategy"],
        ["e1::surprise"],
        ["e1::root_cause"],
    ]
    assert {hits[0].chunk.title for hits in by_axis} == {
        "Failed because The proxy has a limit of a minute; do: Asking without the proxy"
    }


def test_no_more_records_come_than_were_asked_for(store: SqliteStore) -> None:
    put(store, *(memory(f"m{number}", f"deploy number {number}") for number in range(9)))
    result = ask(store, Kind.MEMORY, "deploy", candidates=3 * SPANS_PER_RECORD)
    assert len(result.hits) == 3
    assert result.chunks == 9


def test_without_vectors_words_rank_and_the_result_says_that_none_were_asked_for(store: SqliteStore) -> None:
    put(store, memory("a", "Deploy on Monday"))
    result = ask(store, Kind.MEMORY, "deploy zebra")
    assert result.with_vectors is None
    assert {row.name for row in result.hits[0].signals} == {"words", "importance"}


def test_vectors_find_what_the_words_miss_and_say_how_many_took_part(store: SqliteStore) -> None:
    put(store, memory("a", "The rollout happens weekly"), memory("b", "Cats sleep"), memory("c", "Nobody knows"))
    near = likeness(store, Kind.MEMORY, {"a": 0.8, "b": 0.1})
    result = ask(store, Kind.MEMORY, "deploy", likeness=near)
    assert (result.with_vectors, result.chunks) == (2, 3)
    assert keys(result.hits) == ["a"]
    assert signal(result.hits[0], "vectors") == 0.8
    assert result.hits[0].relevance > relevance_of(0.3)


def test_a_similarity_that_unrelated_texts_have_too_is_no_relevance(store: SqliteStore) -> None:
    put(store, *(memory(f"m{number}", f"text {number}") for number in range(3)))
    near = likeness(store, Kind.MEMORY, {"m0": 0.3, "m1": 0.3, "m2": 0.32})
    assert [hit.relevance for hit in ask(store, Kind.MEMORY, "zebra", likeness=near).hits] == [0.0, 0.0, 0.0]


def test_words_and_vectors_of_memories_count_by_their_weights_on_absolute_scales(store: SqliteStore) -> None:
    put(store, memory("word", "deploy now"), memory("near", "ship it"), memory("far", "deploy later, deploy twice"))
    near = likeness(store, Kind.MEMORY, {"word": 0.19, "near": 0.9, "far": 0.1})
    hits = {key: hit for hit in ask(store, Kind.MEMORY, "deploy", likeness=near).hits for key in keys([hit])}
    usual, prior = weights.UNRELATED_COSINE, weights.UNRELATED_PRIOR
    mean = (0.9 + 0.19 + 0.1 + prior * usual) / (3 + prior)
    expected = {
        "word": 1 - weights.LESSON_VECTOR_WEIGHT,
        "far": 1 - weights.LESSON_VECTOR_WEIGHT,
        "near": weights.LESSON_VECTOR_WEIGHT * (0.9 - mean) / (1 - mean),
    }
    top = max(expected.values())
    for key, hit in hits.items():
        boost = sum(row.value * row.weight for row in hit.signals if row.name == "importance")
        assert hit.score == pytest.approx(math.log(expected[key] / top) + boost, abs=2e-3)


def test_a_model_that_finds_everything_alike_is_measured_by_its_own_mean(store: SqliteStore) -> None:
    names = [f"m{number}" for number in range(80)]
    put(store, *(memory(name, f"text of {name}") for name in names))
    near = likeness(store, Kind.MEMORY, dict.fromkeys(names, 0.7) | {"m7": 0.95})
    hits = ask(store, Kind.MEMORY, "zebra", likeness=near).hits
    assert keys(hits)[0] == "m7"
    assert hits[0].relevance > relevance_of(0.5)
    assert max(hit.relevance for hit in hits[1:]) < relevance_of(weights.VECTOR_FLOOR)


def test_no_vector_at_all_leaves_the_words(store: SqliteStore) -> None:
    put(store, memory("a", "Deploy on Monday"))
    nothing = Likeness(np.zeros(0, dtype=np.int64), np.zeros(0))
    result = ask(store, Kind.MEMORY, "deploy", likeness=nothing)
    assert (result.with_vectors, keys(result.hits)) == (0, ["a"])


def test_a_vector_of_a_record_that_is_gone_is_left_out(store: SqliteStore) -> None:
    put(store, memory("a", "Ship it"), memory("b", "Ship it later"))
    near = likeness(store, Kind.MEMORY, {"a": 0.9, "b": 0.8})
    with store.write() as writer:
        writer.remove(Kind.MEMORY, ["a"])
    result = ask(store, Kind.MEMORY, "deploy", likeness=near)
    assert (result.with_vectors, keys(result.hits)) == (1, ["b"])
