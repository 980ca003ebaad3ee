"""The server in this process, asked by the official client in both eras."""

from __future__ import annotations

import asyncio
import hashlib
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import types
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from satchel.engine import Satchel
from satchel.errors import SatchelError
from satchel.mcp.running import EngineRunner
from satchel.mcp.server import (
    INSTRUCTIONS,
    LISTING_TOKENS,
    MAX_TOKENS,
    bounded,
    cost,
    input_schema,
    listed_tools,
    structured,
)
from satchel.operations.operation import Answered
from satchel.operations.registry import OPERATIONS, TOOLS
from satchel.testing import TinyRepository
from satchel.tokens import counter
from satchel.web.mcp_app import build
from tests.mcp.serving import ERAS, EVERY_TOOL, PATIENCE_SECONDS
from tests.operations.conftest import FILES

TOOLS_HASH = "7fd38247b2daea5900dc043f8b8322e444f47828f820a47cb9a18225919460ee"
"""Of `tools/list`: what tools say of themselves is read by models, so whoever changes it does so on purpose."""

MAX_LIST_TOKENS = 1_800
MAX_DESCRIPTION_BYTES = 2_000

QUESTION = "where are orders sent again?"


@dataclass
class Asked:
    """A server around an engine, and a way to speak to it."""

    engine: Satchel
    runner: EngineRunner

    def run(self, test: Callable[[Client], Awaitable[Any]], era: str = ERAS[1], session: str = "") -> Any:
        """What a test of a connected client returns."""

        async def bounded() -> Any:
            async with asyncio.timeout(PATIENCE_SECONDS), Client(build(self.runner, session), mode=era) as client:
                return await test(client)

        return asyncio.run(bounded())

    def refused(self, ask: Callable[[Client], Awaitable[Any]]) -> types.ErrorData:
        """The protocol error of one request."""

        async def test(client: Client) -> types.ErrorData:
            with pytest.raises(MCPError) as refused:
                await ask(client)
            return refused.value.error

        error = self.run(test)
        assert isinstance(error, types.ErrorData)
        return error

    def call(self, name: str, arguments: dict[str, Any], **how: Any) -> types.CallToolResult:
        """The result of one tool."""
        result = self.run(lambda client: client.call_tool(name, arguments), **how)
        assert isinstance(result, types.CallToolResult)
        return result


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder = tmp_path_factory.mktemp("asked")
    TinyRepository(folder / "shop").commit("Send orders again with backoff", FILES)
    environ = {"SATCHEL_HOME": str(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    runner = EngineRunner(lambda: Satchel.open(folder / "shop", environ=environ))
    yield Asked(runner.engine(), runner)
    assert runner.close(PATIENCE_SECONDS)


def listed() -> types.ListToolsResult:
    return types.ListToolsResult.model_validate(listed_tools())


def text_of(result: types.CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, types.TextContent)
    return content.text


@pytest.mark.parametrize("era", ERAS)
@pytest.mark.parametrize("name", [*EVERY_TOOL])
def test_every_tool_answers_in_both_eras(asked: Asked, name: str, era: str) -> None:
    arguments = dict(EVERY_TOOL[name])
    if name == "experience":
        arguments["session"] = era
    result = asked.call(name, arguments, era=era)
    assert not result.is_error
    assert text_of(result)
    assert result.structured_content is not None
    first = result.structured_content["items"][0]
    assert first.get("id") or {"kind", "path", "lines", "score"} <= first.keys()


def test_what_a_handle_stands_for_is_shown_by_tool_and_by_resource(asked: Asked) -> None:
    items = (asked.call("context_query", {"question": "backoff"}).structured_content or {})["items"]
    handle = items[0]["handle"]
    shown = text_of(asked.call("expand", {"handles": [handle]}))
    read = asked.run(lambda client: client.read_resource(f"satchel://handle/{handle}"))
    assert read.contents[0].text == shown != ""


def test_the_text_is_that_of_python_and_is_sent_once(asked: Asked) -> None:
    result = asked.call("context_query", {"question": QUESTION})
    assert text_of(result) == asked.engine.assemble(QUESTION, purpose="find").text
    assert "def send_order" not in json.dumps(result.structured_content)


def test_every_model_is_asked_for_likely_names_and_a_call_without_them_works(asked: Asked) -> None:
    schema = next(tool for tool in listed().tools if tool.name == "context_query").input_schema
    assert schema["required"] == ["names"]
    plain = text_of(asked.call("context_query", {"question": QUESTION}))
    assert plain == text_of(asked.call("context_query", {"question": QUESTION, "names": []})) != ""


def test_a_tool_tells_all_hints_with_a_meaning_an_output_schema_and_task_words_first() -> None:
    for tool, operation in zip(listed().tools, TOOLS, strict=True):
        hints = tool.annotations
        assert hints is not None
        assert hints.title == operation.title
        assert hints.open_world_hint is False
        assert hints.read_only_hint is (tool.name not in {"remember", "experience"})
        # Of a tool that only reads, the protocol gives these no meaning.
        assert hints.destructive_hint is (None if hints.read_only_hint else tool.name == "remember")
        assert hints.idempotent_hint is (None if hints.read_only_hint else False)
        assert tool.output_schema is not None
        assert (tool.description or "").startswith(operation.summary)
        assert len((tool.description or "").encode()) < MAX_DESCRIPTION_BYTES


def test_the_list_names_every_option_but_rare_ones_and_choices_once() -> None:
    for operation in TOOLS:
        schema = json.dumps(input_schema(operation))
        leading = {one.name for one in operation.parameters if one.name in operation.leading}
        named = {one.name for one in operation.parameters if re.search(rf"\b{one.name}\b", schema)}
        assert named >= leading | {one.name for one in operation.options if not one.is_rare}
        rare = {one.name for one in operation.options if one.is_rare}
        described = {"language", "strategy", "session", "format", "time", "context", "tags"}  # words of descriptions
        assert not (named - leading) & (rare - described)
    listed_by = [(operation, one) for operation in TOOLS for one in operation.parameters if one.listed_by]
    for operation, one in listed_by:
        assert operation.name != one.listed_by
        others = {other.name: other for other in OPERATIONS[one.listed_by].parameters}
        assert set(one.choices) <= set(others[one.name].choices)


def test_the_list_of_tools_is_small_and_changes_only_on_purpose() -> None:
    raw = json.dumps(listed_tools(), ensure_ascii=False, separators=(",", ":"))
    assert counter("o200k_base").count(raw) <= MAX_LIST_TOKENS
    assert hashlib.sha256(raw.encode()).hexdigest() == TOOLS_HASH


def test_an_argument_is_taken_in_options_as_beside_them(asked: Asked) -> None:
    plain = asked.call("context_query", {"question": QUESTION, "max_tokens": 500, "show_code": False})
    inside = asked.call("context_query", {"question": QUESTION, "options": {"max_tokens": 500, "show_code": False}})
    assert text_of(plain) == text_of(inside) != text_of(asked.call("context_query", {"question": QUESTION}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("help", "options is 'help': give an object"),
        ({"question": "y"}, "question is given twice: leave it out of options"),
        ({"excluded": ["x"]}, "context_query has no argument 'excluded' (did you mean exclude?)"),
    ],
)
def test_wrong_options_are_refused_in_one_sentence(asked: Asked, options: Any, said: str) -> None:
    result = asked.call("context_query", {"question": "x", "options": options})
    assert result.is_error
    assert said in text_of(result)


@pytest.mark.parametrize("arguments", [{"options": {"help": True}}, {"help": True}])
def test_the_help_of_a_tool_explains_its_options(asked: Asked, arguments: dict[str, Any]) -> None:
    result = asked.call("search", arguments)
    assert not result.is_error
    assert "author (text): Part of the author's name." in text_of(result).split("\n")
    assert "One of confirmed, falsified, abandoned, active." in text_of(result)


def test_the_structured_part_has_places_scores_and_names_of_what_was_left_out(asked: Asked) -> None:
    found = asked.call("context_query", {"question": QUESTION, "max_tokens": 150}).structured_content or {}
    first = found["items"][0]
    assert (first["kind"], first["path"]) == ("code", "shop/client.py")
    assert first["lines"].partition("-")[0].isdigit()
    assert 0 < first["score"] <= 1
    assert len(first["handle"]) == 8
    assert found["left_out"]["count"] == len(found["left_out"]["items"])
    assert all(row["handle"] and (row.get("name") or row["path"]) for row in found["left_out"]["items"])


def test_instructions_fit_into_what_hosts_read() -> None:
    assert len(INSTRUCTIONS.encode()) < MAX_DESCRIPTION_BYTES
    assert all(tool.name in INSTRUCTIONS for tool in TOOLS)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("context_query", {"qestion": "x"}, "context_query has no argument 'qestion' (did you mean question?)"),
        ("context_query", {"question": "x", "max_tokens": "many"}, "max_tokens is 'many': give a whole number"),
        ("context_query", {"question": "x", "max_tokens": 0}, "give 1 to 10,000,000 tokens"),
        ("context_query", {"question": "x", "format": "html"}, "unknown format 'html': choose from markdown, xml"),
        ("expand", {"handles": ["zzzzzzzz"]}, "unknown handle zzzzzzzz: ask the question again here"),
        ("graph_context", {"query": "x", "depth": 9}, "depth is 9: give 1 to 5 steps"),
        (
            "remember",
            {"action": "burn"},
            "unknown action 'burn': choose from store, share, pin, unpin, restore, forget, list",
        ),
    ],
)
def test_what_is_wrong_with_a_call_is_said_in_one_sentence(
    asked: Asked, name: str, arguments: dict[str, Any], said: str
) -> None:
    result = asked.call(name, arguments)
    assert result.is_error
    assert said in text_of(result)
    assert "\n" not in text_of(result)
    assert "Traceback" not in text_of(result)


