"""Who may ask: whoever has the server's token, and the browser that opened the link.

The token lasts and is for programs, which send it as `Authorization: Bearer`. The link holds a ticket that works
once: what remains in a browser's history, or on a shared screen, opens nothing. In its place the browser gets a
cookie that no script reads and no other site sends.
"""

from __future__ import annotations

import base64
import secrets
import threading
from collections.abc import Mapping
from pathlib import Path

from satchel.errors import ConfigError
from satchel.keys import load_key

TOKEN_VARIABLE = "SATCHEL_HTTP_TOKEN"  # noqa: S105 - the name of a variable
"""Environment variable with the token to use in place of the one in the state folder."""

SHORTEST_TOKEN = 20
"""Characters of a token that somebody chose: 20 random ones of letters and digits are 119 bits."""

TOKEN_FOLDER = "http"  # noqa: S105 - the name of a folder
"""Folder below the state folder whose key is the token; removing it makes a new one at the next start."""

SECRET_BYTES = 32

BEARER = "bearer "


def load_token(state: Path, environ: Mapping[str, str]) -> str:
    """The server's token: that of the environment, else the one in the state folder (mode 0600), made when missing.

    Raises ConfigError for a token in the environment that is too short, or cannot stand in a header.
    """
    given = environ.get(TOKEN_VARIABLE, "")
    if not given:
        return base64.urlsafe_b64encode(load_key(state / TOKEN_FOLDER, {})).rstrip(b"=").decode("ascii")
    if len(given) < SHORTEST_TOKEN or not (given.isascii() and given.isprintable()) or " " in given:
        raise ConfigError(
            f"{TOKEN_VARIABLE} has {len(given)} characters: give at least {SHORTEST_TOKEN} letters, digits or signs "
            "without spaces, or unset it to use the token that `satchel serve --show-token` prints"
        )
    return given


class Access:
    """The token, the ticket of the link and the session that it opens; all of this process alone."""

    def __init__(self, token: str, port: int) -> None:
        self._token = token.encode()
        self._session = secrets.token_urlsafe(SECRET_BYTES)
        self._guard = threading.Lock()
        self._is_used = False
        self.ticket = secrets.token_urlsafe(SECRET_BYTES)
        # Cookies do not know ports: without the number, two servers on one machine would log each other's page out.
        self.cookie = f"satchel-{port}"

    def is_bearer(self, authorization: str) -> bool:
        """Whether an `Authorization` header has the token."""
        if authorization[: len(BEARER)].lower() != BEARER:
            return False
        return secrets.compare_digest(authorization[len(BEARER) :].strip().encode(), self._token)

    def is_session(self, cookies: str) -> bool:
        """Whether a `Cookie` header has the session that the ticket opened.

        Other servers of this machine put cookies with odd names beside ours, so the header is only split.
        """
        pairs = (part.strip().partition("=") for part in cookies.split(";"))
        given = [value for name, _, value in pairs if name == self.cookie]
        return self._is_used and any(secrets.compare_digest(one.encode(), self._session.encode()) for one in given)

    def redeem(self, ticket: str) -> str | None:
        """The `Set-Cookie` for the ticket of the link, once; None for any other, and from the second time on."""
        with self._guard:
            if self._is_used or not secrets.compare_digest(ticket.encode(), self.ticket.encode()):
                return None
            self._is_used = True
        return f"{self.cookie}={self._session}; Path=/; HttpOnly; SameSite=Strict"
