"""`satchel mcp`: the MCP server over standard input and output, for the client that started it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from mcp.server.lowlevel import Server

from satchel.mcp.pipes import END_SECONDS, LAST_SECONDS, Parent, Pipes, end_after
from satchel.mcp.running import EngineRunner
from satchel.mcp.server import build
from satchel.mcp.transport import LineTransport

if TYPE_CHECKING:
    from satchel.engine import Satchel

SESSION_VARIABLE = "CLAUDE_CODE_SESSION_ID"
"""Environment variable of the host with the session that answers are for, so that nothing is sent twice."""

_SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))


def run(open_engine: Callable[[], Satchel], pipes: Pipes, environ: Mapping[str, str] = os.environ) -> bool:
    """Serve until the client closes its side or ends. Returns whether the engine was closed in time."""
    gc.freeze()  # loaded modules stay: collecting them again would slow every answer
    gc.enable()
    runner = EngineRunner(open_engine)
    last: list[threading.Timer] = []
    try:
        server = build(runner, environ.get(SESSION_VARIABLE, ""))
        asyncio.run(_serve(server, pipes, lambda: last.append(end_after(LAST_SECONDS))))
        return runner.close(END_SECONDS)
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
