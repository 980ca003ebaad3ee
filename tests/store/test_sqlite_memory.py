"""The durable memory file: what is written there is found by a question, and survives a change of its schema."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.store.sqlite import SqliteStore, connection
from satchel.types import Kind
from tests.contracts.documents import record_document
from tests.e2e.sample import sample_repository


def test_a_memory_is_answered_beside_the_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    text = "The backoff between attempts is exponential because a linear wait hammered the server."
    with Satchel.open(sample_repository(tmp_path / "shop").root) as satchel:
        with satchel.memory_store.write() as writer:
            writer.put([record_document("m1", text, kind=Kind.MEMORY)])
        context = satchel.assemble("why is the backoff between attempts exponential", max_tokens=2000)
        assert text in context.text
        assert context.sources_used["memories"] == 1
        assert "code" in context.sources_used
        assert satchel.places.memory.stat().st_mode & 0o777 == 0o600


def test_a_memory_file_is_copied_before_its_schema_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durable=True)
    with store.write() as writer:
        writer.put([record_document("m1", "alpha", kind=Kind.MEMORY)])
    store.close()
    steps = (*connection.STEPS, "CREATE TABLE later(id INTEGER PRIMARY KEY)")
    monkeypatch.setattr(connection, "STEPS", steps)
    monkeypatch.setattr(connection, "STEPS", steps)
    SqliteStore(path, durable=True).close()
    copy = tmp_path / f"memory.schema-{len(steps) - 1}.db"
    monkeypatch.undo()
    old = SqliteStore(copy, durable=True)
    assert old.keys(Kind.MEMORY) == {"m1"}
    old.close()


def test_a_log_that_lost_its_end_loses_only_the_last_memories(tmp_path: Path) -> None:
    path, log = tmp_path / "memory.db", tmp_path / "memory.db-wal"
    store, sizes = SqliteStore(path, durable=True), []
    for number in range(12):
        with store.write() as writer:
            writer.put([record_document(f"m{number}", f"memory number {number}", kind=Kind.MEMORY)])
        sizes.append(log.stat().st_size)
    main, whole, draw = path.read_bytes(), log.read_bytes(), random.Random(7)
    store.close()
    assert sizes == sorted({*sizes})
    for place, size in enumerate([*sizes, *(draw.randrange(len(whole)) for _ in range(24))]):
        copy = tmp_path / str(place) / "memory.db"
        copy.parent.mkdir()
        copy.write_bytes(main)
        copy.with_name("memory.db-wal").write_bytes(whole[:size])
        left = SqliteStore(copy, durable=True)
        keys = left.keys(Kind.MEMORY)
        left.close()
        acknowledged = sum(one <= size for one in sizes)
        assert keys == {f"m{number}" for number in range(acknowledged)}
        assert connection.damage(copy) == []


@pytest.mark.parametrize(("durable", "level"), [(True, 2), (False, 1)])
def test_a_memory_is_synced_before_it_is_acknowledged_and_an_index_is_not(
    tmp_path: Path, durable: bool, level: int
) -> None:
    opened = connection.open_connection(tmp_path / "store.db", durable=durable, timeout_ms=1_000)
    assert opened.pragma("synchronous") == level
    opened.close()


def test_an_index_is_not_copied_because_it_can_be_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index.db"
    SqliteStore(path).close()
    monkeypatch.setattr(connection, "STEPS", (*connection.STEPS, "CREATE TABLE later(id INTEGER PRIMARY KEY)"))
    SqliteStore(path).close()
    assert not list(tmp_path.glob("index.schema-*"))
