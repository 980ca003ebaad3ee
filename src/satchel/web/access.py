"""Who may ask: programs with the server's token, the browser that opened the link, and only pages of this server.

The token lasts and is for programs, which send it as `Authorization: Bearer`. The link contains a ticket that works
once: what remains in a browser's history, or on a shared screen, opens nothing. In its place the browser gets a
cookie that no script reads and no other site sends.

A page of another site can make a browser send requests to 127.0.0.1, and can make its own name lead there (DNS
rebinding). The first is refused by its Origin, the second by the Host that it names. Names are compared as written:
another spelling of the same address is refused.
"""

from __future__ import annotations

import base64
import re
import secrets
import threading
from collections.abc import Collection, Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from satchel.errors import ConfigError, UsageError
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
        raise ConfigError(
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
            raise UsageError(
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
