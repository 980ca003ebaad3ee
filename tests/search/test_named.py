"""Everyday words are names where they stand as names and a definition has them; the meant definition comes first."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.testing import TinyRepository
from satchel.types import Context

MANY = 40
FILES = {
    "depot/core.py": "def get(shelf, parcel):\n    return shelf.find(parcel)\n\n\ndef any(parcels):\n    return 1\n",
    "depot/shelf.py": "class Shelf:\n    def make(self, size):\n        return size\n\n\n"
    "class Box:\n    def make(self, wood):\n        return wood\n",
    "depot/state.py": "".join(f"LIMIT_{number} = {number}\n" for number in range(30)) + "g = dict(places=())\n",
    **{
        f"depot/room_{number}.py": f"from depot.core import get\n\n\ndef open_room_{number}(shelf):\n"
        + "    get(shelf, 1)\n" * 9
        for number in range(MANY)
    },
}


@pytest.fixture(scope="module")
def satchel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("named")
    repository = TinyRepository(folder / "parcels")
    repository.commit("Open the depot", FILES)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(folder / "home")}) as engine:
        engine.index()
        yield engine


def first(context: Context) -> tuple[str, str]:
    item = context.items[0]
    return item.title, item.content


@pytest.mark.parametrize(
    "question",
    [
        "where is `get` defined",
        "what does get() return",
        "what does the function get in depot/core.py return",
        "explain `core.get`",
        "what does core.get do",
        "the method get",
    ],
)
def test_a_name_that_every_file_calls_leads_to_its_definition(satchel: Satchel, question: str) -> None:
    for purpose in ("find", "read"):
        context = satchel.assemble(question, purpose=purpose, types=["code"])
        path, content = first(context)
        assert (path, context.meta["weak"]) == ("depot/core.py", False)
        assert "def get(shelf, parcel):" in content


def test_why_explains_an_everyday_name_as_the_answer_shows_it(satchel: Satchel) -> None:
    standing = satchel.why("depot/core.py", "where is `get` defined")[0]
    assert (standing.is_shown, standing.rank > 0, standing.reason) == (True, True, "")


def test_who_calls_an_everyday_word_is_told(satchel: Satchel) -> None:
    for question in ("who calls get()", "who calls the function get"):
        (told,) = satchel.assemble(question, types=["code"]).meta["callers"]
        assert (told["name"], told["path"], told["calls"]) == ("get", "depot/core.py", 9 * MANY)


def test_a_single_letter_is_a_name_and_its_own_line_is_shown(satchel: Satchel) -> None:
    path, content = first(satchel.assemble("where is `g` defined", purpose="find", types=["code"]))
    assert path == "depot/state.py"
    assert "g = dict(places=())" in content


@pytest.mark.parametrize("question", ["what does `make` of a Shelf return", "explain `Shelf.make`", "Shelf.make(9)"])
def test_the_owner_that_the_question_names_tells_which_definition_is_meant(satchel: Satchel, question: str) -> None:
    hits = satchel.search(question, types=["code"])
    assert hits[0].chunk.title == "Shelf.make"


def test_of_many_definitions_the_one_in_the_named_file_or_of_the_named_owner_comes_first(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "rooms")
    body = (
        "class Room{0}:\n    def make(self):\n        return {0}\n\n    def makes(self):\n        return self.make()\n"
    )
    repository.commit("Build", {f"rooms/room_{number}.py": body.format(number) for number in range(MANY)})
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        for question in ("the method make in rooms/room_23.py", "what does `Room23.make` return", "make() of Room23"):
            assert engine.search(question, types=["code"])[0].chunk.title == "Room23.make"
        assert not engine.assemble("where is `make` defined", types=["code"]).meta["weak"]


def test_a_named_definition_comes_before_a_file_with_several_that_match_as_well(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "binding")
    names = ("body", "cookie", "form", "header", "page", "query", "user", "zone")
    bound = "def must_{0}(request, must):\n    must.must(request, {0!r})\n    return request.must({0!r})\n\n\n"
    checks = "".join(f"def check_{name}_{number}(error):\n    return 1\n\n\n" for name in names for number in range(3))
    repository.commit(
        "Bind",
        {
            "binding/must.py": "".join(map(bound.format, names)),
            "binding/check.py": checks + "def must(error):\n    if error:\n        raise error\n",
        },
    )
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        path, content = first(engine.assemble("where is `must` defined", purpose="find", types=["code"]))
    assert (path, "def must(error):" in content) == ("binding/check.py", True)


def test_a_word_that_no_definition_has_and_a_word_in_a_sentence_are_no_names(satchel: Satchel) -> None:
    plain = satchel.assemble("which rooms does the shelf open", types=["code"])
    for question in ("which rooms does the shelf `then` open", "which rooms does the shelf open when (any) get it"):
        assert [item.title for item in satchel.assemble(question, types=["code"]).items[:3]] == [
            item.title for item in plain.items[:3]
        ]


RUBY = {
    "lib/shop/basket.rb": "module Shop\n  # What a visitor wants to buy.\n  class Basket\n    def initialize(owner)\n"
    "      @owner = owner\n    end\n"
    + "".join(f"\n    def {name}(item)\n      @items.{name}(item)\n    end\n" for name in ("add", "remove", "count"))
    + "  end\nend\n",
    **{
        f"lib/shop/ext/{name}.rb": f"module Shop\n  class Basket\n    def to_{name}(basket)\n      {name}(basket)\n"
        "    end\n  end\nend\n"
        for name in ("audit", "cache", "export", "json", "mail", "tax", "xml")
    },
    "src/Reader.cs": "namespace Docs {\n  public partial class Reader {\n"
    "    public Reader(Stream input) { this.input = input; }\n    public int Depth() { return depth; }\n  }\n}\n",
    **{
        f"src/Reader.{name}.cs": f"namespace Docs {{\n  public partial class Reader {{\n"
        f"    public object Read{name}(Reader reader) {{ return reader.Read{name}(reader); }}\n  }}\n}}\n"
        for name in ("Async", "Binary", "Dates", "Links", "Numbers")
    },
}


def test_a_class_that_many_files_open_again_is_listed_with_its_definition_first(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "market")
    repository.commit("Open the market", RUBY)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        for question, path in (
            ("where is the class Basket defined", "lib/shop/basket.rb"),
            ("what is Shop::Basket", "lib/shop/basket.rb"),
            ("`Basket`", "lib/shop/basket.rb"),
            ("what does the class Reader read", "src/Reader.cs"),
            ("explain Docs.Reader", "src/Reader.cs"),
        ):
            hit = engine.search(question, types=["code"])[0]
            assert (question, hit.chunk.location and hit.chunk.location.path) == (question, path)
