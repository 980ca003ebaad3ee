"""Middleware that every request passes before a route sees it, every response on its way out, and the error responses.

It checks in this order, each with a response of its own: the target, the Host, the Origin, the credentials, the content
type and the size. A refused request has no effect, and no route is reachable another way, unknown paths, the page and
`/mcp` included; only the probes need no credentials. Errors have one shape: `{"error": {"type", "message", "hint"}}`.
All requests are counted, refused ones too.
"""

from __future__ import annotations

import asyncio
import mmap
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from satchel.codec import json_text
from satchel.errors import (
    LockedError,
    MissingExtraError,
    NoIndexError,
    SatchelError,
    UnreachableStoreError,
    UnsafePathError,
    UsageError,
)
from satchel.operations.operation import fault_text
from satchel.safety.sanitize import redact
from satchel.web.access import Access, Origins, Rights


@dataclass(frozen=True, slots=True)
class Refusal:
    """A status code and why. `headers` belong to that code."""

    status: int
    type: str
    message: str
    hint: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def data(self) -> dict[str, Any]:
        """The response as plain JSON values, without secrets: a message may quote the request."""
        return {"error": {"type": self.type, "message": redact(self.message)[0], "hint": self.hint}}

    @property
    def body(self) -> bytes:
        """The response as bytes."""
        return f"{json_text(self.data)}\n".encode()


WRONG_HOST = Refusal(
    421,
    "WrongHost",
    "the Host of this request is not a name of this server",
    "use the address that `satchel serve` printed, or name the host with `--allow-host`",
)
WRONG_TARGET = Refusal(
    421, "WrongHost", "the target of this request is not a path", "ask for a path such as /api/status"
)
WRONG_ORIGIN = Refusal(
    403, "WrongOrigin", "a page of another site must not ask here", "open the page of this server instead"
)
NOT_SIGNED_IN = Refusal(
    401,
    "NotSignedIn",
    "this needs the link that `satchel serve` printed, which works once, or the token of the server",
    "start `satchel serve` again for a new link, or send `Authorization: Bearer TOKEN` with the token that "
    "`satchel serve --show-token` prints",
    {"WWW-Authenticate": "Bearer"},
)
READ_ONLY = Refusal(403, "ReadOnly", "this token may only read", "ask for one that may write: it changes what is kept")
WRONG_CONTENT = Refusal(
    415, "WrongContentType", "a body has to be JSON", "send it with `Content-Type: application/json`"
)
SLOW_BODY = Refusal(408, "SlowBody", "the body did not arrive in time", "send it at once", {"Connection": "close"})
BUSY = Refusal(503, "Busy", "too many requests are waiting already", "ask again in a second", {"Retry-After": "1"})
STOPPING = Refusal(503, "Stopping", "the server is ending", "start `satchel serve` again", {"Retry-After": "5"})
GONE = Refusal(499, "ClientGone", "the client went away before the answer")
UNKNOWN_PAGE = Refusal(404, "NotFound", "there is nothing here", "GET /openapi.json lists every route")
BUILDING = "the index is not built yet: `satchel status` and GET /api/status say how far it is"
INTERNAL = Refusal(
    500, "InternalError", "something went wrong inside", "the messages of `satchel serve` say what; please report it"
)


def too_large(limit: int) -> Refusal:
    """Return the refusal of a body with more than `limit` bytes."""
    return Refusal(
        413,
        "TooLarge",
        f"the body has more than {limit:,} bytes",
        "send less, or raise the setting serve.body_bytes",
        {"Connection": "close"},
    )


def too_late(
    seconds: float, hint: str = "ask for fewer types or tokens, or raise the setting serve.deadline_s"
) -> Refusal:
    """Return the refusal of a request that has no answer after its deadline."""
    return Refusal(504, "DeadlineExceeded", f"there is no answer after {seconds:g} s", hint, {"Retry-After": "5"})


def wrong_method(methods: Iterable[str]) -> Refusal:
    """Return the refusal of a method that the route does not have."""
    allowed = ", ".join(sorted(methods))
    return Refusal(405, "WrongMethod", f"this route takes {allowed}", f"use {allowed}", {"Allow": allowed})


DOCTOR = "`satchel doctor` says more"

FAULTS: Sequence[tuple[type[Exception], int, str]] = (
    (UsageError, 400, "GET /openapi.json describes the arguments of every operation"),
    (UnsafePathError, 400, "name files from the root on, as the answers do"),
    (LockedError, 409, "ask again when the other process is done"),
    (NoIndexError, 409, DOCTOR),
    (
        UnreachableStoreError,
        503,
        "ask again in a minute; `satchel doctor` says whether the server of the store answers",
    ),
    (MissingExtraError, 501, "install the extra and start `satchel serve` again"),
    (Exception, 500, DOCTOR),
)
"""Error class -> status code and hint, first match."""


