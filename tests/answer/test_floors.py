"""The least relevance of what is shown."""

from __future__ import annotations

import pytest

from satchel.answer import weights as answer_weights
from satchel.answer.floors import admitted, floor_of, is_weak
from satchel.search import weights
from satchel.search.rank_records import SearchResult
from satchel.search.strength import relevance_of
from satchel.types import Chunk, Hit, Kind


@pytest.mark.parametrize("kind", [Kind.CODE, Kind.COMMIT, Kind.DOC])
@pytest.mark.parametrize("least", [0.0, 0.4])
def test_a_floor_of_the_caller_is_the_only_one(kind: Kind, least: float) -> None:
    assert floor_of(kind, 0.9, 0.9, least) == least
    assert floor_of(kind, 0.01, 0.01, least) == least
    assert not is_weak(0.01, least)


def test_records_are_held_back_beside_a_better_one_and_code_is_not() -> None:
    assert floor_of(Kind.COMMIT, 0.8, 0.9, None) == pytest.approx(0.8 * answer_weights.COMMIT_FLOOR)
    assert floor_of(Kind.MEMORY, 0.8, 0.9, None) == pytest.approx(0.8 * answer_weights.RELATIVE_FLOOR)
    assert floor_of(Kind.MEMORY, 0.05, 0.9, None) == answer_weights.ITEM_FLOOR
    assert floor_of(Kind.CODE, 0.8, 0.9, None) == 0.0


def test_a_kind_that_hardly_matches_does_not_answer_beside_one_that_does() -> None:
    assert floor_of(Kind.DOC, relevance_of(weights.WEAK_FLOOR / 2), 0.9, None) is None
    assert floor_of(Kind.DOC, 0.0, 0.9, None) is None


def test_a_kind_that_matches_nearly_as_well_as_the_best_answers_too() -> None:
    assert floor_of(Kind.CODE, relevance_of(weights.WEAK_FLOOR * 0.8), weights.WEAK_FLOOR * 1.1, None) == 0.0
    assert floor_of(Kind.CODE, relevance_of(weights.WEAK_FLOOR * 0.6), weights.WEAK_FLOOR * 1.1, None) is None


def test_of_a_weak_answer_what_is_near_its_best_is_shown() -> None:
    assert is_weak(0.05, None)
    best = relevance_of(0.05)
    assert floor_of(Kind.CODE, best, 0.05, None) == 0.0
    assert floor_of(Kind.DOC, best, 0.05, None) == pytest.approx(best * answer_weights.RELATIVE_FLOOR)
    assert floor_of(Kind.DOC, best / 5, 0.05, None) == pytest.approx(best * answer_weights.RELATIVE_FLOOR)
    assert floor_of(Kind.CODE, 0.0, 0.0, None) is None


def found(kind: Kind, strength: float, *relevances: float) -> SearchResult:
    hits = [
        Hit(Chunk(f"{kind}:{place}", kind, "a", ""), relevance=relevance, score=-place, spans=())
        for place, relevance in enumerate(relevances)
    ]
    return SearchResult(tuple(hits), strength=strength, matched=strength)


def relevances(*results: SearchResult, limit: int = 10, least: float | None = None) -> list[float]:
    by_kind = {result.hits[0].chunk.kind: result for result in results}
    return [hit.relevance for hit in admitted(by_kind, limit, least)]


def test_a_list_leaves_out_what_hardly_matches_unless_the_caller_wants_it() -> None:
    memories = found(Kind.MEMORY, 0.9, 0.4, 0.02, 0.002)
    assert relevances(memories) == [0.4, 0.02]
    assert relevances(memories, least=0.0) == [0.4, 0.02, 0.002]
    assert relevances(memories, limit=1) == [0.4]


def test_a_weak_list_has_the_few_best_of_all_kinds_and_nothing_that_does_not_match() -> None:
    code, memories = found(Kind.CODE, 0.05, 0.05, 0.04, 0.01), found(Kind.MEMORY, 0.03, 0.03, 0.0)
    assert relevances(code, memories) == [0.05, 0.04, 0.03]
    assert relevances(found(Kind.CODE, 0.0, 0.0)) == []
