"""Bodies of functions that are not read change no answer: they are read when something in them is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import pytest

from satchel.search.resolve.code import SourceFile, place_of
from satchel.sources.code import outline as outlines
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
    monkeypatch.setattr(outlines, "MIN_BODY", 2)
    monkeypatch.setattr(outlines, "LEAST_FUNCTION", 2)


def nodes_of(node: Node) -> Iterator[Node]:
    yield node
    for child in node.children:
        yield from nodes_of(child)


@pytest.mark.parametrize("language", FILES)
def test_nodes_outside_of_unread_functions_are_those_of_the_whole_text(language: str) -> None:
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
    monkeypatch.setattr(outlines, "MIN_BODY", 200)
    monkeypatch.setattr(outlines, "LEAST_FUNCTION", 100)
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


def file_of(text: str) -> SourceFile:
    offsets = [offset for function in outline(text, "python").functions for offset in function]
    distances = [after - before for before, after in zip([0, *offsets], offsets, strict=False)]
    document = Document(
        1, Kind.CODE, "shop.py", "python", "", 0, 0, 0, 0, secondary=False, title="", tags=(),
        fields={"functions": distances}, created=0.0, updated=0.0, importance=None, origin="", first_chunk=1,
        last_chunk=1,
    )  # fmt: skip
    return SourceFile(document, text.encode())


def test_an_occurrence_in_an_unread_body_is_found_when_it_is_asked_for() -> None:
    text = FILES["python"]
    file = file_of(text)
    assert file.occurrences_read("found") == []
    assert [node.start_byte for node in file.occurrences("found")] == [text.index("found"), text.rindex("found")]
    assert len(file.occurrences_read("found")) == 2


def test_the_name_of_a_function_that_is_left_out_is_found_and_its_body_is_not_read() -> None:
    text = f"{FILES['python']}\n\ndef other(given):\n    return first(given)\n" + "made = 1\n" * 2_000
    file = file_of(text)
    assert [node.start_byte for node in file.occurrences_read("first")] == [text.index("first")]
    assert file.occurrences_read("given") == []
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


def test_calls_through_fields_results_and_inner_imports_resolve_in_unread_bodies(open_files: Open) -> None:
    code = open_files(SHOP)
    assert code.callers("shop/names.py::Name.get") == ["shop/shop.py:9", "shop/shop.py:21"]
    assert code.callers("shop/labels.py::Label.show") == ["shop/shop.py:15"]


def test_a_call_by_another_name_that_an_import_in_a_function_gives_is_found(open_files: Open) -> None:
    again = "def show():\n    from shop.names import (\n        Name as Title,\n    )\n\n    return Title()\n"
    code = open_files({**SHOP, "shop/again.py": again})
    assert "shop/again.py:6" in code.callers("shop/names.py::Name")
