"""The lines of a client in this process: what is refused, what is remembered, and a reader that is gone."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import types
from mcp.shared.message import SessionMessage

from satchel.mcp.stdio import LineTransport, parsed, read_lines
from tests.mcp.serving import PATIENCE_SECONDS


@given(st.lists(st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b"")), max_size=6), st.integers(1, 20))
def test_lines_come_as_they_were_written_and_long_ones_are_only_noticed(lines: list[bytes], longest: int) -> None:
    source, sink = os.pipe()
    os.write(sink, b"".join(line + b"\n" for line in lines))
    os.close(sink)
    assert [*read_lines(source, longest)] == [line if len(line) <= longest else None for line in lines]
    os.close(source)


def test_the_last_line_needs_no_end_and_a_closed_pipe_is_one() -> None:
    source, sink = os.pipe()
    os.write(sink, b"a\nbcd")
    os.close(sink)
    assert [*read_lines(source, 2)] == [b"a", None]
    os.close(source)
    assert [*read_lines(source, 2)] == []


@given(st.binary(max_size=60))
def test_whatever_a_line_holds_it_is_a_message_or_has_an_error(line: bytes) -> None:
    message, error = parsed(line)
    assert (message is None) != (error is None)


@dataclass
class Client:
    """The other side of the pipes."""

    lines: LineTransport
    into: int
    out: int

    def write(self, **message: Any) -> None:
        os.write(self.into, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def read(self) -> Any:
        raw = await asyncio.to_thread(os.read, self.out, 65_536)
        return json.loads(raw)

    async def answer(self, identity: types.RequestId) -> None:
        await self.lines.outgoing.send(SessionMessage(types.JSONRPCResponse(jsonrpc="2.0", id=identity, result={})))


def speak(test: Callable[[Client], Awaitable[None]]) -> None:
    """Run a test between two pipes."""

    async def run() -> None:
        (source, into), (out, sink) = os.pipe(), os.pipe()
        client = Client(LineTransport(source, sink), into, out)
        serving = asyncio.ensure_future(client.lines.serve())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await test(client)
                await client.lines.outgoing.aclose()
                await serving
        finally:
            client.lines.incoming.close()
            for descriptor in (client.into, client.out, source, sink):
                if descriptor >= 0:
                    os.close(descriptor)

    asyncio.run(run())


def test_an_id_may_be_used_again_once_it_is_answered_or_cancelled() -> None:
    async def test(client: Client) -> None:
        client.write(id=1, method="ping")
        await client.lines.incoming.receive()
        client.write(id=1, method="ping")
        assert "request 1 is still being answered" in (await client.read())["error"]["message"]
        await client.answer(1)
        assert (await client.read())["id"] == 1
        client.write(id=1, method="ping")
        await client.lines.incoming.receive()
        client.write(method="notifications/cancelled", params={"requestId": 1})
        await client.lines.incoming.receive()
        client.write(id=1, method="ping")
        assert await client.lines.incoming.receive()
        await client.answer(1)
        await client.read()
        os.close(client.into)
        client.into = -1

    speak(test)


def test_requests_under_way_are_answered_after_the_end_of_input() -> None:
    async def test(client: Client) -> None:
        client.write(id=1, method="ping")
        await client.lines.incoming.receive()
        os.close(client.into)
        client.into = -1
        await client.answer(1)
        assert (await client.read())["id"] == 1
        with pytest.raises(anyio.EndOfStream):
            await client.lines.incoming.receive()

    speak(test)


def test_a_client_that_reads_no_more_ends_the_conversation() -> None:
    async def test(client: Client) -> None:
        client.write(id=1, method="ping")
        await client.lines.incoming.receive()
        os.close(client.out)
        client.out = -1
        await client.answer(1)
        with pytest.raises(anyio.EndOfStream):
            await client.lines.incoming.receive()
        os.close(client.into)
        client.into = -1

    speak(test)
