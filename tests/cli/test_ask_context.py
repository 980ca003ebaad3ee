from __future__ import annotations

import io
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from satchel import engine
from satchel.system.state_files import index_lock
from satchel.testing import TinyRepository
from satchel.types import Failure
from tests.cli.conftest import Satchel
from tests.oracle import o200k

pytestmark = pytest.mark.usefixtures("shop")

QUESTION = "how long does backoff wait between attempts"


def lines(text: str) -> list[str]:
    """Lines without the one about the index, which depends on how fast the machine is."""
    return [line for line in text.splitlines() if "the index up to date" not in line]


def test_the_first_question_indexes_and_prints_the_context_alone(satchel: Satchel) -> None:
    ran = satchel("context", QUESTION)
    assert ran.code == 0
    assert "0.1 * 2**attempt" in ran.out
    assert lines(ran.err) == []


def test_standard_output_holds_the_counted_text_and_nothing_more(satchel: Satchel) -> None:
    envelope = satchel("context", QUESTION, "--json").json
    ran = satchel("context", QUESTION)
    assert ran.out == envelope["text"]
    assert o200k(ran.out) == envelope["usage"]["used"] <= envelope["usage"]["limit"] == 4000


def test_words_need_no_quotes(satchel: Satchel) -> None:
    assert satchel("context", *QUESTION.split()).out == satchel("context", QUESTION).out


def test_a_dash_reads_the_question_from_standard_input(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = satchel("context", QUESTION).out
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(QUESTION.encode())))
    assert satchel("context", "-").out == expected


@pytest.mark.parametrize("layout", ["markdown", "xml", "plain", "json"])
def test_every_format_is_the_text_of_its_envelope(layout: str, satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, "--format", layout)
    assert ran.out == satchel("context", QUESTION, "--format", layout, "--json").json["text"]
    if layout == "json":
        assert json.loads(ran.out)["context"]["items"]


def test_the_envelope_shows_what_stands_in_the_text(satchel: Satchel, shop: TinyRepository) -> None:
    envelope = satchel("context", QUESTION, "--types", "code", "--for", "read", "--json").json
    item = envelope["items"][0]
    assert item["location"]["path"] == "shop/client.py"
    source = (shop.root / "shop/client.py").read_text().splitlines()
    for start, end in item["location"]["spans"]:
        assert "\n".join(source[start - 1 : end]) in envelope["text"]
    assert envelope["sources_used"] == {"code": len(envelope["items"])}
    assert envelope["failures"] == []


def test_options_reach_the_answer_and_its_request(satchel: Satchel) -> None:
    envelope = satchel(
        "context", QUESTION, "--json", "--types", "code,docs", "--types", "commits", "--max-tokens", "900", "--limit",
        "3", "--format", "xml", "--group-by-type", "--sources", "--no-code", "--path", "*.py", "--exclude", "x/*",
        "--for", "edit", "--tokenizer", "cl100k_base", "--min-score", "0.05", "--now", "2024-05-01",
    ).json  # fmt: skip
    request = envelope["meta"]["request"]
    assert request["types"] == ["code", "commits", "docs"]
    assert (request["max_tokens"], request["limit"], request["format"]) == (900, 3, "xml")
    assert (request["group_by_type"], request["show_sources"], request["show_code"]) == (True, True, False)
    assert (request["paths"], request["exclude"]) == (["*.py"], ["x/*"])
    assert (request["whole_item_tokens"], request["tokenizer"], request["min_score"]) == (1200, "cl100k_base", 0.05)
    assert envelope["meta"]["now"] == 1714521600.0
    assert envelope["usage"]["tokenizer"] == "cl100k_base"
    assert {item["location"]["path"] for item in envelope["items"]} <= {"shop/client.py", "shop/prices.py"}


def test_files_can_be_left_out(satchel: Satchel) -> None:
    without = satchel("context", QUESTION, "--exclude", "shop/*", "--json").json
    assert all((item["location"] or {}).get("path", "").startswith("shop/") is False for item in without["items"])


def test_the_explanation_goes_beside_the_answer(satchel: Satchel) -> None:
    plain = satchel("context", QUESTION)
    explained = satchel("context", QUESTION, "--explain")
    assert explained.out == plain.out
    assert "What is in" in explained.err
    assert "shop/client.py:" in explained.err
    assert "tokens (" in explained.err


