"""Lines of JSON-RPC over two descriptors: what is no message is answered here, and the server behind lives on.

The SDK's own transport drops a line that is no message without a word, reads one of any length into memory, and takes
two requests of one id. Here each of them gets an error, as the specification asks for.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Iterator
from concurrent.futures import CancelledError
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


class Lines:
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
    """The message in a line, or the error that answers it."""
    try:
        value = pydantic_core.from_json(line)
    except ValueError:
        return None, _error(None, types.PARSE_ERROR, "the line is no JSON: send one message a line")
    try:
        return types.jsonrpc_message_adapter.validate_python(value, by_name=False), None
    except ValidationError:
        identity = value.get("id") if isinstance(value, dict) else None
        known = identity if isinstance(identity, str | int) and not isinstance(identity, bool) else None
        return None, _error(known, types.INVALID_REQUEST, "the line is no JSON-RPC 2.0 message (batches are none)")


def read_lines(source: int, longest: int) -> Iterator[bytes | None]:
    """Each line without its end; None for one that is longer than `longest` bytes, of which the rest is not kept."""
    kept: list[bytes] = []
    size = 0
    while chunk := _chunk(source):
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*kept, line]) if size + len(line) <= longest else None
            kept, size = [], 0
        size += len(rest)
        kept = [*kept, rest] if size <= longest else []
    if size:
        yield b"".join(kept) if size <= longest else None


def _chunk(source: int) -> bytes:
    try:
        return os.read(source, CHUNK_BYTES)
    except OSError:  # the other side is gone
        return b""


def _error(identity: types.RequestId | None, code: int, said: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=identity, error=types.ErrorData(code=code, message=said))


_TOO_LONG = _error(None, types.INVALID_REQUEST, f"the line has more than {LONGEST_LINE:,} bytes: send less at once")


def _stream() -> tuple[MemoryObjectSendStream[Incoming], MemoryObjectReceiveStream[Incoming]]:
    return anyio.create_memory_object_stream[Incoming](0)


def _out_stream() -> tuple[MemoryObjectSendStream[SessionMessage], MemoryObjectReceiveStream[SessionMessage]]:
    return anyio.create_memory_object_stream[SessionMessage](0)
