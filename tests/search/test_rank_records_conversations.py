from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from satchel.search import weights
from satchel.search.query import analyse
from satchel.search.rank_records import order_of, surroundings
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
    return [store.text(hit.chunk.document) for hit in ask(store, Kind.CONVERSATION, question).hits]


def test_the_answer_to_a_question_is_found_though_it_shares_no_word_with_it(store: SqliteStore) -> None:
    talk(store, "s1", *TALK)
    answers = said(store, "what is the name of the parrot")
    assert "Ada: It is called Admiral, after the ship in the harbour." in answers[:2]


def test_relevance_is_handed_on_to_the_answer(store: SqliteStore) -> None:
    talk(store, "s1", *TALK[:4])
    hits = ask(store, Kind.CONVERSATION, "name of the new parrot").hits
    places = {hit.chunk.fields["exchange"]: (place, hit.relevance) for place, hit in enumerate(hits, 1)}
    shares = {
        "000001": 1.0,
        "000002": weights.NEIGHBOUR_WEIGHTS[0] + weights.ANSWER_WEIGHT,
        "000000": weights.NEIGHBOUR_WEIGHTS[0],
    }
    for turn, share in shares.items():
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
    live = [chunk for chunk in order.place.argsort() if order.place[chunk] < order.size - 1]
    rows = lexicon.columns.chunk_row[live].tolist()
    parts = store.chunks(rows)
    documents = store.documents(part.document for part in parts.values())
    assert [documents[parts[row].document].key.split("/")[0] for row in rows] == ["s0"] + ["s1"] * len(TALK)
    assert [documents[parts[row].document].fields["exchange"] for row in rows[1:]] == [
        f"{n:06d}" for n in range(len(TALK))
    ]
    assert order_of(store, Kind.CONVERSATION, lexicon) is order


def test_neighbours_are_counted_from_before_and_from_after(store: SqliteStore) -> None:
    talk(store, "s1", *TALK[2:])
    around = surroundings(store, Kind.CONVERSATION, store.lexicon(Kind.CONVERSATION), analyse("parrot"))
    values = np.zeros(len(around.order.place))
    values[around.order.place.argsort()[1]] = 2.0
    shares = (weights.NEIGHBOUR_WEIGHTS[0], 1.0, *weights.NEIGHBOUR_WEIGHTS[:3])
    assert around.joined(values)[:5].tolist() == pytest.approx([2 * share for share in shares])


def test_two_words_of_a_question_in_neighbouring_turns_count_more_than_one_in_both(store: SqliteStore) -> None:
    rest = [("Eve", f"Something of no importance, number {number}.") for number in range(20)]
    talk(store, "s1", ("Ada", "The parrot is green."), ("Bob", "Nice harbour."), *rest)
    talk(store, "s2", ("Ada", "The parrot is green."), ("Bob", "Nice parrot."), *rest)
    first = ask(store, Kind.CONVERSATION, "parrot harbour").hits[0]
    assert first.chunk.fields["session"] == "s1"


def test_a_store_without_conversations_answers_nothing(store: SqliteStore) -> None:
    assert ask(store, Kind.CONVERSATION, "parrot").hits == ()
