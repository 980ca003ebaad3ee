"""Middleware that every request passes before a route sees it, every response on its way out, and the error responses.

It checks in this order, each with a response of its own: the target, the Host, the Origin, the credentials, the content
type, the number of requests in progress and the size. A refused request has no effect, and no route is reachable
another way, unknown paths, the page and `/mcp` included; only the probes need no credentials. Errors have one shape:
`{"error": {"type", "message", "hint"}}`.

The token lasts and is for programs, which send it as `Authorization: Bearer`. The link contains a ticket that works
once: what remains in a browser's history, or on a shared screen, opens nothing. In its place the browser gets a
cookie that no script reads and no other site sends.

A page of another site can make a browser send requests to 127.0.0.1, and can make its own name lead there (DNS
rebinding). The first is refused by its Origin, the second by the Host that it names. Names are compared as written:
another spelling of the same address is refused.
"""

from __future__ import annotations

import asyncio
import base64
import re
import secrets
import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from satchel import errors
from satchel.codec import json_text
from satchel.operations.operation import fault_text
from satchel.safety.sanitize import redact
from satchel.safety.trust import load_key

if TYPE_CHECKING:
    from multiprocessing.synchronize import Semaphore


TOKEN_VARIABLE = "SATCHEL_HTTP_TOKEN"  # noqa: S105 - the name of a variable
"""Environment variable with a token that replaces the one in the state folder."""

SHORTEST_TOKEN = 20
"""Least characters of a chosen token: 20 random letters and digits are 119 bits."""

TOKEN_FOLDER = "http"  # noqa: S105 - the name of a folder
"""Folder below the state folder with the token; removing it creates a new token at the next start."""

SECRET_BYTES = 32

BEARER = "bearer "


def load_token(state: Path, environ: Mapping[str, str]) -> str:
    """Return the token of the environment, else of the state folder, created if missing. Raises ConfigError."""
    token = environ.get(TOKEN_VARIABLE, "")
    if not token:
        return base64.urlsafe_b64encode(load_key(state / TOKEN_FOLDER, {})).rstrip(b"=").decode("ascii")
    if len(token) < SHORTEST_TOKEN or not (token.isascii() and token.isprintable()) or " " in token:
        raise errors.ConfigError(
            f"{TOKEN_VARIABLE} has {len(token)} characters: give at least {SHORTEST_TOKEN} letters, digits or signs "
            "without spaces, or unset it to use the token that `satchel serve --show-token` prints"
        )
    return token


class Access:
    """The token, the ticket of the link and its session. Processes may share the count `unused`."""

    def __init__(self, token: str, port: int, unused: threading.Semaphore | Semaphore | None = None) -> None:
        self._token = token.encode()
        self._session = secrets.token_urlsafe(SECRET_BYTES)
        self._unused = unused or threading.Semaphore()
        self.ticket = secrets.token_urlsafe(SECRET_BYTES)
        # Cookies do not know ports: without the number, two servers on one machine would log each other's page out.
        self.cookie = f"satchel-{port}"

    def is_bearer(self, authorization: str) -> bool:
        """Return whether an `Authorization` header has the token."""
        if authorization[: len(BEARER)].lower() != BEARER:
            return False
        return secrets.compare_digest(authorization[len(BEARER) :].strip().encode(), self._token)

    def is_session(self, cookies: str) -> bool:
        """Return whether a `Cookie` header, which is only split, has the session that the ticket opened."""
        pairs = (part.strip().partition("=") for part in cookies.split(";"))
        values = [value for name, _, value in pairs if name == self.cookie]
        return any(secrets.compare_digest(value.encode(), self._session.encode()) for value in values)

    def redeem(self, ticket: str) -> str | None:
        """Return the `Set-Cookie` for the ticket of the link, once; None for another ticket and on later calls."""
        if not secrets.compare_digest(ticket.encode(), self.ticket.encode()) or not self._unused.acquire(False):  # noqa: FBT003
            return None
        return f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"


LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")


class Origins(NamedTuple):
    """The allowed values of Host, in lower case, and of Origin."""

    hosts: frozenset[str]
    origins: frozenset[str]

    def is_host(self, host: str) -> bool:
        """Return whether this is a name of this server, with its port."""
        return host.lower() in self.hosts

    def is_own(self, origin: str) -> bool:
        """Return whether this is an origin of this server. `null`, which sandboxed and local pages send, is not."""
        return origin.lower() in self.origins


def own_origins(host: str, port: int, others: Collection[str] = ()) -> Origins:
    """Return the allowed names of a server on `host` and `port`: the loopback names, its own, and `others`.

    `others` are values of Host as a proxy or another machine writes them, with the port unless it is the default.
    Raises UsageError for an invalid Host.
    """
    for other in others:
        if not _HOST.fullmatch(other):
            raise errors.UsageError(
                f"--allow-host {other!r} is not a host: write it as in context.example.org or 192.168.1.5:8123"
            )
    names = {*LOOPBACK_NAMES, bracketed(host).lower()}
    # The port that a browser leaves out of Host and Origin.
    ours = {f"{name}:{port}" for name in names} | (names if port == 80 else set())
    further = {other.lower() for other in others}
    secure = {f"https://{other}" for other in further}
    return Origins(frozenset(ours | further), frozenset({f"http://{name}" for name in ours | further} | secure))


