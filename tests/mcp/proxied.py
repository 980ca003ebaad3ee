"""A proxy in this process, between pipes: what a client writes, and what it reads."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from satchel.engine import Satchel
from satchel.mcp.proxy import ProxyContexts, ProxyPipes, run_proxy

SERVER = (sys.executable, str(Path(__file__).with_name("odd_server.py")))
PATIENCE = 120.0
"""Longer than anything here takes on a busy machine, and shorter than a server that is deaf lives."""


class Client:
    """The client's side of a proxy. Lines are bytes without their ends."""

    def __init__(self, into: int, out_of: int, notes: int) -> None:
        self._into, self._out = into, os.fdopen(out_of, "rb")
        self._notes = os.fdopen(notes, "rb")
        self.code: int | None = None
        self._is_closed = False

    def write(self, message: Any) -> None:
        raw = message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n"
        while raw:
            raw = raw[os.write(self._into, raw) :]

    def line(self) -> bytes:
        return self._out.readline().removesuffix(b"\n")

    def read(self) -> Any:
        return json.loads(self.line())

    def call(self, tool: str, identity: Any = 1, **arguments: Any) -> Any:
        self.write(request(tool, identity, **arguments))
        return self.read()

    def note(self) -> str:
        return self._notes.readline().decode().rstrip("\n")

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            os.close(self._into)

    def stop_reading(self) -> None:
        self._out.close()

    def rest(self) -> tuple[bytes, str]:
        """What is left on both sides, once the proxy has ended."""
        return self._out.read(), self._notes.read().decode()

    def end(self) -> None:
        self.close()
        self._out.close()
        self._notes.close()


def request(tool: str, identity: Any = 1, **arguments: Any) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": params}


@contextmanager
def proxy(
    open_engine: Callable[[], Satchel],
    *options: str,
    tools: Sequence[str] = ("*",),
    max_tokens: int = 1_000,
    session: str = "",
    server: Sequence[str] = SERVER,
) -> Iterator[Client]:
    """A proxy in front of a server, and its client. It has ended when the block has."""
    client_in, into = os.pipe()
    out_of, client_out = os.pipe()
    notes, notes_in = os.pipe()
    client, is_ending = Client(into, out_of, notes), threading.Event()
    contexts = ProxyContexts(open_engine, max_tokens, is_ending, session)

    def run() -> None:
        try:
            pipes = ProxyPipes(client_in, client_out, notes_in)
            client.code = run_proxy([*server, *options], tools, contexts, is_ending, pipes)
        finally:
            for descriptor in (client_out, notes_in):
                os.close(descriptor)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield client
    finally:
        client.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()
        os.close(client_in)
        client.end()
