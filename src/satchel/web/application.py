"""The application: every route behind the middleware, and the files of the page as they are in the package."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from satchel.mcp.http import mcp_app
from satchel.web import operations, views
from satchel.web.access import Access, Origins
from satchel.web.error_responses import INTERNAL, UNKNOWN_PAGE, wrong_method
from satchel.web.middleware import Middleware, answer
from satchel.web.openapi import openapi
from satchel.web.request_queue import RefusedError
from satchel.web.state import ServerState

WRONG_METHOD = 405


class Admitted:
    """An application whose requests take places among those that ask: what is full is full for everybody.

    A stream that a client only listens to takes none.
    """

    def __init__(self, app: ASGIApp, shared: ServerState) -> None:
        self._app = app
        self._shared = shared

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or say that there is no place."""
        if scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        try:
            with self._shared.asking.admitted():
                await self._app(scope, receive, send)
        except RefusedError as refused:
            await answer(refused.refusal)(scope, receive, send)


def application(shared: ServerState, origins: Origins, access: Access) -> ASGIApp:
    """Everything that `satchel serve` answers. While it lives, the index is brought up to date once."""
    most_bytes = shared.engine.settings.serve_body_bytes
    mcp = mcp_app(shared.engine, origins.hosts, origins.origins, body_bytes=most_bytes)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with mcp.running():
            shared.start()
            try:
                yield
            finally:
                shared.stop()

    handlers = {HTTPException: _said, Exception: _failed}
    routed = Starlette(routes=routes(Admitted(mcp.app, shared)), lifespan=lifespan, exception_handlers=handlers)
    routed.router.redirect_slashes = False  # another spelling of a route is no route
    routed.state.served = shared
    return Middleware(routed, origins, access, most_bytes)


def routes(mcp: ASGIApp) -> list[BaseRoute]:
    """Every route, the exact ones first."""
    return [
        Route("/", index),
        Route("/page/{name}", page_file),
        Route("/healthz", views.health),
        Route("/openapi.json", _openapi),
        Route("/api/options", views.options),
        Route("/api/hooks", views.hooks),
        *(Route(f"/api/{name}", views.view) for name in views.VIEWS),
        Route("/mcp", mcp),
        Route("/api/{operation}", operations.operate, methods=["POST"]),
    ]


async def _openapi(_request: Request) -> Response:
    return JSONResponse(openapi())


async def _said(_request: Request, error: Exception) -> Response:
    """What the router says of itself, in our shape."""
    if isinstance(error, HTTPException) and error.status_code == WRONG_METHOD:
        return answer(wrong_method((error.headers or {}).get("Allow", "").split(", ")))
    return answer(UNKNOWN_PAGE)


async def _failed(_request: Request, _error: Exception) -> Response:
    """A fault of ours outside any operation; the server logs it."""
    return answer(INTERNAL)


CONTENT_TYPES: Mapping[str, str] = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
}
"""Suffix -> what the browser is told; with `nosniff` it believes nothing else."""

INDEX = "index.html"


@cache
def _files() -> Mapping[str, Traversable]:
    """Name -> file, looked up once: a name in a request is compared, never joined to a folder."""
    folder = files("satchel.web") / "page"
    if not folder.is_dir():
        return {}
    return {entry.name: entry for entry in folder.iterdir() if entry.is_file() and _suffix(entry.name) in CONTENT_TYPES}


def page_response(name: str) -> Response:
    """A file of the page, 404 where there is none of this name."""
    found = _files().get(name)
    if found is None:
        return answer(UNKNOWN_PAGE)
    return Response(found.read_bytes(), media_type=CONTENT_TYPES[_suffix(name)])


async def index(_request: Request) -> Response:
    """`/`."""
    return page_response(INDEX)


async def page_file(request: Request) -> Response:
    """`/page/NAME`."""
    return page_response(request.path_params["name"])


def _suffix(name: str) -> str:
    return name[name.rfind(".") :] if "." in name else ""
