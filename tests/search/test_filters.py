from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel.errors import UsageError
from satchel.memory.memories import Memories
from satchel.memory.scope import Notebook
from satchel.search.filters import NO_FILTERS, Filters, filters_data, make_filters, parse_filters
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from satchel.vocabulary import Domain, MemoryCategory, Strategy
from tests.contracts.documents import record_document
from tests.search.remembered import DAY, NOW, ask, confirmed, experience, keys, memory, put


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "memory.db", durable=True)
    yield opened
    opened.close()


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({}, ["a", "b"]),
        ({"category": "error"}, ["b"]),
        ({"min_importance": 0.8}, ["a"]),
        ({"min_importance": 0.2}, ["a", "b"]),
        ({"tags": ["red"]}, ["a", "b"]),
        ({"tags": ["red", "blue"]}, ["b"]),
        ({"since": NOW - 10 * DAY}, ["b"]),
        ({"until": NOW - 10 * DAY}, ["a"]),
        ({"workspaces": ["shop"]}, ["a"]),
        ({"workspaces": ["shop", ""]}, ["a", "b"]),
        ({"domain": "debugging"}, ["a", "b"]),
        ({"author": "Ada"}, []),
    ],
    ids=str,
)
def test_memories_are_filtered(store: SqliteStore, filters: dict[str, Any], expected: list[str]) -> None:
    put(
        store,
        memory("a", "Deploy on Monday", importance=0.9, tags=("red",), workspace="shop"),
        memory(
            "b", "Deploy on Tuesday", importance=0.3, tags=("red", "blue"), category=MemoryCategory.ERROR,
            created=NOW, updated=NOW,
        ),
    )  # fmt: skip
    assert sorted(keys(ask(store, Kind.MEMORY, "deploy", **filters).hits)) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"domain": "testing"}, ["right"]),
        ({"strategy": "read-the-error"}, ["wrong"]),
        ({"outcome": "falsified"}, ["wrong"]),
        ({"outcome": "active"}, []),
        ({"axis": "surprise"}, ["wrong"]),
        ({"axis": "strategy"}, ["right", "wrong"]),
        ({"category": "error", "min_importance": 1.0}, ["right", "wrong"]),
    ],
    ids=str,
)
def test_experiences_are_filtered(store: SqliteStore, filters: dict[str, Any], expected: list[str]) -> None:
    put(store, experience("wrong"), confirmed("right", domain=Domain.TESTING, strategy=Strategy.ASK_USER))
    hits = ask(store, Kind.EXPERIENCE, "upload connection proxy", **filters).hits
    assert sorted(key.partition("::")[0] for key in keys(hits)) == expected
    assert {key.partition("::")[2] for key in keys(hits)} <= {
        filters.get("axis", key.partition("::")[2]) for key in keys(hits)
    }


def test_commits_are_filtered_by_a_part_of_the_author(store: SqliteStore) -> None:
    with store.write() as writer:
        writer.put([record_document("c1", "Fix the parser")])
    assert keys(ask(store, Kind.COMMIT, "parser", author="ada").hits) == ["c1"]
    assert ask(store, Kind.COMMIT, "parser", author="Grace").hits == ()


def test_a_value_has_been_seen_in_several_domains(store: SqliteStore) -> None:
    document = record_document("v1", "Trace before guessing", kind=Kind.VALUE)
    document.fields = {"axis": "full", "domains": ["debugging", "testing"], "strategies": []}
    with store.write() as writer:
        writer.put([document])
    assert keys(ask(store, Kind.VALUE, "guessing", domain="testing", axis="full").hits) == ["v1"]
    assert ask(store, Kind.VALUE, "guessing", domain="security").hits == ()
    assert ask(store, Kind.VALUE, "guessing", axis="surprise").hits == ()


def test_a_memory_that_was_replaced_is_not_found(store: SqliteStore) -> None:
    memories = Memories(Notebook(store, "shop"))
    old = memories.add("The port is 8080").memory
    new = memories.supersede(old.id, "The port is 9090")
    assert keys(ask(store, Kind.MEMORY, "port").hits) == [new.memory.id]


def test_rare_records_are_found_behind_many_that_match_better(store: SqliteStore) -> None:
    put(
        store,
        *(memory(f"m{number:03d}", "deploy deploy deploy") for number in range(60)),
        memory("rare", "To deploy takes a while, so begin early in the day", category=MemoryCategory.WORKFLOW),
    )
    assert keys(ask(store, Kind.MEMORY, "deploy", category="workflow", candidates=8).hits) == ["rare"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"category": "errors"}, "unknown category 'errors' (did you mean error?): choose from preference, fact"),
        ({"domain": "cooking"}, "choose from debugging, refactoring"),
        ({"strategy": "luck"}, "choose from systematic-elimination"),
        ({"outcome": "won"}, "unknown outcome 'won': choose from confirmed, falsified, abandoned, active"),
        ({"axis": "rootcause"}, "choose from full, strategy, surprise, root_cause"),
        ({"min_importance": 7}, "min_importance is 7: give 0 to 1"),
        ({"since": 5.0, "until": 5.0}, "nothing lies between them"),
        ({"tags": "red"}, "give a list"),
        ({"colour": "red"}, "unknown filter 'colour': choose from category, domain"),
    ],
    ids=str,
)
def test_an_impossible_filter_is_refused_with_what_is_possible(values: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_filters(values)
    assert message in str(error.value)


def test_filters_survive_a_round_through_plain_values() -> None:
    filters = make_filters(category="error", tags=["a", "b"], since=1.0, workspaces=[""], min_importance=0.0)
    assert parse_filters(filters_data(filters)) == filters
    assert filters_data(NO_FILTERS) == {}
    assert parse_filters(filters) is filters
    assert parse_filters({}) == Filters()
