"""MCP over HTTP, with the SDK, which takes 35 MB and as long as ten answers to load."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import anyio
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.types import ASGIApp

from satchel.engine import Satchel
from satchel.mcp.pipes import END_SECONDS
from satchel.mcp.running import EngineRunner, ProtocolError, Report
from satchel.mcp.server import CACHE_HINTS, INSTRUCTIONS, SERVER_INFO, Handlers, Result
from satchel.system.threads import in_thread
from satchel.vocabulary import CLIENT_SESSION
from satchel.web.middleware import BODY_BYTES, Origins


@dataclass(frozen=True, slots=True)
class Mounted:
    """The application and its lifespan. It can be run once; the engine stays open."""

    app: ASGIApp
    _manager: StreamableHTTPSessionManager
    _runner: EngineRunner

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the block runs; at its end all running calls are asked to stop."""
        async with self._manager.run():
            try:
                yield
            finally:
                self._runner.calls.stop()
        with anyio.CancelScope(shield=True):
            await in_thread(self._runner.calls.wait, END_SECONDS)


def mcp_app(engine: Satchel, origins: Origins, *, is_stateless: bool = False) -> Mounted:
    """Return the server around an engine that the caller closes.

    `is_stateless`: clients of the older protocol get no session, so that any process may answer their next request.
    """
    runner = EngineRunner(lambda: engine, engine.settings.serve_deadline_s)
    manager = StreamableHTTPSessionManager(
        app=build(runner),
        security_settings=TransportSecuritySettings(
            allowed_hosts=sorted(origins.hosts), allowed_origins=sorted(origins.origins)
        ),
        max_request_body_size=BODY_BYTES,
        max_sessions=200,  # sessions of clients of the older protocol; each uses a stream and some tasks
        stateless=is_stateless,
    )
    return Mounted(StreamableHTTPASGIApp(manager), manager, runner)


Context = ServerRequestContext[Any, Any]

METHODS: Mapping[str, type[types.RequestParams]] = {
    "tools/list": types.PaginatedRequestParams,
    "tools/call": types.CallToolRequestParams,
    "prompts/list": types.PaginatedRequestParams,
    "prompts/get": types.GetPromptRequestParams,
    "resources/list": types.PaginatedRequestParams,
    "resources/templates/list": types.PaginatedRequestParams,
    "resources/read": types.ReadResourceRequestParams,
}
"""The requests that are answered, with the model that checks their parameters."""


def build(runner: EngineRunner, session: str = "") -> Server[Any]:
    """Return the server. Several servers may share a runner."""
    handlers = Handlers(runner, session)

    async def handle(context: Context, _params: types.RequestParams) -> Result:
        try:
            result = await handlers.answer(context.method, context.params or {}, reporting(context), client(context))
        except ProtocolError as error:
            raise MCPError(error.code, error.message, error.data) from None
        return {"resultType": "complete", **result}  # the SDK drops what a version of the protocol does not have

    server: Server[Any] = Server(
        SERVER_INFO["name"],
        version=SERVER_INFO["version"],
        title=SERVER_INFO["title"],
        description=SERVER_INFO["description"],
        instructions=INSTRUCTIONS,
        cache_hints={method: CacheHint(*hint) for method, hint in CACHE_HINTS.items()},  # type: ignore[misc]
    )
    for method, params in METHODS.items():
        server.add_request_handler(method, params, handle)
    return server


def client(context: Context) -> str:
    """Return the session of a client that names none: of its connection, without one of its name."""
    named = (context.meta or {}).get("io.modelcontextprotocol/clientInfo")
    connection = context.request.headers.get("mcp-session-id") if context.request is not None else ""
    own = connection or (str(named.get("name", "")) if isinstance(named, Mapping) else "")
    return CLIENT_SESSION + blake2b(own.encode(), digest_size=4).hexdigest() if own else ""


def reporting(context: Context) -> Report | None:
    """Return what reports progress to the client of a request; None if it asked for none."""
    if not context.meta or "progress_token" not in context.meta:
        return None

    async def report(steps: float, message: str) -> None:
        await context.session.report_progress(steps, None, message)

    return report
