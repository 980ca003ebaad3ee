"""A question about changing, removing or using a definition is answered by what depends on it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from satchel import Satchel
from satchel.answer.render import call_site_lines
from satchel.search.change_relations import Impact, impact_of_question, with_impact
from satchel.search.query import analyse
from satchel.search.searcher import search_kind
from satchel.testing import TinyRepository
from satchel.tokens import counter
from satchel.types import Format, Kind
from tests.rendered import parse

FILES = {
    "shop/client.py": (
        "class Client:\n    def send(self, order):\n        return backoff(order)\n\n\n"
        "class SlowClient(Client):\n    def send(self, order):\n        return None\n\n\n"
        "def backoff(attempt):\n    return 2**attempt\n"
    ),
    "shop/orders.py": (
        "from shop.client import Client\n\n\ndef send_all(orders):\n"
        + "".join(f"    print({number})\n" for number in range(20))
        + "    for order in orders:\n        Client().send(order)\n"
    ),
    "shop/other.py": "class Queue:\n    def send(self):\n        self.send()\n",
    "tests/test_client.py": "from shop.client import Client\n\n\ndef test_send():\n    assert Client().send(1)\n",
    "tests/test_orders.py": "from shop.orders import send_all\n\n\ndef test_all():\n    send_all([])\n",
}


@pytest.fixture
def satchel(tmp_path: Path) -> Iterator[Satchel]:
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Add the shop", FILES)
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        opened.index()
        yield opened


def impact(satchel: Satchel, question: str) -> Impact | None:
    with satchel.store.snapshot() as store:
        return impact_of_question(analyse(question), store)


def subjects(satchel: Satchel, question: str) -> list[str]:
    result = impact(satchel, question)
    targets = [*result.heads, *(target for target, _ in result.callers)] if result is not None else []
    return [target.qualified for target in targets]


def test_a_question_for_calls_alone_does_not_search_for_tests_beyond_them(satchel: Satchel) -> None:
    counts = {}
    for question in ("who calls Client.send", "callers of Client.send", "what breaks if I rename Client.send"):
        result = impact(satchel, question)
        assert result is not None
        counts[question.split()[0]] = len(result.related)
    assert counts["who"] == counts["callers"] == counts["what"] - 1  # without the test of `send_all`


@pytest.mark.parametrize(
    "question",
    [
        "What breaks if I rename Client.send?",
        "what would be affected by removing shop/client.py::Client.send",
        "who calls `Client.send`",
        "Where is Client.send used?",
        "callers of Client::send",
        "is it safe to delete send of Client",
        "Rename Client.send to Client.post",
        "impact of changing Client.send()",
        "how do I change the signature of Client.send",
        "what stops working if Client.send is removed",
        "what do I have to touch if Client.send gets another parameter",
        "Client.send shall return a list, which callers have to change?",
        "what does Client.send call",
        "how often does `Client.send` get called",
        "which tests use the method Client.send",
        "where in the shop is Client.send() ever called",
        "I wonder where the method Client.send is used",
    ],
)
def test_wording_and_a_definition_make_a_question_about_an_impact(satchel: Satchel, question: str) -> None:
    assert subjects(satchel, question) == ["Client.send"]


@pytest.mark.parametrize(
    "question",
    [
        "How does Client.send wait between attempts?",
        "Client.send fails with a timeout",
        "who calls the police",
        "what breaks if I rename Client.receive",
        "who calls it",
        "what breaks if I rename Client.send?" + " It is slow." * 40,
        "which encoding is used by Client.send when none is given",
        "what does Client do when SlowClient uses another order",
        "where does Client.send decide which order is used first",
        "what happens in the Client when a proxy is used",
    ],
)
def test_all_other_questions_are_searched_as_ever(satchel: Satchel, question: str) -> None:
    assert subjects(satchel, question) == []


def test_a_plain_word_is_a_name_where_the_wording_says_so(satchel: Satchel) -> None:
    assert subjects(satchel, "who calls backoff") == ["backoff"]
    assert subjects(satchel, "where is backoff used") == ["backoff"]


def test_a_name_that_many_define_is_not_guessed(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "many")
    repository.commit("Add", {f"m{number}.py": "class A:\n    def run(self):\n        pass\n" for number in range(5)})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as satchel:
        satchel.index()
        assert subjects(satchel, "who calls `run`") == []
        assert subjects(satchel, "who calls m3.py::A.run") == ["A.run"]


def test_the_definition_comes_first_then_callers_heirs_tests_and_further_tests(satchel: Satchel) -> None:
    question = analyse("What breaks if I rename Client.send?")
    with satchel.store.snapshot() as store:
        result = impact_of_question(question, store)
        assert result is not None
        hits = with_impact(search_kind(store, Kind.CODE, question), result, store).hits
    names = [hit.chunk.title for hit in hits]
    assert names[:5] == ["Client.send", "send_all", "SlowClient.send", "test_send", "test_all"]
    assert "Queue.send" not in names[:5]
    caller = hits[1]
    assert [(span.start, span.end) for span in caller.spans] == [(24, 26)]
    assert caller.spans[0].value < hits[0].spans[0].value


def test_every_call_is_listed_by_file_and_line(satchel: Satchel) -> None:
    context = satchel.assemble("What breaks if I rename Client.send?", refresh=False)
    (listed,) = context.meta["callers"]
    assert (listed["name"], listed["path"], listed["line"], listed["calls"]) == ("Client.send", "shop/client.py", 2, 2)
    assert [(file["path"], file["lines"], file["test"]) for file in listed["files"]] == [
        ("shop/orders.py", [26], False),
        ("tests/test_client.py", [5], True),
    ]
    assert "Client().send(order)" in context.text
    assert satchel.assemble("How does Client.send wait?", refresh=False).meta["callers"] == []


def test_what_a_function_calls_is_shown_where_that_is_asked(satchel: Satchel) -> None:
    result = impact(satchel, "what does Client.send call")
    assert result is not None
    with satchel.store.snapshot() as store:
        weights = {part.name: result.related[row].weight for row, part in store.chunks(result.related).items()}
    assert weights["backoff"] == 0.9


def test_of_two_definitions_of_a_name_each_has_its_own_uses(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "yard")
    files = {
        f"{kind}.rb": f"class {kind.title()}\n  def moor\n    1\n  end\n\n  def turn\n    moor\n  end\nend\n"
        for kind in ("barge", "raft")
    }
    repository.commit("Moor", files)
    with Satchel.open(root=repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as engine:
        engine.index()
        text = engine.assemble("what breaks if I rename moor").text
    for kind in ("barge", "raft"):
        assert f"Uses of {kind.title()}.moor: 1 in 1 file\n- {kind}.rb: named 7\n" in text


def test_uses_that_are_no_calls_are_listed_beside_them(satchel: Satchel) -> None:
    result = impact(satchel, "where is the class Client used")
    assert result is not None
    (listed,) = result.listing()
    assert [(file["path"], file["lines"], file["uses"]) for file in listed["files"]] == [
        ("shop/orders.py", [26], [1]),
        ("shop/client.py", [], [6]),
        ("tests/test_client.py", [5], [1]),
    ]


@pytest.mark.parametrize(
    ("question", "lines"),
    [
        ("which classes extend Client", ["Implementations of Client: 1 in 1 file", "- shop/client.py: 6 SlowClient"]),
        ("what classes extend Client", ["Implementations of Client: 1 in 1 file", "- shop/client.py: 6 SlowClient"]),
        (
            "what subclasses does Client have",
            ["Implementations of Client: 1 in 1 file", "- shop/client.py: 6 SlowClient"],
        ),
        (
            "which implementations has the class Client",
            ["Implementations of Client: 1 in 1 file", "- shop/client.py: 6 SlowClient"],
        ),
        ("subclasses of Client", ["Implementations of Client: 1 in 1 file", "- shop/client.py: 6 SlowClient"]),
        (
            "who overrides Client.send",
            ["Implementations of Client.send: 1 in 1 file", "- shop/client.py: 7 SlowClient.send"],
        ),
        ("list all implementations of Queue", ["Implementations of Queue: none resolved"]),
        ("what does Client.send call", ["Callees of Client.send: 1 in 1 file", "- shop/client.py: 11 backoff"]),
    ],
)
def test_a_question_for_heirs_is_answered_by_them_and_not_by_uses(
    satchel: Satchel, question: str, lines: list[str]
) -> None:
    context = satchel.assemble(question, refresh=False)
    assert context.text.split("\n")[2 : 2 + len(lines)] == lines
    assert "Call sites" not in context.text
    assert context.meta["callers"][0]["definitions"] == len(lines) - 1


def test_so_many_heirs_that_theirs_are_not_searched_are_told_as_at_least(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "shop")
    files = {"shop/base.py": "class Base:\n    pass\n"}
    files |= {f"shop/a{n}.py": f"from shop.base import Base\n\n\nclass A{n}(Base):\n    pass\n" for n in range(101)}
    repository.commit("Add", files | {"shop/last.py": "from shop.a1 import A1\n\n\nclass Last(A1):\n    pass\n"})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        assert "Implementations of Base: at least 101 in 101 files" in opened.assemble("subclasses of Base").text


def test_classes_with_a_base_of_this_name_that_is_not_resolved_are_told(tmp_path: Path) -> None:
    repository = TinyRepository(tmp_path / "shop")
    files = {
        "shop/base.py": "class Base:\n    pass\n",
        "shop/far.py": "from shop import *\n\n\nclass Far(Base):\n    pass\n",
    }
    repository.commit("Add", files | {"shop/other.py": "class Other:\n    class Base:\n        pass\n"})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        text = opened.assemble("subclasses of `shop/base.py::Base`").text
    assert "Implementations of Base: none resolved\n- 1 more line contains Base, not resolved: shop/far.py: 4" in text


CALLS = ["Call sites of Client.send: 2 in 2 files", "- shop/orders.py: 26", "- tests/test_client.py: 5"]


@pytest.mark.parametrize("layout", list(Format))
def test_the_call_sites_stand_above_the_items_which_are_read_back(satchel: Satchel, layout: Format) -> None:
    context = satchel.assemble("What breaks if I rename Client.send?", refresh=False, format=layout)
    if layout is Format.JSON:
        assert json.loads(context.text)["context"]["call_sites"] == CALLS
    elif layout is Format.XML:
        assert [one.text for one in ElementTree.fromstring(context.text).iterfind("call_sites")] == CALLS
    else:
        assert context.text.split("\n")[2:5] == CALLS
    assert [item.path for item in parse(context.text, layout)] == [item.title for item in context.items]
    assert context.usage.used <= context.usage.limit


def test_a_question_about_something_else_lists_no_call_sites(satchel: Satchel) -> None:
    assert "Call sites" not in satchel.assemble("How does Client.send wait between attempts?", refresh=False).text


def test_a_long_caller_is_shown_by_its_call_and_a_definition_whole(tmp_path: Path) -> None:
    imported = "from rates import load_rates\n\n\n"
    body = "".join(f"    value_{number} = {number}\n" for number in range(80))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit(
        "Add",
        {
            "rates.py": f"def load_rates(day):\n{body}    return day\n",
            "orders.py": f"{imported}def total(day):\n{body}    return load_rates(\n        day\n    )\n",
            "tests/test_rates.py": f"{imported}def test_it():\n    load_rates(1)\n{body}",
        },
    )
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        context = opened.assemble("who calls load_rates", max_tokens=2500)
    spans = {item.title: item.spans for item in context.items}
    assert spans["rates.py"] == ((1, 82),)
    assert (83, 87) in spans["orders.py"]
    assert (4, 6) in spans["tests/test_rates.py"]
    assert context.text.index("rates.py\n") < context.text.index("### orders.py") < context.text.index("### tests/")


def listed(name: str = "send", calls: int = 0, unread: int = 0, **files: tuple[list[int], list[int]]) -> dict[str, Any]:
    rows = [{"path": f"{path}.py", "lines": lines, "uses": uses} for path, (lines, uses) in files.items()]
    return {"name": name, "calls": calls, "unread_files": unread, "files": rows}


def test_call_sites_are_counted_and_long_lists_are_cut() -> None:
    target = listed("send", 13, 2, a=(list(range(1, 13)), [20]), b=([3], []), c=([], [7, 8]))
    assert call_site_lines([target], counter("o200k_base"), 4000) == (
        "Call sites of send: 13 in 2 files and 3 other uses; 2 files not read",
        "- a.py: 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 2 more; named 20",
        "- b.py: 3",
        "- c.py: named 7, 8",
    )
    assert call_site_lines([target], counter("o200k_base"), 270)[1:] == ("no room for their lines",)
    long = listed("send", 3, a=([1], []), b=(list(range(1000, 1010)), []), c=(list(range(1000, 1010)), []))
    assert call_site_lines([long], counter("o200k_base"), 330)[1:] == ("- a.py: 1", "and 20 more in 2 files")
    assert call_site_lines([target], counter("o200k_base"), 100) == ()


def test_definitions_without_calls_say_so_or_where_they_are_named() -> None:
    targets = [listed("LIMIT", 0, 0, a=([], [4])), listed("send_all")]
    assert call_site_lines(targets, counter("o200k_base"), 4000) == (
        "Uses of LIMIT: 1 in 1 file",
        "- a.py: named 4",
        "Call sites of send_all: none resolved",
    )


def test_lines_that_are_not_resolved_say_how_many_files_were_not_read() -> None:
    target = {**listed("send", unread=3), "unresolved": [{"path": "a.py", "lines": [2, 5]}]}
    assert call_site_lines([target, listed("send_all", unread=1)], counter("o200k_base"), 4000) == (
        "Calls of send that could not be resolved; 3 files not read:",
        "- 2 more lines contain send(, not resolved: a.py: 2, 5",
        "Call sites of send_all: none resolved; 1 file not read",
    )


def test_lines_that_no_definition_of_a_name_resolves_are_told_once() -> None:
    def sent(owner: str, lines: list[int], *unresolved: int) -> dict[str, Any]:
        rows = [{"path": "a.py", "lines": [*unresolved]}]
        return {**listed(f"{owner}.send", len(lines), a=(lines, [])), "unresolved": rows}

    targets = [sent("Client", [3], 4, 9, 12), sent("Server", [4], 3, 9, 12), listed("Client.close")]
    assert [line for line in call_site_lines(targets, counter("o200k_base"), 4000) if "not resolved" in line] == [
        "- 2 more lines contain send(, not resolved: a.py: 9, 12"
    ]


def test_lines_that_are_not_resolved_are_never_left_out_of_a_list() -> None:
    rows = [{"path": f"some/where/file_{number}.py", "lines": [number, 90]} for number in range(1, 21)]
    target = {**listed("send", 1, a=([1], [])), "unresolved": rows}
    told = {most: call_site_lines([target], counter("o200k_base"), most) for most in (4000, 1600, 600, 400, 200)}
    assert [lines[1].count("some/where") if lines else -1 for lines in told.values()] == [8, 3, 1, 0, -1]
    assert told[4000][1].endswith("; and 12 files more")
    assert told[400][1] == "- 40 more lines contain send(, not resolved: 20 files"


def test_a_name_in_more_files_than_are_read_is_told_by_answers_and_graphs(tmp_path: Path) -> None:
    files = {f"cases/case_{number}.js": f"// Case {number}\nsettle(function () {{}});\n" for number in range(260)}
    repository = TinyRepository(tmp_path / "suite")
    repository.commit("Add", {"harness.js": "function settle(check) {\n  check();\n}\n", **files})
    with Satchel.open(repository.root, environ={"SATCHEL_HOME": str(tmp_path / "home")}) as opened:
        context = opened.assemble("who calls settle", max_tokens=2500)
        graph = opened.graph("settle", lens="impact")
    assert "Calls of settle that could not be resolved; 11 files not read:\n- 249 more lines contain" in context.text
    assert [note for note in graph.meta["warnings"] if "; 11 more files not read: " in note]


def test_definitions_of_one_name_are_told_apart_by_their_files() -> None:
    targets = [{**listed("Reader.next", 1, a=([3], [])), "path": path} for path in ("a/reader.py", "b/reader.py")]
    assert call_site_lines(targets, counter("o200k_base"), 4000) == (
        "Call sites of Reader.next in a/reader.py: 1 in 1 file",
        "- a.py: 3",
        "Call sites of Reader.next in b/reader.py: 1 in 1 file",
        "- a.py: 3",
    )


@pytest.mark.parametrize(
    "report",
    [
        "Whenever somebody asks where a thing is used, send is slow. Nobody knows who calls what in it.",
        "I can ask who uses one of them. In C++ nothing is listed, and send does not work while several are chosen.",
        "Nearly every answer ends with the parts of send that nobody asked for, as if it wanted to use up the rest.",
        "On the command line I am told that asking what my edits affect does not work. Client is not listed.",
    ],
)
def test_a_report_of_several_sentences_is_about_no_name_by_chance(satchel: Satchel, report: str) -> None:
    assert subjects(satchel, report) == []


def test_a_report_may_name_its_definition_as_code(satchel: Satchel) -> None:
    assert subjects(satchel, "I will rename `Client.send` soon. What breaks then?") == ["Client.send"]
    assert subjects(satchel, "We plan a change. What breaks if I rename Client?") == ["Client"]


def test_a_call_that_is_possible_in_one_list_is_not_unresolved_in_another() -> None:
    possible = {"path": "b.rs", "lines": [], "possible": [3], "uses": []}
    shared = {"calls": 0, "unread_files": 0, "named": False, "line": 1}
    listing: list[dict[str, object]] = [
        {**shared, "name": "A.enter", "path": "a.rs", "files": [], "unresolved": [{"path": "b.rs", "lines": [3, 9]}]},
        {**shared, "name": "B.enter", "path": "b.rs", "files": [possible], "unresolved": [], "possible": 1},
    ]
    text = "\n".join(call_site_lines(listing, counter("o200k_base"), 4000))
    assert "possible 3" in text
    assert "1 more line contains enter(, not resolved: b.rs: 9" in text
