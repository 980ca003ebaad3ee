"""A wrong type from Python is one clear sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import ContextAssembler, Satchel, Searcher
from satchel.errors import UsageError

CALLS: list[tuple[Callable[[Satchel], Any], str]] = [
    (lambda engine: asyncio.run(ContextAssembler(engine).assemble_context("q", _three())), "types is 3: give a list"),
    (lambda engine: asyncio.run(ContextAssembler(engine).assemble_context(_none(), ["code"])), "the question is None"),
    (lambda engine: engine.assemble(_none()), "the question is None: give a text"),
    (lambda engine: engine.memories.add("A fact", tags="abc"), "tags is 'abc': give a list of texts"),
    (lambda engine: engine.memories.add(_none()), "a memory is None: give a text"),
    (lambda engine: engine.memories.search(_none()), "the question is None: give a text"),
    (lambda engine: engine.premortem(_none()), "unknown domain None: choose from"),
    (lambda engine: engine.assemble("q", include=[_three()]), "one of include is 3: give a text"),
    (lambda engine: engine.assemble("q", reserves=_three()), "reserves is 3: give tokens by type"),
    (lambda engine: engine.assemble("q", change=_name()), "change is 'x': give what Satchel.change() returns"),
    (lambda engine: engine.assemble("q", **_unknown()), "unknown option budget: choose from"),
    (lambda engine: engine.search("q", **_unknown()), "unknown option budget: choose from"),
    (lambda engine: engine.brief(_three()), "the failure is 3: give a text"),
    (lambda engine: engine.graph(_none()), "the query is None: give a text"),
    (lambda engine: engine.graph("q", blend=[_three()]), "the query is 3: give a text"),
    (lambda engine: engine.why(_none(), "q"), "the target is None: give a text"),
    (lambda engine: engine.situation(_three()), "the situation is 3: give a mapping"),
    (lambda engine: engine.file_history(_three()), "the path is 3: give a text or a Path"),
    (lambda engine: engine.churn(_name()), "days is 'x': give a whole number, at least 1"),
    (lambda engine: engine.expand(_name()), "handles is 'x': give a list of texts"),
    (lambda engine: engine.memories.forget(_name()), "ids is 'x': give a list of texts"),
    (lambda engine: engine.experiences.forget(_none()), "ids is None: give a list of texts"),
    (lambda engine: _searched(engine, "code", limit="4"), "limit is '4': give a whole number, at least 1"),
    (lambda engine: _searched(engine, "code", language="klingon"), "unknown language 'klingon': choose from"),
    (lambda engine: _searched(engine, "code", unit_type="verb"), "unknown unit_type 'verb': choose from function"),
    (lambda engine: _searched(engine, "commits", author=3), "author is 3: give a text"),
    (lambda engine: _searched(engine, "memories", min_importance="x"), "min_importance is 'x': give 0 to 1"),
]


def _unknown() -> dict[str, Any]:
    """An option that does not exist."""
    return {"budget": 3}


def _none() -> Any:
    return None


def _three() -> Any:
    return 3


def _name() -> Any:
    return "x"


def _searched(engine: Satchel, type_: str, **options: Any) -> Any:
    return asyncio.run(getattr(Searcher(engine), f"search_{type_}")("q", **options))


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[said for _, said in CALLS])
def test_a_wrong_type_is_named(tmp_path: Path, call: Callable[[Satchel], Any], said: str) -> None:
    with Satchel.open(tmp_path, root=tmp_path) as engine, pytest.raises(UsageError) as refused:
        call(engine)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)
