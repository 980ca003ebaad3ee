from __future__ import annotations

from pathlib import Path

import pytest

from satchel.errors import LockedError
from satchel.index.build import folder_bytes, remove_everything, remove_index
from satchel.system.state_files import holder, index_lock, last_run


def never() -> bool:
    return False


def make_index(folder: Path) -> Path:
    """A folder that looks like an index."""
    folder.mkdir(parents=True)
    (folder / "index.db").write_bytes(b"x" * 100)
    (folder / "index.db-wal").write_bytes(b"x" * 20)
    (folder / "index.lock").touch()
    return folder


def test_an_index_is_removed_with_its_journals(tmp_path: Path) -> None:
    folder = make_index(tmp_path / "index" / "a-1")
    assert remove_index(folder, 0) >= 120
    assert not folder.exists()
    assert remove_index(folder, 0) == 0


def test_an_index_that_is_being_built_stays(tmp_path: Path) -> None:
    folder = make_index(tmp_path / "index" / "a-1")
    with index_lock(folder / "index.lock", 0, never), pytest.raises(LockedError):
        remove_index(folder, 0)
    assert (folder / "index.db").exists()


def test_everything_is_every_index_and_what_they_share(tmp_path: Path) -> None:
    make_index(tmp_path / "cache" / "index" / "a-1")
    make_index(tmp_path / "cache" / "index" / "b-2")
    (tmp_path / "cache" / "vectors").mkdir()
    (tmp_path / "cache" / "vectors" / "c.db").write_bytes(b"x" * 1000)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "cache" / "link").symlink_to(tmp_path / "elsewhere")
    assert remove_everything(tmp_path / "cache", 0) >= 1240
    assert not (tmp_path / "cache").exists()
    assert (tmp_path / "elsewhere").exists()
    assert remove_everything(tmp_path / "cache", 0) == 0


def test_everything_stays_while_one_index_is_being_built(tmp_path: Path) -> None:
    folder = make_index(tmp_path / "cache" / "index" / "a-1")
    with index_lock(folder / "index.lock", 0, never), pytest.raises(LockedError):
        remove_everything(tmp_path / "cache", 0)
    assert (folder / "index.db").exists()


def test_the_size_of_a_folder_is_that_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "x").write_bytes(b"12345")
    (tmp_path / "y").write_bytes(b"123")
    assert folder_bytes(tmp_path) == 8


def test_a_lock_tells_who_holds_it_and_when_it_was_last_taken(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    assert (holder(path), last_run(path)) == ("", None)
    with index_lock(path, 0, never):
        assert holder(path).startswith("the index is being built by process ")
    assert holder(path) == ""
    assert last_run(path) == path.stat().st_mtime
