"""The durable memory file: what is written there is found by a question, and survives a change of its schema."""

from __future__ import annotations

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


def test_an_index_is_not_copied_because_it_can_be_built_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "index.db"
    SqliteStore(path).close()
    monkeypatch.setattr(connection, "STEPS", (*connection.STEPS, "CREATE TABLE later(id INTEGER PRIMARY KEY)"))
    SqliteStore(path).close()
    assert not list(tmp_path.glob("index.schema-*"))
