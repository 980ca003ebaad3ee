"""A memory file that is lost, damaged or of another version comes back with everything that was acknowledged."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import apsw
import pytest

from satchel import Satchel
from satchel.doctor import check_memory, check_room
from satchel.errors import StoreError
from satchel.store.sqlite import SqliteStore, changes, connection
from satchel.store.sqlite.connection import BACKUP_SECONDS, MAX_BACKUPS, RICHER_SECONDS, backups
from satchel.types import Kind
from tests.contracts.documents import record_document
from tests.e2e.sample import sample_repository

CANARY = "canary" + "member88"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    return sample_repository(tmp_path / "shop").root


def remember(root: Path, *texts: str) -> Path:
    """Remember texts, and return the memory file, which nobody has open."""
    with Satchel.open(root) as satchel:
        for text in texts:
            satchel.memories.add(text)
        path = satchel.places.memory
    whole = apsw.Connection(str(path))
    whole.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
    whole.close()
    return path


def remembered(root: Path) -> set[str]:
    with Satchel.open(root) as satchel:
        return {one.content for one in satchel.memories.listed()}


TEXTS = [f"Decision number {number}: the queue of shop {number} is drained by hand." for number in range(12)]


def forget_history(path: Path, *, copies: bool, log: bool) -> None:
    for file in backups(path) if copies else ():
        file.unlink()
    if log:
        changes.remove(path)


@pytest.mark.parametrize("has_copies", [True, False])
def test_damage_of_any_page_of_the_memory_loses_no_memory(root: Path, *, has_copies: bool) -> None:
    path = remember(root, *TEXTS)
    forget_history(path, copies=not has_copies, log=False)
    sound, size = path.read_bytes(), 4096
    for page in range(len(sound) // size):
        path.write_bytes(sound[: page * size] + b"\xa5" * size + sound[(page + 1) * size :])
        if not connection.damage(path):  # a page without contents
            continue
        with Satchel.open(root) as satchel:
            satchel.memory.restore()
        assert remembered(root) == {*TEXTS}, page
        assert connection.damage(path) == []
        found = path.with_name("memory.db.damaged").read_bytes()
        assert found[page * size : (page + 1) * size] == b"\xa5" * size


def test_without_copies_and_changes_what_can_be_read_of_a_damaged_file_comes_back(root: Path) -> None:
    path = remember(root, *TEXTS)
    forget_history(path, copies=True, log=True)
    opened = apsw.Connection(str(path))
    opened.execute("UPDATE texts SET body = x'00' WHERE document = 3")
    opened.close()
    with Satchel.open(root) as satchel:
        done = satchel.memory.restore()
        assert (done.copy, done.changes, done.salvaged) == (None, 0, len(TEXTS) - 1)
    assert len(remembered(root)) == len(TEXTS) - 1
    with Satchel.open(root) as satchel:
        (found,) = satchel.memories.search(TEXTS[7], limit=1)
        assert found.memory.content == TEXTS[7]


def test_a_file_of_which_nothing_is_left_anywhere_is_left_alone(root: Path) -> None:
    path = remember(root, *TEXTS)
    forget_history(path, copies=True, log=True)
    path.write_bytes(b"no store" * 1000)
    with Satchel.open(root) as satchel, pytest.raises(StoreError, match="there is no copy of it"):
        satchel.memory.restore()
    assert path.read_bytes().startswith(b"no store")


@pytest.mark.parametrize("is_empty", [True, False])
def test_a_missing_memory_is_made_again_on_the_spot_and_the_answer_says_so(root: Path, *, is_empty: bool) -> None:
    path = remember(root, *TEXTS)
    places = Satchel.open(root).places
    connection.remove_files(path)
    if is_empty:
        path.write_bytes(b"")
    assert "is missing or empty; its backups are here" in check_memory(places).message
    with Satchel.open(root) as satchel:
        context = satchel.assemble("how is the queue of shop 3 drained")
        (failure,) = context.failures
        assert failure.message.startswith("memory.db was missing or empty; it was made again from memory.backup-")
        assert TEXTS[3] in context.text
    assert remembered(root) == {*TEXTS}
    assert check_memory(places).fix == ""


def test_what_was_forgotten_does_not_come_back_with_a_lost_file(root: Path) -> None:
    path = remember(root, *TEXTS)
    with Satchel.open(root) as satchel:
        (one,) = [one for one in satchel.memories.listed() if one.content == TEXTS[5]]
        satchel.memory.forget(satchel.memory.find([one.id]))
    connection.remove_files(path)
    assert remembered(root) == {*TEXTS} - {TEXTS[5]}
    with Satchel.open(root) as satchel:
        assert satchel.memory.bring_back([one.id]).ids == [one.id]


def test_a_sound_memory_goes_back_to_its_newest_copy(root: Path) -> None:
    path = remember(root, *TEXTS)
    with Satchel.open(root) as satchel:
        done = satchel.memory.restore(to_backup=True)
    assert done.changes == 0
    assert len(remembered(root)) < len(TEXTS)
    assert done.aside == path.with_name("memory.db.damaged")


@pytest.mark.parametrize("order", [("repair", "restore"), ("restore", "repair"), ("repair", "repair", "restore")])
@pytest.mark.parametrize("has_copies", [True, False])
def test_repair_and_restore_lose_nothing_in_any_order(root: Path, order: tuple[str, ...], *, has_copies: bool) -> None:
    path = remember(root, *TEXTS)
    forget_history(path, copies=not has_copies, log=False)
    opened = apsw.Connection(str(path))
    opened.execute("UPDATE texts SET body = x'00' WHERE document IN (3, 9)")
    opened.close()
    for number, step in enumerate(order):
        with Satchel.open(root) as satchel:
            if number == 0:
                getattr(satchel.memory, step)()
            elif step == "repair":
                assert satchel.memory.repair() == ([], [])
            else:
                with pytest.raises(StoreError, match="is sound: nothing was restored"):
                    satchel.memory.restore()
        assert remembered(root) == {*TEXTS}
    remember(root, "One decision more.")
    connection.remove_files(path)
    assert remembered(root) == {*TEXTS, "One decision more."}


def test_repair_names_what_came_back_and_what_nothing_has(root: Path) -> None:
    path = remember(root, *TEXTS)
    forget_history(path, copies=False, log=True)
    opened = apsw.Connection(str(path))
    keys = dict(opened.execute("SELECT id, key FROM documents WHERE kind = 'memory'"))
    opened.execute("UPDATE texts SET body = x'00' WHERE document IN (1, 9)")
    opened.close()
    with Satchel.open(root) as satchel:
        done = satchel.memory.repair()
    assert done == ([f"memory {keys[1]}"], [f"memory {keys[9]}"])  # the copy is of the second memory


def test_a_copy_with_more_records_outlives_those_of_a_store_that_began_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, now = tmp_path / "memory.db", time.time()

    def write(day: float, key: str) -> None:
        monkeypatch.setattr(time, "time", lambda: now + day * (BACKUP_SECONDS + 1))
        store = SqliteStore(path, durable=True)
        with store.write() as writer:
            writer.put([record_document(key, "alpha", kind=Kind.MEMORY)])
        store.close()
        for copy in backups(path):
            stamp = int(copy.stem.rpartition("-")[2])
            os.utime(copy, (stamp, stamp))

    for number in range(8):
        write(0, f"m{number}")
    write(1, "m8")
    rich = backups(path)[-1]
    connection.remove_files(path)
    changes.remove(path)
    SqliteStore(path.with_name("new.db"), durable=True).close()
    path.with_name("new.db").rename(path)  # a file that somebody put there
    for day in range(2, 12):
        write(day, f"n{day}" if day == 2 else "n3")
    assert rich in backups(path)
    assert len(backups(path)) <= 2 * MAX_BACKUPS
    write(2 + RICHER_SECONDS / BACKUP_SECONDS, "n4")
    assert rich not in backups(path)


def test_many_changes_make_a_copy_before_the_day_is_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "MAX_BYTES", 1)
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durable=True)
    for number in range(300):
        with store.write() as writer:
            writer.put([record_document(f"m{number}", f"alpha {number}" * 40, kind=Kind.MEMORY)])
    store.close()
    assert changes.files(path)[0].exists()
    assert 1 <= len(backups(path)) <= MAX_BACKUPS
    connection.remove_files(path)
    store = SqliteStore(path, durable=True)
    assert len(store.keys(Kind.MEMORY)) == 300
    store.close()


def test_changes_hold_what_was_committed_and_a_broken_one_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durable=True)
    for key in ("first", "second", "third"):
        with store.write() as writer:
            writer.put([record_document(key, "alpha", kind=Kind.MEMORY)])

    def refuse(_writer: object) -> None:
        raise KeyError("refused")

    store.before_commit = refuse
    with pytest.raises(KeyError), store.write() as writer:
        writer.put([record_document("never", "alpha", kind=Kind.MEMORY)])
    store.close()
    (_, log) = changes.files(path)
    log = log if log.exists() else changes.files(path)[0]
    whole = list(changes.transactions(path))
    keys = [document.key for steps in whole for step in steps for document in step.put]
    assert keys == ["first", "second", "third"]
    raw = bytearray(log.read_bytes())
    raw[30] ^= 0xFF
    log.write_bytes(raw + b"SCHG\0")
    assert len(list(changes.transactions(path))) == len(whole) - 1
    assert log.stat().st_mode & 0o777 == 0o600


def test_a_change_is_kept_where_its_log_cannot_be_written(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    (tmp_path / "memory.changes").mkdir()
    store = SqliteStore(path, durable=True)
    with store.write() as writer:
        writer.put([record_document("one", "alpha", kind=Kind.MEMORY)])
    assert store.keys(Kind.MEMORY) == {"one"}
    store.close()


def test_a_memory_that_was_read_only_once_is_writable_again(root: Path) -> None:
    path = remember(root, *TEXTS)
    path.chmod(0o400)
    journals = [path.with_name(f"{path.name}{suffix}") for suffix in ("-wal", "-shm")]
    for journal in journals:  # as SQLite leaves them after a reader that may not write
        journal.touch(mode=0o400)
        journal.chmod(0o400)
    path.chmod(0o600)
    connection._open_journals(path)
    assert {journal.stat().st_mode & 0o777 for journal in journals} == {0o600}
    store = SqliteStore(path, durable=True)
    with store.write() as writer:
        writer.put([record_document("one", "alpha", kind=Kind.MEMORY)])
    store.close()


def test_the_journals_of_a_read_only_memory_are_left_alone(root: Path) -> None:
    path = remember(root, *TEXTS)
    journal = path.with_name(f"{path.name}-shm")
    journal.touch()
    journal.chmod(0o400)
    path.chmod(0o400)
    connection._open_journals(path)
    assert journal.stat().st_mode & 0o777 == 0o400


def test_a_newer_memory_is_called_newer_and_goes_back_with_the_newer_file_kept(root: Path) -> None:
    path = remember(root, *TEXTS)
    opened = apsw.Connection(str(path))
    opened.execute("PRAGMA user_version = 99")
    opened.close()
    with Satchel.open(root) as satchel:
        found = check_memory(satchel.places)
        assert found.message.endswith("has schema 99, of a newer satchel")
        assert "damaged" not in found.message
        assert found.fix.startswith("upgrade satchel")
        with pytest.raises(StoreError, match="keeps the newer file"):
            satchel.memories.listed()
        newer = path.read_bytes()
        assert satchel.memory.restore().aside.read_bytes() == newer
    assert remembered(root) == {*TEXTS}


def test_a_memory_that_may_not_be_read_is_not_called_damaged(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = remember(root, *TEXTS)
    path.chmod(0)
    monkeypatch.setattr(os, "access", lambda _path, _mode: False)
    found = check_memory(Satchel.open(root).places)
    assert "may not be read (mode 0)" in found.message
    assert found.repair is not None
    found.repair()
    assert path.stat().st_mode & 0o777 == 0o600


def test_doctor_tries_a_write(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = remember(root, *TEXTS)
    places = Satchel.open(root).places
    assert check_memory(places).fix == ""
    path.write_bytes(path.read_bytes())
    monkeypatch.setattr(connection, "unwritable", lambda _: "attempt to write a readonly database")
    assert "can be read, but not written: attempt" in check_memory(places).message


def test_a_write_that_would_fail_says_why(root: Path) -> None:
    path = remember(root, *TEXTS)
    assert connection.unwritable(path) == ""
    path.write_bytes(b"no store" * 1000)
    assert "not a database" in connection.unwritable(path)


@pytest.mark.parametrize(("free", "outcome"), [(0, "fail"), (255 << 10, "fail"), (1 << 20, "warn"), (2 << 20, "ok")])
def test_doctor_says_that_the_disk_is_nearly_full_before_anything_fails(
    root: Path, monkeypatch: pytest.MonkeyPatch, free: int, outcome: str
) -> None:
    places = Satchel.open(root).places
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9 << 20, 0, free))
    found = check_room(places)
    assert found.outcome == outcome
    assert (f"{free >> 10:,} KB are free" in found.message) is (outcome != "ok")


def test_a_small_disk_keeps_a_small_reserve_and_forgetting_frees_it(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free = 12 << 20
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(free, 0, free))
    path = remember(root, *TEXTS)
    reserve = connection.reserve_of(path)
    assert reserve.stat().st_size == connection.SMALL_RESERVE_BYTES
    free = 1 << 20  # not empty, but too little for a change
    with Satchel.open(root) as satchel:
        (one,) = [one for one in satchel.memories.listed() if one.content == TEXTS[5]]
        satchel.memory.forget(satchel.memory.find([one.id]))
        assert not reserve.exists()


def test_a_full_disk_is_told_with_what_to_free(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "memory.db", durable=True)
    with pytest.raises(StoreError, match=r"the disk is full; .*Free some megabytes .*`satchel clean`"), store.write():
        raise apsw.FullError
    store.close()


def test_what_is_forgotten_for_good_is_in_no_file_of_this_machine_any_more(root: Path, tmp_path: Path) -> None:
    path = remember(root, *TEXTS, f"The {CANARY} of the staging server was replaced.")
    shutil.copyfile(path, path.with_name("memory.db.damaged"))
    with Satchel.open(root) as satchel:
        shown = satchel.assemble(f"what is {CANARY}", session="s1")
        assert CANARY in shown.text
        (one,) = [one for one in satchel.memories.listed() if CANARY in one.content]
        satchel.memory.forget(satchel.memory.find([one.id]))
        assert any(CANARY.encode() in file.read_bytes() for file in path.parent.iterdir() if file.is_file())
        assert any(CANARY in str(step.value) for steps in changes.transactions(path) for step in steps), "the trash"
        satchel.memory.forget(satchel.memory.find([one.id], trash=True), for_good=True)
    texts = [record for record in (tmp_path / "home" / "data").rglob("*") if record.is_file()]
    assert texts
    assert not any(
        CANARY in document.text for steps in changes.transactions(path) for step in steps for document in step.put
    )
    assert not any(CANARY in str(step.value) for steps in changes.transactions(path) for step in steps)
    for file in texts:
        assert CANARY.encode() not in file.read_bytes(), file
    connection.remove_files(path)
    assert remembered(root) == {*TEXTS}


def test_what_a_running_process_writes_after_a_restore_is_in_the_new_file(root: Path) -> None:
    path = remember(root, *TEXTS)
    with Satchel.open(root) as running:
        assert len(running.memories.listed()) == len(TEXTS)
        damaged = apsw.Connection(str(path))
        damaged.execute("UPDATE texts SET body = x'00' WHERE document = 3")
        damaged.close()
        with Satchel.open(root) as other:
            other.memory.repair()
        running.memories.add("One decision more.")
        assert {one.content for one in running.memories.listed()} == {*TEXTS, "One decision more."}
        (found, *_) = running.memories.search(TEXTS[2], limit=1)
        assert found.memory.content == TEXTS[2]
    assert remembered(root) == {*TEXTS, "One decision more."}
