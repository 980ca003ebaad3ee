"""A server in front of another one: `satchel proxy -- COMMAND` adds context to the results of the tools you choose.

It reads and writes lines, not messages of one protocol version: unknown messages pass unchanged. It ends with the side
that ends first. The engine is opened on first use and ends with the process: a thread that hangs in it must not delay
the end.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from satchel.errors import SatchelError
from satchel.mcp.pipes import FIRST_SIGNAL_CODE, KILL, Child, Output, Parent, lines
from satchel.mcp.relay import Relay, Request, with_context
from satchel.safety import sanitize
from satchel.settings import SETTINGS
from satchel.system.threads import signals_to
from satchel.tools.aware import SITUATION_ITEM, call_situation, context_used

if TYPE_CHECKING:
    from satchel.engine import Satchel


END_SECONDS = 2.8
"""Seconds from the end of one side to the end of the proxy: a client that restarts its servers waits at most 3 s."""

GRACE_SECONDS = 1.5
"""The part of `END_SECONDS` for a server to end by itself when the client ends or after a signal to the proxy."""

FORCE = ((signal.SIGTERM, 0.5), (KILL, 0.3))
"""The signals after that, with the seconds to wait after each. The remaining time is for the last lines."""

LEAST_DRAIN_SECONDS = 0.1

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
        reader.join(max(until - time.monotonic(), LEAST_DRAIN_SECONDS))
        relay.settle(max(until - time.monotonic(), LEAST_DRAIN_SECONDS))
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
        if not (relay.passes(line) if isinstance(line, bytes) else relay.passes_long(line)):
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
MARKED: Mapping[str, Any] = {"satchel/context": True}
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
        options: dict[str, Any] = {"max_tokens": max(room, 1), **self._options}
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
