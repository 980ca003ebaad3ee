"""From a real repository to a packed context, through the public door."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.errors import InvalidContextTypeError, NoIndexError, UsageError
from satchel.testing import TinyRepository
from tests.e2e.sample import CLIENT, sample_repository
from tests.oracle import o200k

QUESTION = "why does sending an order wait so long between attempts, the backoff seems wrong"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    return sample_repository(tmp_path / "shop")


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    with Satchel.open(repository.root) as opened:
        yield opened


def test_the_first_question_indexes_and_answers_from_every_kind(satchel: Satchel) -> None:
    context = satchel.assemble(QUESTION, max_tokens=2000, fill=True)
    assert set(context.sources_used) == {"code", "commits", "docs"}
    assert "return 0.1 * 2**attempt" in context.text
    assert "A linear wait hammered the server." in context.text
    assert "sent again with exponential backoff" in context.text
    assert context.failures == ()


def test_the_budget_holds_for_the_whole_text_in_every_format(satchel: Satchel) -> None:
    for layout in ("markdown", "xml", "plain", "json"):
        for budget in (1, 30, 60, 100, 200, 400, 1000):
            context = satchel.assemble(QUESTION, max_tokens=budget, format=layout)
            assert context.usage.used == o200k(context.text) <= budget


def test_shown_spans_are_the_real_lines_of_the_real_file(satchel: Satchel) -> None:
    context = satchel.assemble(QUESTION, types=["code"], max_tokens=600)
    item = next(item for item in context.items if item.title == "shop/client.py")
    lines = CLIENT.split("\n")
    for piece in item.pieces:
        assert piece.text == "\n".join(lines[piece.start - 1 : piece.end])
    shown = {number for start, end in item.spans for number in range(start, end + 1)}
    assert shown == {number for piece in item.pieces for number in range(piece.start, piece.end + 1)}


def test_source_ranks_before_the_tests_that_share_its_words(satchel: Satchel) -> None:
    context = satchel.assemble("backoff doubles", types=["code"], max_tokens=2000, fill=True)
    assert context.items[0].title == "shop/client.py"
    assert "tests/test_client.py" in [item.title for item in context.items]


def test_a_question_about_nothing_here_says_what_was_not_found(satchel: Satchel) -> None:
    context = satchel.assemble("quantum chromodynamics of zebras")
    assert context.items == ()
    assert "Not found here: quantum, chromodynamics, zebras." in context.text


def test_a_name_to_be_changed_is_not_found_although_its_pieces_are(satchel: Satchel) -> None:
    question = "what breaks if I rename {}"
    absent = satchel.assemble(question.format("sendBackoffOrder"))
    assert "Not found here: sendBackoffOrder." in absent.text
    assert "Not found here" not in satchel.assemble(question.format("send_order to sendBackoffOrder")).text


def test_a_question_of_words_without_meaning_gives_an_empty_context(satchel: Satchel) -> None:
    context = satchel.assemble("what is the of and")
    assert (context.text, context.items, context.usage.used) == ("", (), 0)


def test_an_edit_is_seen_by_the_next_question(satchel: Satchel, repository: TinyRepository) -> None:
    satchel.index()
    repository.write({"shop/client.py": CLIENT.replace("backoff", "pause_between")})
    satchel.index()
    text = satchel.assemble("pause_between attempts", types=["code"]).text
    assert "def pause_between" in text
    assert "def backoff" not in text


def test_a_file_changed_after_the_refresh_is_never_shown_with_wrong_lines(
    satchel: Satchel, repository: TinyRepository
) -> None:
    satchel.index()
    repository.write({"shop/client.py": "# one more line\n" + CLIENT})
    context = satchel.assemble(QUESTION, types=["code"], refresh=False)
    item = next(item for item in context.items if item.title == "shop/client.py")
    lines = ["# one more line", *CLIENT.split("\n")]
    assert [piece.text for piece in item.pieces] == ["\n".join(lines[p.start - 1 : p.end]) for p in item.pieces]
    assert item.metadata["freshness"] == "moved"


def test_a_deleted_file_is_gone(satchel: Satchel, repository: TinyRepository) -> None:
    satchel.index()
    repository.remove("shop/prices.py")
    report = satchel.index()
    assert report.removed == 1
    assert satchel.assemble("discount percent price", types=["code"]).items == ()


def test_the_same_question_gives_the_same_bytes(satchel: Satchel, repository: TinyRepository) -> None:
    first = satchel.assemble(QUESTION)
    assert satchel.assemble(QUESTION).text == first.text
    with Satchel.open(repository.root) as other:
        assert other.assemble(QUESTION).text == first.text


def test_commits_after_head_are_invisible_with_all_their_signals(satchel: Satchel, repository: TinyRepository) -> None:
    before = repository.commit("Rename nothing")
    with_history = satchel.assemble("hammered the server", types=["commits", "code"])
    assert "hammered" in with_history.text
    repository.checkout("HEAD~2")
    satchel.index()
    context = satchel.assemble("hammered the server", types=["commits", "code"])
    assert not any("hammered" in item.content for item in context.items)
    signals = {signal.name for item in context.items for signal in item.signals if signal.value}
    assert "history" not in signals
    repository.checkout(before)
    satchel.index()
    assert satchel.assemble("hammered the server", types=["commits", "code"]).text == with_history.text


def test_an_incremental_index_answers_like_a_fresh_one(
    tmp_path: Path, satchel: Satchel, repository: TinyRepository
) -> None:
    satchel.index()
    repository.commit("Round prices", {"shop/prices.py": "def discount(price):\n    return round(price)\n"})
    satchel.index()
    grown = satchel.assemble("round the price discount", max_tokens=1500)
    copy = tmp_path / "elsewhere" / "shop"
    copy.parent.mkdir()
    repository.root.rename(copy)
    with Satchel.open(copy) as fresh:
        assert [item.id for item in fresh.assemble("round the price discount", max_tokens=1500).items] == [
            item.id for item in grown.items
        ]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"types": ["codes"]}, InvalidContextTypeError, "memories, code, experiences"),
        ({"max_tokens": 0}, UsageError, "1 to"),
        ({"max_tokens": -1}, UsageError, "-1"),
        ({"format": "yaml"}, UsageError, "markdown, xml, plain, json"),
        ({"tokenizer": "gpt"}, UsageError, "o200k_base"),
        ({"min_score": 2.0}, UsageError, "0 to 1"),
        ({"limit": 0}, UsageError, "give 1 to 100,000 results"),
    ],
)
def test_bad_input_is_answered_with_what_would_be_right(
    satchel: Satchel, options: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        satchel.assemble(QUESTION, **options)


def test_an_empty_repository_is_empty_and_not_an_error(tmp_path: Path) -> None:
    empty = TinyRepository(tmp_path / "empty")
    with Satchel.open(empty.root) as opened:
        assert opened.index().files == 0
        assert opened.assemble("anything").items == ()


def test_the_whole_disk_is_refused() -> None:
    with pytest.raises(NoIndexError):
        Satchel.open("/")


def test_the_async_faces_answer_alike(satchel: Satchel) -> None:
    context = asyncio.run(satchel.aassemble(QUESTION))
    assert context.text == satchel.assemble(QUESTION).text
