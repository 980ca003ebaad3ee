"""Relays JSON-RPC lines; results of chosen tools wait briefly for their context, which changes no other byte."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from typing import TYPE_CHECKING, Any

from satchel.clients.edits import members, skipped
from satchel.mcp.pipes import Output, Pieces
from satchel.system.threads import Threads

if TYPE_CHECKING:
    from concurrent.futures import Future

LIST, CALL, CANCELLED = "tools/list", "tools/call", "notifications/cancelled"

COMPLETE = "complete"
"""The `resultType` of a final result; others ask the client for input first, or name a task."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the client that the proxy remembers: a call of a tool, or the list of all tools."""

    key: str
    method: str
    tool: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


def parsed(line: bytes) -> Any:
    """Return the JSON-RPC message or batch on a line, None if there is none."""
    try:
        value = json.loads(_decoded(line))
    except ValueError:
        return None
    except RecursionError:  # nested too deeply to parse; it may still be a message
        return {} if b'"jsonrpc"' in line else None
    messages = value if isinstance(value, list) else [value]
    return value if any(isinstance(one, dict) and "jsonrpc" in one for one in messages) else None


def request_of(message: object) -> Request | None:
    """Return a call of a tool or a request for the list of tools, None for everything else."""
    if not isinstance(message, dict) or message.get("method") not in {LIST, CALL} or "id" not in message:
        return None
    params = message.get("params")
    named = params if isinstance(params, dict) else {}
    if message["method"] == LIST:
        # A page after the first does not show all tools.
        return None if named.get("cursor") else Request(_key(message["id"]), LIST)
    arguments, name = named.get("arguments"), named.get("name")
    if not isinstance(name, str):
        return None
    return Request(_key(message["id"]), CALL, name, arguments if isinstance(arguments, dict) else {})


def cancelled_key(message: object) -> str | None:
    """Return the key of the request that a message cancels."""
    if not isinstance(message, dict) or message.get("method") != CANCELLED:
        return None
    params = message.get("params")
    return _key(params["requestId"]) if isinstance(params, dict) and "requestId" in params else None


def answered_keys(message: object) -> list[str]:
    """Return the keys of the requests that a message of the server answers; several for a batch."""
    messages = message if isinstance(message, list) else [message]
    return [_key(one["id"]) for one in messages if isinstance(one, dict) and "id" in one and "method" not in one]


def takes_context(message: object) -> bool:
    """Return whether a message is the successful, final result of a call, with a list of content."""
    result = message.get("result") if isinstance(message, dict) else None
    if not isinstance(result, dict) or not isinstance(result.get("content"), list):
        return False
    return result.get("isError") in (None, False) and result.get("resultType", COMPLETE) == COMPLETE


def tool_names(message: object) -> list[str] | None:
    """Return the names in a complete list of tools, None for other messages and for a list with another page."""
    result = message.get("result") if isinstance(message, dict) else None
    tools = result.get("tools") if isinstance(result, dict) else None
    if not isinstance(result, dict) or not isinstance(tools, list) or result.get("nextCursor"):
        return None
    return [str(tool["name"]) for tool in tools if isinstance(tool, dict) and "name" in tool]


def with_context(line: bytes, item: Mapping[str, Any] | None, used: Mapping[str, Any]) -> bytes:
    """Return the line with one more item of content and `_meta.contextUsed`; all other bytes are unchanged."""
    text = _decoded(line)
    message = members(text, skipped(text, 0))
    result = members(text, message["result"][0])
    edits: list[tuple[int, str]] = []
    if item is not None:
        edits.append(_inside(text, *result["content"], json.dumps(item)))
    shown = f'"contextUsed": {json.dumps(used)}'
    if "_meta" not in result:
        edits.append(_inside(text, *message["result"], f'"_meta": {{{shown}}}'))
    elif text[result["_meta"][0]] == "{" and "contextUsed" not in members(text, result["_meta"][0]):
        edits.append(_inside(text, *result["_meta"], shown))
    for place, added in sorted(edits, reverse=True):
        text = text[:place] + added + text[place:]
    return text.encode("utf-8", "surrogateescape")


def _inside(text: str, start: int, end: int, added: str) -> tuple[int, str]:
    """Return the insertion point in the array or object from `start` to `end`, and the text to insert."""
    is_empty = skipped(text, start + 1) == end - 1
    return end - 1, added if is_empty else f", {added}"


def _decoded(line: bytes) -> str:
    """Return the text of a line; bytes that are not UTF-8 survive encoding and decoding."""
    return line.decode("utf-8", "surrogateescape")


def _key(identity: object) -> str:
    """Return an id as a key that differs for 1 and "1"."""
    return json.dumps(identity, sort_keys=True)


MOST_REQUESTS = 10_000
"""Most remembered requests; beyond that the oldest are dropped, and their answers pass unchanged."""

NAMES_SHOWN = 12

Enrich = Callable[[Request, bytes], bytes]
"""Returns the line of a result with the context of its call. If it raises, the line passes unchanged."""

Say = Callable[[str], None]


