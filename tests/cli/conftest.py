from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from satchel.cli.application import run
from satchel.testing import TinyRepository

FILES = {
    "shop/client.py": '''"""Talking to the server."""


def send_order(order: str) -> str:
    """Send an order, trying again with backoff when the connection drops."""
    return order


def backoff(attempt: int) -> float:
    """Seconds to wait before the next attempt."""
    return 0.1 * 2**attempt
''',
    "shop/prices.py": '''def discount(price: float, percent: float) -> float:
    """The price after a discount."""
    return price * (1 - percent / 100)
''',
    "docs/guide.md": "# Guide\n\n## Retrying\n\nOrders are sent again with exponential backoff.\n",
    "logo.png": "\x89PNG\0\0",
}


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


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Folders of satchel of their own."""
    folder = tmp_path / "home"
    monkeypatch.setenv("SATCHEL_HOME", str(folder))
    return folder


@pytest.fixture
def shop(tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> TinyRepository:
    """A small repository, in which the commands run."""
    assert home.parent == tmp_path
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Wait exponentially between attempts", FILES)
    monkeypatch.chdir(repository.root)
    return repository


@pytest.fixture
def satchel(home: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Satchel:
    """Runs a command line in this process, which does not say how long this machine took."""
    assert home
    monkeypatch.setattr("satchel.cli.session.PATIENCE_SECONDS", 3_600.0)

    def command(*arguments: str) -> Ran:
        code = run(arguments)
        shown = capfd.readouterr()
        return Ran(code, shown.out, shown.err)

    return command
