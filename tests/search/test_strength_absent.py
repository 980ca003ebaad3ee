"""Which words of a question are named as not found: a reader must agree with each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from satchel import Satchel
from satchel.search.query import analyse
from satchel.search.strength import MAX_ABSENT, absent_words
from satchel.testing import TinyRepository
from satchel.types import Kind

FILES = {
    "src/socket.py": "def openWebSocket(config):\n    return reconnection(config, time_zone=max_tokens)\n",
    "docs/drive.md": "# Drive\n\nThe car is parked by an optimiser. Its color is grey.\n",
}


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("absent")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        repository = TinyRepository(folder / "shop")
        repository.commit("Park the lorry", FILES)
        with Satchel.open(repository.root) as opened:
            opened.index()
            yield opened


def absent(satchel: Satchel, question: str, *kinds: Kind) -> tuple[str, ...]:
    store = satchel.store
    return absent_words(
        analyse(question), [store.lexicon(kind) for kind in kinds or (Kind.CODE, Kind.DOC, Kind.COMMIT)]
    )


def test_telling_words_that_occur_nowhere_are_named_as_they_were_written(satchel: Satchel) -> None:
    assert absent(satchel, "How does the Kafka consumer park the lorry after a Zebra?") == (
        "Kafka",
        "consumer",
        "Zebra",
    )


def test_a_word_of_one_kind_is_found(satchel: Satchel) -> None:
    assert absent(satchel, "lorry") == ()
    assert absent(satchel, "lorry", Kind.CODE, Kind.DOC) == ("lorry",)


@pytest.mark.parametrize(
    "word",
    [
        "reconnect",
        "reconnecting",
        "parking",
        "optimize",
        "optimizers",
        "cars",
        "driver",
        "configuration",
        "timezone",
        "colour",
        "grays",
    ],
)
def test_other_forms_of_a_word_count(satchel: Satchel, word: str) -> None:
    assert absent(satchel, f"where is the {word}") == ()


@pytest.mark.parametrize("name", ["websocket", "WebSocket", "web_socket", "max_token", "tokenZone"])
def test_a_name_is_found_if_its_pieces_are(satchel: Satchel, name: str) -> None:
    assert absent(satchel, f"what does {name} do") == ()


def test_a_name_with_a_piece_that_occurs_nowhere_is_absent(satchel: Satchel) -> None:
    assert absent(satchel, "what does openZebraSocket do") == ("openZebraSocket",)


@pytest.mark.parametrize("name", ["tokenOptimiser", "park_socket", "S3Config"])
def test_a_name_whose_pieces_are_never_together_is_absent(satchel: Satchel, name: str) -> None:
    assert absent(satchel, f"what does {name} do") == (name,)


@pytest.mark.parametrize("name", ["reconnectSocket", "DriveCar", "Re_Connection"])
def test_a_name_whose_pieces_are_together_or_that_is_spelled_otherwise_is_found(satchel: Satchel, name: str) -> None:
    assert absent(satchel, f"what does {name} do") == ()


def test_words_that_say_little_are_never_named(satchel: Satchel) -> None:
    assert absent(satchel, "How is it newly implemented anywhere, and which function handles the work, please?") == ()


def test_of_a_long_text_only_the_title_and_its_code_count(satchel: Satchel) -> None:
    issue = "The zebra parks alone\n\n" + "I saw a giraffe at the lake near my house. " * 6 + "It calls `gallop` too."
    assert absent(satchel, issue) == ("zebra", "gallop")


def test_pasted_code_and_traces_are_not_looked_at(satchel: Satchel) -> None:
    assert absent(satchel, "The car stops\n\n```\nimport zebra\n```\n") == ()


def test_few_are_named_and_nothing_where_nothing_was_searched(satchel: Satchel) -> None:
    question = "zebra giraffe lion tiger panther leopard cheetah"
    assert len(absent(satchel, question)) == MAX_ABSENT
    assert absent(satchel, question, Kind.MEMORY) == ()


@pytest.mark.parametrize("question", ["which lorry does the car drive", "why is there no lorry"])
def test_what_only_a_commit_has_is_told_and_the_commit_comes_first(satchel: Satchel, question: str) -> None:
    answer = satchel.assemble(question)
    assert "Only in the history: lorry." in answer.text
    assert "Not found here" not in answer.text
    assert (answer.meta["only_in_history"], answer.items[0].source) == (["lorry"], "commit")
    assert "Weak match" not in answer.text


def test_a_word_of_no_commit_is_not_said_to_be_in_the_history(satchel: Satchel) -> None:
    answer = satchel.assemble("does the zebra park the lorry")
    assert "Not found here: zebra." in answer.text
    assert "Only in the history: lorry." in answer.text


def test_the_answer_tells_them(satchel: Satchel) -> None:
    assert satchel.assemble("which zebra parks the car").meta["missing_terms"] == ["zebra"]


@pytest.mark.parametrize(
    ("question", "feature"),
    [
        ("is there a car reconnection", "car reconnection"),
        ("Are there any lorry tokens?", "lorry tokens"),
        ("does it have a config optimiser when it starts", "config optimiser"),
    ],
)
def test_a_feature_whose_two_words_are_never_together_is_absent(satchel: Satchel, question: str, feature: str) -> None:
    assert absent(satchel, question) == (feature,)


@pytest.mark.parametrize(
    "question",
    [
        "is there a grey car",
        "is there a parked car in the docs",
        "does it support time zones",
        "is there an open socket",
        "is there a car",
        "is there a reconnection of the car that is parked",
        "where is the reconnection of the car",
    ],
)
def test_a_feature_whose_words_are_together_and_other_questions_name_no_feature(
    satchel: Satchel, question: str
) -> None:
    assert absent(satchel, question) == ()


def test_the_answer_about_an_absent_feature_is_short_and_says_so(satchel: Satchel) -> None:
    context = satchel.assemble("is there a car reconnection", max_tokens=4000)
    assert "Not found here: car reconnection." in context.markdown
    assert context.meta["missing_terms"] == ["car reconnection"]
    assert "Only in the history" not in context.markdown
