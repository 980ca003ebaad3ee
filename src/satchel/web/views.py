"""GET /api/...: what the page looks at, with arguments in the address where that is handier than a body."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from satchel import __version__, hook_log, outside
from satchel.calls.faults import without_home
from satchel.calls.operation import Operation
from satchel.calls.parameters import Parameter, Shape
from satchel.calls.registry import OPERATIONS
from satchel.engine import Satchel
from satchel.errors import UsageError
from satchel.tokens import TOKENIZERS
from satchel.types import CONTEXT_TYPES, Format, View
from satchel.vocabulary import (
    Axis,
    ConfidenceTier,
    Domain,
    MemoryCategory,
    OutcomeStatus,
    RootCauseCategory,
    Strategy,
)
from satchel.web.error_responses import refusal_of
from satchel.web.middleware import answer
from satchel.web.operations import performed
from satchel.web.state import ServerState

VIEWS = ("status", "doctor", "memories", "experiences", "values")
"""Operations that only look, under GET as well."""

LISTED_HOOKS = 200
"""Entries of the hook log without a `limit`: some days of work."""

SHOWN_CHARACTERS = 60
"""Of a wrong value in a message."""

_COUNT = re.compile(r"[1-9][0-9]{0,8}")

SWITCHES: Mapping[str, bool] = {"true": True, "1": True, "false": False, "0": False}


async def view(request: Request) -> Response:
    """Run the operation of this path with the arguments of the address."""
    operation = OPERATIONS[request.url.path.rpartition("/")[2]]
    shared: ServerState = request.app.state.served
    query = request.query_params

    def more() -> Mapping[str, Any]:
        return {"indexing": shared.indexing.state()} if operation.name == "status" else {}

    return await performed(request, operation, lambda: from_query(operation, query), more)


async def hooks(request: Request) -> Response:
    """What the hooks of editors injected, the newest last, as `satchel hook log --json` prints it."""
    shared: ServerState = request.app.state.served
    given = request.query_params.get("limit") or str(LISTED_HOOKS)
    if not _COUNT.fullmatch(given):
        shown = outside.line(given, SHOWN_CHARACTERS)
        return answer(refusal_of(UsageError(f"limit is {shown!r}: give a whole number from 1 to 999999999")))
    allow = shared.engine.settings.redact_allow
    rows = [outside.value(entry, allow) for entry in hook_log.entries(shared.engine.places.state, int(given))]
    return JSONResponse({"entries": rows, "file": without_home(str(hook_log.log_file(shared.engine.places.state)))})


async def options(request: Request) -> Response:
    """What the controls of a page offer: choices, and the values in force without them."""
    shared: ServerState = request.app.state.served
    return JSONResponse(offered(shared.engine))


async def health(_request: Request) -> Response:
    """That the server answers."""
    return JSONResponse({"status": "ok", "version": __version__})


def offered(engine: Satchel) -> dict[str, Any]:
    """Every choice that an argument has, under plural names, and the defaults of this root."""
    settings = engine.settings
    lenses = next(one for one in OPERATIONS["graph_context"].parameters if one.name == "lens").choices
    return {
        "version": __version__,
        "root": engine.places.root.name,
        "operations": list(OPERATIONS),
        "kinds": list(CONTEXT_TYPES),
        "formats": list(Format),
        "graph_formats": [Format.MARKDOWN, Format.JSON],
        "views": list(View),
        "tokenizers": list(TOKENIZERS),
        "purposes": ["find", "edit"],
        "lenses": list(dict.fromkeys((*lenses, *sorted(engine.loaded.lenses)))),
        "categories": list(MemoryCategory),
        "domains": list(Domain),
        "strategies": list(Strategy),
        "outcomes": list(OutcomeStatus),
        "axes": list(Axis),
        "tiers": list(ConfidenceTier),
        "root_causes": list(RootCauseCategory),
        "defaults": {
            "max_tokens": settings.budget_max_tokens,
            "tokenizer": settings.budget_tokenizer,
            "format": settings.context_format,
            "limit": settings.context_limit,
        },
    }


def from_query(operation: Operation, query: QueryParams) -> dict[str, Any]:
    """The arguments in an address, with the types of the parameters; an empty one counts as not given.

    A list is given by naming it several times. Raises UsageError for what has another type; names are checked where
    the operation is run.
    """
    parameters = {name: one for one in operation.parameters for name in (one.name, *one.aliases)}
    found: dict[str, Any] = {}
    for name in dict.fromkeys(query):
        texts = [text for text in query.getlist(name) if text]
        if texts:
            found[name] = _value(parameters.get(name), name, texts)
    return found


def _value(parameter: Parameter | None, name: str, texts: list[str]) -> Any:
    if parameter is not None and parameter.shape is Shape.TEXTS:
        return texts
    if len(texts) > 1:
        raise UsageError(f"{name} is given {len(texts)} times: give it once")
    read = None if parameter is None else _READERS.get(parameter.shape)
    try:
        return texts[0] if read is None else read(texts[0])
    except (KeyError, ValueError):  # left as it is, so that the operation says what it takes
        return texts[0]


def _switch(text: str) -> bool:
    return SWITCHES[text.lower()]


_READERS: Mapping[Shape, Callable[[str], Any]] = {
    Shape.COUNT: int,
    Shape.NUMBER: float,
    Shape.SWITCH: _switch,
}
