"""The server over HTTP, mounted in an application of this process; `tests/web` asks it over a socket."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from satchel.engine import Satchel
from satchel.operations.registry import TOOLS
from satchel.testing import TinyRepository
from satchel.types import Failure
from satchel.web.mcp_app import Mounted, mcp_app
from satchel.web.middleware import BODY_BYTES, own_origins
from tests.mcp.serving import ERAS, EVERY_TOOL, PATIENCE_SECONDS
from tests.operations.conftest import FILES

OWN = own_origins("127.0.0.1", 80)
META = {
    "io.modelcontextprotocol/protocolVersion": ERAS[1],
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Satchel]:
    TinyRepository(tmp_path / "shop").commit("Send orders again with backoff", FILES)
    environ = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(tmp_path / "shop", environ=environ) as opened:
        yield opened


async def post(app: Any, method: str, params: Mapping[str, Any], host: str = "127.0.0.1:80") -> tuple[int, bytes]:
    """Status and body of one request of the present era."""
    body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, "_meta": META}}
    headers = {
        "host": host, "content-type": "application/json", "accept": "application/json, text/event-stream",
        "mcp-protocol-version": ERAS[1], "mcp-method": method, "mcp-name": str(params.get("name", "")),
    }  # fmt: skip
    scope = {
        "type": "http", "method": "POST", "path": "/mcp", "raw_path": b"/mcp", "query_string": b"", "root_path": "",
        "scheme": "http", "http_version": "1.1", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [(name.encode(), value.encode()) for name, value in headers.items() if value],
    }  # fmt: skip
    sent, done = [{"type": "http.request", "body": json.dumps(body).encode(), "more_body": False}], asyncio.Event()
    status, received = 0, b""

    async def receive() -> Any:
        if sent:
            return sent.pop()
        await done.wait()
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        nonlocal status, received
        status = message.get("status", status)
        received += message.get("body", b"")
        if message["type"] == "http.response.body" and not message.get("more_body"):
            done.set()

    await app(scope, receive, send)
    return status, received


@asynccontextmanager
async def running(mounted: Mounted) -> AsyncIterator[Any]:
    """An application with the server at `/mcp`, in its lifespan."""
    async with asyncio.timeout(PATIENCE_SECONDS), mounted.running():
        yield Starlette(routes=[Route("/mcp", mounted.app)])


def test_the_tools_are_listed_and_called_over_http(engine: Satchel) -> None:
    async def test() -> None:
        async with running(mcp_app(engine, OWN)) as app:
            status, listed = await post(app, "tools/list", {})
            assert status == 200
            assert all(tool.name.encode() in listed for tool in TOOLS)
            status, called = await post(app, "tools/call", {"name": "search", "arguments": {"question": "backoff"}})
            assert status == 200
            assert b"shop/client.py" in called

    asyncio.run(test())
    assert engine.search("backoff"), "the engine is still open"


def test_clients_of_other_names_have_an_experience_each(engine: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        async with running(mcp_app(engine, OWN)) as app:
            for name in ("coder", "reviewer"):
                monkeypatch.setitem(META, "io.modelcontextprotocol/clientInfo", {"name": name, "version": "1"})
                call = {"name": "experience", "arguments": EVERY_TOOL["experience"]}
                assert b'"isError":false' in (await post(app, "tools/call", call))[1]

    asyncio.run(test())
    assert len({one.session_id for one in engine.experiences.listed()}) == 2


def test_a_foreign_host_is_refused(engine: Satchel) -> None:
    async def test() -> None:
        async with running(mcp_app(engine, OWN)) as app:
            assert (await post(app, "tools/list", {}))[0] == 200
            assert (await post(app, "tools/list", {}, host="evil.test"))[0] == 421
            assert (await post(app, "tools/list", {"x": "y" * (BODY_BYTES + 1)}))[0] == 413

    asyncio.run(test())


def test_a_call_ends_at_the_deadline_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TinyRepository(tmp_path / "shop").commit("Send orders again with backoff", FILES)
    environ = {"SATCHEL_HOME": str(tmp_path / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    limits = {"serve.deadline_s": 0.1}

    def endless(*, should_stop: Callable[[], bool], **_options: Any) -> list[Failure]:
        while not should_stop():
            pass
        return []

    async def test() -> None:
        with Satchel.open(tmp_path / "shop", environ=environ, settings=limits) as engine:
            monkeypatch.setattr(engine, "refresh", endless)
            async with running(mcp_app(engine, OWN)) as app:
                status, called = await post(app, "tools/call", {"name": "search", "arguments": {"question": "backoff"}})
        assert status == 200
        assert b"serve.deadline_s" in called
        assert b'"isError":true' in called.replace(b": ", b":")

    asyncio.run(test())