@pytest.mark.parametrize("question", ["", "   ", "\n"])
def test_an_empty_question_is_wrong_usage_with_a_hint(question: str, satchel: Satchel) -> None:
    ran = satchel("context", question)
    assert (ran.code, ran.out) == (2, "")
    assert "the question is empty: say what you look for" in ran.err


@pytest.mark.parametrize(
    ("question", "why"),
    [
        ("what is the of and", "only everyday words"),
        ("hello there", "nothing to look for"),
        ("Thanks a lot, looks good!", "nothing to look for"),
        ("quantum chromodynamics of zebras", "nothing here is relevant"),
    ],
)
def test_a_question_about_nothing_gives_no_items_and_says_why(question: str, why: str, satchel: Satchel) -> None:
    ran = satchel("context", question)
    assert (ran.code, "client.py" in ran.out) == (0, False)
    assert [why in line for line in lines(ran.err)] == [True]
    assert satchel("context", question, "--strict").code == 1
    envelope = satchel("context", question, "--json")
    assert (envelope.code, envelope.json["text"], envelope.json["items"]) == (0, ran.out.rstrip("\n"), [])


def test_an_answer_without_items_names_what_occurs_nowhere(satchel: Satchel) -> None:
    assert (
        "Not found here: quantum, chromodynamics, zebras." in satchel("context", "quantum chromodynamics of zebras").out
    )
    assert satchel("context", "what is the of and").out == ""


def test_strict_is_content_with_an_answer(satchel: Satchel) -> None:
    assert satchel("context", QUESTION, "--strict").code == 0


