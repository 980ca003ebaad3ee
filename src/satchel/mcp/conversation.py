"""What a client may ask, in both eras of the protocol: the handshake of 2024 and 2025, the envelope of 2026.

The first request decides which of them a connection speaks. The SDK does the same for HTTP; here it is left out because
its import takes longer than an answer (docs/decisions/0034).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from satchel.mcp.running import Report
from satchel.mcp.server import (
    CACHE_HINTS,
    INSTRUCTIONS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    SERVER_INFO,
    Handlers,
    ProtocolError,
    Result,
)

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE_VERSIONS = ("2026-07-28",)

UNSUPPORTED_VERSION = -32022

_META = "io.modelcontextprotocol/"
VERSION, CAPABILITIES, CLIENT, SERVER = (
    _META + name for name in ("protocolVersion", "clientCapabilities", "clientInfo", "serverInfo")
)

_SERVED: Result = {
    "prompts": {"listChanged": False},
    "resources": {"listChanged": False, "subscribe": False},
    "tools": {"listChanged": False},
}

Check = Callable[[Any], bool]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_client(value: Any) -> bool:
    return isinstance(value, dict) and _is_text(value.get("name")) and _is_text(value.get("version"))


def _are_texts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _optional(check: Check) -> Check:
    return lambda value: value is None or check(value)


_PAGE: Mapping[str, Check] = {"cursor": _optional(_is_text)}
PARAMETERS: Mapping[str, Mapping[str, Check]] = {
    "tools/list": _PAGE,
    "tools/call": {"name": _is_text, "arguments": _optional(_is_object)},
    "prompts/list": _PAGE,
    "prompts/get": {"name": _is_text, "arguments": _optional(_are_texts)},
    "resources/list": _PAGE,
    "resources/templates/list": _PAGE,
    "resources/read": {"uri": _is_text},
}
"""The requests of both eras, with the shape of their parameters."""

HANDSHAKE_ONLY: Mapping[str, Mapping[str, Check]] = {
    "initialize": {"protocolVersion": _is_text, "capabilities": _is_object, "clientInfo": _is_client},
    "ping": {},
}
ENVELOPE_ONLY: Mapping[str, Mapping[str, Check]] = {"server/discover": {}}


class Conversation:
    """The state of one connection: its era, and whether a handshake was accepted."""

    def __init__(self, handlers: Handlers) -> None:
        self._handlers = handlers
        self._has_envelopes: bool | None = None
        self._is_accepted = False

    async def answer(self, method: str, params: Mapping[str, Any], report: Report | None) -> Result:
        """Return the result of a request. Raises ProtocolError."""
        meta = params.get("_meta")
        is_enveloped = method != "initialize" and isinstance(meta, Mapping) and VERSION in meta
        if self._has_envelopes is None:
            self._has_envelopes = is_enveloped
        if self._has_envelopes:
            return await self._enveloped(method, params, report)
        if is_enveloped:
            raise ProtocolError(
                INVALID_REQUEST,
                "this connection serves the handshake protocol era; "
                "requests carrying the 2026-07-28 envelope are not accepted on it",
            )
        return await self._shaken(method, params, report)

    async def _shaken(self, method: str, params: Mapping[str, Any], report: Report | None) -> Result:
        """Return the result of a request after a handshake, or that of the handshake."""
        _check(method, params, HANDSHAKE_ONLY)
        if method == "ping":
            return {}
        if method == "initialize":
            self._is_accepted = True
            asked = params["protocolVersion"]
            return {
                "capabilities": _SERVED,
                "instructions": INSTRUCTIONS,
                "protocolVersion": asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
                "serverInfo": _sorted(SERVER_INFO),
            }
        if not self._is_accepted:
            raise _invalid()
        result = await self._handlers.answer(method, params, report)
        if method == "tools/list":
            schemas = ("inputSchema", "outputSchema")
            return {"tools": [one | {name: _sorted(one[name]) for name in schemas} for one in result["tools"]]}
        return result

    async def _enveloped(self, method: str, params: Mapping[str, Any], report: Report | None) -> Result:
        """Return the result of a request that carries an envelope."""
        supported: Result = {"supported": [*ENVELOPE_VERSIONS]}
        if method == "initialize":
            asked = params.get("protocolVersion")
            raise ProtocolError(
                UNSUPPORTED_VERSION,
                "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
                supported | ({"requested": asked} if isinstance(asked, str) else {}),
            )
        meta = params.get("_meta")
        if not isinstance(meta, Mapping):
            keys = f"{VERSION!r} and {CAPABILITIES!r}"
            raise ProtocolError(
                INVALID_PARAMS, f"params._meta must be an object carrying the required {keys} envelope keys"
            )
        if missing := [key for key in (VERSION, CAPABILITIES) if key not in meta]:
            raise ProtocolError(
                INVALID_PARAMS, f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
            )
        if not isinstance(meta[VERSION], str):
            raise ProtocolError(INVALID_PARAMS, "the protocol-version envelope value must be a string")
        if meta[VERSION] not in ENVELOPE_VERSIONS:
            raise ProtocolError(
                UNSUPPORTED_VERSION, "Unsupported protocol version", supported | {"requested": meta[VERSION]}
            )
        _check(method, params, ENVELOPE_ONLY)
        if not _is_object(meta[CAPABILITIES]) or not _optional(_is_client)(meta.get(CLIENT)):
            raise _invalid()
        if method == "server/discover":
            result: Result = {
                "capabilities": _SERVED, "instructions": INSTRUCTIONS, "supportedVersions": [*ENVELOPE_VERSIONS],
            }  # fmt: skip
        else:
            result = await self._handlers.answer(method, params, report)
        hint = dict(zip(("ttlMs", "cacheScope"), CACHE_HINTS.get(method, ()), strict=False))
        return {**_sorted({**result, **hint, "resultType": "complete"}), "_meta": {SERVER: SERVER_INFO}}


def _sorted(values: Mapping[str, Any]) -> Result:
    return dict(sorted(values.items()))


def _check(method: str, params: Mapping[str, Any], more: Mapping[str, Mapping[str, Check]]) -> None:
    """Raise ProtocolError for a method that is not served, and for parameters of another shape."""
    shape = PARAMETERS.get(method, more.get(method))
    if shape is None:
        raise ProtocolError(METHOD_NOT_FOUND, "Method not found", method)
    checks = {**shape, "_meta": _optional(_is_object)}
    if not all(check(params.get(name)) for name, check in checks.items()):
        raise _invalid()


def _invalid() -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, "Invalid request parameters", "")
