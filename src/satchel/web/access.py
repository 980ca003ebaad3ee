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
import json
import re
import secrets
import threading
from collections.abc import Collection, Mapping
from enum import StrEnum
from hashlib import sha256
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from satchel.errors import ConfigError, UsageError
from satchel.safety.trust import load_key
from satchel.system import files, state_files

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

USERS_NAME = "users.json"

_USER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")


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


class Rights(StrEnum):
    """What a person may do."""

    READ = "read"
    WRITE = "write"


class UserTokens:
    """A token for each user, in a file (mode 0600) that has only hashes of them. Changes count at once."""

    def __init__(self, state: Path) -> None:
        self._folder = state / TOKEN_FOLDER
        self._read: tuple[tuple[int, int, int] | None, Mapping[str, tuple[str, Rights]]] = (None, {})

    def add(self, name: str, rights: Rights) -> str:
        """Return a new token of a user, which replaces an older one. Raises UsageError for an impossible name."""
        if not _USER.fullmatch(name):
            raise UsageError(f"{name!r} can be no name: use at most 64 letters, digits, '.', '_', '@' and '-'")
        token = secrets.token_urlsafe(SECRET_BYTES)
        self._change(name, {_digest(token): (name, rights)})
        return token

    def remove(self, name: str) -> None:
        """Remove the token of a user. Raises UsageError if there is none."""
        if name not in self.names():
            raise UsageError(f"{name!r} has no token: there are {', '.join(self.names()) or 'none'}")
        self._change(name, {})

    def names(self) -> list[str]:
        """Return the names of the users with a token."""
        return sorted(name for name, _ in self._rows().values())

    def rights(self, token: str) -> Rights | None:
        """Return what the user with this token may do, None for an unknown one."""
        return self._rows().get(_digest(token), (None, None))[1]

    def _rows(self) -> Mapping[str, tuple[str, Rights]]:
        stamp = files.stamp(self._folder, USERS_NAME)
        if stamp != self._read[0]:
            # Size limit of the file of hashed tokens: some ten thousand users
            raw = files.read_bytes(self._folder, USERS_NAME, limit=4_000_000).raw if stamp is not None else b"{}"
            try:
                rows = {digest: (name, Rights(rights)) for digest, (name, rights) in json.loads(raw).items()}
            except (ValueError, TypeError, AttributeError) as error:
                raise ConfigError(f"{self._folder / USERS_NAME} is damaged: remove it, and add the tokens") from error
            self._read = stamp, rows
        return self._read[1]

    def _change(self, name: str, new: Mapping[str, tuple[str, Rights]]) -> None:
        state_files.make_folder(self._folder)
        with state_files.locked(self._folder):
            kept = {digest: row for digest, row in self._rows().items() if row[0] != name}
            state_files.replace(self._folder / USERS_NAME, json.dumps({**kept, **new}).encode())


def _digest(token: str) -> str:
    """Return the hash of a token. It is random and long, so a slow hash would add nothing."""
    return sha256(token.encode()).hexdigest()


class Access:
    """The token, those of `users`, the ticket of the link and its session. Processes may share the count `unused`."""

    def __init__(
        self,
        token: str,
        port: int,
        users: UserTokens | None = None,
        unused: threading.Semaphore | Semaphore | None = None,
    ) -> None:
        self._token = token.encode()
        self._users = users
        self._session = secrets.token_urlsafe(SECRET_BYTES)
        self._unused = unused or threading.Semaphore()
        self.ticket = secrets.token_urlsafe(SECRET_BYTES)
        # Cookies do not know ports: without the number, two servers on one machine would log each other's page out.
        self.cookie = f"satchel-{port}"

    def bearer(self, authorization: str) -> Rights | None:
        """Return what the token in an `Authorization` header allows, None without a known one."""
        if authorization[: len(BEARER)].lower() != BEARER:
            return None
        token = authorization[len(BEARER) :].strip()
        if secrets.compare_digest(token.encode(), self._token):
            return Rights.WRITE
        return self._users.rights(token) if self._users is not None else None

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
