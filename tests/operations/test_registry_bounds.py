"""Arguments that are far too large: each operation gives a short answer, or refuses in one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from satchel import Satchel
from satchel.errors import SatchelError
from satchel.operations.operation import Operation, Shape
from satchel.operations.registry import OPERATIONS
from tests.e2e.sample import sample_repository

SIZE = 200_000

HUGE: dict[Shape, tuple[Any, ...]] = {
    Shape.TEXT: ("retry x.py:3 " * (SIZE // 13), "a" * SIZE, "*?[" * (SIZE // 3), "(" * SIZE),
    Shape.TEXTS: (["a.py:1-2"] * 10_000, ["**/*?[a-z]*" * 1_000] * 100, ["(" * 1_000], ["{a,b}" * 10_000]),
    Shape.COUNT: (10**9, 10**30),
    Shape.NUMBER: (1e308,),
    Shape.MOMENT: ("9" * 5_000, 10**30),
    Shape.COUNTS: ({str(number): number for number in range(10_000)},),
    Shape.OBJECT: ({"a": [0] * 100_000},),
}

NEEDED: dict[str, dict[str, Any]] = {
    "context_query": {"question": "backoff"},
    "search": {"question": "backoff"},
    "graph_context": {"query": "backoff"},
    "why": {"question": "backoff", "target": "shop/client.py"},
    "document": {"id": "doc:docs/guide.md"},
    "expand": {"handles": ["x"]},
    "remember": {"action": "add", "content": "Prices are kept in cents."},
    "experience": {"action": "list"},
    "premortem": {"domain": "debugging"},
    "situation_context": {"task": "backoff"},
    "replay": {"saved": {}},
}

MAX_CHARACTERS = 40_000
"""A budget of 4,000 tokens has no longer text, and a message is far shorter."""


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("bounds")
    root = sample_repository(folder / "shop").root
    environ = {"SATCHEL_HOME": str(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(root, environ=environ) as opened:
        yield opened


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=OPERATIONS)
def test_what_is_far_too_large_is_answered_briefly_or_refused_in_one_sentence(
    engine: Satchel, operation: Operation
) -> None:
    for parameter in operation.parameters:
        for value in HUGE.get(parameter.shape, ()):
            try:
                text = operation.run(engine, {**NEEDED.get(operation.name, {}), parameter.name: value}).text
            except SatchelError as error:
                text = str(error)
                assert len(text) < 1_000, f"{parameter.name}: {text[:200]}"
            assert len(text) < MAX_CHARACTERS, f"{parameter.name}: {text[:200]}"
