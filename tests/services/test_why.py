from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.services.why import Standing
from satchel.testing import TinyRepository
from tests.e2e.sample import CLIENT
from tests.e2e.test_question import QUESTION


def one(satchel: Satchel, target: str, **options: Any) -> Standing:
    rows = satchel.why(target, QUESTION, **options)
    assert len(rows) == 1
    return rows[0]


@pytest.mark.parametrize("target", ["shop/client.py", "./shop/client.py", "client.py", "code:shop/client.py"])
def test_a_file_is_found_by_its_path_or_the_end_of_it(satchel: Satchel, target: str) -> None:
    row = one(satchel, target)
    assert (row.id, row.path, row.rank) == ("code:shop/client.py", "shop/client.py", 1)
    assert row.of >= 2


@pytest.mark.parametrize(
    "target",
    ["send_order", "send_order()", "Client.send_order", "Client::send_order", "code:shop/client.py::Client.send_order"],
)
def test_a_definition_is_found_by_its_name(satchel: Satchel, target: str) -> None:
    row = one(satchel, target)
    assert row.id == "code:shop/client.py::Client.send_order"
    assert row.place >= 1
    assert {signal.name for signal in row.signals} >= {"best part", "file score"}


def test_what_is_shown_says_which_lines(satchel: Satchel) -> None:
    row = one(satchel, "backoff", max_tokens=2000)
    assert row.is_shown
    start = CLIENT.split("\n").index("def backoff(attempt: int) -> float:") + 1
    assert row.shown == ((start, start + 2),)
    assert row.reason == ""


def test_a_commit_is_found_by_the_beginning_of_its_hash(satchel: Satchel, repository: TinyRepository) -> None:
    sha = repository.commit("Wait longer between attempts of sending an order")
    for target in (sha, sha[:9], f"commit:{sha}"):
        row = one(satchel, target, types=["commits"])
        assert row.id == f"commit:{sha}"
        assert row.is_shown
        assert (row.shown, row.path) == ((), "")
        assert row.rank >= 1


def test_about_the_budget_that_would_show_it_is_named(satchel: Satchel) -> None:
    row = one(satchel, "RetryError", max_tokens=120, fill=True)
    assert row.reason == "budget"
    assert f"about {row.budget:,} tokens would show it" in row.detail
    assert one(satchel, "RetryError", max_tokens=2 * row.budget, fill=True).is_shown


def test_what_is_not_worth_its_tokens_says_so(satchel: Satchel) -> None:
    row = one(satchel, "RetryError", max_tokens=4000)
    assert (row.reason, row.budget) == ("value", 0)
    assert "--fill shows it" in row.detail
    assert one(satchel, "RetryError", max_tokens=4000, fill=True).is_shown


def test_types_and_globs_are_named(satchel: Satchel) -> None:
    assert one(satchel, "backoff", types=["docs"]).detail == "only docs were asked for"
    assert one(satchel, "backoff", exclude=["shop/*"]).reason == "filter"
    assert one(satchel, "backoff", paths=["docs/*"]).reason == "filter"


def test_what_has_no_word_of_the_question_says_so(satchel: Satchel) -> None:
    row = one(satchel, "shop/prices.py")
    assert (row.reason, row.rank, row.signals) == ("no match", 0, ())
    assert "no word of the question is in it" in row.detail


def test_a_floor_is_named_with_what_was_reached(satchel: Satchel) -> None:
    row = one(satchel, "docs/guide.md", min_score=0.99)
    assert row.reason == "floor"
    assert "0.99 is needed" in row.detail
    question = "order of the quantum chromodynamics and zebra calculus in moonlight"
    assert satchel.why("shop/client.py", question, min_score=0.2)[0].reason == "floor"


def test_a_duplicate_names_what_is_shown_instead(satchel: Satchel, repository: TinyRepository) -> None:
    repository.commit("Copy the client", {"shop/copied.py": CLIENT})
    satchel.index()
    rows = satchel.why("backoff", QUESTION, types=["code"], max_tokens=3000)
    assert [row.reason for row in rows] == ["", "duplicate"]
    assert "the same text is shown as" in rows[1].detail


def test_the_limit_of_items_is_named(satchel: Satchel) -> None:
    row = one(satchel, "RetryError", limit=1, types=["code"])
    assert row.reason == "limit"
    assert "--limit" in row.detail


def test_names_that_are_not_unique_give_several_rows_what_is_shown_first(
    satchel: Satchel, repository: TinyRepository
) -> None:
    repository.commit("Another", {"other/pause.py": "def backoff(moon):\n    return moon\n"})
    rows = satchel.why("backoff", QUESTION, max_tokens=2000)
    assert rows[0].path == "shop/client.py"
    assert len(rows) == 2


@pytest.mark.parametrize("target", ["nothing_like_it", "9999999", "memory:unknown", "::", "code:"])
def test_a_name_that_is_nowhere_is_an_error_with_the_next_step(satchel: Satchel, target: str) -> None:
    with pytest.raises(UsageError, match="nothing here is called"):
        satchel.why(target, QUESTION)


def test_near_names_are_offered(satchel: Satchel) -> None:
    with pytest.raises(UsageError, match=r"did you mean shop/client\.py"):
        satchel.why("clinet.py", QUESTION)


def test_the_coroutines_answer_alike(satchel: Satchel) -> None:
    handle = satchel.assemble(QUESTION).items[0].handle
    assert asyncio.run(satchel.awhy("backoff", QUESTION)) == satchel.why("backoff", QUESTION)
    assert asyncio.run(satchel.aexpand([handle])).text == satchel.expand([handle]).text


def test_asking_why_leaves_no_trace_in_the_answer(satchel: Satchel) -> None:
    before = satchel.assemble(QUESTION)
    satchel.why("backoff", QUESTION)
    after = satchel.assemble(QUESTION)
    assert replace(before, meta={}) == replace(after, meta={})


def test_a_memory_that_bears_too_little_on_a_question_is_said_to(satchel: Satchel) -> None:
    memory = satchel.memories.add("The linter is ruff").memory
    (standing,) = satchel.why(memory.id, "which linter do we use")
    assert not standing.is_shown
    assert standing.reason == "evidence"
    assert standing.detail == ("as a lesson it did not come: needed: two words, 50% of the question, or two rare ones")
