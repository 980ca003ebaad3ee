"""`satchel mcp`: the MCP server over standard input and output, for the client that started it.

Each line is one JSON-RPC message.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError
from typing import TYPE_CHECKING, Any

import anyio
import pydantic_core
from mcp import types
from mcp.server.lowlevel import Server
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

from satchel.mcp.pipes import END_SECONDS, LAST_SECONDS, Output, Parent, Pipes, end_after, lines
from satchel.mcp.running import EngineRunner
from satchel.mcp.server import build
from satchel.system.threads import in_thread

if TYPE_CHECKING:
    from satchel.engine import Satchel

LONGEST_LINE = 8_000_000
"""Bytes of a message. The longest useful one is the output of a failed command."""

DRAIN_SECONDS = 1.0
"""Wait for unfinished answers after the end of input: a script may close the pipe right after its requests."""

Incoming = SessionMessage | Exception


class LineTransport:
    """Both directions of one client. The reading thread is a daemon because it may be blocked in a read at the end."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._output = Output(sink)
        self._open: set[types.RequestId] = set()
        self._drained = asyncio.Event()
        self._send, self.incoming = anyio.create_memory_object_stream[Incoming](0)
        self.outgoing, self._receive = anyio.create_memory_object_stream[SessionMessage](0)

    async def serve(self) -> None:
        """Transport messages until the client closed its side and has all answers, or stopped reading."""
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._read, args=(loop,), name="satchel-mcp-input", daemon=True)
        thread.start()
        async with self._receive:
            async for message in self._receive:
                if isinstance(message.message, types.JSONRPCResponse | types.JSONRPCError):
                    self._forget(message.message.id)
                raw = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                if not await in_thread(self._write, raw):
                    break
        await self._send.aclose()

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines until the end of input, in a thread that waits while the server is busy."""
        with contextlib.suppress(RuntimeError, CancelledError):  # the loop was closed: the server has ended
            for line in read_lines(self._source, LONGEST_LINE):
                asyncio.run_coroutine_threadsafe(self._take(line), loop).result()
            asyncio.run_coroutine_threadsafe(self._end(), loop).result()

    async def _take(self, line: bytes | None) -> None:
        """Pass a message on, or answer an invalid line with an error."""
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
            raw = refused.model_dump_json(by_alias=True, exclude_unset=True)
            await in_thread(self._write, raw)
        elif message is not None:
            with contextlib.suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                await self._send.send(SessionMessage(message))

    async def _end(self) -> None:
        """Wait for unfinished answers after the end of input, then close."""
        if self._open:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._drained.wait(), DRAIN_SECONDS)
        await self._send.aclose()

    def _forget(self, identity: Any) -> None:
        if isinstance(identity, str | int):
            self._open.discard(identity)
        if not self._open:
            self._drained.set()

    def _write(self, message: str) -> bool:
        """Write one line; False if the reader is gone."""
        return self._output.write([f"{message}\n".encode()])


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
    """Yield each line without its end; None for one longer than `longest` bytes, which is dropped."""
    for line in lines(source, longest):
        plain = line.removesuffix(b"\n") if isinstance(line, bytes) else sum(map(len, line))
        yield plain if isinstance(plain, bytes) and len(plain) <= longest else None


def _error(identity: types.RequestId | None, code: int, message: str) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=identity, error=types.ErrorData(code=code, message=message))


_TOO_LONG = _error(None, types.INVALID_REQUEST, f"the line has more than {LONGEST_LINE:,} bytes: send less at once")


SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
"""Environment variable of the host with the session that answers are for, so that nothing is sent twice."""

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run(
    open_engine: Callable[[], Satchel],
    pipes: Pipes,
    environ: Mapping[str, str] = os.environ,
    before_close: Callable[[float], bool] = lambda _seconds: True,
) -> bool:
    """Serve until the client closes its side or ends. Returns whether the engine was closed in time.

    `before_close` ends other users of the engine in so many seconds, and returns whether it did.
    """
    gc.freeze()  # loaded modules stay: collecting them again would slow every answer
    gc.enable()
    runner = EngineRunner(open_engine)
    last: list[threading.Timer] = []
    try:
        server = build(runner, environ.get(SESSION_VARIABLE, ""))
        asyncio.run(_serve(server, pipes, lambda: last.append(end_after(LAST_SECONDS))))
        return before_close(END_SECONDS) and runner.close(END_SECONDS)
    finally:
        for timer in last:
            timer.cancel()


async def _serve(server: Server[Any], pipes: Pipes, ending: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    transport = LineTransport(pipes.source, pipes.sink)
    carrying = asyncio.ensure_future(transport.serve())
    serving = asyncio.ensure_future(
        server.run(transport.incoming, transport.outgoing, server.create_initialization_options())
    )
    ended = asyncio.Event()
    parent = Parent(lambda: loop.call_soon_threadsafe(ended.set))
    parent.watch()
    with contextlib.suppress(NotImplementedError):  # not a POSIX system: the signal itself ends the process
        for number in _SIGNALS:
            loop.add_signal_handler(number, ended.set)
    waiting = asyncio.ensure_future(ended.wait())
    try:
        await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
        ending()
        if serving.done():
            await carrying  # the last messages have arrived
            await serving
    finally:
        parent.stop()
        for task in (serving, carrying, waiting):
            task.cancel()
        await asyncio.gather(serving, carrying, waiting, return_exceptions=True)
