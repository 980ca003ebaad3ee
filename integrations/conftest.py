"""What the tests of the integrations share: a small project, and the program that each README shows."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import ContextItem, Satchel
from satchel.testing import TinyRepository

FILES = {
    "shop/client.py": '"""Talking to the server."""\n\n\ndef send_order(order, attempts=3):\n'
    '    """Send an order again when the connection drops."""\n    for attempt in range(attempts):\n'
    "        if post(order):\n            return True\n        wait(backoff(attempt))\n    return False\n\n\n"
    'def backoff(attempt):\n    """Seconds to wait before the next attempt."""\n    return 0.1 * 2**attempt\n',
    "docs/guide.md": "# Guide\n\n## Retrying\n\nOrders are sent again with exponential backoff.\n",
}


@pytest.fixture(scope="session")
def question() -> str:
    """A question that the code, the guide and a memory of the project answer."""
    return "why is an order sent again with exponential backoff when the connection drops?"


@pytest.fixture(scope="session")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    """The project with its index and a memory. Tests only ask it."""
    folder = tmp_path_factory.mktemp("integration")
    repository = TinyRepository(folder / "shop")
    repository.commit("Send orders again with exponential backoff", FILES)
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as opened:
        opened.memories.add("An order is sent again with exponential backoff because the connection drops often.")
        opened.index()
        yield opened


@pytest.fixture
def folder(engine: Satchel, monkeypatch: pytest.MonkeyPatch) -> str:
    """The project, as somebody names it who has no engine."""
    monkeypatch.setenv("SATCHEL_HOME", str(engine.places.state.parent))
    return str(engine.places.root)


@pytest.fixture
def by_relevance(engine: Satchel) -> Callable[..., list[ContextItem]]:
    """The items of a context in the order in which every integration gives them."""
    return lambda query, **options: sorted(engine.assemble(query, **options).items, key=lambda item: -item.relevance)


@pytest.fixture
def expected(by_relevance: Callable[..., list[ContextItem]], question: str) -> list[tuple[str, str, dict[str, Any]]]:
    """The id, text and metadata of each item that answers the question within 500 tokens."""
    items = by_relevance(question, max_tokens=500)
    assert {item.source for item in items} >= {"code", "memory"}
    return [(item.id, item.content, _metadata(item)) for item in items]


def _metadata(item: ContextItem) -> dict[str, Any]:
    return {
        "id": item.id,
        "kind": item.source,
        "path": item.location.path if item.location else "",
        "lines": ",".join(f"{start}-{end}" for start, end in item.spans),
        "title": item.title,
        "score": item.relevance,
        "tokens": item.tokens,
        "handle": item.handle,
        "trust": "data",
    }


@pytest.fixture
def readme(request: pytest.FixtureRequest, folder: str) -> dict[str, Any]:
    """The variables of the program in the README of the integration, after it ran in the project."""
    page = (Path(request.path).parents[1] / "README.md").read_text(encoding="utf-8")
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    variables: dict[str, Any] = {}
    with contextlib.chdir(folder):
        exec(compile(program, "README.md", "exec"), variables)
    return variables
