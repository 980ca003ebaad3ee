"""Meaning from the static table, as an install without any model has it, through the real engine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from satchel import Satchel
from satchel.embed import fingerprint
from satchel.embed.static import StaticTable
from satchel.index.vectors import CACHE_NAME
from satchel.testing import TinyRepository
from satchel.types import Kind

if TYPE_CHECKING:
    from satchel.embed import Vectors

FILES = {
    "docs/clinic.md": "# Clinic\n\nThe doctor gave her medicine.\n\n## Hours\n\nIt is open from nine to five.\n",
    "docs/garden.md": "# Garden\n\nRoses and tea in the shade of a wall.\n\n## Wood\n\nA saw cuts along a line.\n",
    "src/session.py": "def terminate(process):\n    '''The process ends.'''\n    return process.end()\n",
    "src/garden.py": "def roses():\n    '''The process of growing.'''\n    return 'tea in the shade'\n",
    "tests/test_session.py": "def test_terminate():\n    assert 'process'\n",
}
QUESTION = "patients take medication"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SATCHEL_EMBED_PROVIDER", "static")
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Begin", FILES)
    return repository.root


@pytest.fixture
def satchel(root: Path) -> Iterator[Satchel]:
    with Satchel.open(root) as opened:
        yield opened


def test_the_first_question_finds_what_is_said_in_other_words(satchel: Satchel) -> None:
    hits = satchel.search(QUESTION, types=["docs"])
    assert hits[0].chunk.title == "Clinic"
    context = satchel.assemble(QUESTION, types=["docs"])
    assert context.meta["vectors"] == {"docs": "4/4"}
    assert str(context.meta["embedder"]).startswith("static-minilm@")


def test_a_section_that_is_new_has_its_vector_at_the_next_question(satchel: Satchel, root: Path) -> None:
    satchel.assemble(QUESTION, types=["docs"])
    (root / "docs" / "ward.md").write_text("# Ward\n\nNurses look after the sick.\n", encoding="utf-8")
    satchel.refresh(at_once=True)
    assert satchel.assemble("hospital staff", types=["docs"]).meta["vectors"] == {"docs": "5/5"}


def test_an_index_that_was_made_without_the_table_gets_the_vectors_at_the_next_question(root: Path) -> None:
    with Satchel.open(root, settings={"embed.provider": "off"}) as before:
        before.index()
    with Satchel.open(root) as after:
        assert after.assemble(QUESTION, types=["docs"]).meta["vectors"] == {"docs": "4/4"}


def test_code_is_compared_when_it_is_asked_about_and_none_of_its_vectors_is_stored(satchel: Satchel) -> None:
    context = satchel.assemble("which process stops", types=["code"])
    assert context.meta["vectors"] == {"code": "2/2"}
    assert "def terminate" in context.text
    embedder = satchel.vectors.embedder
    assert embedder is not None
    assert satchel.store.vector_counts([Kind.CODE], fingerprint(embedder)) == {Kind.CODE: (0, 2)}


def test_the_vectors_of_code_are_kept_for_the_next_question(
    satchel: Satchel, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedded: list[str] = []
    embed = StaticTable.embed_documents

    def noted(self: StaticTable, texts: Sequence[str]) -> Vectors:
        embedded.extend(text for text in texts if ".py" in text)
        return embed(self, texts)

    monkeypatch.setattr(StaticTable, "embed_documents", noted)
    satchel.search("which process stops", types=["code"])
    assert len(embedded) == 2
    satchel.search("stops which process", types=["code"])
    assert len(embedded) == 2
    (root / "src" / "session.py").write_text("def ends(process):\n    return process.stops()\n", encoding="utf-8")
    satchel.refresh(at_once=True)
    satchel.search("which process stops", types=["code"])
    assert len(embedded) == 3


def test_a_memory_is_found_in_other_words_than_its_own(satchel: Satchel) -> None:
    satchel.memories.add("The doctor gave her medicine")
    satchel.memories.add("Roses need tea in the shade")
    context = satchel.assemble(QUESTION, types=["memories"])
    assert context.meta["vectors"] == {"memories": "2/2"}
    assert "doctor" in context.text
    assert "shade" not in context.text


def test_nothing_is_kept_in_the_cache_of_vectors(satchel: Satchel, tmp_path: Path) -> None:
    satchel.index()
    assert satchel.vectors.state().counts.is_complete
    assert [*tmp_path.rglob(CACHE_NAME)] == []
