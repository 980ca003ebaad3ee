"""A server in front of another one: `satchel proxy -- COMMAND` adds context to the results of the tools you choose.

It relays JSON-RPC lines, not messages of one protocol version: unknown messages pass unchanged. Results of chosen tools
wait briefly for their context, which changes no other byte. It ends with the side that ends first. The engine is opened
on first use and ends with the process: a thread that hangs in it must not delay the end.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.clients.edits import members, skipped
from satchel.errors import SatchelError
from satchel.mcp.pipes import FIRST_SIGNAL_CODE, KILL, Child, Output, Parent, Pieces, lines
from satchel.results.tools import SITUATION_ITEM, call_situation, context_used
from satchel.safety import sanitize
from satchel.settings import SETTINGS
from satchel.system.globs import is_among
from satchel.system.signals import signals_to
from satchel.system.threads import Threads
from satchel.types import Data, Json

if TYPE_CHECKING:
    from satchel.engine import Satchel


LIST, CALL, CANCELLED = "tools/list", "tools/call", "notifications/cancelled"

COMPLETE = "complete"
"""The `resultType` of a final result; others ask the client for input first, or name a task."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request of the client that the proxy remembers: a call of a tool, or the list of all tools."""

    key: str
    method: str
    tool: str = ""
    arguments: Data = field(default_factory=dict)


def parsed(line: bytes) -> Any:
    """Return the JSON-RPC message or batch on a line, None if there is none."""
    try:
        value = json.loads(_decoded(line))
    except ValueError:
        return None
    except RecursionError:  # nested too deeply to parse; it may still be a message
        return {} if b'"jsonrpc"' in line else None
    messages = value if isinstance(value, list) else [value]
    return value if any(isinstance(message, dict) and "jsonrpc" in message for message in messages) else None


def without_marks(line: bytes) -> bytes:
    """Return a line of the server without what marks items of satchel; any other line as it is."""
    name = next(iter(MARKED))
    # A mark with an escape in its name is one, too.
    if name.encode() not in line and b"\\u00" not in line and b"\\/" not in line:
        return line
    forged: list[str] = []

    def kept(pairs: list[tuple[str, Any]]) -> Json:
        forged.extend(key for key, _ in pairs if key == name)
        return {key: value for key, value in pairs if key != name}

    message = json.loads(_decoded(line), object_pairs_hook=kept)
    return json.dumps(message).encode() + b"\n" if forged else line


def request_of(message: object) -> Request | None:
    """Return a call of a tool or a request for the list of tools, None for everything else."""
    sent = _object(message)
    params, method = _object(sent.get("params")), sent.get("method")
    if "id" not in sent:
        return None
    # A page after the first does not show all tools.
    if method == LIST and not params.get("cursor"):
        return Request(_key(sent["id"]), LIST)
    if method == CALL and isinstance(params.get("name"), str):
        return Request(_key(sent["id"]), CALL, params["name"], _object(params.get("arguments")))
    return None


