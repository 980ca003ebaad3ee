"""Broad questions: all of a theme, all about a name, a timeline; and equal matches are equally relevant."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from broad import experiences, theme_questions  # benchmarks/ is on the path
from values import lines

from satchel import Satchel
from satchel.search import recall
from satchel.search.query import analyse, subject_of
from satchel.testing import TinyRepository
from tests.postgres import environment

NOTES = (
    "The contact of the payments team is Jana Weiss",
    "Jana prefers reviews before noon",
    "Invoices need two approvals",
    "ORA-01555 in the export means that the undo retention is too short",
    "The canary is rolled out on Mondays",
    "The export runs at night",
)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Satchel]:
    made = TinyRepository(tmp_path / "shop")
    made.commit("Begin", {"README.md": "# Shop\n"})
    with Satchel.open(made.root, environ=environment(tmp_path / "home")) as opened:
        for number, note in enumerate(NOTES):
            opened.memories.add(note, tags=[f"n{number}"])
        yield opened


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("Everything we know about Jana", "Jana"),
        ("lessons about text encoding?", "text encoding"),
        ("What do I know about ORA-01555", "ORA-01555"),
        ("was wissen wir über Jana?", "Jana"),
        ("timeline of the outage", "the outage"),
        ("summary of what we know about caches", "caches"),
        ("where is the cache", ""),
        ("overview of the parser", ""),
        ("all of the tests fail", ""),
        ("what did Jana decide about NATS", ""),
        ("everything about " + "x" * 200, ""),
    ],
)
def test_a_broad_question_counts_by_its_subject(question: str, subject: str) -> None:
    assert subject_of(question) == subject
    query = analyse(question)
    assert query.is_broad is bool(subject)
    assert not subject or query.terms == analyse(subject).terms


@pytest.mark.parametrize("question", ["what do I know about Jana", "everything about jana"])
def test_of_a_name_everything_is_shown_that_has_it_and_nothing_else(engine: Satchel, question: str) -> None:
    context = engine.assemble(question, refresh=False)
    assert {item.content for item in context.items} == set(NOTES[:2])
    assert "everything relevant is shown" in context.text


@pytest.mark.parametrize("name", ["billing-api", "src/pay.py"])
def test_a_service_and_a_file_are_names(engine: Satchel, name: str) -> None:
    about = [engine.memories.add(text).memory.id for text in (f"{name} is slow", f"the outage began with {name}")]
    for other in ("pay the api team before noon", "the billing of src is slow", "the outage began with a py file"):
        engine.memories.add(other)
    context = engine.assemble(f"what do I know about {name}?", types=["memories"], refresh=False)
    assert sorted(item.metadata["id"] for item in context.items) == sorted(about)


def test_an_error_code_is_a_name(engine: Satchel) -> None:
    assert [item.content for item in engine.assemble("facts about ORA-01555", refresh=False).items] == [NOTES[3]]


def test_a_timeline_is_in_the_order_of_time(engine: Satchel) -> None:
    days = {"2026-01-03": "third", "2026-01-01": "first", "2026-01-02": "second"}
    rows = [
        json.dumps(
            {
                "type": "memory",
                "id": day,
                "content": f"Outage of the cart, {name} day",
                "created_at": f"{day}T10:00:00Z",
            }
        )
        for day, name in days.items()
    ]
    engine.import_memory([row.encode() for row in rows], here=True)
    text = engine.assemble("timeline of the outage", refresh=False).text
    places = [text.index(name) for name in ("first", "second", "third")]
    assert places == sorted(places)


def test_nothing_is_of_a_theme_that_no_record_names(engine: Satchel) -> None:
    assert engine.assemble("everything we know about kubernetes", refresh=False).items == ()


def test_equal_matches_are_equally_relevant(engine: Satchel) -> None:
    for name in ("mail", "queue", "index", "login", "audit"):
        engine.memories.add(f"The {name} service runs on port 9000")
    found = engine.memories.search("service runs on port")
    assert len({match.score for match in found[:5]}) == 1
    assert all("9000" in match.memory.content for match in found[:5])


def test_four_of_five_experiences_of_a_theme_are_shown(tmp_path: Path) -> None:
    result = experiences(tmp_path, lines()[0], theme_questions()["sixty"])["4000"]
    assert result["recall"] >= 0.8
    assert result["precision"] >= 0.7


@pytest.mark.parametrize("most", [2, 2_000])
def test_a_large_memory_answers_broad_questions_like_a_small_one(
    engine: Satchel, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recall, "MAX_COMPARED", most)
    for question in ("everything we know about Jana", "timeline of Jana", "what do I know about the export"):
        texts = [item.content for item in engine.assemble(question, refresh=False).items]
        assert any(("Jana" if "Jana" in question else "export") in text for text in texts), question
    assert engine.memories.search("everything we know about invoices")[0].memory.content == NOTES[2]
