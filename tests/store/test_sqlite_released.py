"""Memory files as each released schema left them: opened, brought up to date, and put back when an upgrade is undone.

`released/memory-N.sql` is the dump of a file of schema N with records of every kind. A file that users have is never
made again: a new schema adds a fixture.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import StoreError
from satchel.store.sqlite import SqliteStore, connection
from satchel.types import Kind

FIXTURES = sorted(Path(__file__).with_name("released").glob("memory-*.sql"))
EXPORT = (Path(__file__).parents[1] / "memory" / "export.jsonl").read_text(encoding="utf-8").splitlines()


@pytest.fixture(params=FIXTURES, ids=lambda path: path.stem)
def memory(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The memory file of a user who has not upgraded yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with Satchel.open(tmp_path) as satchel:
        path = satchel.places.memory
    path.parent.mkdir(parents=True)
    database = sqlite3.connect(path)
    database.executescript(request.param.read_text(encoding="utf-8"))
    database.close()
    return path


def exported(root: Path) -> list[str]:
    with Satchel.open(root) as satchel:
        return list(satchel.export_memory())


def test_each_released_schema_has_its_fixture() -> None:
    assert FIXTURES[-1].stem == f"memory-{len(connection.STEPS)}"


def test_the_records_of_a_released_file_are_all_there(memory: Path, tmp_path: Path) -> None:
    assert exported(tmp_path) == EXPORT
    store = SqliteStore(memory, durable=True)
    assert len(store.lexicon(Kind.MEMORY).postings(["port"])[0].body[0]) > 0
    store.close()


def test_an_upgrade_that_is_undone_loses_nothing(memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as later:
        later.setattr(connection, "STEPS", (*connection.STEPS, "CREATE TABLE later(id INTEGER PRIMARY KEY)"))
        SqliteStore(memory, durable=True).close()
    newer = memory.read_bytes()
    with pytest.raises(StoreError, match="`satchel memory restore`"):
        exported(tmp_path)
    assert memory.read_bytes() == newer
    with Satchel.open(tmp_path) as satchel:
        _, aside = satchel.memory.restore()
    assert aside.read_bytes() == newer
    assert exported(tmp_path) == EXPORT
