"""The HTTP application with MCP at `/mcp`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import Any

import anyio
from mcp import types
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp

from satchel.engine import Satchel
from satchel.mcp.pipes import END_SECONDS
from satchel.mcp.running import EngineRunner, ProtocolError, Report
from satchel.mcp.server import CACHE_HINTS, INSTRUCTIONS, SERVER_INFO, Handlers, Result
from satchel.system.threads import in_thread
from satchel.vocabulary import CLIENT_SESSION
from satchel.web import routes as api
from satchel.web.middleware import BODY_BYTES, INTERNAL, UNKNOWN_PAGE, Access, Middleware, Origins, answer, wrong_method
from satchel.web.routes import ServerState, openapi


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


def application(
    shared: ServerState,
    origins: Origins,
    access: Access,
    *,
    has_siblings: bool = False,
    at_end: Callable[[], object] = lambda: None,
) -> ASGIApp:
    """Return the application of `satchel serve`. Its lifespan brings the index up to date once.

    `has_siblings`: other processes answer on the same socket. `at_end` is called once all work has ended.
    """
    settings = shared.engine.settings
    mcp = mcp_app(shared.engine, origins, is_stateless=has_siblings)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with mcp.running():
            shared.start()
            try:
                yield
            finally:
                shared.stop()
        if await in_thread(shared.close):
            at_end()

    handlers = {HTTPException: _said, Exception: _failed}
    routed = Starlette(routes=routes(mcp.app), lifespan=lifespan, exception_handlers=handlers)
    routed.router.redirect_slashes = False  # another spelling of a route is not a route
    routed.state.served = shared
    return Middleware(routed, origins, access, settings.serve_threads + settings.serve_waiting)


def routes(mcp: ASGIApp) -> list[BaseRoute]:
    """Return every route, the exact ones first."""
    return [
        Route("/", page_file),
        Route("/page/{name}", page_file),
        Route("/healthz", api.health),
        Route("/readyz", api.ready),
        Route("/openapi.json", _openapi),
        Route("/api/options", api.options),
        Route("/api/hooks", api.hooks),
        Route("/api/map", api.files),
        Route("/api/status", api.status),
        Route("/mcp", mcp),
        Route("/api/{operation}", api.operate, methods=["POST"]),
    ]


async def _openapi(_request: Request) -> Response:
    return JSONResponse(openapi())


async def _said(request: Request, error: Exception) -> Response:
    """Return an error of the router in the common shape."""
    if isinstance(error, HTTPException) and error.status_code == 405:  # wrong method
        # The router names the methods of the first route of a path alone.
        fit = [route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE]
        return answer(
            wrong_method({method for route in fit if isinstance(route, Route) for method in route.methods or ()})
        )
    return answer(UNKNOWN_PAGE)


async def _failed(_request: Request, _error: Exception) -> Response:
    """Return the response to an internal error outside operations; the server logs it."""
    return answer(INTERNAL)


CONTENT_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""Suffix -> Content-Type; with `nosniff` the browser accepts no other."""

INDEX = "index.html"


@cache
def _files() -> Mapping[str, Traversable]:
    """Return name -> file: a name in a request is compared, never joined to a folder."""
    folder = files("satchel.web") / "page"
    if not folder.is_dir():
        return {}
    return {
        entry.name: entry
        for entry in folder.iterdir()
        if entry.is_file() and PurePath(entry.name).suffix in CONTENT_TYPES
    }


async def page_file(request: Request) -> Response:
    """Return the file of `/` and `/page/NAME`, 404 where there is none of this name."""
    name = request.path_params.get("name", INDEX)
    file = _files().get(name)
    if file is None:
        return answer(UNKNOWN_PAGE)
    return Response(file.read_bytes(), media_type=CONTENT_TYPES[PurePath(name).suffix])


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
