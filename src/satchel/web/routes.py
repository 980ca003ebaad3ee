"""Routes of the HTTP API: operations by POST, what the page looks at by GET, GET /openapi.json; and their shared state.

The engine is synchronous: its work runs in threads, never on the event loop, which continues to answer other requests.
When a client disconnects, its waiting request is dropped, and its running one is asked to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from http import HTTPStatus
from typing import Any, NoReturn, TypeVar

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive

from satchel import __version__, vocabulary
from satchel.codec import json_text
from satchel.engine import Satchel
from satchel.errors import LockedError, SatchelError, UsageError
from satchel.operations.operation import HELP, Caller, Operation, StoppedError, flat, option_help, without_home
from satchel.operations.registry import OPERATIONS
from satchel.safety import sanitize
from satchel.system import telemetry
from satchel.system.threads import Calls, in_thread
from satchel.tokens import TOKENIZERS
from satchel.types import FILE_KINDS, SEARCHED_TYPES, Format, Json, ShouldStop, View
from satchel.web.middleware import BUILDING, BUSY, GONE, INTERNAL, JSON, PROBES, Refusal, answer, refusal_of, too_late

SHOWN_CHARACTERS = 60
"""Characters of a wrong value in a message."""

THIS_MACHINE = frozenset({"127.0.0.1", "::1"})
"""Addresses of clients on the machine of the server."""

_COUNT = re.compile(r"[1-9][0-9]{0,8}")


Answer = TypeVar("Answer")

END_SECONDS = 0.5
"""Seconds for work to end after the connections did: indexing checks many times in that."""


class RefusedError(Exception):
    """The request is not answered."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal.message)
        self.refusal = refusal


class ClientGoneError(Exception):
    """The client disconnected."""


class Indexing:
    """A `Progress` that can be read while another thread reports to it."""

    def __init__(self) -> None:
        self.is_first = True
        self.failure = ""
        self._phase, self._done, self._total = "", 0, 0

    def phase(self, name: str, total: int) -> None:
        """Start a phase of `total` steps."""
        self._phase, self._done, self._total = name, 0, total

    def advance(self, count: int) -> None:
        """Count more finished steps."""
        self._done += count

    def state(self) -> Json:
        """Return the progress of the current run, or the end of the last one, as plain JSON values.

        `running`: the run at the start, for which questions wait, is not finished; `phase` with `done` of `total` steps
        (0 if unknown) is the last report of any run.
        """
        steps = {"phase": self._phase, "done": self._done, "total": self._total}
        return {"running": self.is_first, **steps, "failure": self.failure}


