"""Memory files of each released schema: opened, brought up to date, and put back when an upgrade is undone."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from satchel import Satchel
from satchel.errors import StoreError
from satchel.store.sqlite import SqliteStore, connection
from tests.soundness import faults
from tests.store import older


@pytest.fixture(params=sorted(older.DUMPS))
def version(request: pytest.FixtureRequest) -> int:
    """The schema of a file."""
    return int(request.param)


@pytest.fixture
def memory(version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The memory file of a user who has not upgraded yet."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    with Satchel.open(tmp_path) as satchel:
        return older.unpacked(satchel.places.memory, version)


def dumped(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as database:
        return [*database.iterdump()]


def shape(path: Path) -> dict[str, tuple[object, ...]]:
    """The columns of each table, and the names of its indexes."""
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        columns = {name: database.execute(f"PRAGMA table_info({name})").fetchall() for name in tables}
        return {
            name: (columns[name], {row[1] for row in database.execute(f"PRAGMA index_list({name})")}) for name in tables
        }


def exported(root: Path) -> list[str]:
    with Satchel.open(root) as satchel:
        return list(satchel.export_memory())


def test_each_released_schema_has_its_fixture() -> None:
    assert len(connection.STEPS) == older.NEWEST


def test_the_records_of_a_released_file_are_all_there(version: int, memory: Path, tmp_path: Path) -> None:
    before = dumped(memory)
    assert exported(tmp_path) == older.exported(version)
    if version < older.NEWEST:
        assert dumped(memory.with_name(f"memory.schema-{version}.db")) == before
    opened = apsw.Connection(str(memory))
    assert faults(opened) == []
    opened.close()


def test_a_released_file_answers_as_a_new_one_and_has_its_tables(memory: Path, tmp_path: Path) -> None:
    newest = older.unpacked(tmp_path / "newest.db", older.NEWEST)
    with closing(SqliteStore(memory, durable=True)) as store, closing(SqliteStore(newest, durable=True)) as other:
        answers = older.answers(store)
        assert {identity.partition(":")[0] for identity, *_ in answers} == {*older.QUESTIONS}
        assert answers == older.answers(other)
    SqliteStore(tmp_path / "empty.db").close()
    assert shape(memory) == shape(tmp_path / "empty.db")


def test_an_upgrade_that_is_undone_loses_nothing(
    version: int, memory: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as later:
        later.setattr(connection, "STEPS", (*connection.STEPS, "CREATE TABLE later(id INTEGER PRIMARY KEY)"))
        SqliteStore(memory, durable=True).close()
    newer = memory.read_bytes()
    with pytest.raises(StoreError, match="`satchel memory restore`"):
        exported(tmp_path)
    assert memory.read_bytes() == newer
    with Satchel.open(tmp_path) as satchel:
        done = satchel.memory.restore()
    assert done.aside.read_bytes() == newer
    assert exported(tmp_path) == older.exported(version)


def test_a_reader_beside_a_migration_sees_the_old_schema_and_then_the_new_one(memory: Path, version: int) -> None:
    with closing(sqlite3.connect(memory)) as database:
        database.execute("PRAGMA journal_mode = wal")
    reader = apsw.Connection(str(memory))
    table = "documents" if version == older.NEWEST else "bundles"
    reader.execute("BEGIN")
    before = reader.execute(f"SELECT key FROM {table} ORDER BY key").fetchall()
    connection.open_connection(memory, durable=True).close()
    assert reader.execute(f"SELECT key FROM {table} ORDER BY key").fetchall() == before
    reader.execute("COMMIT")
    assert reader.execute("SELECT key FROM documents ORDER BY key").fetchall() == before
    reader.close()
