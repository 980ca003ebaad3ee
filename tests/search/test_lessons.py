"""Records that bear on a request are given unasked, those that merely share a word with it are not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.answer.bearing import evidence_of, in_order
from satchel.intent import works_of
from satchel.operations.ask import lesson_lines
from satchel.testing import TinyRepository
from satchel.text import count_terms, words
from satchel.types import Chunk, Hit, Kind

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


def test_a_situation_has_the_lessons_of_the_hook_and_nothing_for_a_new_name(satchel: Satchel) -> None:
    situation = {"task": "make the poller ask all stations concurrently", "files": ["gauge/poller.py"]}
    text = satchel.situation(situation, refresh=False).text
    assert LESSONS[2] in text
    assert "shelf" not in text
    renaming = {"task": "rename one to station in poll", "files": ["gauge/poller.py"]}
    assert "memory" not in {item.source for item in satchel.situation(renaming, refresh=False).items}


def test_an_answer_says_with_which_evidence_a_record_came_or_did_not(satchel: Satchel) -> None:
    context = satchel.assemble("bump the version to 5.0", refresh=False)
    (lesson,) = [item for item in context.items if item.content.startswith(LESSONS[0])]
    assert evidence_of(lesson.signals)["kind of work"] > 0
    asked = satchel.assemble("explain what poll does to the shelf", refresh=False)
    told = asked.meta["lessons"]
    assert told
    assert all(row["reason"] and row["evidence"]["all"] >= 0 for row in told)
    assert any(line.lstrip().startswith("memory:") and "did not come" in line for line in lesson_lines(asked))


def test_a_rule_comes_before_a_fact_that_shares_as_much_with_the_request() -> None:
    fact = Hit(Chunk("memory:a", Kind.MEMORY, "", "The chart has a legend", fields={"category": "fact"}), 0.1, 0.0)
    rule = Hit(Chunk("memory:b", Kind.MEMORY, "", "Never draw a legend", fields={"category": "decision"}), 0.1, 0.0)
    assert in_order([fact, rule]) == [rule, fact]


def test_a_newer_fact_is_a_lesson_before_the_one_that_it_differs_from() -> None:
    fields = {"category": "decision", "newer": "new"}
    old = Hit(Chunk("memory:old", Kind.MEMORY, "", "Never use tabs, only spaces", fields=fields), 0.1, 0.0)
    new = Hit(Chunk("memory:new", Kind.MEMORY, "", "Use tabs", fields={"category": "fact"}), 0.1, 0.0)
    assert in_order([old, new]) == [new, old]


def test_a_number_of_two_digits_that_a_record_shares_with_a_request_is_chance(satchel: Satchel) -> None:
    satchel.memories.add("Shelf 21 has room for 30 boxes")
    satchel.memories.add("Answer 429 means that the vendor wants a pause")
    assert "Shelf 21" not in satchel.assemble("write the notes of version 0.21", refresh=False).text
    assert "Answer 429" in satchel.assemble("retry when the status is 429", refresh=False).text


def test_what_replaced_a_record_comes_where_the_words_of_the_older_one_fit(satchel: Satchel) -> None:
    old = satchel.memories.add("The thresholds of Weir are copied from gauge/chart.py by hand", category="fact")
    middle = satchel.memories.supersede(old.memory.id, "A job copies them at noon")
    newest = "Since May they live in the registry"
    satchel.memories.supersede(middle.memory.id, newest)
    answer = remembered(satchel, "let the thresholds of Weir be copied once an hour")
    assert answer.splitlines()[1].startswith(f"- {newest}")
    assert "by hand" not in answer
    assert "at noon" not in answer
    assert newest in satchel.assemble("let the thresholds of Weir be copied once an hour", refresh=False).text
    assert newest in satchel.lessons.told(["gauge/chart.py"], max_tokens=120)[0].text
    assert newest in remembered(satchel, "how are the thresholds of Weir copied?")


def test_one_everyday_word_alone_brings_no_record_and_a_folder_does(satchel: Satchel) -> None:
    satchel.memories.add("Each week somebody waters the plants of the office in the evening")
    folder = "What lies in deploy/ is written by a job at night, so edits there are lost"
    satchel.memories.add(folder)
    answer = remembered(satchel, "let each host of roll_out.sh be copied twice, in another order and with a pause")
    assert folder in answer
    assert "plants" not in answer
