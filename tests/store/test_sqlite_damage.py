"""Damage to the memory file: what can be read is answered, what cannot is named, and backups bring it back."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from satchel import Satchel
from satchel.doctor import check_memory
from satchel.errors import StoreError
from satchel.store.sqlite import SqliteStore, changes, connection, restore
from satchel.store.sqlite.connection import BACKUP_SECONDS, MAX_BACKUPS, backups
from satchel.system import state_files
from satchel.types import Kind
from tests.contracts.documents import record_document
from tests.e2e.sample import sample_repository

QUESTION = "why is the backoff between attempts exponential"
KEPT = "The backoff between attempts is exponential because a linear wait hammered the server."
LOST = "The backoff between attempts has a ceiling of one minute, agreed with the operators."


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    root = sample_repository(tmp_path / "shop").root
    with Satchel.open(root) as satchel:
        satchel.memories.add(KEPT)
        satchel.memories.add(LOST)
    return root


def memory_file(root: Path) -> Path:
    with Satchel.open(root) as satchel:
        return satchel.places.memory


def change(path: Path, sql: str) -> None:
    opened = apsw.Connection(str(path))
    opened.execute(sql)
    opened.close()


NEWEST = "(SELECT max(id) FROM documents)"
DAMAGE = {
    "a flipped bit": f"UPDATE texts SET body = CAST(substr(body, 1, 9) || x'ff' || substr(body, 11) AS BLOB) "
    f"WHERE document = {NEWEST}",
    "no text": f"DELETE FROM texts WHERE document = {NEWEST}",
    "no chunk": f"DELETE FROM chunks WHERE document = {NEWEST}",
    "no fields": f"UPDATE documents SET fields = '{{' WHERE id = {NEWEST}",
    "no text in a column": f"UPDATE documents SET title = CAST(x'ff41' AS TEXT) WHERE id = {NEWEST}",
}


@pytest.fixture(params=DAMAGE)
def damaged(root: Path, request: pytest.FixtureRequest) -> Path:
    change(memory_file(root), DAMAGE[request.param])
    return root


def test_one_broken_memory_costs_only_itself(damaged: Path) -> None:
    with Satchel.open(damaged) as satchel:
        context = satchel.assemble(QUESTION, max_tokens=2000)
        assert KEPT in context.text
        assert "0.1 * 2**attempt" in context.text
        assert LOST not in context.text
        (failure,) = context.failures
        assert "1 records cannot be read and are left out: mem_" in failure.message
        assert "clean" not in failure.hint
        assert [memory.content for memory in satchel.memories.listed(superseded=True)] == [KEPT]
        assert [row.memory.content for row in satchel.memories.search(QUESTION)] == [KEPT]
        assert sum('"memory"' in line for line in satchel.memory.export_memory()) == 1
        check = check_memory(satchel.places)
        assert "cannot be read" in check.message
        assert "repair" in check.fix
        (back,) = satchel.memory.repair().restored
        assert back.startswith("memory mem_")
    with Satchel.open(damaged) as satchel:
        assert {memory.content for memory in satchel.memories.listed()} == {KEPT, LOST}
        assert satchel.assemble(QUESTION).failures == ()
        assert check_memory(satchel.places).fix == ""


def test_a_backup_brings_a_broken_memory_back(damaged: Path) -> None:
    with Satchel.open(damaged) as satchel:
        done = satchel.memory.restore()
        assert done.copy is not None
        assert done.copy.name.startswith("memory.backup-")
        assert done.aside.exists()
    with Satchel.open(damaged) as satchel:
        assert {one.content for one in satchel.memories.listed()} == {KEPT, LOST}
        assert KEPT in satchel.assemble(QUESTION).text


def test_damaged_words_of_memories_leave_the_code(root: Path) -> None:
    change(memory_file(root), "UPDATE segments SET columns = x'00'")
    with Satchel.open(root) as satchel:
        context = satchel.assemble(QUESTION)
        assert "0.1 * 2**attempt" in context.text
        assert any("memory" in (failure.source, failure.message.split()[1]) for failure in context.failures)


def test_backups_are_made_once_a_day_and_few_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "memory.db"
    now = time.time()
    for day in range(MAX_BACKUPS + 3):
        monkeypatch.setattr(time, "time", lambda day=day: now + day * (BACKUP_SECONDS + 1))
        for number in range(2):
            store = SqliteStore(path, durable=True)
            with store.write() as writer:
                writer.put([record_document(f"m{day}{number}", "alpha", kind=Kind.MEMORY)])
            store.close()
    copies = backups(path)
    assert len(copies) == MAX_BACKUPS
    assert all(copy.stat().st_mode & 0o777 == 0o600 for copy in copies)


def written_bytes(folder: Path) -> Iterator[bytes]:
    yield from (path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file())


def test_a_forgotten_memory_is_in_no_file_any_more(root: Path) -> None:
    folder = memory_file(root).parent
    with Satchel.open(root) as satchel:
        added = satchel.memories.add("The canarymember88 of the staging server was replaced by tunafishword99.")
        satchel.memories.add("Something that stays.")
        assert any(b"canarymember88" in raw for raw in written_bytes(folder))
        satchel.memory.forget(satchel.memory.find([added.memory.id]), for_good=True)
        for raw in written_bytes(folder):
            assert b"canarymember88" not in raw
            assert b"tunafishword99" not in raw
        assert backups(satchel.places.memory)
    assert not any(b"canarymember88" in raw for raw in written_bytes(folder))


@pytest.mark.parametrize("version", [-1, 0, 1])
def test_an_index_with_a_wrong_schema_number_is_built_again(root: Path, version: int) -> None:
    with Satchel.open(root) as satchel:
        index = satchel.places.index / "index.db"
        satchel.assemble(QUESTION)
    change(index, f"PRAGMA user_version = {version}")
    with Satchel.open(root) as satchel:
        assert "0.1 * 2**attempt" in satchel.assemble(QUESTION).text


def test_a_restore_that_is_cut_off_leaves_the_file_of_before(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = memory_file(damaged)
    before = path.read_bytes()
    real = state_files.replace

    def dies(target: Path, raw: bytes, **options: bool) -> None:
        if target == path:
            raise KeyboardInterrupt
        real(target, raw, **options)

    monkeypatch.setattr(restore, "replace", dies)
    with Satchel.open(damaged) as satchel, pytest.raises(KeyboardInterrupt):
        satchel.memory.restore()
    assert path.read_bytes() == before
    monkeypatch.undo()


def test_a_backup_that_was_cut_off_goes_with_the_next_one(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durable=True)
    for name in ("memory.partial", "memory.partial-journal"):
        (tmp_path / name).write_bytes(b"half")
    for number in range(2):
        with store.write() as writer:
            writer.put([record_document(f"m{number}", "alpha", kind=Kind.MEMORY)])
    store.close()
    assert len(backups(path)) == 1
    assert list(tmp_path.glob("*partial*")) == []


def test_a_file_whose_first_schema_was_never_written_is_not_damaged(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    empty = apsw.Connection(str(path))
    empty.pragma("journal_mode", "wal")
    empty.close()
    assert path.stat().st_size > 0
    assert connection.damage(path) == []


def test_a_file_whose_writer_was_killed_in_its_first_transaction_is_not_damaged(tmp_path: Path) -> None:
    path, copy = tmp_path / "memory.db", tmp_path / "killed" / "memory.db"
    copy.parent.mkdir()
    writer = apsw.Connection(str(path))
    writer.execute("CREATE TABLE before(x)")
    writer.execute("PRAGMA cache_size = 1; BEGIN; CREATE TABLE t(x); DROP TABLE before")
    writer.execute("INSERT INTO t SELECT randomblob(3000) FROM (VALUES (1), (2), (3), (4), (5), (6))")
    for suffix in ("", "-journal"):  # what the disk has while the transaction runs
        shutil.copyfile(f"{path}{suffix}", f"{copy}{suffix}")
    writer.close()
    assert "readonly" not in str(connection.damage(copy))


TABLES = ("chunks", "definitions", "edges", "texts", "segments", "postings", "skipped", "vectors")


@pytest.mark.parametrize("table", TABLES)
def test_a_memory_without_one_of_its_tables_is_named_and_its_backup_comes_back(root: Path, table: str) -> None:
    path = memory_file(root)
    with Satchel.open(root) as satchel:
        state_files.replace(path.with_name(f"{path.stem}.backup-0000000001.db"), copy_of(path))
        places = satchel.places
    change(path, f"DROP TABLE {table}")
    finding = check_memory(places)
    assert finding.outcome == "fail"
    assert f"lacks {table}" in finding.message
    with Satchel.open(root) as satchel:
        assert [failure.source for failure in satchel.assemble(QUESTION, types=["code", "memories"]).failures]
        with pytest.raises(StoreError, match=r"damaged|not a store"):
            satchel.memories.listed()
        satchel.memory.restore()
        assert {one.content for one in satchel.memories.listed()} == {KEPT, LOST}


def copy_of(path: Path) -> bytes:
    opened = apsw.Connection(str(path))
    raw: bytes = opened.serialize("main")
    opened.close()
    return raw


@pytest.mark.parametrize("table", [*TABLES, "documents"])
def test_an_index_without_one_of_its_tables_is_built_again(root: Path, table: str) -> None:
    with Satchel.open(root) as satchel:
        before = satchel.assemble("what does backoff return", types=["code"])
        path = satchel.places.index / "index.db"
    change(path, f"DROP TABLE {table}")
    with Satchel.open(root) as satchel:
        after = satchel.assemble("what does backoff return", types=["code"])
    assert [one.content for one in after.items] == [one.content for one in before.items]
    assert "built again" in after.text


def test_an_empty_memory_file_beside_a_backup_and_a_wrong_schema_are_not_sound(root: Path) -> None:
    path = memory_file(root)
    raw = path.read_bytes()
    with Satchel.open(root) as satchel:
        places = satchel.places
    change(path, "PRAGMA user_version = 1")
    assert "schema 1" in check_memory(places).message
    assert check_memory(places).outcome == "fail"
    path.write_bytes(b"")
    for left in (*backups(path), *(path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm"))):
        left.unlink(missing_ok=True)
    changes.remove(path)
    assert check_memory(places).outcome == "ok"  # as a first run leaves it
    path.with_name(f"{path.stem}.backup-0000000001.db").write_bytes(raw)
    assert "is missing or empty; its backups are here" in check_memory(places).message


def test_memory_commands_need_no_index(root: Path) -> None:
    with Satchel.open(root) as satchel:
        index = satchel.places.index / "index.db"
        satchel.index()
    change(index, "PRAGMA user_version = 99")
    with Satchel.open(root) as satchel:
        added = satchel.memories.add("The tower has a clock.").memory
        assert len(satchel.memories.listed()) == 3
        satchel.memory.forget(satchel.memory.find([added.id]))
        assert len(satchel.memories.listed()) == 2
        with pytest.raises(StoreError, match="schema 99"):
            satchel.assemble(QUESTION)
    index.unlink()
    with Satchel.open(root) as satchel:
        assert len(satchel.memories.listed()) == 2
    assert not index.exists()


def test_on_a_full_disk_the_room_that_was_kept_is_freed_to_forget(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    reserve = memory_file(root).with_name("memory.reserve")
    assert reserve.stat().st_size == 2 << 20
    status = os.statvfs(root)
    full = os.statvfs_result((*status[:3], 0, 0, *status[5:]))
    with Satchel.open(root) as satchel, monkeypatch.context() as patch:
        patch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(1, 1, 0))
        assert satchel.opened.memory_store.obstacle == "the disk is full"
        (one, _) = satchel.memories.listed()
        satchel.memory.forget(satchel.memory.find([one.id]), for_good=True)
        assert not reserve.exists()
        patch.setattr(os, "statvfs", lambda _: full)
        assert len(satchel.memories.listed()) == 1
    with Satchel.open(root) as satchel:
        satchel.memories.add("The tower has a clock.")
    assert reserve.exists()
