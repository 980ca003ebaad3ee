"""Routes of the HTTP API: operations by POST, what the page looks at by GET, and GET /openapi.json."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, NoReturn

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from satchel import __version__
from satchel.codec import json_text
from satchel.engine import Satchel
from satchel.errors import SatchelError, UsageError
from satchel.operations.operation import Caller, Operation, StoppedError, without_home
from satchel.operations.registry import OPERATIONS
from satchel.safety import sanitize
from satchel.system import hook_log, telemetry
from satchel.system.threads import in_thread
from satchel.tokens import TOKENIZERS
from satchel.types import SEARCHED_TYPES, Format, ShouldStop, View
from satchel.vocabulary import (
    PURPOSES,
    Axis,
    ConfidenceTier,
    Domain,
    MemoryCategory,
    OutcomeStatus,
    RootCauseCategory,
    Strategy,
)
from satchel.web.middleware import BUSY, GONE, INTERNAL, JSON, PROBES, Refusal, answer, refusal_of
from satchel.web.state import ClientGoneError, RefusedError, ServerState

SHOWN_CHARACTERS = 60
"""Characters of a wrong value in a message."""

THIS_MACHINE = frozenset({"127.0.0.1", "::1"})
"""Addresses of clients on the machine of the server."""

_COUNT = re.compile(r"[1-9][0-9]{0,8}")


async def status(request: Request) -> Response:
    """Run `status`; the progress of the index and the number of records are told in addition."""
    shared: ServerState = request.app.state.served

    def more() -> Mapping[str, Any]:
        return {"indexing": shared.indexing.state(), "records": records(shared.engine)}

    return await performed(request, OPERATIONS["status"], dict, more)


def records(engine: Satchel) -> Mapping[str, int]:
    """Return how many memories, experiences and values this root sees; none if the memory cannot be read."""
    try:
        with engine.opened.memory_snapshot() as store:
            return {} if store is None else {kind: sum(1 for _ in store.iterate_keys(kind)) for kind in store.kinds()}
    except SatchelError:  # the checks of `doctor`, shown beside the state, name what is wrong
        return {}


async def hooks(request: Request) -> Response:
    """Return the hook log, newest last, as `satchel hook log --json` prints it."""
    shared: ServerState = request.app.state.served
    # Entries of the hook log without a `limit`: a few days of work.
    limit = request.query_params.get("limit") or str(200)
    if not _COUNT.fullmatch(limit):
        shown = sanitize.line(limit, SHOWN_CHARACTERS)
        return answer(refusal_of(UsageError(f"limit is {shown!r}: give a whole number from 1 to 999999999")))
    allow = shared.engine.settings.redact_allow
    rows = [sanitize.value(entry, allow) for entry in hook_log.entries(shared.engine.places.state, int(limit))]
    return JSONResponse({"entries": rows, "file": without_home(str(hook_log.log_file(shared.engine.places.state)))})


async def files(request: Request) -> Response:
    """Return a map of the folder `path` (the root by default), or with `links` which file of code imports which."""
    shared: ServerState = request.app.state.served
    path, links = request.query_params.get("path", ""), request.query_params.get("links")

    def work(_should_stop: ShouldStop) -> bytes:
        history = shared.engine.history
        return json.dumps(history.imports() if links else asdict(history.overview(path))).encode()

    return await answered(request, "map", work)


async def options(request: Request) -> Response:
    """Return choices and defaults for a page; `folder` is the root for links to an editor on this machine."""
    shared: ServerState = request.app.state.served
    is_here = request.client is not None and request.client.host in THIS_MACHINE
    folder = shared.engine.places.root.as_posix() if is_here else ""
    return JSONResponse({**offered(shared.engine), "folder": folder})


async def health(_request: Request) -> Response:
    """Report that the server answers."""
    return JSONResponse({"status": "ok"})


async def ready(request: Request) -> Response:
    """Report whether the server can answer questions: an index is published and its store can be read."""
    shared: ServerState = request.app.state.served
    is_ready = await in_thread(lambda: shared.is_ready)
    return JSONResponse({"status": "ready" if is_ready else "not ready"}, 200 if is_ready else BUSY.status)


def offered(engine: Satchel) -> dict[str, Any]:
    """Return all choices of arguments, under plural names, and the defaults of this root."""
    settings = engine.settings
    lenses = next(one for one in OPERATIONS["graph_context"].parameters if one.name == "lens").choices
    return {
        "version": __version__,
        "root": engine.places.root.name,
        "operations": list(OPERATIONS),
        "kinds": list(SEARCHED_TYPES),
        "formats": list(Format),
        "graph_formats": [Format.MARKDOWN, Format.JSON],
        "views": list(View),
        "tokenizers": list(TOKENIZERS),
        "purposes": [*PURPOSES],
        "lenses": list(dict.fromkeys((*lenses, *sorted(engine.opened.loaded.lenses)))),
        "categories": list(MemoryCategory),
        "domains": list(Domain),
        "strategies": list(Strategy),
        "outcomes": list(OutcomeStatus),
        "axes": list(Axis),
        "tiers": list(ConfidenceTier),
        "root_causes": list(RootCauseCategory),
        "capture": settings.memory_capture,
        "defaults": {
            "max_tokens": settings.budget_max_tokens,
            "tokenizer": settings.budget_tokenizer,
            "format": settings.context_format,
            "limit": settings.context_limit,
        },
    }


LOOKING = frozenset({"status", "doctor", "memories", "experiences", "values", "proposals", "remember", "experience"})
"""Operations that need no index and run while the first one is built."""

PLACES = frozenset({"status", "doctor"})
"""Operations whose answers name folders of this machine; the home folder is shown as `~`."""


async def operate(request: Request) -> Response:
    """Run the operation that the path names."""
    name = request.path_params["operation"]
    operation = OPERATIONS.get(name)
    if operation is None:
        return answer(_unknown(name))
    body = await request.body()
    return await performed(request, operation, lambda: parsed(body))


async def performed(
    request: Request,
    operation: Operation,
    arguments: Callable[[], Mapping[str, Any]],
    more: Callable[[], Mapping[str, Any]] = dict,
) -> Response:
    """Return the answer of an operation with `more`; large bodies are parsed and written in the thread."""
    shared: ServerState = request.app.state.served

    def work(should_stop: ShouldStop) -> bytes:
        done = operation.run(shared.engine, arguments(), Caller(shared.indexing, should_stop))
        envelope = {**done.envelope, **more()}
        return f"{json_text(_without_places(envelope) if operation.name in PLACES else envelope)}\n".encode()

    return await answered(request, operation.name, work)


async def answered(request: Request, name: str, work: Callable[[ShouldStop], bytes]) -> Response:
    """Return the JSON of `work`, or the refusal of what went wrong."""
    shared: ServerState = request.app.state.served
    try:
        body = await shared.answer(work, request.receive, needs_index=name not in LOOKING)
    except RefusedError as refused:
        return answer(refused.refusal)
    except (ClientGoneError, StoppedError):
        return answer(GONE)
    except (SatchelError, OSError) as error:
        return answer(refusal_of(error))
    except Exception:  # noqa: BLE001 - an internal error is logged, and its details are not sent
        telemetry.warning("an operation failed", operation=name, exc_info=True)
        return answer(INTERNAL)
    return Response(body, media_type=JSON)


def parsed(body: bytes) -> Mapping[str, Any]:
    """Return the arguments in a body, none if it is empty. Raises UsageError unless it is a JSON object."""
    if not body:
        return {}
    try:
        value = json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise UsageError(f"the body is not valid JSON: {reason}") from error
    value = _whole(value)
    if not isinstance(value, dict):
        raise UsageError('the body is not a JSON object: send the arguments as in {"question": "where is ..."}')
    return value


def _whole(value: Any) -> Any:
    """Return the value with lone surrogates replaced, which no file and no store can save."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.loads(text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace"))
    return value


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


