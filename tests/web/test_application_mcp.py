"""MCP over HTTP, as the official client and the Inspector speak it, beside the same operations at /api."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.types import TextContent

from satchel.operations.registry import TOOLS
from tests.e2e.sample import sample_repository
from tests.operations.bounds import TOO_MUCH
from tests.web.asking import TOKEN
from tests.web.process import PATIENCE_SECONDS, Server, serving

ERAS = ("legacy", "2026-07-28")

INSPECTOR = Path(__file__).parents[1] / "peers" / "node_modules" / ".bin" / "mcp-inspector"

NOW = "2024-05-01"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mcp")
    sample_repository(folder / "shop")
    return folder


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home / "shop", home) as running:
        yield running


@asynccontextmanager
async def connected(server: Server, era: str, token: str = TOKEN) -> AsyncIterator[Client]:
    """The official client, in one era of the protocol."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=PATIENCE_SECONDS) as http,
        Client(streamable_http_client(f"{server.address}/mcp", http_client=http), mode=era) as client,
    ):
        yield client


def running(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test in an event loop of its own, with an end."""

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await test()

    asyncio.run(bounded())


def text_of(result: Any) -> str:
    """The one text of a tool's answer."""
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


@pytest.mark.parametrize("era", ERAS)
def test_both_eras_list_and_call_the_tools(server: Server, era: str) -> None:
    async def test() -> None:
        async with connected(server, era) as client:
            listed = await client.list_tools()
            assert [tool.name for tool in listed.tools] == [one.name for one in TOOLS]
            result = await client.call_tool("context_query", {"question": "where is backoff computed?", "now": NOW})
            assert not result.is_error
            assert "def backoff" in text_of(result)
            wrong = await client.call_tool("context_query", {"question": "x", "max_tokns": 1})
            assert wrong.is_error
            assert "max_tokens" in text_of(wrong)

    running(test)


@pytest.mark.parametrize("era", ERAS)
def test_the_same_question_has_the_same_bytes_at_both_doors(server: Server, era: str) -> None:
    given = {"question": "how are orders sent again?", "now": NOW}

    async def test() -> None:
        async with connected(server, era) as client:
            over_mcp = text_of(await client.call_tool("context_query", given))
        status, body = await asyncio.to_thread(server.ask, "context_query", given)
        assert status == 200
        assert over_mcp == json.loads(body)["text"]

    running(test)


def test_a_resource_is_read(server: Server) -> None:
    async def test() -> None:
        async with connected(server, ERAS[1]) as client:
            templates = await client.list_resource_templates()
            assert templates.resource_templates
            read = await client.read_resource("satchel://document/code:shop/prices.py::discount")
            assert "def discount" in str(read.contents)

    running(test)


EVERY_TOOL: tuple[tuple[str, dict[str, Any]], ...] = (
    ("context_query", {"question": "backoff"}),
    ("graph_context", {"query": "backoff"}),
    ("premortem", {"domain": "debugging"}),
    ("situation_context", {"task": "change the backoff"}),
    ("search", {"question": "backoff"}),
    ("expand", {"handles": ["aaaaaaaa"]}),
    ("remember", {"action": "list"}),
    ("experience", {"action": "list"}),
)


@pytest.mark.parametrize(("arguments", "message"), TOO_MUCH)
def test_too_much_is_refused_in_one_sentence(server: Server, arguments: dict[str, Any], message: str) -> None:
    async def test() -> None:
        async with connected(server, ERAS[1]) as client:
            result = await client.call_tool("context_query", arguments)
            assert result.is_error
            assert text_of(result).startswith(message)

    running(test)


@pytest.mark.parametrize("era", ERAS)
def test_every_tool_answers(server: Server, era: str) -> None:
    assert [name for name, _ in EVERY_TOOL] == [one.name for one in TOOLS]

    async def test() -> None:
        async with connected(server, era) as client:
            for name, arguments in EVERY_TOOL:
                result = await client.call_tool(name, arguments)
                assert not result.is_error or name == "expand", (name, text_of(result))

    running(test)


def test_many_clients_at_once_get_their_own_answers(server: Server) -> None:
    questions = [{"question": word, "now": NOW} for word in ("backoff", "discount", "RetryError", "guide")]
    expected = [json.loads(server.ask("context_query", given)[1])["text"] for given in questions]
    assert len(set(expected)) == len(questions)

    async def ask(number: int) -> None:
        async with connected(server, ERAS[number % 2]) as client:
            result = await client.call_tool("context_query", questions[number % len(questions)])
            assert text_of(result) == expected[number % len(questions)]

    async def test() -> None:
        await asyncio.gather(*(ask(number) for number in range(20)))

    running(test)


MANY_FILES = 1_500
"""Takes some hundred times as long to index as it takes to say that one does not want to wait."""


@pytest.mark.parametrize("era", ERAS)
def test_a_call_that_is_given_up_stops_its_refresh_and_frees_the_lock(server: Server, home: Path, era: str) -> None:
    folder = home / "shop" / f"era{ERAS.index(era)}"
    folder.mkdir()
    for number in range(MANY_FILES):
        code = f"def function_{number}(value: int) -> int:\n    return value * {number}\n"
        (folder / f"module{number}.py").write_text(code * 5, encoding="utf-8")

    async def test() -> None:
        async with connected(server, era) as client:
            begun = asyncio.Event()

            async def told(progress: float, total: float | None = None, message: str | None = None) -> None:  # noqa: ARG001
                begun.set()

            while not begun.is_set():  # for two seconds after the last look at the tree nothing is refreshed
                call = asyncio.ensure_future(
                    client.call_tool("search", {"question": "function"}, progress_callback=told)
                )
                heard = asyncio.ensure_future(begun.wait())
                await asyncio.wait({call, heard}, return_when=asyncio.FIRST_COMPLETED)
                heard.cancel()
            assert not call.done(), "the refresh goes on"
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            while (state := await asyncio.to_thread(server.get, "/api/status"))["building"]:
                pass
            assert state["freshness"]["new"], "the rest is left for the next question"
            result = await client.call_tool("search", {"question": f"function_{MANY_FILES - 1}"})
            assert f"function_{MANY_FILES - 1}" in text_of(result)

    running(test)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Authorization": ""}, 401),
        ({"Host": "evil.test"}, 421),
        ({"Origin": "http://evil.test"}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Mcp-Method": "tools/list"}, 400),
    ],
    ids=["no token", "another host", "another site", "a simple request", "header and body differ"],
)
def test_a_wrong_request_is_refused(server: Server, headers: dict[str, str], status: int) -> None:
    meta = {
        "io.modelcontextprotocol/protocolVersion": ERAS[1],
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }
    usual = {
        "Authorization": f"Bearer {TOKEN}",
        "Content-Type": "application/json",
        "Accept": "application/json, text/event-stream",
        "MCP-Protocol-Version": ERAS[1],
        "Mcp-Method": "tools/call",
        "Mcp-Name": "search",
    }
    request = {
        "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "search", "arguments": {"question": "x"}, "_meta": meta},
    }  # fmt: skip
    with httpx2.Client(timeout=PATIENCE_SECONDS) as client:
        assert client.post(f"{server.address}/mcp", headers=usual, json=request).status_code == 200
        assert client.post(f"{server.address}/mcp", headers=usual | headers, json=request).status_code == status


def test_the_inspector_lists_and_calls_with_the_token(server: Server) -> None:
    if not INSPECTOR.exists() or shutil.which("node") is None:
        pytest.skip("the Inspector is not installed: scripts/install_peers.sh does it")

    def inspect(*arguments: str) -> Any:
        ran = subprocess.run(
            [
                str(INSPECTOR), "--cli", f"{server.address}/mcp", "--transport", "http",
                "--header", f"Authorization: Bearer {TOKEN}", *arguments,
            ],
            capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False, env=dict(os.environ),
        )  # fmt: skip
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    assert [tool["name"] for tool in inspect("--method", "tools/list")["tools"]] == [one.name for one in TOOLS]
    called = inspect(
        "--method", "tools/call", "--tool-name", "context_query", "--tool-arg", "question=where is backoff computed?"
    )
    assert "def backoff" in called["content"][0]["text"]
