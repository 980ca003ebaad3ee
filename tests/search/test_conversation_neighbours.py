from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel.search.query import analyse
from satchel.search.rank_records import NEIGHBOUR_WEIGHTS, order_of, surroundings
from satchel.search.strength import relevance_of
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.search.remembered import ask, talk

TALK = (
    ("Ada", "Good morning, the weather is lovely over here."),
    ("Bob", "What did you name the new parrot?"),
    ("Ada", "It is called Admiral, after the ship in the harbour."),
    ("Bob", "Thanks!"),
    ("Ada", "Tomorrow the garden has to be watered in the evening."),
    ("Bob", "My brother rebuilt an old wooden boat all by himself."),
    ("Ada", "A parrot once bit the neighbour while he was gardening."),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    opened = SqliteStore(tmp_path / "memory.db", durable=True)
    yield opened
    opened.close()


def said(store: SqliteStore, question: str) -> list[str]:
    """What was said in the hits, best first."""
    return [store.text(hit.chunk.fields["bundle"]) for hit in ask(store, Kind.CONVERSATION, question).hits]


def test_the_answer_to_a_question_is_found_though_it_shares_no_word_with_it(store: SqliteStore) -> None:
    talk(store, "s1", *TALK)
    answers = said(store, "what is the name of the parrot")
    assert "Ada: It is called Admiral, after the ship in the harbour." in answers[:2]


def test_relevance_is_handed_on_to_the_answer(store: SqliteStore) -> None:
    talk(store, "s1", *TALK)
    hits = ask(store, Kind.CONVERSATION, "name of the new parrot").hits
    places = {hit.chunk.fields["exchange"]: (place, hit.relevance) for place, hit in enumerate(hits, 1)}
    for turn, share in {"000001": 1.0, "000002": 0.7, "000000": NEIGHBOUR_WEIGHTS[0]}.items():
        place, relevance = places[turn]
        assert relevance == pytest.approx(relevance_of(1.0, share, place))


def test_what_is_said_in_another_session_is_no_neighbour(store: SqliteStore) -> None:
    talk(store, "s1", ("Ada", "The parrot is green."))
    talk(store, "s2", ("Ada", "It is called Admiral."))
    assert said(store, "parrot") == ["Ada: The parrot is green."]


def test_who_is_asked_about_comes_before_who_only_names_the_same_things(store: SqliteStore) -> None:
    talk(
        store, "s1",
        ("Ada", "The marathon was long and hot."), ("Bob", "Rain all week long again."), ("Eve", "More rain to come."),
        ("Ada", "Somebody sold an umbrella."), ("Bob", "The marathon was long and hot."),
    )  # fmt: skip
    assert said(store, "How was Bob at the marathon?")[0] == "Bob: The marathon was long and hot."
    assert said(store, "How was Ada at the marathon?")[0] == "Ada: The marathon was long and hot."


def test_a_turn_of_one_word_does_not_live_on_its_neighbours(store: SqliteStore) -> None:
    talk(store, "s1", *TALK)
    answers = said(store, "ship in the harbour called Admiral")
    assert answers.index("Bob: Thanks!") > answers.index("Bob: What did you name the new parrot?")


def test_what_is_added_later_and_in_between_stands_in_its_place(store: SqliteStore) -> None:
    talk(store, "s1", *TALK[:2])
    talk(store, "s0", ("Eve", "Something else"))
    talk(store, "s1", *TALK)
    lexicon = store.lexicon(Kind.CONVERSATION)
    order = order_of(store, Kind.CONVERSATION, lexicon)
    rows = lexicon.columns.chunk_row[order.chunks].tolist()
    parts = store.parts(rows)
    documents = store.documents(part.document for part in parts.values())
    assert [documents[parts[row].document].key.split("/")[0] for row in rows] == ["s0"] + ["s1"] * len(TALK)
    assert [documents[parts[row].document].fields["exchange"] for row in rows[1:]] == [
        f"{n:06d}" for n in range(len(TALK))
    ]
    assert order_of(store, Kind.CONVERSATION, lexicon) is order


def test_neighbours_are_counted_from_before_and_from_after(store: SqliteStore) -> None:
    talk(store, "s1", *TALK[:3])
    lexicon = store.lexicon(Kind.CONVERSATION)
    order = surroundings(store, Kind.CONVERSATION, lexicon, analyse("parrot")).order
    scores = lexicon.chunk_length * 0
    scores[order.chunks] = (1.0, 2.0, 4.0)
    assert order.shifted(scores, 1)[order.chunks].tolist() == [0.0, 1.0, 2.0]
    assert order.shifted(scores, -2)[order.chunks].tolist() == [4.0, 0.0, 0.0]
    assert order.shifted(scores, 3)[order.chunks].tolist() == [0.0, 0.0, 0.0]


def test_a_store_without_conversations_answers_nothing(store: SqliteStore) -> None:
    assert ask(store, Kind.CONVERSATION, "parrot").hits == ()
