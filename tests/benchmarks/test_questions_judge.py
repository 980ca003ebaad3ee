from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from questions.dataset import Question
from questions.judge import judge

from tests.benchmarks.conftest import MAIN, SESSION


@pytest.fixture
def tree(tmp_path: Path, question: Question) -> Path:
    return tmp_path / "repos" / question.repo.replace("/", "+")


def answer(text: str, **spans: list[list[int]]) -> dict[str, Any]:
    items = [{"location": {"path": f"{name}.py", "spans": lines}} for name, lines in spans.items()]
    return {"text": text, "items": items}


def test_a_deciding_line_counts_when_it_is_claimed_and_in_the_text(question: Question, tree: Path) -> None:
    row = judge(question, answer(SESSION, session=[[1, 5]]), tree, 1000)
    assert (row["shown"], row["deciding"], row["relevant"], row["over"]) == (2, 2, 1.0, False)


def test_a_claimed_line_that_the_text_lacks_is_not_shown(question: Question, tree: Path) -> None:
    row = judge(question, answer("    def close(self):\n", session=[[1, 5]]), tree, 1000)
    assert row["shown"] == 1


def test_a_line_in_the_text_that_no_item_claims_is_not_shown(question: Question, tree: Path) -> None:
    row = judge(question, answer(SESSION, session=[[1, 1]]), tree, 1000)
    assert row["shown"] == 0


def test_lines_of_files_that_do_not_matter_lower_the_share_on_the_topic(question: Question, tree: Path) -> None:
    row = judge(question, answer(SESSION + MAIN, session=[[1, 5]], main=[[1, 3]]), tree, 1000)
    assert 0.5 < row["relevant"] < 1


@pytest.mark.parametrize(("changed", "relevant"), [("docs/guide.md", 1.0), ("main.py", 0.0)])
def test_a_commit_is_on_the_topic_if_it_changed_a_file_that_matters(
    question: Question, tree: Path, changed: str, relevant: float
) -> None:
    item = {"location": None, "content": "Close once", "metadata": {"files_changed": [changed]}}
    row = judge(question, {"text": "Close once", "items": [item]}, tree, 1000)
    assert row["relevant"] == relevant


def test_a_record_without_a_path_and_metadata_is_not_on_the_topic(question: Question, tree: Path) -> None:
    row = judge(question, {"text": "note", "items": [{"content": "note"}]}, tree, 1000)
    assert row["relevant"] == 0.0


def test_an_empty_answer_shows_nothing(question: Question, tree: Path) -> None:
    row = judge(question, {}, tree, 1000)
    assert (row["shown"], row["relevant"], row["used"], row["named"]) == (0, None, 0, None)


def test_a_text_longer_than_the_budget_is_over_it(question: Question, tree: Path) -> None:
    assert judge(question, {"text": "one two three four"}, tree, 2)["over"]


def test_only_words_in_the_line_of_what_was_not_found_are_named(question: Question, tree: Path) -> None:
    absent = replace(question, kind="absent", deciding=(), absent=("websocket", "Kafka"))
    text = "Not found here: WebSocket\nkafka occurs elsewhere\n"
    assert judge(absent, {"text": text}, tree, 1000)["named"] == 0.5
