"""A question forgets only what contains its words, all of it, and a search for nothing lists nothing."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel, Searcher
from satchel.errors import UsageError
from satchel.operations.operation import Answered
from satchel.operations.registry import OPERATIONS
from satchel.testing import HashEmbedder, TinyRepository

SERVICES = "queue mail search billing login stock export payment report image cart order invoice ticket audit"
NOTES = [f"The {name} service runs on port {9_000 + number}" for number, name in enumerate(SERVICES.split())]


@pytest.fixture(scope="module", params=["vectors", "words"])
def noted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, HashEmbedder | None]:
    """A folder with a root and a home that has fifteen memories, and what makes their vectors."""
    folder, embedder = tmp_path_factory.mktemp("noted"), HashEmbedder() if request.param == "vectors" else None
    repository = TinyRepository(folder / "shop")
    repository.commit("Begin", {"README.md": "# Shop\n"})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SATCHEL_HOME", str(folder / "home"))
        with Satchel.open(repository.root, embedder=embedder) as opened:
            for note in NOTES:
                opened.memories.add(note)
            opened.embed()
    return folder, embedder


@pytest.fixture
def engine(
    noted: tuple[Path, HashEmbedder | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Satchel]:
    """The root with a copy of the memories, searched by vectors and words, and by words alone."""
    folder, embedder = noted
    monkeypatch.setenv("SATCHEL_HOME", str(shutil.copytree(folder / "home", tmp_path / "home")))
    with Satchel.open(folder / "shop", embedder=embedder) as opened:
        yield opened


def forget(engine: Satchel, question: str, **options: object) -> Answered:
    return OPERATIONS["remember"].run(engine, {"action": "forget", "question": question, **options})


@pytest.mark.parametrize("question", ["pnpm", "xylophone tuning", "kubernetes ingress", "zzqqy", "queue pnpm"])
def test_a_question_about_nothing_forgets_nothing(engine: Satchel, question: str) -> None:
    answered = forget(engine, question, confirm=True)
    assert answered.envelope["memories"] == []
    assert answered.notes == (f"no memory contains each word of {question!r}: `list` with it shows what is near",)
    assert len(engine.memories.listed()) == len(NOTES)


def test_all_that_contain_the_words_are_listed_first_and_then_forgotten(engine: Satchel) -> None:
    zebras = [engine.memories.add(f"Zebras were seen on day {number}").memory.id for number in range(30)]
    listed = forget(engine, "zebra")
    assert listed.envelope["forgotten"] is False
    assert listed.notes == ("nothing was forgotten yet: confirm true forgets these 30",)
    assert {line.split()[0] for line in listed.text.splitlines()} == {*zebras}
    done = forget(engine, "zebra", confirm=True)
    assert done.envelope["forgotten"] is True
    assert done.text == "\n".join(f"forgotten: {line}" for line in listed.text.splitlines())
    assert {memory.content for memory in engine.memories.listed()} == {*NOTES}


def test_every_word_counts_in_any_form_also_in_tags_and_category(engine: Satchel) -> None:
    memory = engine.memories.add("Ingresses were renamed", tags=["kubernetes"], category="decision").memory
    for question in ("kubernetes ingress", "decisions about kubernetes"):
        assert [row["id"] for row in forget(engine, question).envelope["memories"]] == [memory.id], question
    assert forget(engine, "the queue's port").envelope["memories"][0]["content"] == NOTES[0]


def test_a_limit_leaves_the_others_and_says_so(engine: Satchel) -> None:
    answered = forget(engine, "service runs on port", limit=10, confirm=True)
    assert len(answered.envelope["memories"]) == 10
    assert answered.notes[0] == "5 more contain these words: they stay"
    assert len(engine.memories.listed()) == 5


def test_what_a_match_replaced_goes_with_it(engine: Satchel) -> None:
    old = engine.memories.add("The zebra crossing is closed").memory
    new = engine.memories.supersede(old.id, "The zebra crossing is open").memory
    gone = forget(engine, "zebra crossing open", confirm=True)
    assert [row["id"] for row in gone.envelope["memories"]] == [new.id, old.id]


@pytest.mark.parametrize("question", [" ", "what is it", "?!"])
def test_a_question_without_telling_words_is_refused(engine: Satchel, question: str) -> None:
    with pytest.raises(UsageError, match="names nothing: give a word that the memories contain"):
        forget(engine, question, confirm=True)


def test_other_scripts_are_compared_as_well(engine: Satchel) -> None:
    chinese = engine.memories.add("队列服务使用端口").memory
    russian = engine.memories.add("Пароль хранится в сейфе").memory
    assert [row["id"] for row in forget(engine, "队列服务").envelope["memories"]] == [chinese.id]
    assert [row["id"] for row in forget(engine, "сейфе").envelope["memories"]] == [russian.id]
    assert forget(engine, "队列数据").envelope["memories"] == []


@pytest.mark.parametrize("question", ["zzqqy", "xylophone tuning", "kubernetes ingress"])
def test_a_search_for_nothing_lists_nothing(engine: Satchel, question: str) -> None:
    assert engine.memories.search(question) == []
    assert OPERATIONS["memories"].run(engine, {"question": question}).envelope["memories"] == []
    assert asyncio.run(Searcher(engine).search_memories(question)) == []


def test_a_search_lists_all_that_match_equally_well(engine: Satchel) -> None:
    for number in range(30):
        engine.memories.add(f"Zebras were seen on day {number}")
    found = engine.memories.search("zebra", limit=50)
    assert len(found) == 30
    assert all("Zebras" in match.memory.content and match.score >= 0.005 for match in found)
