"""`satchel mcp`: the MCP server over standard input and output, one JSON-RPC message a line."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping
from concurrent.futures import CancelledError
from secrets import token_hex
from typing import TYPE_CHECKING, Any, TypeGuard

from satchel.mcp.pipes import END_SECONDS, LAST_SECONDS, Output, Parent, Pipes, end_after, lines
from satchel.mcp.running import EngineRunner, Fault, ProtocolError, Report
from satchel.mcp.server import CACHE_HINTS, INSTRUCTIONS, SERVER_INFO, Handlers, Result
from satchel.system import telemetry
from satchel.system.threads import in_thread
from satchel.types import Data
from satchel.vocabulary import CLIENT_SESSION

if TYPE_CHECKING:
    from satchel.engine import Satchel

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE_VERSIONS = ("2026-07-28",)

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

    async def answer(self, method: str, params: Data, report: Report | None) -> Result:
        """Return the result of a request. Raises ProtocolError."""
        meta = params.get("_meta")
        is_enveloped = method != "initialize" and isinstance(meta, Mapping) and VERSION in meta
        if self._has_envelopes is None:
            self._has_envelopes = is_enveloped
        if self._has_envelopes:
            return await self._enveloped(method, params, report)
        if is_enveloped:
            raise ProtocolError(
                Fault.INVALID_REQUEST,
                "this connection serves the handshake protocol era; "
                "requests carrying the 2026-07-28 envelope are not accepted on it",
            )
        return await self._shaken(method, params, report)

    async def _shaken(self, method: str, params: Data, report: Report | None) -> Result:
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
            return {"tools": [tool | {name: _sorted(tool[name]) for name in schemas} for tool in result["tools"]]}
        return result

    async def _enveloped(self, method: str, params: Data, report: Report | None) -> Result:
        """Return the result of a request that carries an envelope."""
        supported: Result = {"supported": [*ENVELOPE_VERSIONS]}
        if method == "initialize":
            asked = params.get("protocolVersion")
            raise ProtocolError(
                Fault.UNSUPPORTED_VERSION,
                "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted",
                supported | ({"requested": asked} if isinstance(asked, str) else {}),
            )
        meta = _envelope(params)
        if meta[VERSION] not in ENVELOPE_VERSIONS:
            raise ProtocolError(
                Fault.UNSUPPORTED_VERSION, "Unsupported protocol version", supported | {"requested": meta[VERSION]}
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


def _envelope(params: Data) -> Data:
    """Return the envelope of a request. Raises ProtocolError for one that is not complete."""
    meta = params.get("_meta")
    if not isinstance(meta, Mapping):
        keys = f"{VERSION!r} and {CAPABILITIES!r}"
        raise ProtocolError(
            Fault.INVALID_PARAMS, f"params._meta must be an object carrying the required {keys} envelope keys"
        )
    if missing := [key for key in (VERSION, CAPABILITIES) if key not in meta]:
        message = f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
        raise ProtocolError(Fault.INVALID_PARAMS, message)
    if not isinstance(meta[VERSION], str):
        raise ProtocolError(Fault.INVALID_PARAMS, "the protocol-version envelope value must be a string")
    return meta


def _sorted(values: Data) -> Result:
    return dict(sorted(values.items()))


def _check(method: str, params: Data, more: Mapping[str, Mapping[str, Check]]) -> None:
    """Raise ProtocolError for a method that is not served, and for parameters of another shape."""
    shape = PARAMETERS.get(method, more.get(method))
    if shape is None:
        raise ProtocolError(Fault.METHOD_NOT_FOUND, "Method not found", method)
    checks = {**shape, "_meta": _optional(_is_object)}
    if not all(check(params.get(name)) for name, check in checks.items()):
        raise _invalid()


def _invalid() -> ProtocolError:
    return ProtocolError(Fault.INVALID_PARAMS, "Invalid request parameters", "")


LONGEST_LINE = 8_000_000
"""Bytes of a message. The longest useful one is the output of a failed command."""

Identity = str | int


class LineServer:
    """Answers the lines of one client. The thread that reads is a daemon: it may be blocked in a read at the end."""

    def __init__(self, handlers: Handlers, source: int, sink: int) -> None:
        self._conversation = Conversation(handlers)
        self._source = source
        self._output = Output(sink)
        self._writing = asyncio.Lock()
        self._open: dict[Identity, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()

    async def serve(self) -> None:
        """Serve until the client closed its side and has all answers, or stopped reading."""
        loop = asyncio.get_running_loop()
        thread = threading.Thread(target=self._read, args=(loop,), name="satchel-mcp-input", daemon=True)
        thread.start()
        try:
            await self._over.wait()
        finally:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def _read(self, loop: asyncio.AbstractEventLoop) -> None:
        """Read lines until the end of input, in a thread that waits while the server is busy."""
        with contextlib.suppress(RuntimeError, CancelledError):  # the loop was closed: the server has ended
            for line in read_lines(self._source, LONGEST_LINE):
                _run(self._take(line), loop)
            _run(self._end(), loop)

    async def _take(self, line: bytes | None) -> None:
        """Begin to answer a request, or answer an invalid line with an error."""
        if line is not None and not line.strip():
            return
        message, refused = parsed(line)
        if refused is not None:
            await self._send(refused)
        elif message is not None and "method" in message:
            identity, method, params = message.get("id"), message["method"], message.get("params") or {}
            if not _is_identity(identity):
                if method == "notifications/cancelled":
                    self._cancel(params.get("requestId"))
            elif identity in self._open:
                await self._send(
                    _error(identity, Fault.INVALID_REQUEST, f"request {identity!r} is still being answered")
                )
            else:
                task = self._open[identity] = asyncio.ensure_future(self._answer(identity, method, params))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)

    def _cancel(self, identity: Any) -> None:
        """Stop answering a request; a client may send its number as text."""
        for identifier in [identifier for identifier in self._open if str(identifier) == str(identity)]:
            self._open.pop(identifier).cancel()

    async def _answer(self, identity: Identity, method: str, params: Data) -> None:
        """Write the answer of a request. Its id is free again as soon as the answer is on its way."""
        try:
            result = await self._conversation.answer(method, params, self._reporting(params))
            message: Result = {"jsonrpc": "2.0", "id": identity, "result": result}
        except ProtocolError as error:
            message = _error(identity, error.code, error.message, error.data)
        except Exception:  # noqa: BLE001 - an internal error must not reach the client or end its other calls
            telemetry.warning("a request failed", method=method, exc_info=True)
            message = _error(identity, Fault.INTERNAL_ERROR, "Internal server error")
        self._open.pop(identity)
        await self._send(message)

    def _reporting(self, params: Data) -> Report | None:
        """Return what reports progress to the client; None if it asked for none."""
        meta = params.get("_meta")
        token = meta.get("progressToken") if isinstance(meta, dict) else None
        if not _is_identity(token):
            return None

        async def report(steps: float, text: str) -> None:
            told = {"progressToken": token, "progress": steps, "message": text}
            await self._send({"jsonrpc": "2.0", "method": "notifications/progress", "params": told})

        return report

    async def _end(self) -> None:
        """Wait for unfinished answers after the end of input, and refuse those that take too long."""
        if self._tasks:
            # Wait for unfinished answers after the end of input: a script may close the pipe right after its
            # requests.
            await asyncio.wait(self._tasks, timeout=1.0)
        for identity in [*self._open]:
            self._open.pop(identity).cancel()
            await self._send(_error(identity, Fault.CONNECTION_CLOSED, "Connection closed"))
        self._over.set()

    async def _send(self, message: Result) -> None:
        """Write one line, after those before it; the end if the reader is gone."""
        raw = json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "backslashreplace")
        async with self._writing:
            if not await in_thread(self._output.write, [raw + b"\n"]):
                self._over.set()


def _run(work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> None:
    """Run a coroutine on the loop of another thread, and wait for it. Raises RuntimeError if the loop is closed."""
    try:
        future = asyncio.run_coroutine_threadsafe(work, loop)
    except RuntimeError:
        work.close()
        raise
    future.result()


def parsed(line: bytes | None) -> tuple[Result | None, Result | None]:
    """Return the message in a line (None for one that is too long), or the error that answers it."""
    if line is None:
        return None, _TOO_LONG
    try:
        value = json.loads(line.decode())
        if b"\\ud" in line.lower():
            json.dumps(value, ensure_ascii=False).encode()  # raises for half a surrogate pair
    except (ValueError, RecursionError):
        return None, _error(
            None, Fault.PARSE_ERROR, "the line is not JSON, or nested too deeply: send one message per line"
        )
    if isinstance(value, dict) and _is_message(value):
        return value, None
    identity = value.get("id") if isinstance(value, dict) else None
    answered = identity if _is_identity(identity) else None
    return None, _error(
        answered, Fault.INVALID_REQUEST, "the line is not a JSON-RPC 2.0 message (batches are not accepted)"
    )


def _is_message(value: Result) -> bool:
    """Return whether a value is a request, a notification or an answer, in the fields that are looked at."""
    if value.get("jsonrpc") != "2.0":
        return False
    if isinstance(value.get("method"), str):
        # A request of another id, such as null or 1e999, is refused with an error: it is no notification.
        has_id = "id" not in value or _is_identity(value["id"])
        return has_id and isinstance(value.get("params"), dict | None)
    error = value.get("error")
    is_error = isinstance(error, dict) and isinstance(error.get("code"), int) and isinstance(error.get("message"), str)
    return "method" not in value and (isinstance(value.get("result"), dict) or is_error)


def _is_identity(value: Any) -> TypeGuard[Identity]:
    return isinstance(value, str | int) and not isinstance(value, bool)


def _error(identity: Identity | None, code: int, message: str, data: Any = None) -> Result:
    error = {"code": code, "message": message} | ({} if data is None else {"data": data})
    return {"jsonrpc": "2.0", "id": identity, "error": error}


def read_lines(source: int, longest: int) -> Iterator[bytes | None]:
    """Yield each line without its end; None for one longer than `longest` bytes, which is dropped."""
    for line in lines(source, longest):
        plain = line.removesuffix(b"\n") if isinstance(line, bytes) else sum(map(len, line))
        yield plain if isinstance(plain, bytes) and len(plain) <= longest else None


_TOO_LONG = _error(None, Fault.INVALID_REQUEST, f"the line has more than {LONGEST_LINE:,} bytes: send less at once")


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
    runner = EngineRunner(open_engine)
    handlers = Handlers(runner, environ.get(SESSION_VARIABLE, ""), CLIENT_SESSION + token_hex(4))
    last: list[threading.Timer] = []
    try:
        asyncio.run(_serve(handlers, pipes, lambda: last.append(end_after(LAST_SECONDS))))
        return before_close(END_SECONDS) and runner.close(END_SECONDS)
    finally:
        for timer in last:
            timer.cancel()


async def _serve(handlers: Handlers, pipes: Pipes, ending: Callable[[], None]) -> None:
    loop = asyncio.get_running_loop()
    serving = asyncio.ensure_future(LineServer(handlers, pipes.source, pipes.sink).serve())
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
    finally:
        parent.stop()
        serving.cancel()
        waiting.cancel()
        await asyncio.gather(serving, waiting, return_exceptions=True)