def _object(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def cancelled_key(message: object) -> str | None:
    """Return the key of the request that a message cancels."""
    sent = _object(message)
    params = _object(sent.get("params"))
    return _key(params["requestId"]) if sent.get("method") == CANCELLED and "requestId" in params else None


def answered_keys(message: object) -> list[str]:
    """Return the keys of the requests that a message of the server answers; several for a batch."""
    messages = message if isinstance(message, list) else [message]
    return [
        _key(other["id"]) for other in messages if isinstance(other, dict) and "id" in other and "method" not in other
    ]


def takes_context(message: object) -> bool:
    """Return whether a message is the successful, final result of a call, with a list of content."""
    result = _object(_object(message).get("result"))
    if not isinstance(result.get("content"), list):
        return False
    return result.get("isError") in (None, False) and result.get("resultType", COMPLETE) == COMPLETE


def tool_names(message: object) -> list[str] | None:
    """Return the names in a complete list of tools, None for other messages and for a list with another page."""
    result = _object(_object(message).get("result"))
    tools = result.get("tools")
    if not isinstance(tools, list) or result.get("nextCursor"):
        return None
    return [str(tool["name"]) for tool in tools if isinstance(tool, dict) and "name" in tool]


def with_context(line: bytes, item: Data | None, used: Data) -> bytes:
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


MAX_REQUESTS = 10_000
"""Most remembered requests; beyond that the oldest are dropped, and their answers pass unchanged."""

NAMES_SHOWN = 12

Enrich = Callable[[Request, bytes], bytes]
"""Returns the line of a result with the context of its call. If it raises, the line passes unchanged."""

Say = Callable[[str], None]


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
        self._waiting: dict[Future[bytes], bytes] = {}
        self._settled = threading.Condition(self._guard)
        self._late_jobs: set[Future[bytes]] = set()

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
                if len(self._requests) > MAX_REQUESTS:
                    del self._requests[next(iter(self._requests))]

    def passes(self, line: bytes | Pieces) -> bool:
        """Pass a line on, now (also one in pieces) or later with its context. False if the reader is gone."""
        if not isinstance(line, bytes):
            return self._output.write(line)
        message = parsed(line)
        if message is None:
            if line.strip():
                self._junk.write([line if line.endswith(b"\n") else line + b"\n"])
            return True
        line = without_marks(line) if message else line
        with self._guard:
            requests = [self._requests.pop(key, None) for key in answered_keys(message)]
        request = requests[0] if len(requests) == 1 else None  # the answers of a batch pass unchanged
        if request is None:
            return self._output.write([line])
        if request.method == LIST:
            self._compare(tool_names(message))
        elif takes_context(message):
            self._hold(request, line)
            return True
        return self._output.write([line])

    def settle(self, seconds: float) -> None:
        """Wait for the waiting results, and pass the remaining ones on unchanged."""
        with self._settled:
            self._settled.wait_for(lambda: not self._waiting, seconds)
            remaining = [*self._waiting.items()]
        for result, line in remaining:
            _release(result, line)

    def _is_chosen(self, tool: str) -> bool:
        return is_among(tool, self._globs)

    def _hold(self, request: Request, line: bytes) -> None:
        """Let a line wait for its context until the deadline, but never behind a late one."""
        with self._guard:
            is_stuck = bool(self._late_jobs)
        if is_stuck:
            self._output.write([line])
            return
        self._slots.acquire()
        result: Future[bytes] = Future()  # what is written for the line, by whoever sets it first
        seconds = self._deadline()
        with self._guard:
            self._waiting[result] = line
        result.add_done_callback(self._write)
        # A released line needs no context, so that the lines behind a slow one are not late too.
        job = self._threads.submit(lambda: line if result.done() else self._enrich(request, line))
        job.add_done_callback(partial(self._done, result, line))
        timer = threading.Timer(seconds, self._late, (result, job, line, seconds))
        timer.daemon = True
        timer.start()
        result.add_done_callback(lambda _: timer.cancel())

    def _done(self, result: Future[bytes], line: bytes, job: Future[bytes]) -> None:
        with self._guard:
            self._late_jobs.discard(job)
        problem = job.exception()
        if problem is not None:
            self._say(f"no context: {type(problem).__name__}: {problem}")
        _release(result, line if problem is not None else job.result())

    def _late(self, result: Future[bytes], job: Future[bytes], line: bytes, seconds: float) -> None:
        with self._guard:
            if not job.done():
                self._late_jobs.add(job)
        if _release(result, line):
            self._say(f"no context: not assembled within {seconds:g} s (the setting tools.deadline_s)")

    def _write(self, result: Future[bytes]) -> None:
        self._output.write([result.result()])
        self._slots.release()
        with self._settled:
            del self._waiting[result]
            self._settled.notify_all()

    def _compare(self, names: list[str] | None) -> None:
        """Write a note for each glob that matches no tool of this server."""
        if names is None:
            return
        shown = ", ".join(names[:NAMES_SHOWN]) + (f" and {more} more" if (more := len(names) - NAMES_SHOWN) > 0 else "")
        for glob in self._globs:
            if not any(is_among(name, (glob,)) for name in names):
                self._say(f"no tool of this server matches {glob!r}: it has {shown}")


def _release(result: Future[bytes], line: bytes) -> bool:
    """Set what is written for a waiting line, once. Returns whether this call set it."""
    with suppress(InvalidStateError):
        result.set_result(line)
        return True
    return False


END_SECONDS = 2.8
"""Seconds from the end of one side to the end of the proxy: a client that restarts its servers waits at most 3 s."""

GRACE_SECONDS = 1.5
"""The part of `END_SECONDS` for a server to end by itself when the client ends or after a signal to the proxy."""

FORCE = ((signal.SIGTERM, 0.5), (KILL, 0.3))
"""The signals after that, with the seconds to wait after each. The remaining time is for the last lines."""

MIN_DRAIN_SECONDS = 0.1

CLIENT, SERVER = "client", "server"


class ProxyPipes(NamedTuple):
    """The descriptors of the client and of notes."""

    client_in: int = 0
    client_out: int = 1
    notes: int = 2


class Notes:
    """Notes on standard error, each kind once."""

    def __init__(self, descriptor: int) -> None:
        self.output = Output(descriptor)
        self._guard = threading.Lock()
        self._kinds: set[str] = set()

    def say(self, text: str) -> None:
        """Write a note unless one of its kind was written; `no context: NoIndexError` is a kind, whatever follows."""
        kind = ": ".join(text.split(": ")[:2])
        with self._guard:
            if kind in self._kinds:
                return
            self._kinds.add(kind)
        line = sanitize.line(text, sanitize.NOTE_LIMIT)
        self.output.write([f"satchel proxy: {line}\n".encode("utf-8", "replace")])


def run_proxy(command: Sequence[str], globs: Sequence[str], contexts: ProxyContexts, is_ending: threading.Event,
              pipes: ProxyPipes | None = None) -> int:  # fmt: skip
    """Relay until one side ends; returns the server's exit code, or 128 plus a signal. Raises UsageError."""
    sides = pipes or ProxyPipes()
    notes = Notes(sides.notes)
    output = Output(sides.client_out)
    relay = Relay(output, notes.output, globs, contexts.enriched, contexts.deadline_seconds, notes.say)
    ends: queue.SimpleQueue[str | int] = queue.SimpleQueue()
    # While a server reads nothing, a write blocks in the middle of a line, and the client's end goes unnoticed.
    # Seconds between two checks of the parent process: with `END_SECONDS` the proxy ends 3 s after it.
    with signals_to(ends.put), _watched(Parent(lambda: ends.put(CLIENT), 0.2, END_SECONDS)):
        child = Child(command)
        relay.prepare(lambda: _prepared(contexts, notes))
        reader = threading.Thread(target=_from_server, args=(child, relay, ends.put), daemon=True)
        threads = [
            reader,
            threading.Thread(target=_from_client, args=(sides.client_in, child, relay, ends.put), daemon=True),
            threading.Thread(target=_until_end, args=(child, ends.put), daemon=True),
        ]
        for thread in threads:
            thread.start()
        first = ends.get()
        until = time.monotonic() + END_SECONDS
        is_ending.set()
        code = _ended(first, ends, child)
        reader.join(max(until - time.monotonic(), MIN_DRAIN_SECONDS))
        relay.settle(max(until - time.monotonic(), MIN_DRAIN_SECONDS))
        if not reader.is_alive():
            child.close()
        return code


def _ended(first: str | int, ends: queue.SimpleQueue[str | int], child: Child) -> int:
    """End the server after one side has ended; returns the exit code."""
    if isinstance(first, int):
        child.end(((first, GRACE_SECONDS), *FORCE))
        return FIRST_SIGNAL_CODE + first
    if first == CLIENT:
        with contextlib.suppress(queue.Empty):
            ends.get(timeout=GRACE_SECONDS)
    return child.end(FORCE)


def _from_client(descriptor: int, child: Child, relay: Relay, tell: Callable[[str], None]) -> None:
    """Pass the lines of the client on until it ends, then close the input of the server."""
    server, is_heard = Output(child.input), True
    for line in lines(descriptor):
        if isinstance(line, bytes):
            relay.sees(line)
        is_heard = is_heard and server.write([line] if isinstance(line, bytes) else line)
    child.close_input()
    tell(CLIENT)


def _from_server(child: Child, relay: Relay, tell: Callable[[str], None]) -> None:
    """Pass the lines of the server on until it ends or the client stops reading."""
    for line in lines(child.output):
        if not relay.passes(line):
            tell(CLIENT)
            return


def _until_end(child: Child, tell: Callable[[str], None]) -> None:
    child.wait()
    tell(SERVER)


def _prepared(contexts: ProxyContexts, notes: Notes) -> None:
    try:
        contexts.prepare()
    except (SatchelError, OSError) as error:
        notes.say(f"no context: {type(error).__name__}: {error}")


@contextlib.contextmanager
def _watched(parent: Parent) -> Iterator[None]:
    """Watch the parent process while the block runs."""
    parent.watch()
    try:
        yield
    finally:
        parent.stop()


def has_standard_streams() -> bool:
    """Return whether both standard input and output are open."""
    try:
        os.fstat(0)
        os.fstat(1)
    except OSError:
        return False
    return True


LONGEST_PARAMETER = 300
"""Characters of a parameter in the situation: the client wrote it and needs no copy."""

MARK = "_meta"
MARKED: Data = {"satchel/context": True}
"""Marks the added item among those of the server."""


class ProxyContexts:
    """Adds contexts to results. `is_ending` stops an index that is being built.

    `context` is the folder of the current `context.yaml`; without it each call takes the nearest one of its files.
    Content that a `session` received is not sent to it again; without a session every context is complete.
    """

    def __init__(
        self,
        open_engine: Callable[[], Satchel],
        max_tokens: int,
        is_ending: threading.Event,
        session: str = "",
        context: str = "",
    ) -> None:
        self._open, self._max_tokens, self._is_ending = open_engine, max_tokens, is_ending
        named = {"session": session, "context": context}
        self._options = {name: value for name, value in named.items() if value}
        self._engine: Satchel | None = None

    def deadline_seconds(self) -> float:
        """Return the seconds that a result may wait: the setting, or its default until the engine is open."""
        row = SETTINGS["tools.deadline_s"]
        return float(row.default if self._engine is None else self._engine.settings.tools_deadline_s)

    def prepare(self) -> None:
        """Open the engine and bring its index up to date. Raises the errors of both."""
        self._opened().refresh(should_stop=self._is_ending.is_set)

    def enriched(self, request: Request, line: bytes) -> bytes:
        """Return the line of a result with the context of its call. Called by one thread at a time."""
        engine = self._opened()
        situation = call_situation(request.tool, request.arguments, engine.places.root)
        situation |= {"time": time.time(), "is_call": True}
        situation["params"] = {name: _short(value) for name, value in situation["params"].items()}
        head = f"Context that satchel adds for {sanitize.line(request.tool, 100)}:\n\n"
        room = self._max_tokens - self._count(head)
        notes = engine.refresh(should_stop=self._is_ending.is_set)
        options: Json = {"max_tokens": max(room, 1), **self._options}
        context, _ = engine.guidance.situation_answer(situation, refresh=False, notes=notes, **options)
        used = context_used(context)
        has_news = any(item.id != SITUATION_ITEM for item in context.items)
        text = head + context.text
        used["tokens"] = self._count(text) if has_news else 0
        used["limit"] = self._max_tokens
        if not has_news or used["tokens"] > self._max_tokens:
            return with_context(line, None, {**used, "items": [], "tokens": 0})
        return with_context(line, {"type": "text", "text": text, MARK: MARKED}, used)

    def _opened(self) -> Satchel:
        if self._engine is None:
            self._engine = self._open()
        return self._engine

    def _count(self, text: str) -> int:
        from satchel.tokens import counter

        return counter(self._opened().settings.budget_tokenizer).count(text)


def _short(value: Any) -> Any:
    is_long = isinstance(value, str) and len(value) > LONGEST_PARAMETER
    return f"{value[:LONGEST_PARAMETER]}…" if is_long else value