class ServerState:
    """The shared state of a server with the limits of the engine's settings; `close` it before the engine."""

    def __init__(self, engine: Satchel) -> None:
        self.engine = engine
        self.indexing = Indexing()
        # Threads for operations without an index, so that they run while all others wait for one.
        self._asking, self._looking = Calls(engine.settings.serve_threads), Calls(2)
        self._index_run = Calls(1)
        self._calls = (self._asking, self._looking, self._index_run)
        self._first: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Start to bring the index up to date; questions wait for it. It is called in an event loop."""
        self._first = asyncio.ensure_future(self._index_run.run(self._index))

    def _index(self, should_stop: ShouldStop) -> None:
        """Bring the index up to date, also if another process builds it, then start its vectors."""
        try:
            while not should_stop():
                with contextlib.suppress(LockedError):  # after `index.lock_wait_s`, as another process builds it
                    self.engine.refresh(progress=self.indexing, should_stop=should_stop)
                    self.engine.start_embedding()
                    break
        except (SatchelError, OSError) as error:
            self.indexing.failure = str(error)
            telemetry.warning("the index is not up to date", reason=str(error))
        finally:
            self.indexing.is_first = False

    @property
    def is_ready(self) -> bool:
        """Whether a question would be answered now: the first run is over, and a published index can be read."""
        if self.indexing.is_first:
            return False
        try:
            with self.engine.store.snapshot() as state:
                return state.is_published
        except (SatchelError, OSError):
            return False

    async def answer(
        self, work: Callable[[ShouldStop], Answer], receive: Receive, *, needs_index: bool = True
    ) -> Answer:
        """Return the result of `work`, which waits for the first run of the index if it `needs_index`.

        Raises ClientGoneError if the client disconnects, RefusedError at the deadline.
        """
        gone = asyncio.ensure_future(_disconnected(receive))
        job = asyncio.ensure_future(self._in_time(work, needs_index=needs_index))
        try:
            await asyncio.wait({job, gone}, return_when=asyncio.FIRST_COMPLETED)
            if not job.done():
                raise ClientGoneError
            return job.result()
        finally:
            gone.cancel()
            job.cancel()

    async def _in_time(self, work: Callable[[ShouldStop], Answer], *, needs_index: bool) -> Answer:
        seconds, calls = self.engine.settings.serve_deadline_s, self._asking if needs_index else self._looking
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                if needs_index and self._first is not None:
                    await asyncio.wait({self._first})
                return await calls.run(work)
        except TimeoutError:
            if not timer.expired():
                raise
            is_waiting = needs_index and self.indexing.is_first
            raise RefusedError(too_late(seconds, BUILDING) if is_waiting else too_late(seconds)) from None

    def stop(self) -> None:
        """Ask all work to stop."""
        for calls in self._calls:
            calls.stop()

    def close(self) -> bool:
        """Stop and wait for all work; returns whether it ended in time."""
        deadline = time.monotonic() + END_SECONDS
        self.stop()
        ended = [calls.close(max(0.0, deadline - time.monotonic())) for calls in self._calls]
        return all(ended)


async def _disconnected(receive: Receive) -> None:
    """Return when the client goes away."""
    while (await receive())["type"] != "http.disconnect":
        pass


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
    rows = [sanitize.value(entry, allow) for entry in telemetry.hook_entries(shared.engine.places.state, int(limit))]
    return JSONResponse(
        {"entries": rows, "file": without_home(str(telemetry.hook_log_file(shared.engine.places.state)))}
    )


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
    lenses = next(parameter for parameter in OPERATIONS["graph_context"].parameters if parameter.name == "lens").choices
    return {
        "version": __version__,
        "root": engine.places.root.name,
        "operations": list(OPERATIONS),
        "kinds": list(SEARCHED_TYPES),
        "file_kinds": list(FILE_KINDS),
        "formats": list(Format),
        "graph_formats": [Format.MARKDOWN, Format.JSON],
        "views": list(View),
        "tokenizers": list(TOKENIZERS),
        "purposes": [*vocabulary.PURPOSES],
        "lenses": list(dict.fromkeys((*lenses, *sorted(engine.opened.loaded.lenses)))),
        "categories": list(vocabulary.MemoryCategory),
        "domains": list(vocabulary.Domain),
        "strategies": list(vocabulary.Strategy),
        "outcomes": list(vocabulary.OutcomeStatus),
        "axes": list(vocabulary.Axis),
        "tiers": list(vocabulary.ConfidenceTier),
        "root_causes": list(vocabulary.RootCauseCategory),
        "capture": settings.memory_capture,
        "defaults": {
            "max_tokens": settings.budget_max_tokens,
            "tokenizer": settings.budget_tokenizer,
            "format": settings.context_format,
            "limit": settings.context_limit,
        },
    }


LOOKING = frozenset(
    {"status", "stats", "doctor", "memories", "experiences", "values", "proposals", "remember", "experience"}
)
"""Operations that need no index and run while the first one is built."""

PLACES = frozenset({"status", "doctor"})
"""Operations whose answers name folders of this machine; the home folder is shown as `~`."""


async def operate(request: Request) -> Response:
    """Run the operation that the path names."""
    name = request.path_params["operation"]
    operation = OPERATIONS.get(name)
    if operation is None:
        message = f"there is no operation {sanitize.line(name, SHOWN_CHARACTERS)!r}"
        return answer(Refusal(404, "UnknownOperation", message, f"the operations are {', '.join(OPERATIONS)}"))
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
        given = flat(arguments())
        if given.pop(HELP, False):
            return f"{json_text({'text': option_help(operation)})}\n".encode()
        done = operation.run(shared.engine, given, Caller(shared.indexing, should_stop))
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


_ERROR: Mapping[str, str] = {
    "type": "What kind of error it is, as in UsageError.",
    "message": "What is wrong, with the value and the limit.",
    "hint": "The next step; empty where there is none.",
}
_FIELDS: Json = {name: {"type": "string", "description": meaning} for name, meaning in _ERROR.items()}
ERROR_SCHEMA: Json = {
    "type": "object",
    "required": ["error"],
    "properties": {"error": {"type": "object", "required": [*_ERROR], "properties": _FIELDS}},
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
            "required": any(parameter.is_required for parameter in operation.parameters),
            "content": {"application/json": {"schema": operation.json_schema()}},
        },
        "responses": _responses(operation.output(), REFUSALS),
    }


def _plain(name: str, summary: str) -> Json:
    return {"operationId": name, "summary": summary, "responses": _responses({"type": "object"}, EVERYWHERE)}


def _responses(schema: Mapping[str, Any], refusals: Iterable[str]) -> Json:
    done = {"description": "The answer.", "content": {"application/json": {"schema": dict(schema)}}}
    return {"200": done} | {code: {"$ref": f"#/components/responses/{code}"} for code in refusals}


def _refusal(text: str) -> Json:
    return {"description": text, "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}}