def bracketed(host: str) -> str:
    """Return a host as written in an address: IPv6 in brackets."""
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches this host. A name other than localhost may lead anywhere."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


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
BODY_BYTES = 2_097_152
"""Largest body of a request: the output of a failed command fits, and a full queue fits into a small machine."""

TOO_LARGE = Refusal(
    413, "TooLarge", f"the body has more than {BODY_BYTES:,} bytes", "send less", {"Connection": "close"}
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
WRONG_CONTENT = Refusal(
    415, "WrongContentType", "a body has to be JSON", "send it with `Content-Type: application/json`"
)
BUSY = Refusal(503, "Busy", "too many requests are waiting already", "ask again in a second", {"Retry-After": "1"})
STOPPING = Refusal(503, "Stopping", "the server is ending", "start `satchel serve` again", {"Retry-After": "5"})
GONE = Refusal(499, "ClientGone", "the client went away before the answer")
UNKNOWN_PAGE = Refusal(404, "NotFound", "there is nothing here", "GET /openapi.json lists every route")
BUILDING = "the index is not built yet: `satchel status` and GET /api/status say how far it is"
INTERNAL = Refusal(
    500, "InternalError", "something went wrong inside", "the messages of `satchel serve` say what; please report it"
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
    (errors.UsageError, 400, "GET /openapi.json describes the arguments of every operation"),
    (errors.UnsafePathError, 400, "name files from the root on, as the answers do"),
    (errors.LockedError, 409, "ask again when the other process is done"),
    (errors.NoIndexError, 409, DOCTOR),
    (
        errors.UnreachableStoreError,
        503,
        "ask again in a minute; `satchel doctor` says whether the server of the store answers",
    ),
    (errors.MissingExtraError, 501, "install the extra and start `satchel serve` again"),
    (Exception, 500, DOCTOR),
)
"""Error class -> status code and hint, first match."""


def refusal_of(error: errors.SatchelError | OSError) -> Refusal:
    """Return the refusal for an error."""
    status, hint = next((code, hint) for kind, code, hint in FAULTS if isinstance(error, kind))
    headers = {"Retry-After": "1"} if isinstance(error, errors.LockedError) else {}
    name = type(error).__name__ if isinstance(error, errors.SatchelError) else "OSError"
    return Refusal(status, name, fault_text(error), hint, headers)


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


class Middleware:
    """Wraps the application of a server, which answers `most` POST requests at once; the next one is refused."""

    def __init__(self, app: ASGIApp, origins: Origins, access: Access, most: int) -> None:
        self._app = app
        self._origins = origins
        self._access = access
        self._most = most
        self._in_progress = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer with a refusal."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":  # no route of ours is a web socket
            await send({"type": "websocket.close", "code": 1008})
            return

        is_answered = False

        async def send_safely(message: Message) -> None:
            nonlocal is_answered
            if message["type"] == "http.response.start":
                is_answered = True
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers[name] = value
            await send(message)

        try:
            await self._answer(scope, receive, send_safely)
        except asyncio.CancelledError:  # the server ends, and the time for its last answers is over
            if not is_answered:
                await answer(STOPPING)(scope, receive, send_safely)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        refusal = self._unknown_name(scope, headers)
        if refusal is None and (ticket := _ticket(scope)) is not None:
            await self._signed_in(ticket, headers)(scope, receive, send)
            return
        refusal = refusal or self._unknown_person(scope, headers) or _wrong_content(scope, headers)
        if refusal is not None:
            await answer(refusal)(scope, receive, send)
        elif scope["method"] == "POST":
            await self._answer_post(scope, headers, receive, send)
        else:
            await self._app(scope, receive, send)

    async def _answer_post(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        if self._in_progress >= self._most:
            await answer(BUSY)(scope, receive, send)
            return
        self._in_progress += 1
        try:
            body = await self._body(headers, receive)
            app = self._app if body is not None else answer(TOO_LARGE)
            await app(scope, _replayed(body or b"", receive), send)
        finally:
            self._in_progress -= 1

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
        is_probe = scope["path"] in PROBES and scope["method"] in {"GET", "HEAD"}
        is_known = self._access.is_bearer(headers.get("authorization", "")) or self._is_session(headers)
        return None if is_known or is_probe else NOT_SIGNED_IN

    def _is_session(self, headers: Headers) -> bool:
        return any(self._access.is_session(cookies) for cookies in headers.getlist("cookie"))

    def _signed_in(self, ticket: str, headers: Headers) -> Response:
        """Return the redirect from the link to the page, also for a browser that is already signed in."""
        cookie = self._access.redeem(ticket)
        if cookie is None and not self._is_session(headers):
            return answer(NOT_SIGNED_IN)
        return Response(status_code=303, headers={"Location": "/"} | ({"Set-Cookie": cookie} if cookie else {}))

    async def _body(self, headers: Headers, receive: Receive) -> bytes | None:
        """Return the body, None if it is too large."""
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > BODY_BYTES:
            return None
        body, has_more = bytearray(), True
        while has_more and len(body) <= BODY_BYTES:
            message = await receive()
            body += message.get("body", b"")
            has_more = message.get("more_body", False)  # false too if the client has gone
        return bytes(body) if len(body) <= BODY_BYTES else None


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
