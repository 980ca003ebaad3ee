"""A wrong type from Python is one clear sentence."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import ContextAssembler, Satchel
from satchel.errors import UsageError

CALLS: list[tuple[Callable[[Satchel], Any], str]] = [
    (lambda engine: asyncio.run(ContextAssembler(engine).assemble_context("q", _three())), "types is 3: give a list"),
    (lambda engine: asyncio.run(ContextAssembler(engine).assemble_context(_none(), ["code"])), "the question is None"),
    (lambda engine: engine.assemble(_none()), "the question is None: give a text"),
    (lambda engine: engine.memories.add("A fact", tags="abc"), "tags is 'abc': give a list of texts"),
    (lambda engine: engine.memories.add(_none()), "a memory is None: give a text"),
    (lambda engine: engine.memories.search(_none()), "the question is None: give a text"),
    (lambda engine: engine.premortem(_none()), "unknown domain None: choose from"),
]


def _none() -> Any:
    return None


def _three() -> Any:
    return 3


@pytest.mark.parametrize(("call", "said"), CALLS, ids=[said for _, said in CALLS])
def test_a_wrong_type_is_named(tmp_path: Path, call: Callable[[Satchel], Any], said: str) -> None:
    with Satchel.open(tmp_path, root=tmp_path) as engine, pytest.raises(UsageError) as refused:
        call(engine)
    assert str(refused.value).startswith(said)
    assert "\n" not in str(refused.value)
