from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from questions.dataset import KINDS, Deciding, Question, git_directory, load, problems, stem


def test_the_questions_of_this_repository_are_well_formed() -> None:
    questions = load()
    assert len({question.id for question in questions}) == len(questions) >= 51
    assert {question.kind for question in questions} == set(KINDS)


def test_questions_are_read_as_they_were_written(tmp_path: Path, question: Question) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(json.dumps(asdict(question)) + "\n")
    assert load([file]) == [question]


@pytest.mark.parametrize("line", ["{", "[]", '{"id": "shop-where-01"}'])
def test_a_malformed_line_is_named(tmp_path: Path, line: str) -> None:
    file = tmp_path / "questions.jsonl"
    file.write_text(line)
    with pytest.raises(ValueError, match=r"questions\.jsonl:1"):
        load([file])


@pytest.mark.parametrize(
    ("word", "root"),
    [("Websockets", "websocket"), ("throttling", "throttl"), ("caches", "cach"), ("retried", "retri"), ("as", "as")],
)
def test_a_stem_is_the_word_without_its_ending(word: str, root: str) -> None:
    assert stem(word) == root


def test_a_question_whose_lines_and_files_exist_has_no_problem(tmp_path: Path, question: Question) -> None:
    absent = replace(
        question, id="shop-absent-01", kind="absent", question="Kafka topics?", deciding=(), files=(), absent=("kafka",)
    )
    assert list(problems([question, absent], tmp_path / "repos")) == []


def test_everything_that_is_wrong_with_a_question_is_said(tmp_path: Path, question: Question) -> None:
    wrong = replace(
        question,
        kind="other",
        deciding=(Deciding("session.py", "no such line"), Deciding("main.py", "Session"), Deciding("gone.py", "x")),
        files=("session.py", "gone.py", "folder/"),
        absent=("session", "cache"),
    )
    assert list(problems([question, wrong], tmp_path / "repos")) == [
        "shop-where-01: unknown kind 'other'",
        "shop-where-01: only an absent question has absent words",
        "shop-where-01: 'cache' is not in the question",
        "shop-where-01: main.py decides but is not among the files that matter",
        "shop-where-01: gone.py does not exist",
        "shop-where-01: folder/ does not exist",
        "shop-where-01: 'no such line' matches 0 lines of session.py, not 1 to 3",
        "shop-where-01: 'session' is not absent: docs/guide.md",
        "shop-where-01: its id is used twice",
    ]


def test_only_an_absent_question_has_no_deciding_line(tmp_path: Path, question: Question) -> None:
    assert list(problems([replace(question, deciding=())], tmp_path / "repos")) == [
        "shop-where-01: only an absent question has no deciding line"
    ]


def test_a_repository_may_be_one_folder_deeper(tmp_path: Path, question: Question) -> None:
    deeper = tmp_path / "deeper" / "acme+shop"
    deeper.mkdir(parents=True)
    (tmp_path / "repos" / "acme+shop").rename(deeper / "clone")
    assert git_directory(tmp_path / "deeper", question.repo) == deeper / "clone"


def test_a_repository_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="acme/gone"):
        git_directory(tmp_path, "acme/gone")
