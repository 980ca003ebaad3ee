"""How well a question is answered: alone, by several kinds, and beside each other."""

from __future__ import annotations

import numpy as np
import pytest
from msgspec.structs import replace

from satchel.search import weights
from satchel.search.rank_records import SearchResult
from satchel.search.searcher import balanced
from satchel.search.strength import (
    Evidence,
    answer_strength,
    places_of,
    relevance_of,
    spans_share,
    strength_at,
    title_share,
)
from satchel.types import Chunk, Hit, Kind


def test_what_matches_well_is_strong_and_what_hardly_matches_is_weak() -> None:
    assert Evidence(0.6, 0.6, 0.1, 4).strength > 0.9
    assert Evidence(0.1, 0.1, 0.0, 4).strength < weights.WEAK_FLOOR
    assert Evidence(0.0, 0.0, 0.0, 4).strength == 0.0


def test_each_signal_adds_and_a_long_question_may_match_less() -> None:
    little = Evidence(0.2, 0.3, 0.0, 5)
    for more in ({"title": 0.4}, {"spans": 0.5}, {"named": 0.5}, {"terms": 50}):
        assert replace(little, **more).strength > little.strength


def test_of_a_small_corpus_fewer_spans_have_to_match() -> None:
    assert spans_share(np.array([0.8, 0.0, 0.0]), 3) == 0.8
    assert spans_share(np.array([0.8] + [0.0] * 99), 100) == pytest.approx(0.16)
    assert spans_share(np.zeros(0), 0) == 0.0


def test_a_title_of_unknown_words_matches_nothing() -> None:
    assert title_share(np.array([3.0]), 0.0) == 0.0
    assert title_share(np.array([2.2]), 2.0) == pytest.approx(0.5)


def test_commits_say_how_strong_an_answer_is_only_where_they_are_alone() -> None:
    assert answer_strength({Kind.CODE: 0.2, Kind.COMMIT: 0.9}) == 0.2
    assert answer_strength({Kind.COMMIT: 0.9}) == 0.9
    assert answer_strength({}) == 0.0


def test_an_item_is_less_relevant_in_a_weaker_answer_with_a_smaller_share_and_at_a_later_place() -> None:
    best = relevance_of(1.0)
    assert best == pytest.approx(weights.LARGEST_ODDS / (1 + weights.LARGEST_ODDS))
    assert all(0 < other < best for other in (relevance_of(0.9), relevance_of(1.0, 0.9), relevance_of(1.0, 1.0, 2)))
    assert relevance_of(0.0) == relevance_of(1.0, 0.0) == 0.0


def test_equal_scores_share_a_place() -> None:
    assert places_of([0.0, -1.0, -1.0, -2.5]) == [1, 2, 2, 4]
    assert places_of([]) == []


def result(strength: float, matched: float) -> SearchResult:
    hit = Hit(Chunk("code:a.py::f", Kind.CODE, "f", ""), relevance=relevance_of(strength, 0.4, 3), score=0.0, spans=())
    return SearchResult((hit,), strength=strength, matched=matched)


def test_a_kind_that_matches_half_as_much_as_a_strong_one_is_half_as_strong() -> None:
    both = balanced({Kind.CODE: result(0.02, 0.3), Kind.DOC: result(1.0, 0.6), Kind.COMMIT: result(0.1, 0.1)})
    assert both[Kind.CODE].strength == pytest.approx(0.5)
    assert both[Kind.CODE].hits[0].relevance == pytest.approx(relevance_of(0.5, 0.4, 3))
    assert both[Kind.DOC].strength == 1.0
    assert both[Kind.COMMIT].strength == 0.1


def test_nothing_is_lifted_beside_what_does_not_match() -> None:
    weak = {Kind.CODE: result(0.0, 0.0), Kind.MEMORY: result(0.9, 0.9)}
    assert balanced(weak) == weak


def test_the_first_relevance_tells_the_strength_of_the_answer() -> None:
    for strength in (0.05, 0.4, 1.0):
        assert strength_at(relevance_of(strength)) == pytest.approx(strength)
    assert strength_at(0.0) == 0.0
    assert strength_at(1.0) == 1.0
