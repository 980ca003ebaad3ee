from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel.cli.application import run
from satchel.engine import Satchel
from satchel.operations.operation import Answered
from satchel.operations.registry import OPERATIONS
from satchel.testing import TinyRepository

FILES = {
    "shop/client.py": '''def send_order(order: str) -> str:
    """Send an order, trying again with backoff when the connection drops."""
    wait(backoff(1))
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
    "AGENTS.md": "Never round prices.\n",
}

Ask = Callable[..., Answered]
Printed = Callable[..., Any]


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small repository with folders of satchel of its own; the current folder is there."""
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop-repository")
    repository.commit("Send orders again with backoff", FILES)
    monkeypatch.chdir(repository.root)
    return repository.root


@pytest.fixture
def engine(root: Path) -> Iterator[Satchel]:
    """The engine of that repository."""
    with Satchel.open(root) as opened:
        yield opened


@pytest.fixture
def ask(engine: Satchel) -> Ask:
    """Run an operation by its name."""
    return lambda name, **arguments: OPERATIONS[name].run(engine, arguments)


@pytest.fixture
def printed(root: Path, capsys: pytest.CaptureFixture[str]) -> Printed:
    """What a command line prints, as JSON."""
    assert root == Path.cwd()

    def as_json(*arguments: str) -> Any:
        capsys.readouterr()
        assert run([*arguments, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return as_json


def stable(envelope: Any) -> Any:
    """An envelope as it is sent, without durations: no two runs take the same time."""
    plain = json.loads(json.dumps(envelope))
    plain.get("meta", {}).pop("timings", None)
    return plain