def refusal_of(error: SatchelError | OSError) -> Refusal:
    """Return the refusal for an error."""
    status, hint = next((code, hint) for kind, code, hint in FAULTS if isinstance(error, kind))
    headers = {"Retry-After": "1"} if isinstance(error, LockedError) else {}
    name = type(error).__name__ if isinstance(error, SatchelError) else "OSError"
    return Refusal(status, name, fault_text(error), hint, headers)


BODY_SECONDS = 10.0
"""Seconds for a body to arrive: on one machine two megabytes take milliseconds."""

SIGNED_IN = "satchel.signed_in"
"""Entry in the state of a connection with the function to call when a request on it has a session or the token."""

RIGHTS = "satchel.rights"
"""Entry in the scope of a request with the rights of who sent it; only a library that mounts the routes has none."""

TICKET_PARAMETER = "token"
"""Query parameter of the printed link: `/?token=...`."""

JSON = "application/json"

OWN_SITES = frozenset({"same-origin", "none"})
"""Values of Sec-Fetch-Site for requests of the page (same-origin) or typed by a person (none)."""

SAFE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Headers of every response, refusals included: it is not embedded, framed or cached."""


PROBES = ("/healthz", "/readyz")
"""Paths that GET and HEAD reach without credentials: their answers say yes or no, and nothing else."""

DOORS = ("api", "mcp", "stream", "page", "probe")
"""Values of the label `door`. A stream is a GET of /mcp, which stays open."""

STATUSES = (200, 202, 204, 303, 400, 401, 403, 404, 405, 406, 408, 409, 413, 415, 421, 499, 500, 501, 503, 504, 0)
"""Values of the label `status`: 499 where the client went away, 0 for any other."""

BOUNDS = ("0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5", "10", "30", "60", "120", "+Inf")
"""Upper bounds of the durations that are counted together, in seconds."""

TYPES: Mapping[str, str] = {
    "satchel_connections": "gauge",
    "satchel_requests_in_flight": "gauge",
    "satchel_requests_refused_total": "counter",
    "satchel_requests_total": "counter",
    "satchel_request_seconds": "histogram",
}
CONNECTIONS, IN_FLIGHT, REFUSED, REQUESTS, SECONDS = TYPES

COLUMNS: Mapping[str, int] = {name: at for at, name in enumerate((
    CONNECTIONS, IN_FLIGHT, REFUSED,
    *(f'{REQUESTS}{{door="{door}",status="{status}"}}' for door in DOORS for status in STATUSES),
    *(f'{SECONDS}_bucket{{door="{door}",le="{bound}"}}' for door in DOORS for bound in BOUNDS),
    *(f'{SECONDS}_{part}{{door="{door}"}}' for door in DOORS for part in ("sum", "count")),
))}  # fmt: skip
"""Name of a sample in the text format of Prometheus -> its place in the row of a worker."""


class Metrics:
    """Counts of the requests of all workers: a row for each, in memory that they share.

    A worker only writes its own row, so no lock is needed; one that replaces another continues its row.
    """

    def __init__(self, workers: int = 1) -> None:
        self._rows = memoryview(mmap.mmap(-1, workers * len(COLUMNS) * 8)).cast("d")
        self.loads, self.slot = self._rows[:: len(COLUMNS)], 0

    def start(self, slot: int) -> None:
        """Write to this row from now on."""
        self.slot = slot
        self._rows[slot * len(COLUMNS) + COLUMNS[IN_FLIGHT]] = 0  # a worker that was killed left its own there

    def add(self, name: str, amount: float = 1) -> None:
        """Add to a sample."""
        self._rows[self.slot * len(COLUMNS) + COLUMNS[name]] += amount

    def answered(self, scope: Scope, status: int, seconds: float) -> None:
        """Count a request that ended."""
        first = scope["path"].split("/")[1] if scope["path"].startswith("/") else ""
        door = first if first in {"api", "mcp"} else "probe" if first in {"healthz", "readyz", "metrics"} else "page"
        door = "stream" if door == "mcp" and scope["method"] == "GET" else door
        self.add(f'{REQUESTS}{{door="{door}",status="{status if status in STATUSES else 0}"}}')
        for bound in (bound for bound in BOUNDS if seconds <= float(bound)):
            self.add(f'{SECONDS}_bucket{{door="{door}",le="{bound}"}}')
        self.add(f'{SECONDS}_sum{{door="{door}"}}', seconds)
        self.add(f'{SECONDS}_count{{door="{door}"}}')
        if status == BUSY.status and door != "probe":
            self.add(REFUSED)

    def text(self) -> str:
        """Return the sums over all workers in the text format of Prometheus."""
        lines = []
        for family, kind in TYPES.items():
            lines.append(f"# TYPE {family} {kind}")
            names = (name for name in COLUMNS if name.startswith(family))
            lines += (f"{name} {sum(self._rows[COLUMNS[name] :: len(COLUMNS)]):.15g}" for name in names)
        return "\n".join(lines)


class Middleware:
    """Wraps the application of a server."""

    def __init__(self, app: ASGIApp, origins: Origins, access: Access, body_bytes: int, metrics: Metrics) -> None:
        self._app = app
        self._origins = origins
        self._access = access
        self._body_bytes = body_bytes
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer with a refusal; count it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no route of ours is a web socket
            await send({"type": "websocket.close", "code": 1008})
            return

        status, begun = GONE.status, time.monotonic()

        async def send_safely(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers[name] = value
            await send(message)

        self._metrics.add(IN_FLIGHT)
        try:
            await self._answer(scope, receive, send_safely)
        finally:
            self._metrics.add(IN_FLIGHT, -1)
            self._metrics.answered(scope, status, time.monotonic() - begun)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refusal = self._unknown_name(scope, headers)
        if refusal is None and (ticket := _ticket(scope)) is not None:
            await self._signed_in(ticket, headers)(scope, receive, send)
            return
        refusal = refusal or self._unknown_person(scope, headers) or _wrong_content(scope, headers)
        if refusal is None and scope["method"] == "POST":
            body = await self._body(headers, receive)
            if isinstance(body, Refusal):
                refusal = body
            else:
                receive = _replayed(body, receive)
        if refusal is not None:
            await answer(refusal)(scope, receive, send)
            return
        await self._app(scope, receive, send)

    def _unknown_name(self, scope: Scope, headers: Headers) -> Refusal | None:
        if not scope["path"].startswith("/"):  # a whole address in the request line would win over the Host
            return WRONG_TARGET
        hosts, origins, sites = (headers.getlist(name) for name in ("host", "origin", "sec-fetch-site"))
        if len(hosts) != 1 or not self._origins.is_host(hosts[0]):
            return WRONG_HOST
        if not all(self._origins.is_own(origin) for origin in origins) or not OWN_SITES.issuperset(sites):
            return WRONG_ORIGIN
        return None

    def _unknown_person(self, scope: Scope, headers: Headers) -> Refusal | None:
        rights = self._access.bearer(headers.get("authorization", ""))
        if rights is None and self._is_session(headers):
            rights = Rights.WRITE
        scope[RIGHTS] = rights
        if rights is None:
            return None if scope["path"] in PROBES and scope["method"] in {"GET", "HEAD"} else NOT_SIGNED_IN
        signed_in = scope.get("state", {}).get(SIGNED_IN)
        if signed_in is not None:
            signed_in()
        return None

    def _is_session(self, headers: Headers) -> bool:
        return any(self._access.is_session(cookies) for cookies in headers.getlist("cookie"))

    def _signed_in(self, ticket: str, headers: Headers) -> Response:
        """Return the redirect from the link to the page, also for a browser that is already signed in."""
        cookie = self._access.redeem(ticket)
        if cookie is None and not self._is_session(headers):
            return answer(NOT_SIGNED_IN)
        return Response(status_code=303, headers={"Location": "/"} | ({"Set-Cookie": cookie} if cookie else {}))

    async def _body(self, headers: Headers, receive: Receive) -> bytes | Refusal:
        """Return the body, limited in bytes and time, or a refusal."""
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > self._body_bytes:
            return too_large(self._body_bytes)
        body = bytearray()
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > self._body_bytes:
                        return too_large(self._body_bytes)
                    if not message.get("more_body", False):  # or the client has gone
                        return bytes(body)
        except TimeoutError:
            return SLOW_BODY


def answer(refusal: Refusal) -> Response:
    """Return a refusal as a response."""
    return Response(refusal.body, refusal.status, dict(refusal.headers), JSON)


def _ticket(scope: Scope) -> str | None:
    """Return the ticket in the address of the page, where there is one."""
    if scope["method"] != "GET" or scope["path"] != "/":
        return None
    values = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True).get(TICKET_PARAMETER)
    return None if values is None else values[0]


def _wrong_content(scope: Scope, headers: Headers) -> Refusal | None:
    """Return a refusal for a body that is not JSON: other sites may send forms and texts without asking."""
    if scope["method"] != "POST":
        return None
    kinds = [value.partition(";")[0].strip().lower() for value in headers.getlist("content-type")]
    return None if kinds == [JSON] else WRONG_CONTENT


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` with the body that was read, then the real messages, such as a disconnect."""
    is_given = False

    async def replay() -> Message:
        nonlocal is_given
        if is_given:
            return await receive()
        is_given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replay
