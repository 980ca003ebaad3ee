"""Questions through an operation: the answer of the Python API, and the options of the command line."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from satchel.engine import Satchel
from satchel.errors import InvalidContextTypeError, UsageError
from satchel.operations.ask import CONTEXT_QUERY
from satchel.operations.operation import Shape
from satchel.types import CONTEXT_TYPES, Kind, type_name
from satchel.web.mcp_app import mcp_app
from satchel.web.middleware import own_origins
from tests.mcp.test_server_http import post, running
from tests.operations.conftest import Ask, Printed, stable
from tests.web.asking import client_of

QUESTION = "where are orders sent again?"


def test_a_question_gives_the_same_answer_as_in_python(engine: Satchel, ask: Ask) -> None:
    assert ask("context_query", question=QUESTION).text == engine.assemble(QUESTION, purpose="find").text != ""


@pytest.mark.parametrize("name", [row.name for row in CONTEXT_QUERY.parameters if row.least is not None])
def test_a_number_below_its_least_value_is_refused(ask: Ask, name: str) -> None:
    (row,) = (row for row in CONTEXT_QUERY.parameters if row.name == name)
    assert row.least is not None
    below = row.least - 1
    with pytest.raises(UsageError, match=name):
        ask("context_query", question=QUESTION, **{name: int(below) if row.shape is Shape.COUNT else below})


def test_options_mean_what_they_mean_on_the_command_line(ask: Ask, printed: Printed) -> None:
    answered = ask(
        "context_query",
        question=QUESTION,
        types=["code", "docs"],
        max_tokens=600,
        limit=3,
        format="xml",
        show_sources=True,
        context_lines=2,
        exclude=["*prices*"],
        include=["docs/guide.md"],
        purpose="edit",
        min_score=0.1,
        reserves={"docs": 50},
        now="2026-01-01",
    )
    command = "context --types code,docs --max-tokens 600 --limit 3 --format xml --sources --context-lines 2"
    more = ["--exclude", "*prices*", "--include", "docs/guide.md", "--for", "edit", "--min-score", "0.1"]
    same = printed(*command.split(), *more, "--reserve", "docs=50", "--now", "2026-01-01", QUESTION)
    assert stable(answered.envelope) == stable(same)


def test_the_spellings_of_the_specifications_are_taken(ask: Ask) -> None:
    one = ask("context_query", query=QUESTION, context_types=["code"], strategies=["lexical"], include_sources=True)
    two = ask("context_query", question=QUESTION, types=["code"], searches=["lexical"], show_sources=True)
    assert one.text == two.text


def test_a_kind_of_code_may_be_asked_for_like_a_kind_of_knowledge(ask: Ask) -> None:
    assert "def backoff" in ask("context_query", question="backoff", types=["function"]).text
    assert ask("context_query", question="backoff", types=["class"]).envelope["items"] == []


def test_a_change_needs_no_question(root: Path, ask: Ask) -> None:
    (root / "shop" / "prices.py").write_text("def discount(price: float) -> float:\n    return price\n")
    assert "shop/prices.py" in ask("context_query", diff="HEAD").text
    with pytest.raises(UsageError, match="the question is empty"):
        ask("context_query", staged=False)


def test_an_empty_answer_says_why_and_what_to_do(ask: Ask) -> None:
    assert "name a thing or a behaviour" in ask("context_query", question="where is the").notes[0]
    assert "min_score 0 shows even weak matches" in ask("context_query", question="zebra xylophone").notes[0]
    assert "nothing fits into 15 tokens" in ask("context_query", question=QUESTION, max_tokens=15).notes[0]


def test_a_weak_answer_that_shows_nothing_does_not_ask_for_a_larger_budget(root: Path, ask: Ask) -> None:
    body = "\n".join(f"    total += {number}  # restarts what happens next, number {number}" for number in range(90))
    (root / "shop" / "long.py").write_text(f"def restarts(total: int) -> int:\n{body}\n    return total\n")
    for tokens in (1_000, 1_500):
        answered = ask(
            "context_query", question="what happens when the kubernetes operator restarts", max_tokens=tokens
        )
        assert not any("the smallest item needs" in note for note in answered.notes)


def test_a_session_is_not_sent_the_same_twice(ask: Ask) -> None:
    assert ask("context_query", question=QUESTION, session="s").envelope["items"]
    again = ask("context_query", question=QUESTION, session="s")
    assert again.envelope["items"] == []
    assert "this session has received all of it" in again.notes[0]


def test_files_are_listed_with_their_best_parts(ask: Ask) -> None:
    answered = ask("search", question="backoff", types=["code", "commits"], limit=2)
    assert answered.text.splitlines()[1].startswith("shop/client.py  0.")
    assert ask("search", question="zebra").notes == ("nothing here matches the question",)


def test_a_filter_that_says_nothing_of_what_is_searched_is_refused(ask: Ask) -> None:
    with pytest.raises(UsageError, match="domain does not apply to code, only to experiences, values"):
        ask("search", question="backoff", types=["code"], domain="debugging")
    assert ask("search", question="backoff", author="ada").envelope["hits"]


def test_a_handle_is_expanded_within_the_budget(ask: Ask) -> None:
    handle = ask("context_query", question="backoff").envelope["items"][0]["handle"]
    assert "def send_order" in ask("expand", handles=[handle]).text
    assert "max_tokens" in ask("expand", handles=[handle], max_tokens=20).notes[0]


@pytest.mark.parametrize(
    ("identity", "shown"),
    [
        ("code:shop/client.py", "def send_order"),
        ("code:shop/client.py::backoff", "def backoff"),
        ("code:shop/client.py#L7-8", "def backoff"),
        ("doc:docs/guide.md", "# Guide"),
    ],
)
def test_a_chunk_is_shown_by_its_id(ask: Ask, identity: str, shown: str) -> None:
    ask("search", question="backoff")
    answered = ask("document", id=identity)
    assert shown in answered.text
    assert "::backoff" not in identity or "send_order" not in answered.text


def test_a_commit_and_a_memory_are_chunks_too(ask: Ask) -> None:
    found = ask("search", question="orders again backoff", types=["commits"]).envelope["hits"][0]["id"]
    assert "Send orders again" in ask("document", id=found).text
    kept = ask("remember", action="store", text="Orders are never sent three times").text
    assert "never sent three times" in ask("document", id=f"memory:{kept}").text


@pytest.mark.parametrize(
    "identity",
    ["", "code", "code:", "zebra:a", "code:../../etc/passwd", "code:/etc/passwd", "code:shop/client.py::nothing",
     "code:shop/client.py::backoff~2", "code:shop/client.py::backoff~0", "code:nowhere.py::f", "code:nowhere.py#L1-2",
     "code:shop/client.py#L5-2", "commit:0000000", "memory:mem_1"],
)  # fmt: skip
def test_an_id_that_nothing_has_is_refused_in_the_same_words(ask: Ask, identity: str) -> None:
    with pytest.raises(UsageError, match=r"there is no document .* here: `satchel search` shows ids"):
        ask("document", id=identity)


def test_an_unknown_type_is_told_as_everywhere(ask: Ask, engine: Satchel) -> None:
    with pytest.raises(InvalidContextTypeError) as here:
        ask("context_query", question=QUESTION, types=["zebras"])
    with pytest.raises(InvalidContextTypeError) as there:
        engine.assemble(QUESTION, types=["zebras"])
    assert str(here.value) == str(there.value)


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind.plural in CONTEXT_TYPES])
def test_a_type_may_be_named_as_answers_name_it(kind: Kind, ask: Ask, engine: Satchel) -> None:
    assert type_name(kind) == type_name(kind.plural) == kind.plural
    singular = ask("context_query", question="backoff", types=[str(kind)])
    assert singular.text == ask("context_query", question="backoff", types=[kind.plural]).text
    assert singular.text == engine.assemble("backoff", types=[str(kind)], purpose="find").text
    found = [hit.chunk.id for hit in engine.search("backoff", types=[str(kind)])]
    assert found == [hit.chunk.id for hit in engine.search("backoff", types=[kind.plural])]


def test_contexts_are_asked_for_over_http_and_mcp_as_well(root: Path, engine: Satchel) -> None:
    (root / "AGENTS.md").write_text("Orders are sent twice at most.\n")
    expected = engine.assemble(QUESTION, types=["contexts"], purpose="find").text
    assert "Orders are sent twice at most." in expected
    arguments = {"question": QUESTION, "types": ["contexts"]}
    with client_of(engine) as client:
        assert client.post("/api/context_query", json=arguments).json()["text"] == expected
        (hit,) = client.post("/api/search", json=arguments).json()["hits"]
        assert (hit["source"], hit["title"]) == ("context", "AGENTS.md")
        nested = {"question": QUESTION, "options": {"types": ["contexts"]}}
        assert client.post("/api/context_query", json=nested).json()["text"] == expected

    async def over_mcp() -> bytes:
        async with running(mcp_app(engine, own_origins("127.0.0.1", 80))) as app:
            _, body = await post(app, "tools/call", {"name": "context_query", "arguments": arguments})
            return body

    assert b"Orders are sent twice at most." in asyncio.run(over_mcp())


def test_options_over_http_are_explained_and_checked_as_over_mcp(engine: Satchel) -> None:
    with client_of(engine) as client:
        explained = client.post("/api/search", json={"options": {"help": True}}).json()["text"]
        assert "min_score (number): Leave out items" in explained
        twice = client.post("/api/search", json={"question": "a", "options": {"question": "b"}})
        assert (twice.status_code, twice.json()["error"]["message"].partition(":")[0]) == (
            400,
            "question is given twice",
        )
