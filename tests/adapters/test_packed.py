"""What every adapter gives: the items of one context, with their places, by relevance."""

from __future__ import annotations

import asyncio
from importlib import import_module
from importlib.util import find_spec

import pytest

from satchel import Satchel
from satchel.adapters import ContextPacker
from satchel.errors import MissingExtraError, UsageError
from tests.adapters.conftest import PACKAGES, QUESTION
from tests.oracle import o200k


def test_the_items_are_those_of_one_context_by_relevance(engine: Satchel) -> None:
    items = ContextPacker(".", 500, {"fill": True}, engine).ask(QUESTION)
    context = engine.assemble(QUESTION, max_tokens=500, fill=True)
    assert {item.id for item in items} == {item.id for item in context.items}
    assert [item.score for item in items] == sorted((item.score for item in items), reverse=True)
    assert sum(o200k(item.text) for item in items) <= 500
    client = next(item for item in items if item.metadata["path"] == "shop/client.py")
    assert set(client.metadata) == {"id", "kind", "path", "lines", "title", "score", "tokens", "handle", "trust"}
    assert (client.metadata["kind"], client.metadata["trust"]) == ("code", "data")
    start, end = map(int, client.metadata["lines"].split(",")[0].split("-"))
    lines = (engine.places.root / "shop/client.py").read_text().split("\n")
    assert client.text.startswith("\n".join(lines[start - 1 : end]))
    commit = next(item for item in items if item.metadata["kind"] == "commit")
    assert (commit.metadata["path"], commit.metadata["lines"]) == ("", "")


def test_options_and_top_k_reach_the_engine(engine: Satchel) -> None:
    packer = ContextPacker(".", 4000, {"types": ["code"]}, engine)
    assert {item.metadata["kind"] for item in packer.ask(QUESTION)} == {"code"}
    assert len(packer.ask(QUESTION, 1)) == 1
    assert asyncio.run(packer.aask(QUESTION, 1)) == packer.ask(QUESTION, 1)
    for impossible in (0, True):
        with pytest.raises(UsageError, match="top_k"):
            packer.ask(QUESTION, impossible)


def test_a_folder_is_opened_when_asked_and_closed_by_whoever_opened_it(
    engine: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(engine.places.state.parent))
    packer = ContextPacker(str(engine.places.root), 500)
    packer.close()
    assert packer.ask(QUESTION) == ContextPacker(".", 500, engine=engine).ask(QUESTION)
    packer.close()
    assert packer.ask(QUESTION)
    packer.close()
    given = ContextPacker(".", 500, engine=engine)
    given.close()
    assert given.ask(QUESTION)


@pytest.mark.parametrize("name", [name for name, package in PACKAGES.items() if find_spec(package) is None])
def test_a_missing_framework_is_named_with_the_extra_that_brings_it(name: str) -> None:
    with pytest.raises(MissingExtraError, match=rf"pip install 'satchel\[{name}\]'"):
        import_module(f"satchel.adapters.{name}")
