"""What the proxy has to know of JSON-RPC lines, and how it adds to one without touching the rest of its bytes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

LIST, CALL, CANCELLED = "tools/list", "tools/call", "notifications/cancelled"

COMPLETE = "complete"
"""The `resultType` of a result that is one; others ask the client for something first, or name a task."""

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the client that the proxy remembers: a call of a tool, or the list of all."""

    key: str
    method: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


def parsed(line: bytes) -> Any:
    """The JSON-RPC message (or the batch of them) on a line, None where it is none."""
    try:
        value = json.loads(_decoded(line))
    except ValueError:
        return None
    except RecursionError:  # nested too deeply to be looked at; it may well be a message
        return {} if b'"jsonrpc"' in line else None
    messages = value if isinstance(value, list) else [value]
    return value if any(isinstance(one, dict) and "jsonrpc" in one for one in messages) else None


def request_of(message: object) -> Request | None:
    """A call of a tool or a request for their list, None for everything else."""
    if not isinstance(message, dict) or message.get("method") not in {LIST, CALL} or "id" not in message:
        return None
    params = message.get("params")
    named = params if isinstance(params, dict) else {}
    if message["method"] == LIST:
        # A page after the first says nothing about what there is at all.
        return None if named.get("cursor") else Request(_key(message["id"]), LIST)
    arguments, name = named.get("arguments"), named.get("name")
    if not isinstance(name, str):
        return None
    return Request(_key(message["id"]), CALL, name, arguments if isinstance(arguments, dict) else {})


def cancelled_key(message: object) -> str | None:
    """The key of the request that a message takes back."""
    if not isinstance(message, dict) or message.get("method") != CANCELLED:
        return None
    params = message.get("params")
    return _key(params["requestId"]) if isinstance(params, dict) and "requestId" in params else None


def answered_keys(message: object) -> list[str]:
    """The keys of the requests that a message of the server answers; several for a batch."""
    messages = message if isinstance(message, list) else [message]
    return [_key(one["id"]) for one in messages if isinstance(one, dict) and "id" in one and "method" not in one]


def takes_context(message: object) -> bool:
    """Whether a message is the successful and complete result of a call, with content to add to."""
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict) or not isinstance(result.get("content"), list):
        return False
    return result.get("isError") in (None, False) and result.get("resultType", COMPLETE) == COMPLETE


def tool_names(message: object) -> list[str] | None:
    """The names in a whole list of tools, None where it is none or goes on on another page."""
    result = message.get("result") if isinstance(message, dict) else None
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(tools, list) or result.get("nextCursor"):
        return None
    return [str(tool["name"]) for tool in tools if isinstance(tool, dict) and "name" in tool]


def with_context(line: bytes, item: Mapping[str, Any] | None, used: Mapping[str, Any]) -> bytes:
    """The line with one more item of content and `_meta.contextUsed`; every other byte is as it was."""
    text = _decoded(line)
    message = _members(text, _skipped(text, 0))
    result = _members(text, message["result"][0])
    edits: list[tuple[int, str]] = []
    if item is not None:
        edits.append(_inside(text, *result["content"], json.dumps(item)))
    shown = f'"contextUsed": {json.dumps(used)}'
    if "_meta" not in result:
        edits.append(_inside(text, *message["result"], f'"_meta": {{{shown}}}'))
    elif text[result["_meta"][0]] == "{" and "contextUsed" not in _members(text, result["_meta"][0]):
        edits.append(_inside(text, *result["_meta"], shown))
    for place, added in sorted(edits, reverse=True):
        text = text[:place] + added + text[place:]
    return text.encode("utf-8", "surrogateescape")


def _inside(text: str, start: int, end: int, added: str) -> tuple[int, str]:
    """Where to add to the array or object that stands there, and what with."""
    is_empty = _skipped(text, start + 1) == end - 1
    return end - 1, added if is_empty else f", {added}"


def _members(text: str, start: int) -> dict[str, tuple[int, int]]:
    """Where the values of the object that begins at `start` begin and end. The text is known to be JSON."""
    found: dict[str, tuple[int, int]] = {}
    place = _skipped(text, start + 1)
    while text[place] != "}":
        name, place = _DECODER.raw_decode(text, place)
        value = _skipped(text, _skipped(text, place) + 1)
        _, end = _DECODER.raw_decode(text, value)
        found[name] = (value, end)
        place = _skipped(text, end)
        if text[place] == ",":
            place = _skipped(text, place + 1)
    return found


def _skipped(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found is not None else place


def _decoded(line: bytes) -> str:
    """Bytes that are no UTF-8 survive the way there and back."""
    return line.decode("utf-8", "surrogateescape")


def _key(identity: object) -> str:
    """An id as a key: 1 and "1" are two."""
    return json.dumps(identity, sort_keys=True)


def unmatched(globs: Sequence[str], names: Sequence[str]) -> list[str]:
    """The globs that match none of these names."""
    from fnmatch import fnmatchcase

    return [glob for glob in globs if not any(fnmatchcase(name, glob) for name in names)]
