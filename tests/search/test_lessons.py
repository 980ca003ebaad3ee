"""Records that bear on a request are given unasked, those that merely share a word with it are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.lessons import works_of
from satchel.testing import TinyRepository
from satchel.text import count_terms, words

FILES = {
    "gauge/poller.py": "def poll(stations):\n    return [ask(one) for one in stations]\n",
    "gauge/chart.py": "def draw(values):\n    return list(values)\n",
    "deploy/roll_out.sh": "scp build host:\n",
}
LESSONS = (
    "Tags are signed by Ada, and the registry takes no upload by hand",
    "A roll-out wakes the mayors unless NOTIFY_DRY_RUN is set on the hosts",
    "At most three calls at once per modem bank: gauge/poller.py once took the line down",
)
NOISE = tuple(f"The shelf number {number} has paint of colour {number}" for number in range(20))


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder: Path = tmp_path_factory.mktemp("lessons")
    repository = TinyRepository(folder / "gauge")
    repository.commit("Measure", FILES)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as engine:
        engine.index()
        for text in (*LESSONS, *NOISE):
            engine.memories.add(text)
        yield engine


def remembered(satchel: Satchel, question: str) -> str:
    lessons = satchel.answers.unasked(satchel.request(question, max_tokens=800)).lessons
    assert lessons.usage.used <= 240
    return lessons.text


@pytest.mark.parametrize(
    ("request_", "lesson"),
    [
        ("bump the version to 5.0", LESSONS[0]),
        ("deploy this branch to staging", LESSONS[1]),
        ("make the poller ask all stations concurrently", LESSONS[2]),
    ],
)
def test_a_lesson_about_the_same_work_or_file_is_told_without_a_common_word(
    satchel: Satchel, request_: str, lesson: str
) -> None:
    assert lesson in remembered(satchel, request_)
    assert any(lesson in item.content for item in satchel.assemble(request_).items)


@pytest.mark.parametrize(
    "question",
    [
        "explain what poll does",
        "rename values to numbers in draw",
        "which functions call draw()?",
        "show me the last commit",
    ],
)
def test_questions_about_code_and_new_names_get_no_lesson(satchel: Satchel, question: str) -> None:
    assert remembered(satchel, question) == ""
    assert {item.source for item in satchel.assemble(question).items} <= {"code", "doc", "commit"}


def test_a_question_that_a_memory_answers_gets_it(satchel: Satchel) -> None:
    assert LESSONS[0] in remembered(satchel, "who signs the tags of the registry?")


def test_what_is_asked_for_by_kind_is_searched_as_ever(satchel: Satchel) -> None:
    items = satchel.assemble("explain the shelf with paint", types=["memories"]).items
    assert any("shelf" in item.content for item in items)


def test_a_kind_of_work_is_told_by_any_of_its_words() -> None:
    release, tests = works_of(count_terms(words("publish it"))), works_of(count_terms(words("a flaky fixture")))
    assert len(release) == len(tests) == 1
    assert release != tests
    assert works_of(count_terms(words("paint the shelf"))) == ()
