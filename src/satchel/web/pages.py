"""The files of the page, as they lie in the package. Only names that exist there are answered."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from starlette.requests import Request
from starlette.responses import Response

from satchel.web.guard import answer
from satchel.web.refusals import UNKNOWN_PAGE

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
