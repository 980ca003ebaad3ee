"""One run a root at a time, whatever happens to the one that holds the lock."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from satchel.errors import LockedError
from satchel.system.state_files import holder, index_lock
from tests.index.indexing import never

HOLD = """
import sys, time
from pathlib import Path
from satchel.system.state_files import index_lock
with index_lock(Path(sys.argv[1]), 0, lambda: False):
    print("held", flush=True)
    sys.stdin.read()
"""


def hold(path: Path) -> subprocess.Popen[bytes]:
    """A process that holds the lock until its input ends."""
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"held\n"
    return process


def end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.communicate()


def test_the_second_is_told_who_holds_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    process = hold(path)
    try:
        with pytest.raises(LockedError, match=f"built by process {process.pid} on .* since .*try again"):
            index_lock(path, 0, never).__enter__()
        assert f"process {process.pid}" in holder(path)
    finally:
        end(process)
    assert holder(path) == ""


def test_a_lock_is_gone_with_its_holder_however_that_ended(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    process = hold(path)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert path.exists()
    with index_lock(path, 0, never):
        assert f"process {os.getpid()}" in holder(path)


def test_a_file_that_names_a_living_process_is_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    path.write_text(f'{{"pid": {os.getpid()}, "host": "here", "since": 1}}')
    assert holder(path) == ""
    with index_lock(path, 0, never):
        pass


def test_waiting_ends_with_the_wish_to_stop(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    process = hold(path)
    answers = iter([False, False, True])
    try:
        with pytest.raises(LockedError):
            index_lock(path, 600, lambda: next(answers)).__enter__()
    finally:
        end(process)
    assert list(answers) == []


def test_the_second_goes_on_when_the_first_is_done(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    process = hold(path)
    asked = []

    def let_it_end() -> bool:
        asked.append(True)
        end(process)
        return False

    with index_lock(path, 600, let_it_end):
        assert asked == [True]


def test_a_lock_on_a_removed_file_keeps_nobody_away_and_is_not_taken(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    path = folder / "index.lock"
    process = hold(path)

    def remove_it() -> bool:
        """What `satchel clean` does while somebody waits."""
        shutil.rmtree(folder)
        end(process)
        return False

    with index_lock(path, 600, remove_it):
        assert f"process {os.getpid()}" in holder(path)


def test_a_lock_file_that_says_nothing_useful_is_still_named(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    process = hold(path)
    path.write_text("no json")
    try:
        with pytest.raises(LockedError, match=r"another process \(lock .*index\.lock\)"):
            index_lock(path, 0, never).__enter__()
    finally:
        end(process)


def test_no_child_process_inherits_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "index.lock"
    with index_lock(path, 0, never):
        child = subprocess.Popen(
            [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE, close_fds=False
        )
    try:
        with index_lock(path, 60, never):  # it waits: a child that starts closes the file a moment later
            assert child.poll() is None
    finally:
        end(child)


ODD = ["5", "[1]", '{"pid": 1, "host": "x", "since": 1e300}', '{"pid": 1, "host": 2, "since": "x"}']


@pytest.mark.parametrize("text", ODD)
def test_a_lock_file_with_odd_contents_is_still_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "index.lock"
    with index_lock(path, 600, never):
        path.write_text(text)
        assert "try again soon" in holder(path)
        path.write_text('{"pid": 1, "host": "\\u001b[31mred", "since": 1}')
        assert "\x1b" not in holder(path)
