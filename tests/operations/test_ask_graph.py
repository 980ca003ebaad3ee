"""The walk through an operation, in both spellings of its arguments, in this root or a registered one."""

from __future__ import annotations

from pathlib import Path

import pytest

from satchel.config import Folders
from satchel.engine import Satchel
from satchel.errors import UsageError
from satchel.system.locations import Registry
from satchel.testing import TinyRepository
from tests.operations.conftest import Ask


def test_a_walk_reaches_the_caller_of_a_function(ask: Ask) -> None:
    assert "send_order" in ask("graph_context", query="backoff", depth=1, lens="code", max_tokens=900).text


def test_the_spellings_of_the_specification_are_taken(ask: Ask) -> None:
    one = ask("graph_context", nodeId="code:shop/client.py::backoff", maxTokens=900, includeFields=False, format="json")
    two = ask(
        "graph_context", query="code:shop/client.py::backoff", max_tokens=900, include_fields=False, format="json"
    )
    assert one.text == two.text


def test_another_workspace_is_walked_by_its_alias(tmp_path: Path, engine: Satchel, ask: Ask) -> None:
    other = TinyRepository(tmp_path / "other")
    other.commit("Begin", {"zoo.py": "def feed_zebra():\n    return 1\n"})
    Registry(Folders.from_environment()).add("zoo", other.root)
    assert "zoo.py" in ask("graph_context", query="feed_zebra", workspace="zoo").text
    assert ask("graph_context", query="backoff", workspace=engine.places.root.name).text
    with pytest.raises(UsageError, match="zoos"):
        ask("graph_context", query="backoff", workspace="zoos")


def test_an_alias_of_this_root_is_answered_by_this_engine(engine: Satchel, ask: Ask) -> None:
    Registry(Folders.from_environment()).add("here", engine.places.root)
    assert "workspace here" in ask("graph_context", query="backoff", workspace="here").text


def test_an_empty_walk_says_why(ask: Ask) -> None:
    assert "nothing here is about that" in ask("graph_context", query="zebra").notes[0]
    assert "too few even for the frame" in ask("graph_context", query="backoff", max_tokens=1).notes[0]
    assert ask("graph_context", query="backoff", max_tokens=300).notes


def test_a_walk_in_what_was_never_indexed_says_so(ask: Ask) -> None:
    assert "nothing is indexed here yet" in ask("graph_context", query="backoff", refresh=False).notes[0]
