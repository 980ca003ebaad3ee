"""`satchel graph` as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from satchel.config import Folders
from satchel.system.locations import Registry, WorkspaceType
from tests.cli.conftest import Satchel

FILES = {
    "Plan.md": "---\nstatus: active\n---\nThe launch of the rocket. See [[Budget]].\n",
    "Budget.md": "Money for everything. #finance\n",
    "Alice.md": "Alice is a person.\n",
}


@pytest.fixture
def run(home: Path, satchel: Satchel) -> Satchel:
    """Runs a command line where the vault `graphs` is known."""
    folder = home.parent / "vault"
    folder.mkdir()
    for name, text in FILES.items():
        (folder / name).write_text(text, encoding="utf-8")
    Registry(Folders.from_environment()).add("graphs", folder, WorkspaceType.VAULT)
    return satchel


def test_a_topic_shows_what_is_linked(run: Satchel) -> None:
    done = run("graph", "rocket", "launch", "--workspace", "graphs")
    assert done.code == 0
    assert "## Plan" in done.out
    assert "reference at line 4 > Budget" in done.out
    assert "workspace graphs" in done.out
    assert "status: active" in done.out


def test_the_json_of_the_specification_and_the_envelope(run: Satchel) -> None:
    found = json.loads(run("graph", "Plan.md", "--workspace", "graphs", "--format", "json").out)
    assert [node["id"] for node in found["nodes"]] == ["Plan.md", "Budget.md"]
    envelope = json.loads(run("graph", "Plan.md", "--workspace", "graphs", "--json", "--no-include-fields").out)
    assert envelope["meta"]["request"]["queries"] == ["Plan.md"]
    assert envelope["text"].startswith("# Context: Plan.md")
    assert "active" not in envelope["text"]
    assert {signal["name"] for signal in envelope["items"][0]["signals"]} >= {"distance", "recency"}


def test_two_queries_are_blended(run: Satchel) -> None:
    done = run("graph", "Plan.md", "--and", "Alice.md", "--workspace", "graphs")
    assert "# Context: Plan.md + Alice.md" in done.out
    assert "## Alice" in done.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--depth", "6"), "depth is 6: give 1 to 5"),
        (("--max-tokens", "0"), "--max-tokens is 0"),
        (("--max-tokens", "-1"), "--max-tokens is -1"),
        (("--max-tokens", "nan"), "not a valid integer"),
        (("--lens", "wide"), "choose from general, writing, coding, planning, meeting-prep"),
        (("--format", "xml"), "'markdown', 'json'"),
    ],
)
def test_a_wrong_value_ends_with_2_and_what_is_possible(run: Satchel, arguments: tuple[str, ...], said: str) -> None:
    done = run("graph", "Plan.md", "--workspace", "graphs", *arguments)
    assert done.code == 2
    assert said in done.err
    assert done.out == ""


def test_an_unknown_workspace_is_answered_with_those_that_exist(run: Satchel) -> None:
    done = run("graph", "Plan.md", "--workspace", "nowhere")
    assert done.code == 2
    assert "graphs" in done.err


def test_a_small_budget_warns_on_standard_error_too(run: Satchel) -> None:
    done = run("graph", "Plan.md", "--workspace", "graphs", "--max-tokens", "300")
    assert done.code == 0
    assert "Also related" in done.out
    assert "too few for nodes" in done.err
    tiny = run("graph", "Plan.md", "--workspace", "graphs", "--max-tokens", "5")
    assert tiny.out.strip() == ""
    assert "give 500 or more" in tiny.err


def test_nothing_found_says_what_to_try(run: Satchel) -> None:
    done = run("graph", "quaternions", "--workspace", "graphs", "--strict")
    assert done.code == 1
    assert "nothing here is about that" in done.err
    fine = run("graph", "Plan.md", "--workspace", "graphs", "--strict", "--now", "2026-05-01")
    assert fine.code == 0
    assert "2026-05-01T00:00:00Z" in fine.out
