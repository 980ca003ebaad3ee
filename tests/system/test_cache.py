"""All caches of a process share one budget of bytes; the largest one gives way, its oldest values first."""

from __future__ import annotations

import pytest

from satchel.system import cache as caches
from satchel.system.cache import Cache, through_all


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No other cache of this process, and a budget of 100 bytes that is looked at each time."""
    monkeypatch.setattr(caches, "_every", type(caches._every)())
    monkeypatch.setattr(caches, "MAX_BYTES", 100)
    monkeypatch.setattr(Cache, "grown", 0)


def texts(extra: int = 0) -> Cache[str, str]:
    return Cache(len, extra)


def test_the_oldest_values_make_room() -> None:
    cache = texts()
    cache.keep({"a": "x" * 40, "b": "x" * 40})
    cache.keep({"a": "x" * 40})
    cache.keep({"c": "x" * 40})
    assert [*cache.values] == ["a", "c"]
    assert cache.bytes == 80


def test_the_largest_cache_gives_way() -> None:
    small, large = texts(), texts()
    small.keep({"a": "x" * 30})
    large.keep({"b": "x" * 30, "c": "x" * 30})
    small.keep({"d": "x" * 20})
    assert (sorted(small.values), [*large.values]) == (["a", "d"], ["c"])


def test_what_takes_more_than_the_budget_is_not_kept() -> None:
    cache = texts()
    cache.keep({"a": "x" * 101})
    assert (cache.values, cache.bytes) == ({}, 0)


def test_a_value_is_replaced_and_dropped_with_its_bytes() -> None:
    cache = texts()
    cache.keep({"a": "xx"})
    cache.keep({"a": "xxx"})
    assert (cache.bytes, cache.values) == (3, {"a": "xxx"})
    cache.drop(["a", "b"])
    cache.drop(["a"])
    assert (cache.bytes, cache.values) == (0, {})


def test_a_cache_may_bring_room_of_its_own_for_as_long_as_it_lives() -> None:
    other, cache = texts(), texts(extra=100)
    cache.keep({"a": "x" * 90, "b": "x" * 90})
    other.keep({"c": "x" * 20})
    assert sorted([*cache.values, *other.values]) == ["a", "b", "c"]
    del cache
    other.keep({"d": "x" * 50, "e": "x" * 50})
    assert other.bytes <= 100


def test_values_are_fetched_once_and_come_in_the_order_of_the_keys() -> None:
    cache, asked = texts(), list[list[str]]()

    def fetch(keys: list[str]) -> dict[str, str]:
        asked.append(keys)
        return {key: key.upper() for key in keys if key != "gone"}

    assert cache.through(["b", "a", "gone"], fetch) == {"b": "B", "a": "A"}
    assert [*cache.through(["c", "a"], fetch)] == ["c", "a"]
    assert cache.through(["a", "b"], fetch) == {"a": "A", "b": "B"}
    assert asked == [["b", "a", "gone"], ["c"]]
    assert cache.through(["x" * 60], lambda _: {"x" * 60: "y" * 60}) == {"x" * 60: "y" * 60}


def test_values_of_several_caches_are_made_together_where_the_same_ones_lack_them() -> None:
    caches, asked = [texts(), texts()], list[tuple[list[str], tuple[int, ...]]]()

    def make(keys: list[str], places: tuple[int, ...]) -> list[list[str]]:
        asked.append((keys, places))
        return [[f"{key}{place}" for key in keys] for place in places]

    assert through_all(caches, ["a", "b", "a"], make) == [["a0", "b0", "a0"], ["a1", "b1", "a1"]]
    caches[1].drop(["b"])
    assert through_all(caches, ["b", "c", "a"], make) == [["b0", "c0", "a0"], ["b1", "c1", "a1"]]
    assert through_all(caches, ["c"], make) == [["c0"], ["c1"]]
    assert asked == [(["a", "b"], (0, 1)), (["b"], (1,)), (["c"], (0, 1))]
    assert through_all(list[Cache[str, str]](), ["c"], make) == []
