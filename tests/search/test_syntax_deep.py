"""A parser looks for the parent of a node from the root: who goes up far takes the way down once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import pytest

from satchel.search.resolve.syntax import above, home
from satchel.sources.code.languages import grammar
from satchel.sources.code.parse import syntax_tree

CHAIN = "if (kind == 0) run(0);\n" + "".join(f"  else if (kind == {number}) run({number});\n" for number in range(60))


def nodes_below(node: Any) -> Iterator[Any]:
    for child in node.children:
        yield child
        yield from nodes_below(child)


@pytest.mark.parametrize("text", [f"void turn(int kind) {{\n  {CHAIN}}}\n", "int a;\n"])
def test_what_is_around_a_node_is_the_same_on_both_ways(text: str) -> None:
    tree = syntax_tree(text.encode(), grammar("c"), "c")
    assert tree is not None
    for node in nodes_below(tree.root_node):
        assert [*above(node, tree.root_node)] == [*above(node)]


class Link:
    """A node of a chain that counts how often one asks for a parent."""

    asked = 0

    def __init__(self, around: Link | None = None) -> None:
        self.around, self.inner, self.type = around, cast(Any, None), "if_statement"
        if around is not None:
            around.inner = self

    @property
    def parent(self) -> Link | None:
        Link.asked += 1
        return self.around

    def child_with_descendant(self, _: Any) -> Any:
        return self.inner


def test_few_parents_are_asked_for_however_deep_a_node_is() -> None:
    root = node = Link()
    for _ in range(200):
        node = Link(node)
    Link.asked = 0
    assert home(cast(Any, node), cast(Any, root)) is cast(Any, root)
    assert Link.asked < 20
