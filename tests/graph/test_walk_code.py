"""A walk over code starts at the definition or file that a name means, and names callers with their lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from satchel.types import Context

FILES = {
    **{f"shop/m{number}.py": "class Other:\n    def get(self):\n        pass\n" for number in range(6)},
    "shop/client.py": (
        "class Client:\n    def get(self):\n        return 1\n\n    def run(self):\n        return self.get()\n"
    ),
    "shop/use.py": "from shop.client import Client\n\n\ndef use():\n    made = Client()\n    return made.get()\n",
    "tests/test_client.py": "from shop.client import Client\n\n\ndef test_get():\n    assert Client().get() == 1\n",
}


@pytest.fixture
def satchel(tmp_path: Path) -> Iterator[Satchel]:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Add the shop", FILES)
    repository.commit("Update dev dependencies", {"shop/client.py": FILES["shop/client.py"] + "\n\nX = 1\n"})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        opened.index()
        yield opened


def names(context: Context) -> list[str]:
    return [item.metadata["node"]["name"] for item in context.items]


def test_callers_come_with_their_line_production_code_before_tests_and_no_commits(satchel: Satchel) -> None:
    context = satchel.graph("Client.get", lens="impact", depth=1)
    assert names(context) == ["Client.get", "Client.run", "use", "test_get"]
    assert "calls (in) at line 6 > Client.run" in context.text
    assert context.items[2].metadata["node"]["path"][0]["line"] == 6


def test_implementations_are_what_inherits_and_overrides(satchel: Satchel, tmp_path: Path) -> None:
    heir = "from shop.client import Client\n\n\nclass Fast(Client):\n    def get(self):\n        return 2\n"
    TinyRepository(tmp_path / "shop").commit("Add an heir", {"shop/fast.py": heir})
    satchel.index()
    assert names(satchel.graph("Client", lens="implementations")) == ["Client", "Fast"]
    assert names(satchel.graph("Client.get", lens="implementations")) == ["Client.get", "Fast.get"]


def test_calls_by_text_that_could_not_be_told_are_noted(satchel: Satchel, tmp_path: Path) -> None:
    text = "def run(thing):\n    return thing.get()\n\n\nclass Other:\n    def get(self):\n        return 1\n"
    TinyRepository(tmp_path / "shop").commit("Call something", {"shop/unknown.py": text})
    satchel.index()
    warnings = satchel.graph("Client.get", lens="impact", depth=1).meta["warnings"]
    assert "Client.get: 1 more call of `get` by text could not be resolved: shop/unknown.py:2" in warnings


def test_what_is_only_named_has_its_place(satchel: Satchel) -> None:
    for budget in (300, 260, 220):
        text = satchel.graph("Client.get", lens="impact", depth=1, max_tokens=budget).text
        if "## Also related" in text:
            break
    assert "- test_get, tests/test_client.py:5 (" in text


def test_the_end_of_a_path_is_the_file(satchel: Satchel) -> None:
    assert satchel.graph("client.py", lens="impact", depth=1).items[0].metadata["node"]["location"] == {
        "file": "shop/client.py",
        "lines": "1-1",
    }
    assert satchel.graph("client.py::Client.get", lens="impact").meta["sources"] == [1]


@pytest.mark.parametrize("name", ["get", "Other.get"])
def test_an_ambiguous_name_is_a_list_to_choose_from(satchel: Satchel, name: str) -> None:
    context = satchel.graph(name, lens="impact", depth=1, max_tokens=600)
    assert context.meta["sources"] == [5]
    count = 7 if name == "get" else 6
    note = f"'{name}' is the name of {count} places: the first 5 are followed; name one with its path"
    assert note in context.meta["warnings"]
    assert all(f"shop/m{number}.py" in context.text for number in range(6))
    assert satchel.graph("m4.py::Other.get", depth=1).meta["sources"] == [1]


@pytest.mark.parametrize(("name", "is_absent"), [("getClient", True), ("Shop.client", False), ("client", False)])
def test_a_name_that_is_nowhere_is_told_before_what_its_words_match(
    satchel: Satchel, name: str, *, is_absent: bool
) -> None:
    context = satchel.graph(name)
    assert context.items
    told = f"nothing here is called '{name}': what its words match is shown"
    assert (told in context.meta["warnings"], told in context.text) == (is_absent, is_absent)


def test_an_ambiguous_end_of_a_path_is_a_list_too(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "many")
    repository.commit("Add packages", {f"p{number}/index.ts": f"export const x{number} = 1\n" for number in range(7)})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        context = opened.graph("index.ts", depth=1)
        assert "'index.ts' is the name of 7 places" in context.text
        assert all(f"p{number}/index.ts" in context.text for number in range(7))
        assert opened.graph("p3/index.ts", depth=1).meta["sources"] == [1]