def test_what_a_stored_fact_differs_from_is_in_the_text(asked: Asked) -> None:
    older = text_of(asked.call("remember", {"action": "store", "text": "The crane is in hall 7"}))
    text = text_of(asked.call("remember", {"action": "store", "text": "The crane is in hall 8"}))
    assert text.startswith("mem_")
    assert f"it differs from {older}" in text


def test_an_unknown_tool_or_prompt_names_those_there_are(asked: Asked) -> None:
    for ask, said in (
        (lambda client: client.call_tool("serch", {}), "choose from context_query"),
        (lambda client: client.get_prompt("brif", {}), "choose from context, premortem, after_failure"),
        (lambda client: client.get_prompt("context", {}), "prompt context needs question"),
        (lambda client: client.get_prompt("context", {"q": "x"}), "has no argument 'q': choose from question"),
        (lambda client: client.get_prompt("premortem", {"domain": "x"}), "unknown domain 'x'"),
    ):
        error = asked.refused(ask)
        assert said in error.message
        assert error.code == types.INVALID_PARAMS


def test_a_fault_of_ours_is_logged_and_says_nothing_of_what_is_inside(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("/home/ada/secret place")

    monkeypatch.setattr(Satchel, "request", broken)
    result = asked.call("context_query", {"question": "x"})
    assert result.is_error
    assert text_of(result).startswith("the call failed inside satchel")
    assert "secret place" not in text_of(result)
    assert "secret place" in capsys.readouterr().err


def test_an_error_names_no_home_folder(asked: Asked, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(asked.engine.places.root.parent))
    result = asked.call("expand", {"handles": ["zzzzzzzz"]})
    assert str(asked.engine.places.root) not in text_of(result)
    assert "~/shop" in text_of(result)

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(28, "No space left on device", f"{asked.engine.places.root}/x")

    monkeypatch.setattr(Satchel, "request", full)
    assert text_of(asked.call("context_query", {"question": "x"})) == "No space left on device"


def test_an_empty_answer_says_why(asked: Asked) -> None:
    result = asked.call("context_query", {"question": "zebra xylophone"})
    assert not result.is_error
    assert "Not found here: zebra, xylophone." in text_of(result)
    assert result.structured_content is not None
    (note,) = result.structured_content["notes"]
    assert note == "nothing here is relevant to the question; min_score 0 shows even weak matches"


WRONG = (
    "satchel://document/code:nowhere.py",
    "satchel://document/code:../../etc/passwd",
    "satchel://document/code:..%2f..%2fetc%2fpasswd",
    "satchel://document//etc/passwd",
    "satchel://document/~/x",
    "satchel://document/code:shop%00client.py",
    "satchel://document/C:x",
    "satchel://document/%5c%5chost%5cshare",
    "satchel://document/code:shop\u2215client.py",
    "satchel://document/" + "x" * 5_000,
    "satchel://handle/zzzzzzzz",
    "satchel://handle/../x",
    "satchel://elsewhere/x",
    "file:///etc/passwd",
    "http://127.0.0.1/x",
)


@pytest.mark.parametrize("uri", WRONG)
def test_a_resource_that_is_missing_forbidden_or_nonsense_is_refused_in_the_same_words(asked: Asked, uri: str) -> None:
    error = asked.refused(lambda client: client.read_resource(uri))
    assert error.code == types.INVALID_PARAMS
    _, _, rest = error.message.partition("there is no resource ")
    assert rest.endswith(": `search` gives ids for satchel://document/ID, answers give handles")


def test_a_secret_file_is_no_resource(asked: Asked) -> None:
    (asked.engine.places.root / ".env").write_text("A=1\n")
    error = asked.refused(lambda client: client.read_resource("satchel://document/code:.env"))
    assert "there is no resource" in error.message


def test_the_brief_questions_of_this_client_and_memories_are_listed_and_can_be_read(asked: Asked) -> None:
    memory = asked.engine.memories.add("Orders are sent at most three times.")

    async def test(client: Client) -> None:
        await client.call_tool("context_query", {"question": QUESTION, "types": ["code"]})
        await client.call_tool("context_query", {"question": QUESTION})
        answer = await client.list_resources()
        assert (answer.ttl_ms, answer.cache_scope) == (0, "private")
        rows = {str(one.uri): one.name for one in answer.resources}
        assert next(iter(rows)) == "satchel://brief"
        assert [name for uri, name in rows.items() if "/context/" in uri] == [QUESTION]
        assert rows[f"satchel://document/memory:{memory.memory.id}"] == memory.memory.content
        texts = {uri: (await client.read_resource(uri)).contents[0].text for uri in rows}  # type: ignore[union-attr]
        assert all(texts.values())
        assert "def send_order" in next(text for uri, text in texts.items() if "/context/" in uri)

    async def other(client: Client) -> None:
        assert not [one for one in (await client.list_resources()).resources if "/context/" in str(one.uri)]

    asked.run(test)
    asked.run(other)


def test_lists_say_how_long_they_hold(asked: Asked) -> None:
    async def test(client: Client) -> None:
        for found in (await client.list_tools(), await client.list_prompts(), await client.list_resource_templates()):
            assert found.ttl_ms == 3_600_000
            assert found.cache_scope == "public"
        read = await client.read_resource("satchel://document/doc:docs/guide.md")
        assert (read.ttl_ms, read.cache_scope) == (0, "private")
        templates = (await client.list_resource_templates()).resource_templates
        assert [one.uri_template for one in templates] == [
            "satchel://document/{+id}", "satchel://handle/{handle}", "satchel://context/{question}",
        ]  # fmt: skip

    asked.run(test)


def test_a_long_listing_is_cut_at_a_line_and_says_how_many_more_there_are() -> None:
    lines = [f"mem_{number}  0.50  fact 0.5  prices are never rounded" for number in range(2_000)]
    shown = bounded("\n".join(lines)).split("\n")
    assert shown[:-1] == lines[: len(shown) - 1]
    assert shown[-1] == f"{2_001 - len(shown):,} more lines are left out: give a lower limit or a filter"
    assert LISTING_TOKENS * 0.9 < counter().count("\n".join(shown)) < LISTING_TOKENS * 1.01
    assert bounded("a line") == "a line"


def test_a_prompt_brings_what_is_known(asked: Asked) -> None:
    async def test(client: Client) -> None:
        context = await client.get_prompt("context", {"question": QUESTION})
        content = context.messages[0].content
        assert isinstance(content, types.TextContent)
        assert content.text.endswith(asked.engine.assemble(QUESTION, purpose="find").text)
        nothing = await client.get_prompt("premortem", {"domain": "security"})
        assert "failed here yet" in nothing.messages[0].content.text  # type: ignore[union-attr]
        failed = await client.get_prompt("after_failure", {"failure": "TimeoutError in send_order"})
        assert "A command failed" in failed.messages[0].content.text  # type: ignore[union-attr]

    asked.run(test)


def test_a_host_without_a_session_is_sent_everything_and_one_with_it_only_what_is_new(asked: Asked) -> None:
    calls = [asked.call("context_query", {"question": QUESTION}, session="mine") for _ in range(2)]
    assert text_of(calls[0]) != text_of(calls[1])
    assert not asked.call("search", {"question": QUESTION}, session="mine").is_error


def test_an_engine_that_cannot_be_opened_fails_each_call_and_not_the_server() -> None:
    def missing() -> Satchel:
        raise SatchelError("there is no folder here")

    runner = EngineRunner(missing)
    for _ in range(2):
        assert text_of(Asked(None, runner).call("search", {"question": "x"})) == "there is no folder here"  # type: ignore[arg-type]
    assert runner.close(1.0)


def test_work_that_does_not_stop_leaves_the_engine_open(asked: Asked) -> None:
    import threading

    inside, leave = threading.Event(), threading.Event()
    runner = EngineRunner(lambda: asked.engine)

    async def test() -> None:
        def work(should_stop: Callable[[], bool]) -> None:
            inside.set()
            assert leave.wait(PATIENCE_SECONDS)
            assert should_stop()

        running = asyncio.ensure_future(runner.calls.run(work))
        await asyncio.to_thread(inside.wait, PATIENCE_SECONDS)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        assert not await asyncio.to_thread(runner.close, 0.05)
        leave.set()
        assert await asyncio.to_thread(runner.calls.wait, PATIENCE_SECONDS)

    asyncio.run(test())


TEXTS = st.text(max_size=300)
SPANS = st.lists(st.lists(st.integers(1, 99_999), min_size=2, max_size=2), max_size=60)
ITEMS = st.fixed_dictionaries(
    {
        "id": TEXTS, "source": st.sampled_from(["code", "memory"]), "title": TEXTS,
        "relevance": st.floats(0, 1), "handle": st.text("abc234", min_size=8, max_size=8),
    },
    optional={
        "location": st.fixed_dictionaries({"path": TEXTS, "spans": SPANS}),
        "cuts": st.lists(st.fixed_dictionaries({"handle": st.text("abc234", min_size=8, max_size=8)})),
    },
)  # fmt: skip
FAILURES = st.fixed_dictionaries({"source": TEXTS, "message": TEXTS})
USAGE = {
    "limit": 10_000_000,
    "used": 9_999_999,
    "tokenizer": "cl100k_base",
    "exact": False,
    "utilization": 1.0,
    "stopped": "budget",
}


@given(st.lists(ITEMS, max_size=40), st.lists(ITEMS, max_size=40), st.lists(FAILURES, max_size=9), st.lists(TEXTS))
def test_the_structured_part_is_bounded_whatever_an_answer_holds(
    items: list[Any], overflow: list[Any], failures: list[Any], notes: list[str]
) -> None:
    envelope = {"items": items, "overflow": overflow, "failures": failures, "usage": USAGE}
    found = structured(Answered("text", envelope, tuple(notes)))
    assert cost(found) <= MAX_TOKENS
    assert len(found["items"]) + found["more"] == len(items)


def test_errors_name_tools_in_place_of_commands(asked: Asked) -> None:
    async def test(client: Client) -> str:
        result = await client.call_tool("experience", {"action": "note", "note": "seen"})
        assert result.is_error
        return str(result.content[0])

    message = asked.run(test)
    assert "start one with `experience` with action start" in message
    assert "satchel experience" not in message


def test_a_call_without_an_answer_at_its_deadline_says_so_in_one_sentence(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refresh(should_stop: Callable[[], bool], **_: object) -> list[object]:
        while not should_stop():
            pass
        return []

    monkeypatch.setattr(asked.engine, "refresh", refresh)
    runner = EngineRunner(lambda: asked.engine, 0.05)
    result = Asked(asked.engine, runner).call("search", {"question": QUESTION})
    assert result.is_error
    assert text_of(result) == "there is no answer after 0.05 s (the setting serve.deadline_s): ask for less"
    assert runner.calls.wait(PATIENCE_SECONDS)
