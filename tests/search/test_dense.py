from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from satchel import Satchel
from satchel.embed import fingerprint
from satchel.search.dense import Meaning, scores
from satchel.testing import HashEmbedder, TinyRepository
from satchel.types import Kind

SYNONYMS = {"automobile": "car", "fast": "quick"}


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", {"README.md": "# Shop\n"})
    return repository.root


def test_the_likeness_is_the_cosine_of_question_and_chunk(root: Path) -> None:
    embedder = HashEmbedder()
    texts = ["red apples fall", "blue sky above", "green grass grows"]
    with Satchel.open(root, embedder=embedder) as satchel:
        for text in texts:
            satchel.memories.add(text)
        likeness = scores(satchel.memory_store, Kind.MEMORY, Meaning(embedder, "red apples"))
    assert likeness is not None
    cosines = embedder.embed_documents(texts) @ embedder.embed_query("red apples")
    assert np.allclose(likeness.values, cosines, atol=2e-3)


def test_a_memory_that_shares_no_word_with_the_question_is_found_by_its_meaning(root: Path) -> None:
    with Satchel.open(root, embedder=HashEmbedder(synonyms=SYNONYMS, dimension=256)) as satchel:
        satchel.memories.add("quick car")
        for number in range(10):
            satchel.memories.add(f"unrelated note number {number} about gardening and tea")
        by_meaning = satchel.assemble("fast automobile", types=["memories"])
        hits = satchel.search("fast automobile", types=["memories"])
    with Satchel.open(root) as satchel:
        by_words = satchel.assemble("fast automobile", types=["memories"])
    assert "quick car" in by_meaning.text
    assert "vectors" in {signal.name for signal in hits[0].signals}
    assert by_words.items == ()


def test_the_model_is_not_asked_when_there_is_nothing_to_compare(root: Path) -> None:
    embedder = HashEmbedder()
    with Satchel.open(root) as satchel:
        satchel.memories.add("red apples")
        assert scores(satchel.memory_store, Kind.MEMORY, Meaning(embedder, "red")) is None
        assert scores(satchel.memory_store, Kind.MEMORY, None) is None
    assert embedder.texts == 0


def test_a_question_is_embedded_once_and_a_failure_is_kept(root: Path) -> None:
    embedder = HashEmbedder()
    with Satchel.open(root, embedder=embedder) as satchel:
        satchel.memories.add("red apples")
        before = embedder.texts
        meaning = Meaning(embedder, "red")
        for _ in range(2):
            assert scores(satchel.memory_store, Kind.MEMORY, meaning) is not None
        assert embedder.texts == before + 1
        embedder.fails = True
        failing = Meaning(embedder, "blue")
        assert scores(satchel.memory_store, Kind.MEMORY, failing) is None
        embedder.fails = False
        assert scores(satchel.memory_store, Kind.MEMORY, failing) is None
    assert failing.failure is not None
    assert "told to fail" in failing.failure.message


def test_vectors_of_another_revision_have_no_part_in_an_answer(root: Path) -> None:
    with Satchel.open(root, embedder=HashEmbedder()) as satchel:
        satchel.memories.add("red apples")
        other = HashEmbedder(revision="2")
        assert fingerprint(other) != fingerprint(HashEmbedder())
        assert scores(satchel.memory_store, Kind.MEMORY, Meaning(other, "red")) is None
