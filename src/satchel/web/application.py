"""The HTTP application with MCP at `/mcp`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePath
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Match, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from satchel.engine import Satchel
from satchel.system.threads import in_thread
from satchel.web import routes as api
from satchel.web.middleware import INTERNAL, UNKNOWN_PAGE, Access, Middleware, Origins, answer, wrong_method
from satchel.web.routes import ServerState, openapi

if TYPE_CHECKING:
    from satchel.web.mcp_app import Mounted


class LaterMcp:
    """MCP, loaded at its first request: most servers get none. It can be run once; the engine stays open."""

    def __init__(self, engine: Satchel, origins: Origins, *, is_stateless: bool) -> None:
        self._engine, self._origins, self._is_stateless = engine, origins, is_stateless
        self._mounted: Mounted | None = None
        self._loading = asyncio.Lock()
        self._is_wanted, self._is_running, self._is_over = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        async with self._loading:
            if self._mounted is None:
                self._mounted = await in_thread(self._load)
            mounted = self._mounted
        self._is_wanted.set()
        await self._is_running.wait()
        await mounted.app(scope, receive, send)

    def _load(self) -> Mounted:
        from satchel.web.mcp_app import mcp_app

        return mcp_app(self._engine, self._origins, is_stateless=self._is_stateless)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the block runs; at its end all running calls are asked to stop."""
        serving = asyncio.ensure_future(self._serve())
        try:
            yield
        finally:
            self._is_wanted.set()
            self._is_over.set()
            await serving

    async def _serve(self) -> None:
        """Run what was loaded: the SDK has to begin and to end in the same task."""
        await self._is_wanted.wait()
        if self._mounted is not None:
            try:
                async with self._mounted.running():
                    self._is_running.set()
                    await self._is_over.wait()
            finally:
                self._is_running.set()  # a request that waits for it fails, too


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
    mcp = LaterMcp(shared.engine, origins, is_stateless=has_siblings)

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
    routed = Starlette(routes=routes(mcp), lifespan=lifespan, exception_handlers=handlers)
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