def _without_places(value: Any) -> Any:
    if isinstance(value, str):
        return without_home(value)
    if isinstance(value, Mapping):
        return {key: _without_places(item) for key, item in value.items()}
    return [_without_places(item) for item in value] if isinstance(value, list | tuple) else value


def _unknown(name: str) -> Refusal:
    return Refusal(
        404,
        "UnknownOperation",
        f"there is no operation {sanitize.line(name, SHOWN_CHARACTERS)!r}",
        f"the operations are {', '.join(OPERATIONS)}",
    )


Json = dict[str, Any]

ERROR_SCHEMA: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["type", "message", "hint"],
            "properties": {
                "type": {"type": "string", "description": "What kind of error it is, as in UsageError."},
                "message": {"type": "string", "description": "What is wrong, with the value and the limit."},
                "hint": {"type": "string", "description": "The next step; empty where there is none."},
            },
        }
    },
}

REFUSALS = ("400", "401", "403", "409", "413", "415", "421", "500", "501", "503")
"""Status codes that an operation may return besides 200."""

EVERYWHERE = ("401", "403", "421")
"""Status codes that the middleware may return for every route."""


def openapi() -> Json:
    """Return the document, the same in every process of one version."""
    paths: Json = {f"/api/{name}": {"post": _post(operation)} for name, operation in OPERATIONS.items()}
    for path, row in _PLAIN_ROUTES.items():
        paths.setdefault(path, {})["get"] = _plain(*row)
    for path in PROBES:
        paths[path]["get"]["security"] = []
    paths["/mcp"] = {"post": _plain("mcp", "The Model Context Protocol over streamable HTTP.")}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "satchel",
            "version": __version__,
            "summary": "Contexts for questions about one folder, packed into a token budget.",
            "description": (
                "The same operations and answers as the command line with --json and as the tools over MCP. "
                "Send the token of the server as a bearer token; pages of other sites are refused."
            ),
        },
        "servers": [{"url": "/"}],
        "security": [{"bearer": []}, {"session": []}],
        "paths": paths,
        "components": {
            "schemas": {"Error": ERROR_SCHEMA},
            "responses": {code: _refusal(HTTPStatus(int(code)).phrase) for code in REFUSALS},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "session": {"type": "apiKey", "in": "cookie", "name": "satchel-PORT"},
            },
        },
    }


