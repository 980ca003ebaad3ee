"""The MCP server as one of the SDK, which carries it over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError

from satchel.mcp.running import EngineRunner, Report
from satchel.mcp.server import CACHE_HINTS, INSTRUCTIONS, SERVER_INFO, Handlers, ProtocolError, Result

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
            result = await handlers.answer(context.method, context.params or {}, reporting(context))
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


def reporting(context: Context) -> Report | None:
    """Return what reports progress to the client of a request; None if it asked for none."""
    if not context.meta or "progress_token" not in context.meta:
        return None

    async def report(steps: float, message: str) -> None:
        await context.session.report_progress(steps, None, message)

    return report
