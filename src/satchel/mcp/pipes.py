"""Lines over pipes, and the life of the processes at their ends."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from dataclasses import dataclass
from typing import Any

import anyio
import pydantic_core
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

LONGEST_LINE = 8_000_000
"""Bytes of a message. The longest that a client has reason to send is the output of a failed command."""

CHUNK_BYTES = 65_536
"""What a pipe holds, so that one read gets no more than that."""

DRAIN_SECONDS = 1.0
"""After the end of input, for answers under way: whoever pipes a few requests in closes the pipe behind them."""

Incoming = SessionMessage | Exception


class LineTransport:
    """Both directions of one client. The reading thread is a daemon: it may be blocked in a read at the end."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._writing = threading.Lock()
        self._open: set[types.RequestId] = set()
        self._drained = asyncio.Event()
        self._send, self.incoming = _stream()
        self.outgoing, self._receive = _out_stream()

    async def serve(self) -> None:
        """Carry messages until the client has closed its side and its requests are answered, or stopped reading."""
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._read, args=(loop,), name="satchel-mcp-input", daemon=True)
        thread.start()
        async with self._receive:
            async for message in self._receive:
                self._answered(message.message)
                raw = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if not await asyncio.to_thread(self._write, raw.encode("utf-8")):
                    break
        await self._send.aclose()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines until there are no more. Runs in a thread of its own, which waits while the server is busy."""
        with contextlib.suppress(RuntimeError, CancelledError):  # the loop was closed: the server has ended
            for line in read_lines(self._source, LONGEST_LINE):
                asyncio.run_coroutine_threadsafe(self._take(line), loop).result()
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()

    async def _take(self, line: bytes | None) -> None:
        """Hand a message on, or say what is wrong with the line."""
        if line is not None and not line.strip():
            return
        refused = _TOO_LONG if line is None else None
        message = None
        if line is not None:
            message, refused = parsed(line)
        if message is not None and isinstance(message, types.JSONRPCRequest):
            if message.id in self._open:
                refused = _error(message.id, types.INVALID_REQUEST, f"request {message.id!r} is still being answered")
            else:
                self._open.add(message.id)
                self._drained.clear()
        elif isinstance(message, types.JSONRPCNotification) and message.method == "notifications/cancelled":
            self._forget((message.params or {}).get("requestId"))
        if refused is not None:
            raw = refused.model_dump_json(by_alias=True, exclude_unset=True).encode("utf-8")
            await asyncio.to_thread(self._write, raw)
        elif message is not None:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._send.send(SessionMessage(message))

    async def _end(self) -> None:
        """There is no more input: let what is under way be answered, then close."""
        if self._open:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._drained.wait(), DRAIN_SECONDS)
        await self._send.aclose()

    def _answered(self, message: types.JSONRPCMessage) -> None:
        if isinstance(message, types.JSONRPCResponse | types.JSONRPCError):
            self._forget(message.id)

    def _forget(self, identity: Any) -> None:
        if isinstance(identity, str | int):
            self._open.discard(identity)
        if not self._open:
            self._drained.set()

    def _write(self, raw: bytes) -> bool:
        """Write one line; False where nobody reads any more."""
        with self._writing:
            rest = memoryview(raw + b"\n")
            try:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:
                return False
        return True


def parsed(line: bytes) -> tuple[types.JSONRPCMessage | None, types.JSONRPCError | None]:
    """Return the message in a line, or the error that answers it."""
    try:
        value = pydantic_core.from_json(line)
    except ValueError:
        return None, _error(None, types.PARSE_ERROR, "the line is no JSON: send one message a line")
    try:
        return types.jsonrpc_message_adapter.validate_python(value, by_name=False), None
    except ValidationError:
        identity = value.get("id") if isinstance(value, dict) else None
        answer_id = identity if isinstance(identity, str | int) and not isinstance(identity, bool) else None
        return None, _error(answer_id, types.INVALID_REQUEST, "the line is no JSON-RPC 2.0 message (batches are none)")


def read_lines(source: int, longest: int) -> Iterator[bytes | None]:
    """Each line without its end; None for one that is longer than `longest` bytes, of which the rest is not kept."""
    pieces: list[bytes] = []
    size = 0
    while chunk := _chunk(source):
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*pieces, line]) if size + len(line) <= longest else None
            pieces, size = [], 0
        size += len(rest)
        pieces = [*pieces, rest] if size <= longest else []
    if size:
        yield b"".join(pieces) if size <= longest else None


def _chunk(source: int) -> bytes:
    try:
        return os.read(source, CHUNK_BYTES)
    except OSError:  # the other side is gone
        return b""


def _error(identity: types.RequestId | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=identity, error=types.ErrorData(code=code, message=message))


_TOO_LONG = _error(None, types.INVALID_REQUEST, f"the line has more than {LONGEST_LINE:,} bytes: send less at once")


def _stream() -> tuple[MemoryObjectSendStream[Incoming], MemoryObjectReceiveStream[Incoming]]:
    return anyio.create_memory_object_stream[Incoming](0)


def _out_stream() -> tuple[MemoryObjectSendStream[SessionMessage], MemoryObjectReceiveStream[SessionMessage]]:
    return anyio.create_memory_object_stream[SessionMessage](0)


try:
    import fcntl
except ImportError:  # not a POSIX system: a plain copy is not inherited there either
    fcntl = None  # type: ignore[assignment]

LOOK_SECONDS = 0.5
"""Between two looks at the parent. The server has to be gone 3 seconds after it."""

LAST_SECONDS = 2.0
"""From the moment that the server should end to the moment when it does, whatever it waits for: a full pipe, a disk."""

END_SECONDS = 1.5
"""For what runs to notice that it should stop: indexing looks many times a second, a question takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Pipes:
    """The descriptors of the client; the standard ones are no longer theirs."""

    source: int
    sink: int


def take_pipes() -> Pipes:
    """Keep standard input and output for the protocol alone.

    Descriptor 0 reads nothing from now on and descriptor 1 writes to standard error, whoever uses them: this program,
    a library in C, or a process that it starts.
    """
    pipes = Pipes(_private(0), _private(1))
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.dup2(nothing, 1)
    os.close(nothing)
    return pipes


def _private(descriptor: int) -> int:
    """Return a copy that processes which are started do not inherit, and that is none of the standard ones."""
    if fcntl is None:
        return os.dup(descriptor)
    return fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 3)


def end_after(seconds: float) -> threading.Timer:
    """End this process after so long, whatever it waits for by then, unless the timer is cancelled."""
    timer = threading.Timer(seconds, os._exit, [1])
    timer.daemon = True
    timer.start()
    return timer


class Parent:
    """Calls `gone` once the process that started this one has ended, and ends this one if it is still there then."""

    def __init__(self, gone: Callable[[], object], seconds: float = LOOK_SECONDS, grace: float = END_SECONDS) -> None:
        self._gone = gone
        self._seconds = seconds
        self._grace = grace
        self._parent_id = os.getppid()
        self._done = threading.Event()

    def watch(self) -> None:
        """Begin to look, in a thread of its own: also a busy event loop must end."""
        threading.Thread(target=self._look, name="satchel-mcp-parent", daemon=True).start()

    def stop(self) -> None:
        """Look no more."""
        self._done.set()

    def _look(self) -> None:
        while not self._done.wait(self._seconds):
            if os.getppid() != self._parent_id:
                with contextlib.suppress(RuntimeError):  # the loop is closed: the end has begun already
                    self._gone()
                if not self._done.wait(self._grace):
                    os._exit(1)
                return
