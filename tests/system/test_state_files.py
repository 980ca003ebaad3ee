"""Files that several processes share: whole lines, whole files, one writer at a time, with and without locks."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from satchel.system import state_files

WITHOUT_FCNTL = """
import pathlib, sys
sys.modules["fcntl"] = None
import satchel.engine, satchel.safety.trust, satchel.system.locations, satchel.hooks.background
from satchel.system import state_files
state_files.append(pathlib.Path(sys.argv[1]) / "state" / "lines", b"line\\n")
with state_files.locked(pathlib.Path(sys.argv[1])) as is_ours:
    print(is_ours, state_files.HAS_LOCKS)
print(len(satchel.safety.trust.load_key(pathlib.Path(sys.argv[1]) / "state", {})))
"""


def write_half(descriptor: int, raw: bytes) -> int:
    """Write as a full disk does."""
    return os.writev(descriptor, [raw[: len(raw) // 2]])


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_everything_works_alone_on_a_system_without_locks(tmp_path: Path) -> None:
    command = [sys.executable, "-c", WITHOUT_FCNTL, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["True False", "32"], done.stderr


def test_on_a_full_disk_nothing_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "lines.jsonl"
    state_files.append(path, b"one\n")
    monkeypatch.setattr(os, "write", write_half)
    with pytest.raises(OSError, match="No space left"):
        state_files.append(path, b"second line\n")
    with pytest.raises(OSError, match="No space left"):
        state_files.replace(path, b"another beginning\n")
    assert state_files.read(path) == b"one\n"
    assert names(tmp_path) == ["lines.jsonl"]


def test_only_the_newest_lines_remain_of_a_file_that_is_too_long(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    for number in range(10):
        state_files.append(path, b"%d\n" % number, most=12)
        assert path.stat().st_size <= 12
    assert state_files.read(path) == b"5\n6\n7\n8\n9\n"


def test_many_writers_lose_no_line(tmp_path: Path) -> None:
    path = tmp_path / "new" / "lines"
    with ThreadPoolExecutor(8) as pool:
        [*pool.map(lambda number: state_files.append(path, b"%d\n" % number), range(100))]
    assert sorted(map(int, path.read_bytes().split())) == [*range(100)]


def test_only_a_regular_file_within_its_limit_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert state_files.read(path) is None
    path.write_bytes(b"12345")
    assert state_files.read(path, 5) == b"12345"
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(path)
    for unusable, limit in ((path, 4), (tmp_path / "pipe", None), (tmp_path, None)):
        with pytest.raises(state_files.UnusableFileError):
            state_files.read(unusable, limit)
    with pytest.raises(OSError, match="link"):
        state_files.read(tmp_path / "link")


@pytest.mark.parametrize("is_durable", [True, False])
def test_a_replaced_file_has_the_mode_that_was_asked_for(tmp_path: Path, is_durable: bool) -> None:
    path = tmp_path / "file"
    state_files.replace(path, b"one")
    assert path.stat().st_mode & 0o777 == 0o600
    state_files.replace(path, b"two", mode=0o664, durable=is_durable)
    assert path.stat().st_mode & 0o777 == 0o664
    assert path.read_bytes() == b"two"
    assert names(tmp_path) == ["file"]


@pytest.mark.parametrize("name", ["", "file.lock"])
def test_a_lock_is_for_one_at_a_time(tmp_path: Path, name: str) -> None:
    with state_files.locked(tmp_path / name) as first, state_files.locked(tmp_path / name, 0.01) as second:
        assert (first, second) == (True, False)
    with state_files.locked(tmp_path / name, 0.0) as third:
        assert third


def test_folders_are_for_the_user_alone(tmp_path: Path) -> None:
    state_files.make_folder(tmp_path / "a" / "b")
    assert [folder.stat().st_mode & 0o777 for folder in (tmp_path / "a", tmp_path / "a" / "b")] == [0o700, 0o700]


def test_answers_are_kept_without_what_was_asked_and_the_oldest_make_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(state_files, "MAX_ANSWERS", 6)
    answers = state_files.KeptAnswers(tmp_path, b"k" * 32)
    for number in range(5):
        answers.keep(f"question {number}", [number])
        (file,) = tmp_path.glob(f"{answers.mark(f'question {number}')}.json")
        os.utime(file, (number, number))
    assert answers.read("question 0") == [0]
    answers.keep("question 5", {"five": 5.0})
    assert len(names(tmp_path)) == 6
    answers.keep("question 6", None)
    assert [answers.read(f"question {number}") for number in range(6)] == [None, None, None, [3], [4], {"five": 5.0}]
    assert "question" not in "".join(path.name + path.read_text() for path in tmp_path.iterdir())


def test_files_that_are_too_old_are_removed(tmp_path: Path) -> None:
    (tmp_path / "old.json").touch()
    os.utime(tmp_path / "old.json", (1, 1))
    (tmp_path / "new.json").touch()
    state_files.prune_older(tmp_path, 60.0)
    assert names(tmp_path) == ["new.json"]


def test_what_killed_processes_left_of_a_file_goes_with_its_next_contents(tmp_path: Path) -> None:
    left, young, foreign = (tmp_path / name for name in (".a.json.77-88", ".a.json.78-88", ".a.json.backup"))
    for path in (left, young, foreign):
        path.write_text("half")
    for path in (left, foreign):
        os.utime(path, (1, 1))
    state_files.replace(tmp_path / "a.json", b"whole")
    assert names(tmp_path) == [".a.json.78-88", ".a.json.backup", "a.json"]


def test_an_index_is_locked_though_no_room_is_left_for_the_name_of_the_holder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with state_files.index_lock(tmp_path / "index.lock", 0, lambda: False):
        assert state_files.holder(tmp_path / "index.lock").startswith("the index is being built")
