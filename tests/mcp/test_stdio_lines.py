"""The lines of a client in this process: what is refused, what is remembered, and a reader that is gone."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.mcp.running import Report
from satchel.mcp.server import Handlers, Result
from satchel.mcp.stdio import CAPABILITIES, VERSION, LineServer, parsed, read_lines
from tests.mcp.serving import ERAS, PATIENCE_SECONDS

ENVELOPE = {VERSION: ERAS[1], CAPABILITIES: {}}


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


@pytest.mark.parametrize("identity", [b"null", b"{}", b"[]", b"1e999", b"-1e999", b"1.5", b"true", b"NaN"])
def test_a_request_of_any_id_is_answered_if_only_with_an_error(identity: bytes) -> None:
    message, error = parsed(b'{"jsonrpc": "2.0", "id": %b, "method": "ping"}' % identity)
    assert message is None
    assert error is not None
    assert error["id"] is None
    assert "not a JSON-RPC 2.0 message" in error["error"]["message"]


class Slow(Handlers):
    """Answers a request when the test says so."""

    def __init__(self) -> None:
        self.begun = asyncio.Semaphore(0)
        self.answers = asyncio.Semaphore(0)
        self.cancelled = 0

    async def answer(self, method: str, params: Mapping[str, Any], report: Report | None, client: str = "") -> Result:
        del method, report, client
        self.begun.release()
        try:
            await self.answers.acquire()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if params.get("cursor"):
            raise RuntimeError(params["cursor"])
        return {"tools": []}


@dataclass
class Client:
    """The other side of the pipes."""

    handlers: Slow
    into: int
    out: int

    def write(self, **message: Any) -> None:
        os.write(self.into, json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    def close(self) -> None:
        os.close(self.into)
        self.into = -1

    async def ask(self, **more: Any) -> None:
        self.write(id=1, method="tools/list", params={"_meta": ENVELOPE, **more})
        await self.handlers.begun.acquire()

    async def read(self) -> Any:
        raw = await asyncio.to_thread(os.read, self.out, 65_536)
        return json.loads(raw)


def speak(test: Callable[[Client], Awaitable[None]]) -> None:
    """Run a test between two pipes; at its end the server has to end as well."""

    async def run() -> None:
        (source, into), (out, sink) = os.pipe(), os.pipe()
        client = Client(Slow(), into, out)
        serving = asyncio.ensure_future(LineServer(client.handlers, source, sink).serve())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await test(client)
                await serving
        finally:
            for descriptor in (client.into, client.out, source, sink):
                if descriptor >= 0:
                    os.close(descriptor)

    asyncio.run(run())


def test_an_id_may_be_used_again_once_it_is_answered_or_cancelled() -> None:
    async def test(client: Client) -> None:
        await client.ask()
        client.write(id=1, method="ping")
        assert "request 1 is still being answered" in (await client.read())["error"]["message"]
        client.handlers.answers.release()
        assert (await client.read())["id"] == 1
        await client.ask()
        client.write(method="notifications/cancelled", params={"requestId": "1"})
        await client.ask()
        assert client.handlers.cancelled == 1
        client.handlers.answers.release()
        assert "result" in await client.read()
        client.close()

    speak(test)


def test_requests_under_way_are_answered_after_the_end_of_input() -> None:
    async def test(client: Client) -> None:
        await client.ask()
        client.close()
        client.handlers.answers.release()
        assert (await client.read())["result"]["tools"] == []

    speak(test)


def test_a_request_that_takes_too_long_after_the_end_of_input_is_refused() -> None:
    async def test(client: Client) -> None:
        await client.ask()
        client.close()
        assert (await client.read())["error"] == {"code": -32000, "message": "Connection closed"}

    speak(test)


def test_a_fault_of_ours_says_nothing_of_what_is_inside() -> None:
    async def test(client: Client) -> None:
        await client.ask(cursor="secret")
        client.handlers.answers.release()
        assert (await client.read())["error"] == {"code": -32603, "message": "Internal server error"}
        client.close()

    speak(test)


def test_a_client_that_reads_no_more_ends_the_conversation() -> None:
    async def test(client: Client) -> None:
        await client.ask()
        os.close(client.out)
        client.out = -1
        client.handlers.answers.release()

    speak(test)
