"""Error responses of one shape: `{"error": {"type", "message", "hint"}}`, and the status codes of engine errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from satchel.codec import json_text
from satchel.errors import LockedError, MissingExtraError, NoIndexError, SatchelError, UnsafePathError, UsageError
from satchel.operations.operation import fault_text


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
        """The response as plain JSON values."""
        return {"error": {"type": self.type, "message": self.message, "hint": self.hint}}

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
WRONG_CONTENT = Refusal(
    415, "WrongContentType", "a body has to be JSON", "send it with `Content-Type: application/json`"
)
SLOW_BODY = Refusal(408, "SlowBody", "the body did not arrive in time", "send it at once", {"Connection": "close"})
BUSY = Refusal(503, "Busy", "too many requests are waiting already", "ask again in a second", {"Retry-After": "1"})
STOPPING = Refusal(503, "Stopping", "the server is ending", "start `satchel serve` again", {"Retry-After": "5"})
UNKNOWN_PAGE = Refusal(404, "NotFound", "there is nothing here", "GET /openapi.json lists every route")
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


def wrong_method(methods: Iterable[str]) -> Refusal:
    """Return the refusal of a method that the route does not have."""
    allowed = ", ".join(sorted(methods))
    return Refusal(405, "WrongMethod", f"this route takes {allowed}", f"use {allowed}", {"Allow": allowed})


STATUS_CODES: Sequence[tuple[type[SatchelError], int]] = (
    (UsageError, 400),
    (UnsafePathError, 400),
    (LockedError, 409),
    (NoIndexError, 409),
    (MissingExtraError, 501),
)
"""Error class -> status code, first match; all others are 500."""

HINTS: Sequence[tuple[type[SatchelError], str]] = (
    (UsageError, "GET /openapi.json describes the arguments of every operation"),
    (UnsafePathError, "name files from the root on, as the answers do"),
    (LockedError, "ask again when the other process is done"),
    (MissingExtraError, "install the extra and start `satchel serve` again"),
)

INTERNAL_ERROR = 500


def refusal_of(error: SatchelError | OSError) -> Refusal:
    """Return the refusal for an error."""
    status = next((code for kind, code in STATUS_CODES if isinstance(error, kind)), INTERNAL_ERROR)
    hint = next((text for kind, text in HINTS if isinstance(error, kind)), "`satchel doctor` says more")
    headers = {"Retry-After": "1"} if isinstance(error, LockedError) else {}
    name = type(error).__name__ if isinstance(error, SatchelError) else "OSError"
    return Refusal(status, name, fault_text(error), hint, headers)
