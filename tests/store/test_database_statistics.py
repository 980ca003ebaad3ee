from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.store.place import INDEX_NAME
from satchel.store.sqlite.connection import damage
from satchel.testing import TinyRepository
from satchel.types import EdgeType, Kind


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    made = TinyRepository(tmp_path / "shop")
    made.commit(
        "Add the client", {"a.py": "import b\n\n\ndef f():\n    return b.g()\n", "b.py": "def g():\n    pass\n"}
    )
    made.commit("Explain it", {"README.md": "# Title\n\nText.\n\n## More\n\nText.\n"})
    return made


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    with Satchel.open(repository.root) as opened:
        yield opened


def test_an_empty_store_has_nothing_to_count(satchel: Satchel) -> None:
    held = satchel.store.statistics()
    assert (held.chunks, held.documents, held.edges, held.spans, held.definitions) == ({}, {}, {}, {}, 0)


def test_every_table_is_counted(satchel: Satchel) -> None:
    satchel.index()
    held = satchel.store.statistics()
    assert held.documents == {Kind.CODE: 2, Kind.COMMIT: 2, Kind.DOC: 1}
    assert held.languages == {"python": 2, "markdown": 1}
    assert held.chunks == satchel.store.kinds()
    assert held.definitions == 2
    assert held.edges[EdgeType.TOUCHES] == 3
    assert held.edges[EdgeType.CALLS] == 1
    assert held.spans[Kind.COMMIT] == 2
    assert held.text_bytes > 0


def test_commits_out_of_sight_are_counted_apart(satchel: Satchel, repository: TinyRepository) -> None:
    satchel.index()
    repository.checkout("HEAD~1")
    satchel.index()
    held = satchel.store.statistics()
    assert held.hidden == {Kind.COMMIT: 1}
    assert held.documents[Kind.COMMIT] == 1
    assert held.edges[EdgeType.TOUCHES] == 2


def test_a_whole_file_has_no_damage_and_stays_as_it_is(satchel: Satchel) -> None:
    satchel.index()
    path = satchel.places.index / INDEX_NAME
    satchel.close()
    before = path.read_bytes()
    assert damage(path) == []
    assert path.read_bytes() == before


def test_damage_is_found(satchel: Satchel) -> None:
    satchel.index()
    path = satchel.places.index / INDEX_NAME
    satchel.close()
    path.write_bytes(b"no database" * 100)
    assert damage(path) == ["file is not a database"]
