"""The path between two definitions, and graphs for other programs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree

import pytest

from satchel import Satchel
from satchel.cli.application import run
from satchel.graph.export import GraphDrawing, as_graphml, as_mermaid, as_text
from satchel.operations.registry import OPERATIONS
from satchel.testing import TinyRepository

FILES = {
    "shop/client.py": (
        "from shop.wait import backoff\n\n\nclass Client:\n    def send(self):\n        return backoff(1)\n"
    ),
    "shop/wait.py": "def backoff(attempt):\n    return 2**attempt\n",
    "shop/order.py": (
        "from shop.client import Client\n\n\nclass Shop:\n    def checkout(self):\n        Client().send()\n\n"
        "    def close(self):\n        self.checkout()\n"
    ),
    "shop/page.py": "import shop.order\n\n\ndef page():\n    return 1\n",
    "shop/lonely.py": "def lonely():\n    return 1\n",
}


@pytest.fixture
def satchel(tmp_path: Path) -> Iterator[Satchel]:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Add the shop", FILES)
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        opened.index()
        yield opened


def path(satchel: Satchel, first: str, last: str) -> GraphDrawing:
    return satchel.graphs.drawing(satchel.graphs.graph_request(first), last)


def test_the_shortest_path_names_each_call_with_its_line_and_each_end_with_its_place(satchel: Satchel) -> None:
    assert as_text(path(satchel, "Shop.checkout", "backoff")) == (
        "2 steps from Shop.checkout to backoff\n"
        "Shop.checkout  shop/order.py:5\n"
        "  calls, line 6: Client.send  shop/client.py:5\n"
        "  calls, line 6: backoff  shop/wait.py:1\n"
    )


def test_a_path_that_leads_the_other_way_says_so(satchel: Satchel) -> None:
    drawn = path(satchel, "backoff", "Shop.checkout")
    assert drawn.is_reversed
    assert as_text(drawn).startswith("2 steps from Shop.checkout to backoff, not the other way\n")


def test_a_class_is_used_by_who_calls_its_methods_and_uses_what_they_call(satchel: Satchel) -> None:
    assert [edge.relation for edge in path(satchel, "Shop", "Client").edges] == ["contains", "calls"]


def test_imports_count_where_no_call_leads_there(satchel: Satchel) -> None:
    assert [edge.relation for edge in path(satchel, "page", "Shop").edges] == ["imports", "contains"]


@pytest.mark.parametrize(
    ("first", "last", "warning"),
    [
        ("lonely", "backoff", "no path of calls, inheritance or imports: neither reaches the other"),
        ("lonely", "nothing_here", "no file or definition is named nothing_here"),
    ],
)
def test_without_a_path_the_reason_is_told(
    satchel: Satchel, first: str, last: str, warning: str, capsys: pytest.CaptureFixture[str]
) -> None:
    drawn = path(satchel, first, last)
    assert (drawn.edges, drawn.warnings) == ((), (warning,))
    root = str(satchel.places.root)
    assert run(["graph", first, "--to", last, "--root", root]) == 1
    assert warning in capsys.readouterr().err
    assert run(["graph", "Shop.checkout", "--to", "backoff", "--root", root]) == 0
    assert "calls, line 6: Client.send" in capsys.readouterr().out


def test_a_path_to_itself_is_the_node_alone(satchel: Satchel) -> None:
    assert as_text(path(satchel, "backoff", "backoff")) == "backoff  shop/wait.py:1\n"


def test_a_neighbourhood_has_every_relation_between_its_nodes(satchel: Satchel) -> None:
    envelope = OPERATIONS["graph_export"].run(satchel, {"query": "Client.send", "lens": "impact", "depth": 2}).envelope
    assert {node["name"] for node in envelope["nodes"]} == {"Client.send", "Shop.checkout", "Shop.close"}
    names = {node["id"]: node["name"] for node in envelope["nodes"]}
    edges = {(names[edge["source"]], names[edge["target"]], edge["line"]) for edge in envelope["edges"]}
    assert edges == {("Shop.checkout", "Client.send", 6), ("Shop.close", "Shop.checkout", 9)}


def test_graphml_is_a_document_with_nodes_and_edges(satchel: Satchel) -> None:
    document = ElementTree.fromstring(as_graphml(path(satchel, "Shop.checkout", "backoff")))
    space = "{http://graphml.graphdrawing.org/xmlns}"
    nodes = [node.get("id") for node in document.iter(f"{space}node")]
    edges = [(edge.get("source"), edge.get("target")) for edge in document.iter(f"{space}edge")]
    assert edges == [*pairwise(nodes)]


def test_nothing_in_a_name_is_a_mark_of_mermaid_or_xml(satchel: Satchel) -> None:
    drawn = path(satchel, "backoff", "backoff")
    odd = drawn._replace(nodes=(drawn.nodes[0]._replace(id='a"<&>', name='x"] --> <b>`y`#'),))
    assert as_mermaid(odd) == ('flowchart LR\n    n0["x#34;#93; --#62; #60;b#62;#96;y#96;#35;  shop/wait.py:1"]\n')
    assert 'x"] --&gt; &lt;b&gt;`y`#' in as_graphml(odd)
    ElementTree.fromstring(as_graphml(odd))
