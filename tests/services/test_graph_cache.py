"""Several queries in one context, and contexts that are given again: never other bytes than a fresh one."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel import Context, Satchel
from satchel.services.graph import MAX_CONTEXTS, ContextCache, assemble_graph
from satchel.services.open_root import attempts, resources_of
from satchel.types import Format, Usage
from tests.graph.workspaces import NOW, Export, open_shop
from tests.oracle import o200k

PROJECT = (
    Export()
    .node("home", "Home")
    .node("rocket", "Rocket project", owner="home", text="Launch of the rocket in spring.")
    .node("alice", "Alice", owner="home", tags=["person"], text="Alice builds engines.")
    .node("meeting", "Meeting about the rocket with Alice", owner="home", references=["rocket", "alice"])
    .node("garden", "Garden", owner="home", text="Roses and soil.", references=["meeting"])
)


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    with PROJECT.open(tmp_path_factory.mktemp("project")) as satchel:
        yield satchel


def ids(context: Context) -> list[str]:
    return [item.metadata["node"]["id"] for item in context.items]


def test_what_stands_high_in_both_walks_comes_first(workspace: Satchel) -> None:
    context = workspace.graph("rocket", blend=["alice"], lens="coding", now=NOW, refresh=False)
    assert ids(context)[0] == "meeting" or set(ids(context)[:3]) == {"meeting", "rocket", "alice"}
    first = {signal.name for signal in context.items[0].signals}
    assert {"rank 1", "rank 2"} <= first
    assert all(0 < item.relevance <= 1 for item in context.items)


def test_every_query_of_a_blend_has_its_share(tmp_path: Path) -> None:
    export = Export().node("home", "Home").node("lonely", "Frankenstein", owner="home", text="A novel.")
    for number in range(12):
        export.node(f"q{number}", f"Quarterly review {number}", owner="home", text=f"Capture recurrence {number}.")
    with export.open(tmp_path / "shares") as satchel:
        queries = ["quarterly review", "Frankenstein", "capture recurrence"]
        context = satchel.graph(queries[0], blend=queries[1:], now=NOW, max_tokens=900)
    assert "lonely" in ids(context)[:3]
    assert [item.relevance for item in context.items] == sorted((i.relevance for i in context.items), reverse=True)


def test_a_blend_finds_what_only_one_of_its_queries_finds(workspace: Satchel) -> None:
    context = workspace.graph("roses soil", blend=["engines"], lens="coding", depth=1, now=NOW, refresh=False)
    assert {"garden", "alice"} <= set(ids(context))


def test_a_query_of_a_blend_that_finds_nothing_is_named(workspace: Satchel) -> None:
    context = workspace.graph("rocket", blend=["quaternion"], now=NOW, refresh=False)
    assert "nothing here is about 'quaternion'" in context.meta["warnings"]


REQUESTS = st.fixed_dictionaries(
    {
        "query": st.sampled_from(["rocket", "alice", "meeting about engines", "home", "nothing of it"]),
        "blend": st.sampled_from([(), ("garden",), ("rocket", "soil")]),
        "depth": st.sampled_from([None, 1, 5]),
        "lens": st.sampled_from(["general", "planning", "coding"]),
        "max_tokens": st.integers(1, 1500),
        "format": st.sampled_from(["markdown", "json"]),
        "include_fields": st.booleans(),
        "tokenizer": st.sampled_from(["o200k_base", "cl100k_base", "claude", "chars"]),
    }
)


@given(options=REQUESTS)
def test_every_hit_equals_a_fresh_assembly_byte_for_byte(workspace: Satchel, options: dict[str, Any]) -> None:
    request = workspace.graphs.graph_request(now=NOW, **options)
    workspace.graphs.graph_answer(request)
    again = workspace.graphs.graph_answer(request)
    for attempt in attempts(workspace.opened):
        with attempt as states:
            fresh = assemble_graph(request, resources_of(states))
    assert again.meta.get("cached")
    assert again.text == fresh.text
    assert again.items == fresh.items
    assert again.usage == fresh.usage
    assert again.overflow == fresh.overflow
    assert fresh.usage.used <= request.max_tokens


@given(budget=st.integers(500, 1200), layout=st.sampled_from(["markdown", "json"]))
def test_the_budget_holds_and_the_text_says_its_own_tokens(workspace: Satchel, budget: int, layout: str) -> None:
    context = workspace.graph("home", max_tokens=budget, format=layout, now=NOW, refresh=False)
    assert o200k(context.text) == context.usage.used <= budget
    assert str(context.usage.used) in context.text


def test_what_was_written_since_is_not_answered_from_memory(tmp_path: Path) -> None:
    with Export().node("a", "Alpha").open(tmp_path) as satchel:
        assert ids(satchel.graph("a", now=NOW)) == ["a"]
    export = Export().node("a", "Alpha").node("b", "Beta", owner="a")
    with export.open(tmp_path) as satchel:
        assert ids(satchel.graph("a", now=NOW, refresh=False)) == ["a", "b"]
        assert satchel.graph("a", now=NOW, refresh=False).meta["cached"]


def test_a_file_that_changed_since_is_looked_at_again(tmp_path: Path) -> None:
    with open_shop(tmp_path / "shop") as satchel:
        satchel.graph("ShopError", lens="code", refresh=False)
        assert satchel.graph("ShopError", lens="code", refresh=False).meta["cached"]
        (tmp_path / "shop" / "shop" / "errors.py").write_text("gone = 1\n", encoding="utf-8")
        after = satchel.graph("ShopError", lens="code", refresh=False)
        assert "cached" not in after.meta
        assert "not as indexed" in after.text


def kept(**meta: Any) -> Context:
    return Context("q", "text", Format.MARKDOWN, (), Usage(1, 1, "chars", exact=False), meta=meta)


def test_a_context_lives_as_long_as_the_setting_says() -> None:
    seconds = itertools.count(0.0, 4.0)
    cache = ContextCache(10.0, lambda: next(seconds))
    cache.put("key", kept())
    assert cache.get("key", lambda _: True) is not None
    assert cache.get("key", lambda _: True) is not None
    assert cache.get("key", lambda _: True) is None


def test_nothing_is_kept_that_may_be_otherwise_next_time() -> None:
    cache = ContextCache(10.0)
    cache.put("late", kept(timed_out=True))
    assert cache.get("late", lambda _: True) is None
    off = ContextCache(0.0)
    off.put("key", kept())
    assert off.get("key", lambda _: True) is None


def test_the_context_that_was_not_used_for_longest_makes_room() -> None:
    cache = ContextCache(10.0)
    for number in range(MAX_CONTEXTS + 1):
        cache.put(number, kept())
        cache.get(0, lambda _: True)
    assert cache.get(0, lambda _: True) is not None
    assert cache.get(1, lambda _: True) is None
