"""One question to several workspaces: one answer, at each door; and what is of one workspace only."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.config import Folders
from satchel.engine import Satchel
from satchel.errors import UsageError
from satchel.system.locations import Registry
from satchel.testing import TinyRepository
from satchel.types import Context
from tests.operations.conftest import Ask
from tests.sources.exports import export, node

API = {
    "src/client.py": '''def fetch_orders(page: int) -> list[str]:
    """Fetch the orders of a page, trying again with backoff when the connection drops."""
    return [f"order {page}" for _ in range(backoff(page))]


def backoff(attempt: int) -> int:
    """Seconds to wait before the next attempt of the interface."""
    return 2**attempt
'''
}
QUESTION = "backoff when the connection drops"
BOTH = "shop,api"


@pytest.fixture(autouse=True)
def api(engine: Satchel, tmp_path: Path) -> TinyRepository:
    """A second repository; both are registered."""
    repository = TinyRepository(tmp_path / "api-repository")
    repository.commit("Try again with backoff when the connection drops", API)
    registry = Registry(Folders.from_environment())
    registry.add("shop", engine.places.root)
    registry.add("api", repository.root)
    return repository


def paths(context: Context) -> list[str]:
    return [item.location.path for item in context.items if item.location is not None]


def test_one_answer_has_the_files_of_both_with_their_workspace(engine: Satchel) -> None:
    context = engine.assemble(QUESTION, types=["code"], workspace=BOTH)
    assert sorted(paths(context)) == ["api/src/client.py", "shop/shop/client.py"]
    assert "Paths begin with their workspace: shop, api." in context.text
    assert "### api/src/client.py" in context.text
    assert context.usage.used <= context.usage.limit


def test_the_workspace_that_answers_better_comes_first(engine: Satchel) -> None:
    for question, first in (("fetch the orders of a page", "api/"), ("discount of a price in percent", "shop/")):
        assert paths(engine.assemble(question, types=["code"], workspace=BOTH))[0].startswith(first)


def test_each_door_gives_the_same_answer(engine: Satchel, ask: Ask, capsysbinary: pytest.CaptureFixture[bytes]) -> None:
    from satchel.cli.application import run

    asked = ask("context_query", question=QUESTION, workspace=BOTH).text
    assert asked == engine.assemble(QUESTION, workspace=("shop", "api"), purpose="find").text
    capsysbinary.readouterr()
    assert run(["context", QUESTION, "--workspace", BOTH]) == 0
    assert capsysbinary.readouterr().out.decode() == asked


def test_a_handle_leads_to_its_workspace(engine: Satchel, ask: Ask) -> None:
    context = engine.assemble(QUESTION, workspace=BOTH)
    handles = {item.location.path: item.handle for item in context.items if item.location is not None}
    expanded = ask("expand", handles=list(handles.values()))
    assert "api/src/client.py" in expanded.text
    assert "return 2**attempt" in expanded.text
    assert "shop/shop/client.py" in expanded.text
    assert "return order" in expanded.text
    commit = next(item for item in context.items if item.metadata.get("workspace") == "api")
    assert commit.metadata["files_changed"] == ["api/src/client.py"]
    assert commit.metadata["insertions"] == 8
    assert "Try again with backoff" in ask("expand", handles=[commit.handle]).text


def test_a_file_that_changed_is_shown_as_it_is_now(engine: Satchel, api: TinyRepository) -> None:
    engine.assemble(QUESTION, workspace=BOTH)
    api.write({"src/client.py": API["src/client.py"].replace("2**attempt", "3**attempt")})
    shown = engine.assemble(QUESTION, workspace=BOTH, refresh=False).text
    assert "return 3**attempt" in shown
    assert "2**attempt\n\n" not in shown
    assert "changed backoff" in shown


def test_globs_and_includes_name_the_workspace(engine: Satchel) -> None:
    only = engine.assemble(QUESTION, types=["code"], paths=["api/*"], workspace=BOTH)
    assert paths(only) == ["api/src/client.py"]
    pinned = engine.assemble(QUESTION, include=["shop/AGENTS.md", "src/client.py"], workspace=BOTH)
    assert "shop/AGENTS.md" in paths(pinned)
    assert [failure.message for failure in pinned.failures] == ["src/client.py: there is no such file"]


def test_neighbours_and_callers_name_their_workspace(engine: Satchel) -> None:
    text = engine.assemble("who calls backoff?", related=True, workspace=BOTH).text
    assert "- api/src/client.py: 3" in text
    assert "- shop/shop/client.py: 3" in text
    assert "called by fetch_orders (api/src/client.py:3)" in text


def test_a_search_lists_the_best_of_all(ask: Ask) -> None:
    text = ask("search", question=QUESTION, types=["code"], workspace=BOTH, limit=2).text
    files = {line.split()[0] for line in text.splitlines()[1:] if not line.startswith("  ")}
    assert files == {"api/src/client.py", "shop/shop/client.py"}


def test_a_walk_goes_through_both(ask: Ask) -> None:
    found = ask("graph_context", query="backoff", lens="code", workspace=BOTH, format="json")
    nodes = json.loads(found.text)["nodes"]
    assert {node["id"] for node in nodes} >= {"code:api/src/client.py::backoff", "code:shop/shop/client.py::backoff"}
    assert json.loads(found.text)["meta"]["workspace"] == "shop, api"
    named = ask("graph_context", query="code:api/src/client.py::backoff", lens="impact", workspace=BOTH).text
    assert "api/src/client.py" in named
    assert "shop/client.py" not in named
    handle = found.envelope["items"][0]["handle"]
    assert "backoff" in ask("expand", handles=[handle]).text


def test_notes_of_an_export_answer_beside_code(engine: Satchel, ask: Ask, tmp_path: Path) -> None:
    path = tmp_path / "ideas.json"
    path.write_bytes(export(node("n", "Backoff of connections", "m"), node("m", "Never wait longer than a minute")))
    Registry(Folders.from_environment()).add("ideas", path)
    context = engine.assemble(QUESTION, workspace="api,ideas")
    assert {"code:api/src/client.py", "note:ideas/n"} <= {item.id for item in context.items}
    note = next(item for item in context.items if item.id == "note:ideas/n")
    assert "Backoff of connections" in ask("expand", handles=[note.handle]).text
    assert "ideas/n" in ask("graph_context", query="backoff", workspace="api,ideas", format="json").text


def test_what_is_remembered_everywhere_is_shown_once(engine: Satchel) -> None:
    engine.memories.add("Backoff of a dropped connection is at most a minute", everywhere=True)
    context = engine.assemble(QUESTION, types=["memories"], workspace=BOTH)
    assert [item.source for item in context.items] == ["memory"]


def test_an_unknown_name_and_what_is_of_one_workspace_are_refused(
    engine: Satchel, ask: Ask, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    from satchel.cli.application import run

    with pytest.raises(UsageError, match="unknown workspace 'apis': there are api, shop"):
        ask("context_query", question=QUESTION, workspace="shop,apis")
    with pytest.raises(UsageError, match="a change is one of a single work tree"):
        ask("context_query", diff="HEAD", workspace=BOTH)
    with pytest.raises(UsageError, match="a change is one of a single work tree"):
        engine.assemble(QUESTION, change=engine.change(), workspace=BOTH)
    assert run(["situation", "--workspace", BOTH]) == 2
    assert b"this command works on one workspace" in capsysbinary.readouterr().err


def test_a_saved_answer_of_several_is_replayed(ask: Ask) -> None:
    saved = ask("context_query", question=QUESTION, workspace=BOTH)
    replayed = ask("replay", saved=json.loads(json.dumps(saved.envelope)))
    assert (replayed.text, replayed.notes) == (saved.text, ())