def test_with_strict_a_failure_ends_with_3(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    failure = Failure("index", "one file was not read", "try again")
    monkeypatch.setattr(engine.Satchel, "refresh", lambda *_, **__: [failure])
    satchel("index")
    assert satchel("context", QUESTION).code == 0
    ran = satchel("context", QUESTION, "--strict")
    assert ran.code == 3
    assert "one file was not read" in ran.out
    nothing = satchel("context", "zebras", "--strict")
    assert (nothing.code, "0 items" in nothing.out) == (3, True)
    assert "Incomplete: index: one file was not read (try again)" in nothing.out


@pytest.mark.parametrize("budget", ["0", "-1"])
def test_an_impossible_budget_is_wrong_usage(budget: str, satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, "--max-tokens", budget)
    assert (ran.code, ran.out) == (2, "")
    assert f"--max-tokens is {budget}" in ran.err


def test_a_small_budget_holds_or_says_what_it_would_take(satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, "--max-tokens", "50")
    assert ran.code == 0
    assert o200k(ran.out) <= 50
    tiny = satchel("context", QUESTION, "--max-tokens", "3")
    assert (tiny.code, tiny.out) == (0, "")
    assert "nothing fits into 3 tokens" in tiny.err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--types", "cod"], "unknown context type 'cod': choose from memories, code"),
        (["--limit", "0"], "limit is 0"),
        (["--min-score", "2"], "--min-score is 2.0"),
    ],
)
def test_impossible_options_are_wrong_usage(arguments: list[str], said: str, satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert said in ran.err
    as_json = satchel("context", QUESTION, *arguments, "--json")
    assert as_json.code == 2
    assert said in as_json.json["error"]["message"]


def test_without_a_refresh_nothing_is_indexed(satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, "--no-refresh")
    assert (ran.code, ran.out) == (0, "")
    assert "nothing is indexed here yet: run `satchel index`" in ran.err


def test_a_folder_that_is_no_repository_works_too(
    satchel: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    (folder / "notes.md").write_text("# Backoff\n\nWait longer after each attempt.\n")
    monkeypatch.chdir(folder)
    assert "Wait longer" in satchel("context", QUESTION).out


def test_an_empty_folder_has_no_answer(satchel: Satchel, tmp_path: Path) -> None:
    folder = tmp_path / "empty"
    folder.mkdir()
    ran = satchel("context", QUESTION, "--root", str(folder))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("note: ")


@pytest.mark.parametrize("place", ["/", "/does/not/exist"])
def test_a_root_that_cannot_be_indexed_ends_with_10(place: str, satchel: Satchel) -> None:
    ran = satchel("context", QUESTION, "--root", place)
    assert (ran.code, ran.out) == (10, "")
    as_json = satchel("--root", place, "context", QUESTION, "--json")
    assert as_json.json["error"]["exit_code"] == as_json.code == 10
    assert as_json.json["error"]["type"] == "NoIndexError"


def test_while_another_process_builds_the_first_index_a_question_says_so_and_an_index_run_ends_with_11(
    satchel: Satchel, shop: TinyRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SATCHEL_INDEX_LOCK_WAIT_S", "0")
    with engine.Satchel.open(shop.root) as other, index_lock(other.places.index / "index.lock", 0, lambda: False):
        ran = satchel("context", QUESTION)
        assert (ran.code, ran.out) == (0, "")
        assert "note: unfinished index: another process is making the first index here (no file is in" in ran.err
        assert satchel("context", QUESTION, "--strict").code == 3
        assert satchel("index").code == 11


def test_while_another_process_updates_the_index_the_old_one_answers(satchel: Satchel, shop: TinyRepository) -> None:
    satchel("index")
    shop.write({"later.py": "LATER = 1\n"})
    with engine.Satchel.open(shop.root) as other, index_lock(other.places.index / "index.lock", 0, lambda: False):
        ran = satchel("context", QUESTION)
        assert ran.code == 0
        assert "0.1 * 2**attempt" in ran.out
        assert "Unfinished index: " in ran.out
        assert satchel("context", QUESTION, "--strict").code == 3


@pytest.mark.parametrize("command", ["context", "search"])
def test_ctrl_c_while_the_index_is_refreshed_ends_with_130_and_no_answer(
    command: str, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    refresh: Callable[..., list[Failure]] = engine.Satchel.refresh

    def interrupted(self: engine.Satchel, **options: Any) -> list[Failure]:
        signal.raise_signal(signal.SIGINT)
        return refresh(self, **options)

    monkeypatch.setattr(engine.Satchel, "refresh", interrupted)
    ran = satchel(command, QUESTION)
    assert (ran.code, ran.out) == (130, "")


def test_mistakes_in_the_settings_of_a_repository_are_said_and_do_no_harm(
    satchel: Satchel, shop: TinyRepository
) -> None:
    shop.write({".satchel.toml": "[budget]\nmax_tokens = 1\n"})
    ran = satchel("context", QUESTION)
    assert ran.code == 0
    assert "note: config: .satchel.toml: budget.max_tokens is ignored" in ran.err
    assert ran.out


def test_a_mistake_in_ones_own_settings_is_wrong_usage(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_BUDGET_MAX_TOKENS", "many")
    ran = satchel("context", QUESTION)
    assert ran.code == 2
    assert "SATCHEL_BUDGET_MAX_TOKENS" in ran.err


@pytest.mark.parametrize("command", ["context", "search"])
def test_a_secret_in_the_question_comes_back_nowhere(command: str, satchel: Satchel) -> None:
    secret = "gh" + "p_" + "kX9vQ2mZ7pLr4TnW8yBc" + "3DfG6hJs1KeU5oAi"
    ran = satchel(command, f"backoff fails with token {secret}", "--json")
    assert ran.code == 0
    assert ran.json["query"].startswith("backoff fails with token ")
    assert secret not in ran.out + ran.err


def test_the_same_question_prints_the_same_bytes(satchel: Satchel) -> None:
    assert satchel("context", QUESTION).out == satchel("context", QUESTION).out


def test_a_question_over_an_unchanged_index_starts_no_child_process(
    shop: TinyRepository, satchel: Satchel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert satchel("context", QUESTION).code == 0
    calls = tmp_path / "calls"
    (tmp_path / "bin").mkdir()
    git = tmp_path / "bin" / "git"
    git.write_text(f'#!/bin/sh\necho "$@" >> {calls}\nexit 1\n')
    git.chmod(0o755)
    path = os.environ["PATH"]
    monkeypatch.setenv("PATH", f"{git.parent}:{path}")
    assert satchel("context", QUESTION).out
    assert not calls.exists()
    monkeypatch.setenv("PATH", path)
    shop.commit("Another state")
    monkeypatch.setenv("PATH", f"{git.parent}:{path}")
    satchel("context", QUESTION)
    assert calls.exists(), "git is asked when HEAD moved"


def test_a_task_with_its_box_is_a_question(satchel: Satchel) -> None:
    assert "0.1 * 2**attempt" in satchel("context", "- [ ] change how the client retries", "--max-tokens", "900").out
