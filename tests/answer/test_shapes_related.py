"""What stands around a shown definition, with places that are true now."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from satchel import Satchel
from satchel.answer import shapes
from satchel.operations.ask import CONTEXT_QUERY
from satchel.operations.operation import Caller
from satchel.testing import TinyRepository
from satchel.types import Context, Format
from tests.e2e.sample import CLIENT, sample_repository
from tests.oracle import o200k

QUESTION = "backoff of send_order in the Client, test_backoff_doubles"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    return sample_repository(tmp_path / "shop")


@pytest.fixture
def satchel(repository: TinyRepository) -> Iterator[Satchel]:
    with Satchel.open(repository.root) as opened:
        opened.index()
        yield opened


def around(context: Context) -> dict[str, dict[str, list[str]]]:
    """`name at path:line` of every neighbour, by shown definition and relation."""
    rows: dict[str, Any] = {}
    for item in context.items:
        rows |= item.metadata.get("related", {})
    return {
        name: {
            relation: [f"{one['name']} at {one['path']}:{one['line']}" for one in listed]
            for relation, listed in relations.items()
        }
        for name, relations in rows.items()
    }


def ask(satchel: Satchel, question: str = QUESTION, **options: Any) -> Context:
    return satchel.assemble(question, types=["code"], refresh=False, max_tokens=2000, fill=True, **options)


def test_neighbours_are_told_only_when_they_are_asked_for(satchel: Satchel) -> None:
    assert not around(ask(satchel))
    assert around(ask(satchel, related=True))


LINE = (
    "Related: backoff: called by Client.send_order (shop/client.py:19); "
    "tested by test_backoff_doubles (tests/test_client.py:5)"
)


def test_the_text_of_every_door_names_them_within_the_budget(satchel: Satchel, repository: TinyRepository) -> None:
    assert LINE in ask(satchel, related=True).text
    asked = {"question": QUESTION, "types": ["code"], "max_tokens": 2000, "related": True, "fill": True}
    assert LINE in CONTEXT_QUERY.run(satchel, asked, Caller()).text
    with Satchel.open(repository.root) as opened:
        assert LINE in opened.context_query(QUESTION, include_types=["code"], related=True, fill=True).context
    for layout in Format:
        for budget in (60, 150, 300, 500, 900):
            options: dict[str, Any] = {"max_tokens": budget, "format": layout, "related": True}
            context = satchel.assemble(QUESTION, types=["code"], refresh=False, **options)
            assert context.usage.used == o200k(context.text) <= budget


def test_a_pinned_file_has_neighbours_too(satchel: Satchel) -> None:
    context = satchel.assemble("qwertz", types=["code"], include=["shop/client.py"], related=True, refresh=False)
    assert context.items
    found = around(satchel.assemble(QUESTION, include=["shop/client.py:1-40"], related=True, refresh=False))
    assert any("backoff at shop/client.py:26" in row["callees"] for row in found.values())


def test_implementations_are_heirs_and_overriding_methods(satchel: Satchel, repository: TinyRepository) -> None:
    classes = (
        "class Port:\n    def send(self):\n        pass\n\n\nclass Mail(Port):\n    def send(self):\n        return 1\n"
    )
    repository.commit("Add ports", {"shop/ports.py": classes})
    satchel.index()
    found = around(ask(satchel, "which class implements the send of Port", related=True))
    assert found["Port.send"]["implementations"] == ["Mail.send at shop/ports.py:7"]


def test_container_callees_callers_and_tests_are_named_with_their_places(satchel: Satchel) -> None:
    found = around(ask(satchel, related=True))
    assert found["Client.send_order"] == {
        "container": ["Client at shop/client.py:8"],
        "callees": [
            "Client._post at shop/client.py:22",
            "backoff at shop/client.py:26",
            "RetryError at shop/errors.py:1",
        ],
        "implementations": [],
        "callers": [],
        "tests": [],
    }
    assert found["backoff"] == {
        "container": [],
        "callees": [],
        "implementations": [],
        "callers": ["Client.send_order at shop/client.py:19"],
        "tests": ["test_backoff_doubles at tests/test_client.py:5"],
    }
    assert found["test_backoff_doubles"]["callees"] == ["backoff at shop/client.py:26"]


def test_places_in_a_file_that_changed_are_those_of_now(satchel: Satchel, repository: TinyRepository) -> None:
    edited = "import os\n\n" + CLIENT.replace("def _post", "def _transmit")
    repository.write({"shop/client.py": edited})
    repository.remove("shop/errors.py")
    found = around(ask(satchel, related=True))
    assert found["Client.send_order"]["callees"] == [
        "Client._post at shop/client.py:0",
        "backoff at shop/client.py:28",
        "RetryError at shop/errors.py:0",
    ]


def test_calls_in_a_file_that_changed_are_where_their_line_is_now(satchel: Satchel, repository: TinyRepository) -> None:
    repository.write({"shop/client.py": "import os\n\n" + CLIENT, "tests/test_client.py": "print()\n"})
    found = around(ask(satchel, related=True))
    assert found["backoff"]["callers"] == ["Client.send_order at shop/client.py:21"]
    assert found["backoff"]["tests"] == ["test_backoff_doubles at tests/test_client.py:0"]


def test_the_nearest_come_first_and_the_rest_is_left_out(tmp_path: Path) -> None:
    call = "from a.price import price\n\n\ndef use_{}():\n    return price()\n"
    repository = TinyRepository(tmp_path / "many")
    repository.commit(
        "Add",
        {
            "a/price.py": "def price():\n    return 1\n\n\ndef beside():\n    return price()\n",
            "a/near.py": call.format("near"),
            "a/b/deeper.py": call.format("deeper"),
            "z/main.py": "from a.price import price\n\nprice()\n",
            **{f"c/d/e/far_{number}.py": call.format(f"far_{number}") for number in range(9)},
        },
    )
    with Satchel.open(repository.root) as satchel:
        satchel.index()
        callers = around(ask(satchel, "price in a/price.py", related=True))["price"]["callers"]
    assert len(callers) == shapes.RELATED
    assert callers[:4] == [
        "beside at a/price.py:6",
        "use_near at a/near.py:5",
        "use_deeper at a/b/deeper.py:5",
        "z/main.py at z/main.py:3",
    ]


def test_a_name_that_many_define_is_followed_inside_its_own_file_only(tmp_path: Path) -> None:
    text = "def run():\n    return 1\n\n\ndef start():\n    return run()\n"
    repository = TinyRepository(tmp_path / "common")
    repository.commit("Add", {f"part_{number}.py": text for number in range(8)})
    with Satchel.open(repository.root) as satchel:
        satchel.index()
        found = around(ask(satchel, "run in part_3.py", related=True, limit=1))
    assert found["run"]["callers"] == ["start at part_3.py:6"]
