"""A saved situation is asked again as one, and the handles of its answer lead somewhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from satchel.testing import TinyRepository
from tests.cli.conftest import Satchel

COMMIT = "Wait exponentially between attempts"
ASKED = ("situation", "--tool", "edit_file", "--task", COMMIT, "--files", "shop/client.py", "--now", "2026-01-01")


@pytest.fixture
def guided(shop: TinyRepository) -> TinyRepository:
    shop.write(
        {
            "AGENTS.md": "# Rules\nOrders are sent twice at most.\n",
            "docs/style.md": "Short sentences.\n",
            "CLAUDE.md": "# Style\n@docs/style.md\nNo jokes.\n",
            "context.yaml": (
                "metadata: {name: Shop}\n"
                "injection_rules:\n"
                "  - {name: files, inject: ['files:docs/*.md']}\n"
                "  - {name: slow, when: {task_matches: attempts}, inject: [net]}\n"
            ),
            "net/context.yaml": "metadata: {name: Network}\nintent_context: {business_goal: Be patient}\n",
            "shop/context.yaml": "metadata: {name: Client}\nintent_context: {extends: .., business_goal: Send}\n",
        }
    )
    return shop


def saved(satchel: Satchel, tmp_path: Path, *arguments: str) -> tuple[Path, str, Any]:
    ran = satchel(*(arguments or ASKED), "--json")
    file = tmp_path / "saved.json"
    file.write_text(ran.out)
    return file, ran.out, ran.json


@pytest.mark.parametrize(
    "more",
    [(), ("--context", "shop", "--limit", "2", "--format", "xml"), ("--max-tokens", "150"), ("--context", "gone")],
    ids=["the root's context", "another context", "a small budget", "a context that is not there"],
)
@pytest.mark.usefixtures("guided")
def test_a_saved_situation_is_replayed_byte_for_byte(satchel: Satchel, tmp_path: Path, more: tuple[str, ...]) -> None:
    file, out, envelope = saved(satchel, tmp_path, *ASKED, *more)
    ran = satchel("replay", str(file))
    assert (ran.code, ran.out, ran.err) == (0, envelope["text"], "")
    assert satchel("replay", str(file), "--json").out == out
    assert satchel("replay", str(file), "--json", "--no-refresh").out == out


@pytest.mark.usefixtures("guided")
def test_a_situation_of_a_long_error_and_a_pinned_file_is_replayed(
    satchel: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_CONTEXT_INCLUDE", "shop/prices.py")
    error = "Traceback\n" + "  at somewhere\n" * 1_000 + "ValueError: attempts"
    file, out, envelope = saved(
        satchel, tmp_path, "situation", "--error", error, "--params", '{"path": "shop/client.py"}'
    )
    assert any(item["id"] == "code:shop/prices.py" for item in envelope["items"])
    ran = satchel("replay", str(file), "--json")
    assert (ran.code, ran.out) == (0, out)


def test_a_replay_judges_the_rules_of_today(satchel: Satchel, guided: TinyRepository, tmp_path: Path) -> None:
    file, _, envelope = saved(satchel, tmp_path)
    assert "Be patient" in envelope["text"]
    guided.write(
        {
            "AGENTS.md": "# Rules\nOrders are sent once.\n",
            "context.yaml": "metadata: {name: Shop}\ninjection_rules: [{name: files, inject: ['files:docs/*.md']}]\n",
        }
    )
    ran = satchel("replay", str(file))
    assert ran.code == 1
    assert "Orders are sent once." in ran.out
    assert "Be patient" not in ran.out
    assert "differs: changed: context:AGENTS.md" in ran.err
    assert "differs: not shown any more: context:net" in ran.err


@pytest.mark.usefixtures("guided")
def test_a_damaged_situation_is_refused(satchel: Satchel, tmp_path: Path) -> None:
    file, _, envelope = saved(satchel, tmp_path)
    for name, value, message in (
        ("situation", 3, "the saved situation is damaged"),
        ("situation", {"mood": "good"}, "a situation has no 'mood'"),
        ("request", {}, "the saved request is damaged"),
    ):
        file.write_text(json.dumps({**envelope, "meta": {**envelope["meta"], name: value}}))
        ran = satchel("replay", str(file))
        assert ran.code == 2
        assert message in ran.err


@pytest.mark.usefixtures("guided")
def test_every_handle_of_a_situation_expands(satchel: Satchel) -> None:
    envelope = satchel(*ASKED, "--context", "shop", "--json").json
    handles = {item["id"]: item["handle"] for item in envelope["items"]}
    assert handles.pop("context:situation") == ""
    shown = {identity: satchel("expand", handle).out for identity, handle in handles.items() if handle}
    assert len(shown) == len(handles)
    assert "Orders are sent twice at most." in shown["context:AGENTS.md"]
    assert "@docs/style.md" in shown["context:CLAUDE.md"]
    assert "extends: .." in shown["context:shop"]
    assert "context:." not in shown  # an ancestor that has only rules says nothing itself
    assert "### net/context.yaml" in shown["context:net"]
    assert COMMIT in next(text for identity, text in shown.items() if identity.startswith("commit:"))


@pytest.mark.usefixtures("guided")
def test_handles_of_what_stayed_out_expand_too(satchel: Satchel) -> None:
    envelope = satchel(*ASKED, "--max-tokens", "120", "--json").json
    left_out = [row for row in envelope["overflow"] if row["source"] == "context"]
    assert left_out
    for row in left_out:
        assert satchel("expand", row["handle"]).code == 0


def test_an_instruction_file_expands_as_it_was(satchel: Satchel, guided: TinyRepository) -> None:
    guided.commit("Add rules", {})
    handle = next(
        item["handle"] for item in satchel(*ASKED, "--json").json["items"] if item["id"] == "context:AGENTS.md"
    )
    guided.write({"AGENTS.md": "# Rules\nOrders are sent once.\n"})
    assert "twice at most" in satchel("expand", handle).out


def test_a_handle_of_what_changed_and_is_left_nowhere_says_so(satchel: Satchel, guided: TinyRepository) -> None:
    handle = next(
        item["handle"] for item in satchel(*ASKED, "--json").json["items"] if item["id"] == "context:AGENTS.md"
    )
    guided.write({"AGENTS.md": "# Rules\nOrders are sent once.\n"})
    ran = satchel("expand", handle)
    assert ran.code == 1
    assert "AGENTS.md has changed and no copy of it is left" in ran.err


@pytest.mark.parametrize("command", [("brief",), ("premortem", "--domain", "debugging")], ids=["brief", "premortem"])
@pytest.mark.usefixtures("shop")
def test_other_answers_without_a_question_are_replayed(
    satchel: Satchel, tmp_path: Path, command: tuple[str, ...]
) -> None:
    satchel("remember", "Prices are in cents", "--category", "decision")
    satchel(
        "experience", "start", "--domain", "debugging", "--strategy", "trial-and-error", "--goal", "stop the retries",
        "--hypothesis", "the limit is ignored", "--action", "log it", "--prediction", "one attempt",
    )  # fmt: skip
    satchel(
        "experience", "resolve", "--status", "falsified", "--result", "two attempts", "--surprise", "counted late",
        "--root-cause", "wrong-assumption", "--root-cause-description", "the counter starts at zero",
    )  # fmt: skip
    file, out, envelope = saved(satchel, tmp_path, *command)
    assert envelope["items"]
    assert satchel("replay", str(file), "--json").out == out


@pytest.mark.usefixtures("shop")
def test_a_graph_says_that_it_is_not_replayed(satchel: Satchel, tmp_path: Path) -> None:
    file, _, _ = saved(satchel, tmp_path, "graph", "backoff")
    ran = satchel("replay", str(file))
    assert ran.code == 2
    assert "this is a saved graph context: it is not replayed, ask again with `satchel graph`" in ran.err
