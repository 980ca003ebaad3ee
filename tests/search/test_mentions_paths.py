"""Paths of a question that are spelled otherwise than in the tree, and folders, without reading all paths each time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.search.mentions import look_up
from satchel.search.query import analyse
from satchel.store.protocol import Store
from satchel.testing import TinyRepository
from satchel.types import Kind

FILES = {"src/Shop/Cart.py": "def total():\n    return 1\n", "src/bill.py": "def bill():\n    return 2\n"}


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "shop")
    made.commit("Start", FILES)
    return made


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    with Satchel.open(repository.root) as opened:
        opened.index()
        yield opened


def meant(satchel: Satchel, question: str) -> list[str]:
    """The files of code that a question names."""
    with satchel.store.snapshot() as store:
        lexicon = store.lexicon(Kind.CODE)
        found = look_up(analyse(question), store, lexicon).path
        ids = lexicon.columns.document_id[found > 0].tolist()
        return sorted(document.key for document in store.documents(ids).values())


def test_another_case_and_a_folder_are_found_and_a_new_revision_is_seen(
    repository: TinyRepository, satchel: Satchel
) -> None:
    assert meant(satchel, "what does src/shop/cart.py do") == ["src/Shop/Cart.py"]
    assert meant(satchel, "what is in SRC/SHOP/ for") == ["src/Shop/Cart.py"]
    assert meant(satchel, "what does src/shop/rate.py do") == []
    repository.commit("Rates", {"src/Shop/Rate.py": "def rate():\n    return 3\n"})
    satchel.index()
    assert meant(satchel, "what does src/shop/rate.py do") == ["src/Shop/Rate.py"]


def test_names_that_no_path_has_read_the_paths_of_a_kind_once(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[Kind] = []
    keys = Store.iterate_keys

    def counted(store: Store, kind: Kind) -> Iterator[str]:
        read.append(kind)
        return keys(store, kind)

    monkeypatch.setattr(Store, "iterate_keys", counted)
    for number in range(3):
        assert meant(satchel, f"what does src/none{number}.py do, and lib/none{number}/") == []
    assert sorted(read) == [Kind.CODE, Kind.DOC]
