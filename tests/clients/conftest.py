"""A home folder and a folder to work in, and the command line run on them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from satchel.cli.application import run
from satchel.clients import setup


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """Standard output as JSON."""
        return json.loads(self.out)


Satchel = Callable[..., Ran]


@dataclass(frozen=True)
class World:
    """Where settings lie in a test."""

    home: Path
    root: Path


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> World:
    """A home folder and a git work tree, which is the current folder."""
    home, root = tmp_path / "home", tmp_path / "work tree"
    home.mkdir()
    (root / ".git").mkdir(parents=True)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "own"))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(root)
    return World(home, root.resolve())


@pytest.fixture(autouse=True)
def started(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The server that set-up starts once answers, except where a test is about starting it."""
    if "starts" not in request.node.name:
        monkeypatch.setattr(setup, "start_once", lambda _target, _places: (8, ""))


@pytest.fixture
def satchel(world: World, capfd: pytest.CaptureFixture[str]) -> Satchel:  # noqa: ARG001 - it prepares the folders
    """Run one command line in this process."""

    def ran(*arguments: str) -> Ran:
        capfd.readouterr()
        code = run(arguments)
        out, err = capfd.readouterr()
        return Ran(code, out, err)

    return ran
