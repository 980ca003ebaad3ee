"""Somebody else's results are ranked as ours are: by their score, and by what speaks for a record beside it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest

from satchel import ContextAssembler
from satchel.results.candidates import seconds


class Own:
    """Gives the same memories and experiences to every question, and notes the limits that it is asked for."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.limits: list[int] = []

    def search_memories(self, query: str, limit: int) -> list[dict[str, Any]]:
        self.limits.append(limit)
        assert query == "pool"
        return self.rows

    def search_values(self, query: str, limit: int) -> list[dict[str, Any]]:
        self.limits.append(limit)
        assert query == "pool"
        return []

    def search_commits(self, query: str, limit: int) -> list[dict[str, Any]]:
        return self.search_memories(query, limit)


def shown(rows: list[dict[str, Any]]) -> list[str]:
    context = asyncio.run(ContextAssembler(Own(rows)).assemble_context("pool", ["memories"]))
    return [item.content for item in context.items]


TEXTS = ("Cats sleep all day", "The pool has twenty places", "Deploys fail on Fridays")


@pytest.mark.parametrize(
    "more",
    [
        [{"importance": 0.1}, {"importance": 0.9}, {"importance": 0.5}],
        [{"created_at": "2001-01-01"}, {"created_at": datetime.now(UTC).isoformat()}, {"created_at": "2001-01-01"}],
    ],
)
def test_of_equal_scores_what_matters_more_or_is_newer_comes_first(more: list[dict[str, Any]]) -> None:
    rows = [{"content": text, "score": 0.8, **one} for text, one in zip(TEXTS, more, strict=True)]
    assert shown(rows)[0] == TEXTS[1]


def test_a_score_that_is_clearly_better_stays_in_front() -> None:
    rows = [{"content": TEXTS[0], "score": 0.4, "importance": 1.0}, {"content": TEXTS[1], "score": 0.8}]
    assert shown(rows)[0] == TEXTS[1]


def test_the_time_of_a_result_is_that_of_the_item() -> None:
    row = {"content": TEXTS[0], "score": 0.8, "created_at": "2025-05-01T00:00:00+00:00"}
    context = asyncio.run(ContextAssembler(Own([row])).assemble_context("pool", ["memories"]))
    assert context.items[0].metadata["timestamp"] == 1_746_057_600.0


@pytest.mark.parametrize("moment", ["nonsense", "2026-13-45", {"day": 1}, float("nan")])
def test_an_impossible_date_is_a_note_and_not_1970(moment: object) -> None:
    row = {"sha": "a" * 40, "message": "Fix the pool", "author": "Ann", "timestamp": moment, "score": 0.8}
    context = asyncio.run(ContextAssembler(Own([row])).assemble_context("pool", ["commits"]))
    assert "by Ann" in context.text
    assert "1970" not in context.text
    assert not context.items[0].metadata["timestamp"]
    (failure,) = context.failures
    assert failure.source == "commits"
    assert "is not a date" in failure.message


def test_a_commit_without_a_date_has_none() -> None:
    row = {"sha": "a" * 40, "message": "Fix the pool", "author": "Ann", "score": 0.8}
    context = asyncio.run(ContextAssembler(Own([row])).assemble_context("pool", ["commits"]))
    assert "1970" not in context.text
    assert context.failures == ()


@pytest.mark.parametrize(
    ("moment", "expected"), [(12, 12.0), ("1970-01-01T00:00:10", 10.0), ("soon", 0.0), (None, 0.0)]
)
def test_times_are_read_as_numbers_or_texts(moment: object, expected: float) -> None:
    assert seconds(moment) == expected


def test_a_searcher_is_asked_for_the_limit_of_the_request() -> None:
    own = Own([])
    asyncio.run(ContextAssembler(own).assemble_context("pool", ["memories", "values"], limit=30))
    assert own.limits == [30, 30]