_PLAIN_ROUTES: Mapping[str, tuple[str, str]] = {
    "/healthz": ("health", "Say that the server answers."),
    "/readyz": ("ready", "Say whether questions are answered: 503 before an index is published."),
    "/openapi.json": ("openapi", "This document."),
    "/api/status": ("get_status", "What `status` says, with the progress of the index and the number of records."),
    "/api/hooks": ("hooks", "What the hooks of editors injected, the newest last; `limit` entries."),
    "/api/map": ("map", "The folders by size and the files by changes below `path`; with `links`, what imports what."),
    "/api/options": ("options", "The choices that arguments have, and the defaults in force."),
}


def _post(operation: Operation) -> Json:
    return {
        "operationId": operation.name,
        "summary": operation.title,
        "description": operation.description,
        "requestBody": {
            "required": any(one.is_required for one in operation.parameters),
            "content": {"application/json": {"schema": operation.json_schema()}},
        },
        "responses": _responses(operation.output, REFUSALS),
    }


def _plain(name: str, summary: str) -> Json:
    return {"operationId": name, "summary": summary, "responses": _responses({"type": "object"}, EVERYWHERE)}


def _responses(schema: Mapping[str, Any], refusals: Iterable[str]) -> Json:
    done = {"description": "The answer.", "content": {"application/json": {"schema": dict(schema)}}}
    return {"200": done} | {code: {"$ref": f"#/components/responses/{code}"} for code in refusals}


def _refusal(text: str) -> Json:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
