"""Bodies of functions that are not read change no answer: they are read when something in them is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain, pairwise
from typing import TYPE_CHECKING

import pytest

from satchel.search.resolve.code import SourceFile, place_of
from satchel.search.resolve.unparsed import Units
from satchel.sources.code import deferrable
from satchel.sources.code.languages import grammar
from satchel.sources.code.outline import outline
from satchel.sources.code.parse import syntax_tree
from satchel.store.records import Document
from satchel.types import Kind
from tests.search.conftest import Open

if TYPE_CHECKING:
    from tree_sitter import Node

FILES: Mapping[str, str] = {
    "python": (
        "import re\n\n\ndef first(text):\n    found = helper(\n        text)\n    return found\n\n\n"
        "class Shop:\n    def __init__(self, name):\n        self.name = Name(name)\n\n"
        "    @property\n    def label(self):\n        from .labels import Label\n        return Label(self.name)\n"
    ),
    "typescript": (
        "export function first(text: string) {\n  return helper(text)\n}\n\n"
        "export class Shop {\n  constructor(private name: string) {\n    this.name = name\n  }\n"
        "  label = () => {\n    return first(this.name)\n  }\n}\n"
    ),
    "javascript": (
        "function first(text) {\n  return `${helper(text)}`\n}\nconst last = function () { return { a: 1 } }\n"
    ),
    "go": "package shop\n\nfunc First(text string) string {\n\tif ok := check(text); ok {\n\t}\n\treturn text\n}\n",
    "java": (
        'class Shop {\n  Shop() { this.name = "a"; }\n  String label() {\n    return new Name(name).get();\n  }\n}\n'
    ),
}


@pytest.fixture(autouse=True)
def short_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferrable, "MIN_BODY", 2)
    monkeypatch.setattr(deferrable, "MIN_FUNCTION", 2)


def nodes_of(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from nodes_of(child)


@pytest.mark.parametrize("language", FILES)
def test_nodes_outside_of_unparsed_functions_are_those_of_the_whole_text(language: str) -> None:
    source, functions = FILES[language].encode(), outline(FILES[language], language).functions
    bodies = [(body, end) for _, body, end in functions]
    closed = [(body, end) for first, body, end in functions if first == body]
    left_out = [(first, end) for first, body, end in functions if first < body]
    whole = syntax_tree(source, grammar(language), language)
    with_heads, part = (
        syntax_tree(source, grammar(language), language, *unread) for unread in ((bodies,), (closed, left_out))
    )
    assert functions
    assert whole is not None
    assert with_heads is not None
    assert part is not None

    def outside(root: Node, unread: list[tuple[int, int]]) -> list[tuple[int, int, str]]:
        places = map(place_of, nodes_of(root))
        return [place for place in places if not any(start <= place[0] and place[1] <= end for start, end in unread)]

    assert outside(with_heads.root_node, bodies) == outside(whole.root_node, bodies)
    assert outside(part.root_node, closed + left_out) == outside(whole.root_node, closed + left_out)
    assert len([*nodes_of(part.root_node)]) < len([*nodes_of(whole.root_node)])


def test_a_function_inside_of_another_one_and_a_short_one_are_not_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def outer():\n    def inner():\n        return 1\n    return inner\n"
    assert outline(text, "python").functions == ((text.index("def inner"), text.index("def inner"), len(text) - 1),)
    monkeypatch.setattr(deferrable, "MIN_BODY", 200)
    monkeypatch.setattr(deferrable, "MIN_FUNCTION", 100)
    assert outline(text, "python").functions == ()


def test_a_function_that_its_class_or_condition_needs_is_not_left_out_but_its_body_may_be() -> None:
    text = (
        "class Shop:\n    @cached\n    # often\n    @typed\n    def first(self):\n        return 1\n\n"
        "    @cached\n    # often\n    @typed\n    def second(self):\n        return 2\n\n"
        "    def third(self):\n        return 3\n\n"
        "if True:\n    def fourth():\n        return 4\n"
    )
    first, second, third, fourth = outline(text, "python").functions
    assert first[:2] == (text.index("return 1"), text.index("return 1"))
    assert second[:2] == (text.rindex("@cached"), text.index("return 2"))
    assert third[:2] == (text.index("return 3"), text.index("return 3"))
    assert fourth[:2] == (text.index("return 4"), text.index("return 4"))


def test_no_function_of_a_file_with_a_syntax_error_is_noted() -> None:
    assert outline("def one():\n    return 1\n\n\ndef two(:\n    return 2\n", "python").functions == ()


SHOP_FILE = (
    "import os\nimport re\n\nfrom names import (\n    Name,\n)\n\nlimit = 3; other = 4\n# how many\nprices, taxes = {\n"
    "    'a': limit}, ()\n\n\n@final\nclass Shop(Base):\n    'Sells.'\n\n    one: Name = Name(1)\n"
    "    two, three = 2, 3\n\n    class Till:\n        money = 1\n        key = Name(2)\n        last = 3\n\n"
    "    def first(self):\n        return prices\n\n    def last(self):\n        return self.one\n\n\nif prices:\n\n"
    "    def given(price):\n"
    "        return price\n\nshop = Shop()\n\n\nclass Last:\n    pass\n"
)


@pytest.fixture
def all_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deferrable, "MIN_STATEMENTS", 1)
    monkeypatch.setattr(deferrable, "MAX_STATEMENTS", 1)


@pytest.mark.usefixtures("all_statements")
def test_classes_and_statements_are_left_out_but_for_what_begins_a_file_and_begins_or_ends_a_class() -> None:
    found, source = outline(SHOP_FILE, "python"), SHOP_FILE.encode()
    assert [source[first:body].split()[-1] for first, body, _ in found.classes] == [b"Shop(Base):", b"Till:", b"Last:"]
    assert [source[first:end].decode() for first, end in found.statements] == [
        "import re", "from names import (\n    Name,\n)", "limit = 3; other = 4", "# how many",
        "prices, taxes = {\n    'a': limit}, ()", "one: Name = Name(1)", "two, three = 2, 3", "key = Name(2)",
        "if prices:\n\n    def given(price):\n        return price", "shop = Shop()",
    ]  # fmt: skip


@pytest.mark.usefixtures("all_statements")
def test_nodes_outside_of_what_is_left_out_are_those_of_the_whole_text() -> None:
    source, fields = SHOP_FILE.encode(), fields_of(SHOP_FILE)
    units = Units(source, fields)
    whole = syntax_tree(source, grammar("python"), "python")
    assert whole is not None
    for read in [(), *((part,) for part in sorted(units.parts)), (units.bodies,)]:
        holes = units.holes(units.parts.difference(*({part} if isinstance(part, tuple) else part for part in read)))
        tree = syntax_tree(source, grammar("python"), "python", *holes)
        assert tree is not None
        left = [*holes.closed, *holes.left_out]
        places = (
            [
                place
                for place in map(place_of, nodes_of(root))
                if not any(a <= place[0] and place[1] <= b for a, b in left)
            ]
            for root in (tree.root_node, whole.root_node)
        )
        assert next(places) == next(places)


@pytest.mark.usefixtures("all_statements")
def test_what_binds_a_name_for_the_whole_file_is_read_for_it_and_nothing_else() -> None:
    def read(name: str) -> list[str]:
        return [
            SHOP_FILE.encode()[node.start_byte :].decode()[:7] for node in file_of(SHOP_FILE).occurrences_parsed(name)
        ]

    assert read("prices") == ["prices,", "prices:"]
    assert read("Shop") == ["Shop(Ba", "Shop()\n"]
    assert read("Name") == read("first") == read("money") == []


@pytest.mark.usefixtures("all_statements")
def test_fields_of_a_class_that_no_value_follows_are_found_and_so_are_those_of_a_class_inside() -> None:
    file = file_of(SHOP_FILE)
    assert [node.start_point[0] + 1 for node in file.occurrences_given("two", 0, len(SHOP_FILE))] == [19]
    assert [node.start_point[0] + 1 for node in file.occurrences_given("key", 0, len(SHOP_FILE))] == [23]
    assert file.occurrences_given("price", 0, len(SHOP_FILE)) != []
    assert [node.start_point[0] + 1 for node in file.occurrences("one")] == [18, 30]


@pytest.mark.parametrize("last", ["    # deeper\n", "limit = 1\n    shop = 3\n"], ids=["comment", "statement"])
def test_nothing_is_left_out_of_a_file_whose_blocks_have_something_in_another_column(last: str) -> None:
    text = "import os\n\n\ndef first():\n    return 1\n\n\ndef second():\n    return 2\n# at the left\n\n"
    assert outline(text, "python").functions != ()
    uneven = outline(text + last, "python")
    assert (uneven.functions, uneven.classes, uneven.statements) == ((), (), ())


def test_statements_that_share_a_line_with_an_import_are_read_with_what_is_around() -> None:
    text = "first = 1\nimport os; shop = os.environ\nimport re; import sys\nlast = 'a long text' * 20\n"
    assert [text[first:end] for first, end in outline(text, "python").statements] == []


def fields_of(text: str) -> dict[str, list[int]]:
    found = outline(text, "python")
    return {
        name: [after - before for before, after in pairwise([0, *chain.from_iterable(places)])]
        for name, places in (
            ("functions", found.functions), ("classes", found.classes), ("statements", found.statements)
        )
    }  # fmt: skip


def file_of(text: str) -> SourceFile:
    document = Document(
        1, Kind.CODE, "shop.py", "python", "", 0, 0, 0, 0, secondary=False, title="", tags=(),
        fields=fields_of(text), created=0.0, updated=0.0, importance=None, origin="", first_chunk=1, last_chunk=1,
    )  # fmt: skip
    return SourceFile(document, text.encode())


def test_an_occurrence_in_an_unparsed_body_is_found_when_it_is_asked_for() -> None:
    text = FILES["python"]
    file = file_of(text)
    assert file.occurrences_parsed("found") == []
    assert [node.start_byte for node in file.occurrences("found")] == [text.index("found"), text.rindex("found")]
    assert len(file.occurrences_parsed("found")) == 2


def test_the_name_of_a_function_that_is_left_out_is_found_and_its_body_is_not_read() -> None:
    text = f"{FILES['python']}\n\ndef other(given):\n    return first(given)\n" + "made = 1\n" * 2_000
    file = file_of(text)
    assert [node.start_byte for node in file.occurrences_parsed("first")] == [text.index("first")]
    assert file.occurrences_parsed("given") == []
    assert len(file.occurrences("given")) == 2


SHOP = {
    "shop/names.py": "class Name:\n    def get(self):\n        return 1\n",
    "shop/labels.py": "class Label:\n    def show(self):\n        return 2\n",
    "shop/shop.py": (
        "from .names import Name\n\n\nclass Shop:\n    def __init__(self):\n        self.name = Name()\n\n"
        "    def first(self):\n        return self.name.get()\n\n"
        "    def second(self):\n        from .labels import Label\n\n"
        "        made = Label()\n        return made.show()\n\n"
        "    def make(self):\n        return Name()\n\n    def third(self):\n        return self.make().get()\n"
    ),
}


def test_calls_through_fields_results_and_inner_imports_resolve_in_unparsed_bodies(open_files: Open) -> None:
    code = open_files(SHOP)
    assert code.callers("shop/names.py::Name.get") == ["shop/shop.py:9", "shop/shop.py:21"]
    assert code.callers("shop/labels.py::Label.show") == ["shop/shop.py:15"]


def test_a_call_by_another_name_that_an_import_in_a_function_gives_is_found(open_files: Open) -> None:
    again = "def show():\n    from shop.names import (\n        Name as Title,\n    )\n\n    return Title()\n"
    code = open_files({**SHOP, "shop/again.py": again})
    assert "shop/again.py:6" in code.callers("shop/names.py::Name")
