"""Code by its vectors, for questions in other words than its own, through the real writer, store and search."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.embed import fingerprint
from satchel.index.embedding import most_useful
from satchel.search.dense import is_in_own_words
from satchel.search.query import analyse, with_names
from satchel.store.extract import CODE_CHARACTERS, chunk_texts
from satchel.testing import HashEmbedder, TinyRepository
from satchel.types import Hit, Kind

SYNONYMS = {"automobile": "car", "fast": "quick", "speed": "quick"}
FILES = {
    "src/motor.py": f"def quick_car():\n    return '{'quick car, ' * 9}'\n\n\ndef idle():\n    return quick_car()\n",
    "src/garden.py": "def roses():\n    return 'tea in the shade'\n\n\ndef wall():\n    return roses(), roses()\n",
    "src/tools.py": "def hammer(nails):\n    return [nail for nail in nails]\n\n\ndef saw():\n    return hammer([])\n",
    "tests/test_motor.py": "def test_quick_car():\n    assert 'quick car'\n",
}
QUESTION = "fast automobile"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", FILES)
    repository.commit("Sharpen", {"src/tools.py": FILES["src/tools.py"].replace("[]", "[1]")})
    return repository.root


@pytest.fixture
def satchel(root: Path) -> Iterator[Satchel]:
    with Satchel.open(root, embedder=HashEmbedder(synonyms=SYNONYMS, dimension=256)) as opened:
        opened.index()
        opened.embed()
        yield opened


def titles(hits: list[Hit]) -> list[str]:
    return [hit.chunk.title for hit in hits]


def test_code_that_shares_no_word_with_the_question_is_found_by_its_meaning(satchel: Satchel, root: Path) -> None:
    hits = satchel.search(QUESTION, types=["code"])
    assert "quick_car" in titles(hits)[0]
    assert "likeness" in {signal.name for signal in hits[0].signals}
    context = satchel.assemble(QUESTION, types=["code"])
    assert "def quick_car" in context.text
    assert context.meta["vectors"] == {"code": "6/6"}
    with Satchel.open(root) as words:
        assert words.assemble(QUESTION, types=["code"]).items == ()


@pytest.mark.parametrize(
    "question",
    [
        "how fast is `roses`",
        "why is wall_height so fast",
        "where is src/garden.py fast",
        "what breaks if I rename roses",
    ],
)
def test_vectors_have_no_part_where_the_question_names_code(satchel: Satchel, question: str) -> None:
    assert satchel.assemble(question, types=["code"]).meta["vectors"] == {}


def test_a_trace_is_not_compared_and_guessed_names_change_nothing() -> None:
    assert is_in_own_words(analyse(QUESTION))
    assert is_in_own_words(with_names(analyse(QUESTION), ["quick_car", "Motor.start"]))
    trace = 'Traceback (most recent call last):\n  File "src/motor.py", line 2, in quick_car\nValueError: fast'
    assert not is_in_own_words(analyse(trace))


def test_tests_get_no_vectors_and_the_most_useful_code_gets_them_first(satchel: Satchel, root: Path) -> None:
    store = satchel.store
    rows = most_useful(store, store.without_vector([Kind.CODE], "another"))
    names = [store.chunks([row])[row].name for row in rows]
    assert sorted(names) == ["hammer", "idle", "quick_car", "roses", "saw", "wall"]
    assert names[0] == "hammer", "called, and in the newest commit"
    assert names[-1] == "idle" or names[-1] == "wall", "never called, and in the oldest commit"
    with Satchel.open(root, embedder=HashEmbedder(revision="2"), settings={"embed.code_chunks": 2}) as bounded:
        report = bounded.embed()
        assert report.counts.kinds[Kind.CODE] == (2, 2)
        assert report.counts.is_complete
        assert bounded.embed().made == 0


def test_a_definition_is_embedded_with_its_path_and_name_and_cut(satchel: Satchel) -> None:
    embedder = satchel.vectors.embedder
    assert embedder is not None
    assert satchel.store.without_vector([Kind.CODE], fingerprint(embedder)) == []
    row = most_useful(satchel.store, satchel.store.without_vector([Kind.CODE], "another"))[0]
    (entry,) = chunk_texts(satchel.store, [row], embedder.max_tokens)
    assert entry.text.startswith("src/tools.py\nhammer\ndef hammer(nails):")
    assert len(entry.text) <= CODE_CHARACTERS