@dataclass(slots=True, eq=False)
class _WaitingResult:
    """A line that waits for its context, written by the first release; `is_done` once that was assembled or failed."""

    line: bytes
    guard: threading.Lock = field(default_factory=threading.Lock)
    timer: threading.Timer | None = None
    is_gone: bool = False
    is_done: bool = False


class Relay:
    """Passes lines of the server on to the client. `say` writes a note; `junk` receives lines that are no messages."""

    def __init__(
        self,
        output: Output,
        junk: Output,
        globs: Sequence[str],
        enrich: Enrich,
        deadline: Callable[[], float],
        say: Say,
    ) -> None:
        self._output, self._junk, self._globs = output, junk, tuple(globs)
        self._enrich, self._deadline, self._say = enrich, deadline, say
        self._threads = Threads(1)
        self._guard = threading.Lock()
        self._requests: dict[str, Request] = {}
        # Most results that wait for their context at once; at the limit the server is not read.
        self._slots = threading.BoundedSemaphore(32)
        self._waiting: set[_WaitingResult] = set()
        self._settled = threading.Condition(self._guard)
        self._late_ones: set[_WaitingResult] = set()

    def prepare(self, work: Callable[[], None]) -> None:
        """Run `work` in the thread that assembles contexts, before the first one."""
        self._threads.submit(work)

    def sees(self, line: bytes) -> None:
        """Remember the request on a line of the client, before the server receives it."""
        if b'"method"' not in line:
            return
        message = parsed(line)
        request, taken_back = request_of(message), cancelled_key(message)
        with self._guard:
            if taken_back is not None:
                self._requests.pop(taken_back, None)
            if request is not None and (request.method == LIST or self._is_chosen(request.tool)):
                self._requests[request.key] = request
                if len(self._requests) > MOST_REQUESTS:
                    del self._requests[next(iter(self._requests))]

    def passes(self, line: bytes) -> bool:
        """Pass a line of the server on, now or later with its context. False if the reader is gone."""
        message = parsed(line)
        if message is None:
            if line.strip():
                self._junk.write([line if line.endswith(b"\n") else line + b"\n"])
            return True
        with self._guard:
            requests = [self._requests.pop(key, None) for key in answered_keys(message)]
        request = requests[0] if len(requests) == 1 else None  # the answers of a batch pass unchanged
        if request is not None and request.method == LIST:
            self._compare(tool_names(message))
        elif request is not None and takes_context(message):
            self._hold(request, line)
            return True
        return self._output.write([line])

    def passes_long(self, pieces: Pieces) -> bool:
        """Pass on a line that is too long to parse."""
        return self._output.write(pieces)

    def settle(self, seconds: float) -> None:
        """Wait for the waiting results, and pass the remaining ones on unchanged."""
        with self._settled:
            self._settled.wait_for(lambda: not self._waiting, seconds)
            remaining = [*self._waiting]
        for result in remaining:
            self._release(result, result.line)

    def _is_chosen(self, tool: str) -> bool:
        return any(fnmatchcase(tool, glob) for glob in self._globs)

    def _hold(self, request: Request, line: bytes) -> None:
        """Let a line wait for its context until the deadline, but never behind a late one."""
        with self._guard:
            is_stuck = bool(self._late_ones)
        if is_stuck:
            self._output.write([line])
            return
        self._slots.acquire()
        result, seconds = _WaitingResult(line), self._deadline()
        with self._guard:
            self._waiting.add(result)
        result.timer = threading.Timer(seconds, self._late, (result, seconds))
        result.timer.daemon = True
        result.timer.start()
        # A released line needs no context, so that the lines behind a slow one are not late too.
        job = self._threads.submit(lambda: result.line if result.is_gone else self._enrich(request, result.line))
        job.add_done_callback(partial(self._done, result))

    def _done(self, result: _WaitingResult, job: Future[bytes]) -> None:
        with self._guard:
            result.is_done = True
            self._late_ones.discard(result)
        problem = job.exception()
        if problem is not None:
            self._say(f"no context: {type(problem).__name__}: {problem}")
        self._release(result, result.line if problem is not None else job.result())

    def _late(self, result: _WaitingResult, seconds: float) -> None:
        with self._guard:
            if not result.is_done:
                self._late_ones.add(result)
        if self._release(result, result.line):
            self._say(f"no context: not assembled within {seconds:g} s (the setting tools.deadline_s)")

    def _release(self, result: _WaitingResult, line: bytes) -> bool:
        """Write a waiting line, once. Returns whether this call wrote it."""
        with result.guard:
            if result.is_gone:
                return False
            result.is_gone = True
        if result.timer is not None:
            result.timer.cancel()
        self._output.write([line])
        self._slots.release()
        with self._settled:
            self._waiting.discard(result)
            self._settled.notify_all()
        return True

    def _compare(self, names: Sequence[str] | None) -> None:
        """Write a note for each glob that matches no tool of this server."""
        for glob in self._globs if names is not None else ():
            if any(fnmatchcase(name, glob) for name in names or ()):
                continue
            more = f" and {len(names) - NAMES_SHOWN} more" if names and len(names) > NAMES_SHOWN else ""
            self._say(f"no tool of this server matches {glob!r}: it has {', '.join((names or [])[:NAMES_SHOWN])}{more}")
