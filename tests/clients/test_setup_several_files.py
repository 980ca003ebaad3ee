"""Several files at once, and folders in which nothing can be written."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.clients.conftest import Satchel, World
from tests.clients.test_setup import AS, write


def test_removal_takes_all_scopes_that_share_a_file_at_once(world: World, satchel: Satchel) -> None:
    """Claude Code keeps the servers of a user and of each folder in one file."""
    state = write(world.home / ".claude.json", '{\n  "projects": {}\n}\n')
    for scope in ("local", "user", "project"):
        assert satchel("setup", "claude-code", "--scope", scope, "--with-hooks", *AS).code == 0
    assert satchel("remove", "claude-code", "--dry-run").err.count("would remove from ~/.claude.json") == 2
    gone = satchel("remove", "claude-code")
    assert gone.code == 0
    assert gone.err.count("removed from ~/.claude.json") == 2
    assert state.read_text() == '{\n  "projects": {}\n}\n'
    assert [path.name for path in world.root.iterdir()] == [".git"]
    assert [path.name for path in world.home.iterdir()] == [".claude.json"]


def test_folders_that_set_up_made_go_also_where_a_later_file_cannot_be_written(world: World, satchel: Satchel) -> None:
    guarded = write(world.home / ".cursor" / "mcp.json", '{"own": 1}\n')
    assert satchel("setup", "cursor", "--with-hooks", *AS).code == 0
    assert satchel("setup", "cursor", "--scope", "user", *AS).code == 0
    guarded.chmod(0o444)
    failed = satchel("remove", "cursor")
    assert failed.code == 1
    assert "is read-only" in failed.err
    assert [path.name for path in world.root.iterdir()] == [".git"]


@pytest.mark.skipif(sys.platform != "linux", reason="names that are not UTF-8")
def test_a_folder_whose_name_no_settings_file_can_hold_is_told(
    world: World, satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = Path(os.fsdecode(os.fsencode(world.root) + b"\xff"))
    (odd / ".git").mkdir(parents=True)
    (odd / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(odd)
    ran = satchel("setup", "claude-code", *AS)
    assert ran.code == 1
    assert "is not UTF-8; nothing was written" in ran.err
    assert satchel("setup", "claude-code", "--scope", "project", "--json", *AS).json["written"]


@pytest.mark.parametrize("home", ["/", "here"])
def test_a_home_folder_that_is_none_is_refused(home: str, satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", home)
    ran = satchel("setup", "codex", "--dry-run", *AS)
    assert ran.code == 2
    assert f"HOME is {home!r}: set it to the absolute path" in ran.err
