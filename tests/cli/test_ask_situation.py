from __future__ import annotations

from pathlib import Path

import pytest

from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel


@pytest.fixture
def guided(shop: TinyRepository) -> TinyRepository:
    shop.write(
        {
            "AGENTS.md": "Orders are sent twice at most. See `shop/gone.py`.\n",
            "docs/AGENTS.md": "Write short sentences.\n",
            "context.yaml": "metadata: {name: Shop}\nbehavior_rules: [{trigger: edit, action: test}]\n",
            "shop/context.yaml": (
                "metadata: {name: Client}\nintent_context: {extends: .., business_goal: Send orders}\n"
                "injection_rules: [{name: slow, condition: network work, inject: nowhere}]\n"
            ),
        }
    )
    return shop


def test_contexts_are_a_type_of_questions_as_the_others_are(guided: TinyRepository, satchel: Satchel) -> None:
    listed = satchel("search", "how are orders sent", "--types", "contexts", "--json").json["hits"]
    assert [hit["title"] for hit in listed] == ["Shop", "AGENTS.md"]
    found = satchel("search", "how are orders sent", "--types", "contexts", "-n", "1")
    assert found.out.splitlines()[1:] == ["context:.  1.00  Shop"]
    answer = satchel("context", "how are orders sent", "--types", "contexts").out
    assert "Orders are sent twice at most." in answer
    assert "Weak match" not in answer
    both = satchel("context", "how are orders sent", "--types", "contexts,code").out
    assert both.index("## Code") < both.index("## Contexts") < both.index("Orders are sent twice")
    assert "Orders are sent twice" not in satchel("context", "how are orders sent", "--types", "code").out
    saved = satchel("context", "how are orders sent", "--types", "contexts,code", "--json").out
    Path("saved.json").write_text(saved, encoding="utf-8")
    assert "Orders are sent twice" in satchel("replay", "saved.json").out
    assert guided


def test_a_situation_is_packed(guided: TinyRepository, satchel: Satchel) -> None:
    ran = satchel(
        "situation", "--context", "shop", "--tool", "edit_file", "--task", "Wait exponentially between attempts",
        "--intent", "fewer failures", "--files", "shop/client.py,docs/guide.md", "--max-tokens", "1000",
    )  # fmt: skip
    assert ran.code == 0
    assert "Task: Wait exponentially between attempts\nIntent: fewer failures\nTool: edit_file" in ran.out
    assert "**Context** Client" in ran.out
    assert "Goal: Send orders\nRules:\n- edit: test" in ran.out
    assert ran.out.index("docs/AGENTS.md") < ran.out.index("Orders are sent twice")
    assert "Wait exponentially between attempts" in ran.out.split("## Commits")[1]
    assert guided


def test_the_envelope_tells_rules_and_contexts(guided: TinyRepository, satchel: Satchel) -> None:
    ran = satchel(
        "situation",
        "--context",
        "shop",
        "--task",
        "x",
        "--params",
        '{"path": "shop/client.py"}',
        "--json",
        "--now",
        "2026-01-01",
    )
    meta = ran.json["meta"]
    assert [row["path"] for row in meta["contexts"]] == ["shop", ""]
    assert meta["rules"][0]["verdict"] == "false"
    assert meta["situation"]["files"] == ["shop/client.py"]
    assert {item["trust"] for item in ran.json["items"]} == {"data"}
    assert meta["request"]["lead"] == "context"
    assert guided


def test_every_format_is_written(guided: TinyRepository, satchel: Satchel) -> None:
    for name, start in (("xml", "<context>"), ("plain", "Context"), ("json", '{"context"'), ("markdown", "# Context")):
        assert satchel("situation", "--task", "x", "--format", name).out.startswith(start)
    assert guided


def test_explain_says_why_on_standard_error(guided: TinyRepository, satchel: Satchel) -> None:
    ran = satchel(
        "situation",
        "--context",
        "shop",
        "--task",
        "retry the network connection",
        "--explain",
        "--time",
        "2026-01-01T10:00",
    )
    assert "context shop: current, priority" in ran.err
    assert "rule slow (shop/context.yaml:3): true, words@3: 95% of it is said: network" in ran.err
    assert "docs/AGENTS.md" not in ran.err
    assert "AGENTS.md: applies, it is about the whole root" in ran.err
    assert "there is no nowhere/context.yaml" in ran.out
    assert guided


def test_nothing_to_say_is_said(shop: TinyRepository, satchel: Satchel) -> None:
    ran = satchel("situation")
    assert (ran.code, ran.out.strip()) == (0, "")
    assert "nothing guides this" in ran.err
    assert satchel("situation", "--strict").code == 1
    assert satchel("situation", "--strict", "--context", "gone").code == 3
    small = satchel("situation", "--task", "something to do", "--max-tokens", "5")
    assert "nothing fits into 5 tokens" in small.err
    assert shop


def test_wrong_options_are_named(shop: TinyRepository, satchel: Satchel) -> None:
    assert "--params is not JSON" in satchel("situation", "--params", "{").err
    assert satchel("situation", "--params", "[]").code == 2
    assert satchel("situation", "--time", "soon").code == 2
    assert shop


def test_rules_list_shows_everything(guided: TinyRepository, satchel: Satchel) -> None:
    ran = satchel("rules", "list")
    assert ran.out.splitlines() == [
        "AGENTS.md: everywhere",
        "docs/AGENTS.md: below docs/",
        "./context.yaml: Shop, 1 behavior rules, 0 injection rules",
        "shop/context.yaml: Client, 1 behavior rules, 1 injection rules",
    ]
    data = satchel("rules", "list", "--json").json
    assert [row["path"] for row in data["contexts"]] == ["", "shop"]
    (Path(guided.root) / "context.yaml").write_text("a: 1\na: 2\n")
    assert "context.yaml:2: has 'a' twice" in satchel("rules", "list").err


def test_rules_without_files_say_so(shop: TinyRepository, satchel: Satchel) -> None:
    assert "there is no instruction file" in satchel("rules", "list").err
    assert shop
