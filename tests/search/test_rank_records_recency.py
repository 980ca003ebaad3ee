from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.search import weights
from satchel.search.rank_records import recency
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from satchel.vocabulary import ConfidenceTier
from tests.search.remembered import DAY, NOW, ask, confirmed, keys, memory, put, signal


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "memory.db", durable=True)
    yield opened
    opened.close()


def test_recency_is_exactly_a_half_after_thirty_days() -> None:
    assert recency(NOW // DAY * DAY - 30 * DAY, NOW) == 0.5
    assert recency(NOW // DAY * DAY - 60 * DAY, NOW) == 0.25
    assert weights.HALF_LIFE_DAYS == 30


def test_recency_is_one_for_today_and_for_the_future_and_zero_without_a_time() -> None:
    assert (recency(NOW, NOW), recency(NOW + 5 * DAY, NOW), recency(0.0, NOW)) == (1.0, 1.0, 0.0)


@given(st.floats(0, DAY - 1))
def test_recency_does_not_change_within_a_day(seconds: float) -> None:
    today = NOW // DAY * DAY
    assert recency(NOW - 40 * DAY, today + seconds) == recency(NOW - 40 * DAY, today)


def test_of_equal_experiences_the_better_captured_one_is_first(store: SqliteStore) -> None:
    tiers = list(ConfidenceTier)
    put(store, *(confirmed(f"e{place}", tier) for place, tier in enumerate(reversed(tiers))))
    hits = ask(store, Kind.EXPERIENCE, "upload connection").hits
    assert [hit.chunk.fields["confidence_tier"] for hit in hits] == [tier.value for tier in tiers]
    assert [signal(hit, "tier") for hit in hits] == [1.0, 0.8, 0.5, 0.2]


def test_of_equal_memories_the_more_important_one_is_first(store: SqliteStore) -> None:
    put(store, memory("a", "Deploy on Monday", importance=0.1), memory("b", "Deploy on Tuesday", importance=0.9))
    hits = ask(store, Kind.MEMORY, "deploy").hits
    assert keys(hits) == ["b", "a"]
    assert [signal(hit, "importance") for hit in hits] == [0.9, 0.1]


def test_of_equal_memories_the_newer_one_is_first_where_the_time_is_known(store: SqliteStore) -> None:
    # They share one word, so that neither contradicts the other.
    put(store, memory("a", "Deploy Monday morning"), memory("b", "Deploy every evening", created=NOW, updated=NOW))
    assert keys(ask(store, Kind.MEMORY, "deploy", now=NOW).hits) == ["b", "a"]
    unknown = ask(store, Kind.MEMORY, "deploy").hits
    assert keys(unknown) == ["a", "b"]
    assert "recency" not in {row.name for row in unknown[0].signals}


def test_a_clearly_better_match_is_never_overtaken(store: SqliteStore) -> None:
    put(
        store,
        memory("good", "The cache of the login page is cleared at midnight", importance=0.0, created=1.0, updated=1.0),
        memory("new", "The login page is blue", importance=1.0, created=NOW, updated=NOW),
    )
    assert keys(ask(store, Kind.MEMORY, "when is the login cache cleared", now=NOW).hits) == ["good", "new"]


def test_the_score_is_the_match_and_its_adjustments_and_these_are_bounded(store: SqliteStore) -> None:
    put(
        store,
        memory("a", "Deploy on Monday", importance=1.0, created=NOW, updated=NOW),
        memory("b", "Never deploy on Friday"),
    )
    hits = ask(store, Kind.MEMORY, "deploy monday", now=NOW).hits
    best = max(signal(hit, "words") for hit in hits)
    for hit in hits:
        added = sum(row.value * row.weight for row in hit.signals if row.name != "words")
        assert 0 <= added <= max(weights.TIER_WEIGHT, weights.IMPORTANCE_WEIGHT) + weights.RECENCY_WEIGHT
        assert hit.score == pytest.approx(math.log(signal(hit, "words") / best) + added, abs=1e-3)
