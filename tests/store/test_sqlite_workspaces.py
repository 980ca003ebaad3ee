"""What belongs to other workspaces is out of sight."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.contracts.documents import record_document


def test_only_what_belongs_to_a_chosen_workspace_is_searched_counted_and_listed(tmp_path: Path) -> None:
    whole = SqliteStore(tmp_path / "memory.db", durable=True)
    rows = {"m1": "here", "m2": "there", "m3": "", "m4": "here"}
    with whole.write() as writer:
        for key, workspace in rows.items():
            writer.put([replace(record_document(key, f"alpha {key}", kind=Kind.MEMORY), workspace=workspace)])
        writer.hide(Kind.MEMORY, ["m4"])
    part = SqliteStore(tmp_path / "memory.db", durable=True, workspaces=("here", ""))
    with part.snapshot() as state:
        for store in (part, state):
            assert list(store.iterate_keys(Kind.MEMORY)) == ["m1", "m3"]
            assert store.kinds() == {Kind.MEMORY: 2}
            assert store.lexicon(Kind.MEMORY).chunk_count == 2
            assert len(store.lexicon(Kind.MEMORY).postings(["alpha"])[0].body[0]) == 2
            assert store.keys(Kind.MEMORY) == set(rows)
            assert store.hidden_keys(Kind.MEMORY) == {"m4"}
            there = store.document(Kind.MEMORY, "m2")
            assert there is not None
            assert there.workspace == "there"
    assert whole.lexicon(Kind.MEMORY).chunk_count == 3
    part.close()
    whole.close()


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o644])
def test_a_store_is_readable_by_nobody_else_and_no_more_writable_than_it_was(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "memory.db"
    SqliteStore(path, durable=True).close()
    path.chmod(mode)
    SqliteStore(path, durable=True).close()
    assert path.stat().st_mode & 0o777 == mode & 0o600
