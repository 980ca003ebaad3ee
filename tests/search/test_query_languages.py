"""Questions in seven languages besides English: the passage that answers comes first among those of all languages."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.query import analyse
from satchel.testing import TinyRepository
from satchel.text import unaccented
from tests.postgres import environment

CORPORA = Path(__file__).with_name("languages")

SURE: Mapping[str, int] = {
    "german": 1, "french": 4, "spanish": 3, "russian": 4, "chinese": 7, "chinese_names": 8, "japanese": 6, "korean": 4,
}  # fmt: skip
"""Language -> of ten questions, those whose answer is not called a weak match. `chinese_names` are Chinese sentences
with names in Latin letters, without a space around them. Before words ended where the script changes, Russian was
stemmed and Korean had endings, it was 1, 3, 3, 0, 7, 8, 6 and 1; 72 of the 80 passages came first,
3 of the Russian ones. The ninth of `chinese_names` is just below the floor (.094), since passages with accents are no
longer measured as longer than others."""


def pairs(language: str) -> list[tuple[str, str]]:
    """Return questions and the passages that answer them."""
    text = (CORPORA / f"{language}.txt").read_text(encoding="utf-8").split("\n", 1)[1]
    return [(question, passage) for question, passage in (pair.splitlines() for pair in text.split("\n\n"))]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("languages")
    made = TinyRepository(folder / "handbook")
    made.commit(
        "Begin",
        {
            f"docs/{language}{number}.md": f"{passage}\n"
            for language in SURE
            for number, (_, passage) in enumerate(pairs(language))
        },
    )
    with Satchel.open(made.root, environ=environment(folder / "home")) as opened:
        opened.index()
        yield opened


@pytest.mark.parametrize("language", SURE)
def test_the_passage_that_answers_comes_first(engine: Satchel, language: str) -> None:
    sure = 0
    for number, (question, passage) in enumerate(pairs(language)):
        context = engine.assemble(question, max_tokens=600)
        first = context.items[0].location
        assert first is not None
        assert first.path == f"docs/{language}{number}.md", question
        assert passage in context.markdown
        sure += "Weak match" not in context.markdown
    assert sure == SURE[language]


@pytest.mark.parametrize("language", ["german", "french", "spanish", "russian"])
def test_a_question_typed_without_accents_finds_the_same_passage(engine: Satchel, language: str) -> None:
    for number, (question, _) in enumerate(pairs(language)):
        first = engine.assemble(unaccented(question), max_tokens=600).items[0].location
        assert first is not None
        assert first.path == f"docs/{language}{number}.md", question


def test_a_name_alone_finds_the_chinese_sentence_around_it(engine: Satchel) -> None:
    for number, (question, _) in enumerate(pairs("chinese_names")):
        (name,) = re.findall("[A-Za-z_]+", question)
        found = [item.location for item in engine.assemble(name, max_tokens=600).items]
        assert [place.path for place in found if place] == [f"docs/chinese_names{number}.md"]


def test_nothing_is_called_not_found_that_occurs_in_another_form(engine: Satchel) -> None:
    missing = {
        language: [engine.assemble(question).meta.get("missing_terms", []) for question, _ in pairs(language)]
        for language in SURE
    }
    assert {language: [word for words in every for word in words] for language, every in missing.items()} == {
        **{language: [] for language in SURE},
        "chinese": ["发生"],
        "chinese_names": ["管理"],
    }


def test_a_word_is_searched_in_british_and_american_english() -> None:
    terms = {term.term: term for term in analyse("where are messages written in colour").terms}
    assert terms["color"].is_form
    assert terms["color"].guessed
    assert not terms["colour"].guessed
