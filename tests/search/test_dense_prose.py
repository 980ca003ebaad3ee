"""Prose by its words and its vectors, through the real writer, store, search and assembler."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from satchel import Satchel
from satchel.search.strength import relevance_of
from satchel.testing import HashEmbedder, TinyRepository
from satchel.types import Hit

SYNONYMS = {"automobile": "car", "fast": "quick"}
FILES = {
    "docs/motor.md": "# Motor\n\nHow it runs on petrol.\n\n## car\n\n" + "quick car, quick car.\n" * 4,
    "docs/garden.md": "# Garden\n\nRoses and tea in the shade of a wall.\n",
    "docs/tools.md": "# Tools\n\nA hammer for nails.\n\n## Saw\n\nIt cuts wood along a line.\n",
    "car.py": "def quick():\n    return car\n",
}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", FILES)
    return repository.root


@pytest.fixture
def satchel(root: Path) -> Iterator[Satchel]:
    with Satchel.open(root, embedder=HashEmbedder(synonyms=SYNONYMS, dimension=256)) as opened:
        opened.index()
        opened.embed()
        yield opened


def paths(hits: list[Hit]) -> list[str]:
    return [hit.chunk.location.path for hit in hits if hit.chunk.location is not None]


def test_a_section_that_shares_no_word_with_the_question_is_found_by_its_meaning(satchel: Satchel, root: Path) -> None:
    hits = satchel.search("fast automobile", types=["docs"])
    assert hits[0].chunk.title == "Motor > car"
    assert hits[0].relevance > relevance_of(0.5)
    assert {"vectors", "likeness"} <= {signal.name for signal in hits[0].signals}
    context = satchel.assemble("fast automobile", types=["docs"])
    assert "quick" in context.text
    assert context.meta["vectors"] == {"docs": "5/5"}
    with Satchel.open(root) as words:
        assert words.assemble("fast automobile", types=["docs"]).items == ()


def test_what_is_far_in_meaning_as_well_is_not_shown(satchel: Satchel) -> None:
    context = satchel.assemble("zebra crossing pedestrians", types=["docs"])
    assert context.items == ()


def test_words_and_meaning_are_one_ranking(satchel: Satchel) -> None:
    ranked = paths(satchel.search("fast automobile for roses", types=["docs"]))
    assert {"docs/motor.md", "docs/garden.md"} <= set(ranked)
    by_words = satchel.search("roses in the shade", types=["docs"])
    assert paths(by_words)[0] == "docs/garden.md"


def test_a_question_by_words_alone_leaves_meaning_out(satchel: Satchel) -> None:
    assert satchel.search("fast automobile", types=["docs"], searches=["lexical"]) == []
    assert paths(satchel.search("fast automobile", types=["docs"], searches=["dense"]))[0] == "docs/motor.md"


def test_a_new_section_is_found_by_words_until_it_has_a_vector(satchel: Satchel, root: Path) -> None:
    TinyRepository(root).write({"docs/lorry.md": "# Lorry\n\nslow automobile\n"})
    satchel.index()
    assert "docs/lorry.md" in paths(satchel.search("automobile", types=["docs"]))
    assert satchel.assemble("slow automobile", types=["docs"]).meta["vectors"] == {"docs": "5/6"}


def test_why_knows_what_was_found_by_meaning(satchel: Satchel) -> None:
    (standing,) = satchel.why("docs/motor.md", "fast automobile", types=["docs"])
    assert (standing.rank, standing.is_shown) == (1, True)
    assert standing.relevance > relevance_of(0.5)
    assert "likeness" in {signal.name for signal in standing.signals}
    (other,) = satchel.why("docs/garden.md", "fast automobile", types=["docs"])
    assert not other.is_shown


def test_sections_are_searched_at_once_where_the_question_becomes_a_vector(root: Path) -> None:
    searched_in: dict[str, set[str]] = {}

    class Told(HashEmbedder):
        def embed_query(self, text: str) -> npt.NDArray[np.float32]:
            searched_in.setdefault(text, set()).add(threading.current_thread().name)
            return super().embed_query(text)

    with Satchel.open(root, embedder=Told(synonyms=SYNONYMS, dimension=256)) as satchel:
        satchel.index()
        before = threading.active_count()
        assert satchel.assemble("the quick car").items
        assert threading.active_count() == before
        assert "the quick car" not in searched_in
        satchel.embed()
        assert satchel.assemble("the quick car").items
        assert searched_in["the quick car"] == {"satchel-worker"}
