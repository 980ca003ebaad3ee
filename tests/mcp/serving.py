"""A `satchel mcp` process for tests, spoken to line by line, or by the official client."""

from __future__ import annotations

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mcp.client.client import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.operations.test_ask_unasked import FAILED

PATIENCE_SECONDS = 120.0
"""Longer than anything here takes on a busy machine."""

ERAS = ("legacy", "2026-07-28")

HELLO = {
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}},
}


EVERY_TOOL: dict[str, dict[str, Any]] = {
    "context_query": {"question": "where are orders sent again?"},
    "graph_context": {"query": "backoff", "maxTokens": 900},
    "premortem": {"mode": "brief"},
    "situation_context": {"task": "change a price", "files": ["shop/prices.py"]},
    "search": {"question": "backoff"},
    "remember": {"action": "store", "text": "Prices are never rounded"},
    "experience": {"action": "start", **FAILED},
}
"""Arguments that every tool but `expand` answers, which needs a handle first."""


def command(*arguments: str) -> list[str]:
    """The server as a client starts it."""
    return [sys.executable, "-m", "satchel", "mcp", *arguments]


@asynccontextmanager
async def connected(root: Path, era: str) -> AsyncIterator[Client]:
    """The official client with a server of its own for this folder."""
    first, *rest = command()
    how = StdioServerParameters(command=first, args=rest, cwd=root, env=dict(os.environ))
    with Path(os.devnull).open("w") as nowhere:
        async with Client(stdio_client(how, errlog=nowhere), mode=era) as client:
            yield client


@dataclass
class Spoken:
    """A process whose lines are written and read by hand."""

    process: subprocess.Popen[bytes]
    lines: list[bytes] = field(default_factory=list)
    _rest: bytes = b""
    _number: int = 0

    def write(self, raw: bytes) -> None:
        """Send bytes as they are."""
        assert self.process.stdin is not None
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def send(self, message: Mapping[str, Any]) -> None:
        """Send one message."""
        self.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def ask(self, method: str, params: Mapping[str, Any] | None = None) -> Any:
        """Send a request and return its answer; whatever else is said before it is kept in `lines`."""
        self._number += 1
        self.send({"id": self._number, "method": method, "params": params or {}})
        while True:
            message = self.read()
            if message.get("id") == self._number:
                return message

    def call(self, name: str, **arguments: Any) -> Any:
        """The result of a tool."""
        return self.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    def read(self) -> Any:
        """The next line, which has to be JSON."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            ready, _, _ = select.select([self.process.stdout], [], [], deadline - time.monotonic())
            assert ready, "the server says nothing"
            chunk = os.read(self.process.stdout.fileno(), 65_536)
            assert chunk, "the server has ended"
            self._rest += chunk
        line, _, self._rest = self._rest.partition(b"\n")
        self.lines.append(line)
        return json.loads(line)


@contextmanager
def spoken(root: Path, arguments: list[str] | None = None, **variables: str) -> Iterator[Spoken]:
    """A server in this folder after the handshake, ended by the end of its input."""
    process = subprocess.Popen(
        arguments or command(), cwd=root, env={**os.environ, **variables}, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    talk = Spoken(process)
    try:
        talk.ask(HELLO["method"], HELLO["params"])  # type: ignore[arg-type]
        talk.send({"method": "notifications/initialized"})
        yield talk
    finally:
        assert process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
        process.wait(PATIENCE_SECONDS)
        assert process.stdout is not None
        process.stdout.close()
