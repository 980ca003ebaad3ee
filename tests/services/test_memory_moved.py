"""A folder that was moved is told where its memories are, and gets them back."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.errors import UsageError
from satchel.safety import sanitize
from satchel.store.writer import Writer
from satchel.system import git
from satchel.testing import TinyRepository
from tests.e2e.command import Satchel as Command

FACT = "The ledger rounds half to even, because the auditors asked for it."


def make(folder: Path) -> Path:
    TinyRepository(folder).commit("Add the ledger", {"ledger.py": "def half(amount):\n    return round(amount, 2)\n"})
    return folder


def open_at(folder: Path, tmp_path: Path) -> Satchel:
    return Satchel.open(folder, root=folder, environ={"SATCHEL_HOME": str(tmp_path / "home")})


def remember(folder: Path, tmp_path: Path) -> None:
    with open_at(folder, tmp_path) as satchel:
        satchel.memories.add(FACT, category="decision")
        satchel.experiences.start(
            domain="debugging", strategy="systematic-elimination", goal="find the odd cent", hypothesis="a float",
            action="print the sums", prediction="one differs",
        )  # fmt: skip


@pytest.mark.parametrize("is_cloned", [False, True], ids=["renamed", "cloned anew"])
def test_a_moved_repository_is_told_where_its_memories_are_and_gets_them_back(tmp_path: Path, is_cloned: bool) -> None:
    old, new = make(tmp_path / "project"), tmp_path / "renamed"
    Command(old, tmp_path / "home")("index")
    remember(old, tmp_path)
    if is_cloned:
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", str(old), str(new)], check=True)
        shutil.rmtree(old)
    else:
        old.rename(new)
    run = Command(new, tmp_path / "home")
    note = f"1 memory belongs to {old}, which is gone: `satchel memory move {old}` brings it here"
    assert note in run("memory", "list").err
    asked = run("context", "how does the ledger round")
    assert "`satchel memory list` tells more" in asked.out + asked.err
    assert str(old) not in asked.out
    moved = run("memory", "move", "../project", "--json")
    assert (moved.json["moved"], moved.json["from"]) == (2, "../project"), moved
    assert FACT in run("memory", "list", "--json").json["memories"][0]["content"]
    assert FACT in run("context", "how does the ledger round").out
    assert run("experience", "show").code == 0
    assert "memory move" not in run("memory", "list").err


def test_git_that_is_added_later_does_not_hide_memories(tmp_path: Path) -> None:
    folder = tmp_path / "plain"
    folder.mkdir()
    remember(folder, tmp_path)
    make(folder)
    with open_at(folder, tmp_path) as satchel:
        assert satchel.memories.listed() == []
        (note,) = satchel.memory.lost()
        assert "before git was added or removed" in note
        satchel.memory.move(folder)
        assert [memory.content for memory in satchel.memories.listed()] == [FACT]


def test_only_a_folder_without_memories_and_with_the_same_first_commit_gets_the_note(tmp_path: Path) -> None:
    old = make(tmp_path / "project")
    other = tmp_path / "other"
    TinyRepository(other).commit("Another beginning", {"a.py": "a = 1\n"})
    remember(old, tmp_path)
    copy = shutil.copytree(old, tmp_path / "copy")
    with open_at(copy, tmp_path) as satchel:
        assert satchel.memory.lost() == []  # the old folder is still there
        with pytest.raises(UsageError, match="still exists"):
            satchel.memory.move(old)
    old.rename(tmp_path / "renamed")
    with open_at(other, tmp_path) as satchel:
        assert satchel.memory.lost() == []
        with pytest.raises(UsageError, match="no memories belong to"):
            satchel.memory.move(tmp_path / "nowhere")
    with open_at(copy, tmp_path) as satchel:
        satchel.memories.add("A memory of the copy")
        assert satchel.memory.lost() == []


def test_a_move_that_is_interrupted_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = make(tmp_path / "project"), tmp_path / "renamed"
    remember(old, tmp_path)
    old.rename(new)
    finish: Callable[[Writer], None] = Writer.finish

    def interrupted(writer: Writer) -> None:
        finish(writer)
        raise KeyboardInterrupt

    with open_at(new, tmp_path) as satchel:
        monkeypatch.setattr(Writer, "finish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            satchel.memory.move(old)
        monkeypatch.undo()
        assert len(satchel.memory.lost()) == 1
        assert satchel.memory.move(old) == 2


def test_one_session_has_one_active_experience_after_a_move(tmp_path: Path) -> None:
    old, new = make(tmp_path / "project"), tmp_path / "renamed"
    remember(old, tmp_path)
    old.rename(new)
    remember(new, tmp_path)
    with open_at(new, tmp_path) as satchel, pytest.raises(UsageError, match="resolve the one here"):
        satchel.memory.move(old)


def test_with_an_index_no_git_process_looks_for_lost_memories(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old, new = make(tmp_path / "project"), tmp_path / "renamed"
    remember(old, tmp_path)
    old.rename(new)
    with open_at(new, tmp_path) as satchel:
        satchel.index()
    monkeypatch.setattr(git, "_command", lambda *_: pytest.fail("git runs"))
    with open_at(new, tmp_path) as satchel:
        context = satchel.assemble("how does the ledger round")
    (failure,) = context.failures
    assert sanitize.line(failure.message, 200) == "memories of this folder at an earlier path: 1"
