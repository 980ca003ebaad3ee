"""`--session` of every command that answers, as an agent's host passes it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Satchel
from tests.cli.test_ask_context import QUESTION

pytestmark = pytest.mark.usefixtures("shop")


def test_a_second_answer_names_what_the_first_one_showed(satchel: Satchel) -> None:
    first = satchel("context", QUESTION, "--session", "one", "--json").json
    second = satchel("context", QUESTION, "--session", "one", "--max-tokens", "8000")
    assert (second.code, second.out.count("## ")) == (0, 0)
    assert "\nShown before: shop/client.py:" in second.out
    assert "note: this session has received all of it; `satchel expand HANDLE` shows it again" in second.err
    assert satchel("context", QUESTION, "--session", "one", "--strict").code == 0
    third = satchel("context", QUESTION, "--session", "one", "--json").json
    assert (third["items"], third["meta"]["session"]) == ([], "one")
    assert {row["id"] for row in third["shown_before"]} == {item["id"] for item in first["items"]}
    again = satchel("expand", third["shown_before"][0]["handle"], "--session", "one")
    assert again.code == 0
    assert again.out


def test_a_saved_answer_to_a_session_replays(satchel: Satchel, tmp_path: Path) -> None:
    satchel("context", QUESTION, "--session", "kept", "--types", "code")
    saved = satchel("context", QUESTION, "--session", "kept", "--json", "--explain")
    (tmp_path / "saved.json").write_text(saved.out)
    satchel("context", "something else", "--session", "kept")
    ran = satchel("replay", str(tmp_path / "saved.json"))
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == json.loads(saved.out)["text"]


def test_graph_situation_and_brief_take_a_session(satchel: Satchel) -> None:
    for arguments in (("graph", "client"), ("situation", "--task", QUESTION)):
        first = satchel(*arguments, "--session", "other", "--json").json
        second = satchel(*arguments, "--session", "other", "--json").json
        assert first["items"]
        assert second["shown_before"]
        assert not {item["id"] for item in first["items"]} & {item["id"] for item in second["items"]}
    satchel("remember", "Orders are sent again after a lost connection", "--category", "preference")
    assert satchel("brief", "--session", "other").out
    ran = satchel("brief", "--session", "other", "--strict")
    assert (ran.code, "this session has received all of it" in ran.err) == (0, True)
    ran = satchel("situation", "--task", QUESTION, "--session", "other", "--strict")
    assert (ran.code, "this session has received all of it" in ran.err) == (0, True)


def test_an_impossible_session_is_a_usage_error(satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, "--session", "x" * 501)
    assert ran.code == 2
    assert "give at most 500" in ran.err
