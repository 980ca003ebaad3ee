"""A configuration that includes anything, and a git that says nothing."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from satchel.errors import GitError
from satchel.system.git import Repository, find_repository, run
from tests.repositories import commit, new_repository


def found(path: Path) -> Repository:
    repository = find_repository(path)
    assert repository is not None
    return repository


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A repository with a commit."""
    tree = new_repository(tmp_path / "tree")
    commit(tree, "first", {"src/a.py": "x = 1\n"})
    return tree


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("config", "[include]\n\tpath = ../pipe\n"),
        ("config", "[include] path = ../pipe\n"),
        ("config", "[core][Include]\n\tpath = ../pipe ; x\n"),
        ("config", '[include]\n\tpath = "../pi"pe\n'),
        ("config", "[include]\n\tpath = ../pi\\\npe\n"),
        ("config", '[includeIf "gitdir:/"]\n\tpath = other\n'),
        ("config.worktree", "[include]\n\tpath = ../pipe\n"),
    ],
)
def test_a_configuration_that_includes_anything_is_refused_unread(tree: Path, name: str, text: str) -> None:
    os.mkfifo(tree / "pipe")
    file = tree / ".git" / name
    file.write_text((file.read_text() if file.exists() else "") + text)
    with pytest.raises(GitError, match="includes other files"):
        run(found(tree), "log", timeout=60)


def test_a_configuration_that_cannot_be_examined_is_refused(tree: Path) -> None:
    (tree / ".git" / "config").write_text("#" * (1 << 20) + "\n[include]\n\tpath = x\n")
    with pytest.raises(GitError, match="cannot be examined"):
        run(found(tree), "log", timeout=60)


def test_a_git_that_was_silent_is_not_waited_for_twice(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "git"
    silent.write_text("#!/bin/sh\nexec tail -f /dev/null\n")
    silent.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    with pytest.raises(GitError, match=r"no output for 0\.6 seconds"):
        run(found(tree), "log", timeout=0.6)
    with pytest.raises(GitError, match=r"no output for 0\.5 seconds"):
        run(found(tree), "log", timeout=60)
