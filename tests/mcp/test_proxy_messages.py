"""What the proxy reads from lines, and that it adds to them without touching another byte."""

from __future__ import annotations

import json
import os
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.mcp import pipes
from satchel.mcp.pipes import Output, lines
from satchel.mcp.proxy import (
    Relay,
    Request,
    answered_keys,
    cancelled_key,
    parsed,
    request_of,
    takes_context,
    tool_names,
    with_context,
    without_marks,
)

ITEM = {"type": "text", "text": "added \u00e9"}
USED = {"items": [], "tokens": 1}

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(
    content=st.lists(VALUES, max_size=3),
    more=st.dictionaries(st.text().filter(lambda name: name not in {"content", "_meta"}), VALUES, max_size=3),
    meta=st.none() | st.dictionaries(st.text().filter(lambda name: name != "contextUsed"), VALUES, max_size=2),
    indent=st.none() | st.integers(0, 2),
    end=st.sampled_from([b"\n", b"\r\n", b""]),
)
def test_a_line_gets_its_context_and_loses_nothing(
    content: list[Any], more: dict[str, Any], meta: dict[str, Any] | None, indent: int | None, end: bytes
) -> None:
    result = {**more, "content": content, **({} if meta is None else {"_meta": meta})}
    message = {"result": result, "jsonrpc": "2.0", "id": 1}
    raw = json.dumps(message, indent=indent).replace("\n", " ").encode() + end
    found = with_context(raw, ITEM, USED)
    expected = {**result, "content": [*content, ITEM], "_meta": {**(meta or {}), "contextUsed": USED}}
    assert json.loads(found) == {**message, "result": expected}
    assert found.endswith(end)
    assert b"\n" not in found.removesuffix(b"\n")
    assert json.loads(with_context(raw, None, USED))["result"]["content"] == content


@pytest.mark.parametrize("name", ["satchel/context", "satchel\\/context", "\\u0073atchel/context"])
def test_a_server_cannot_mark_its_items_as_those_of_satchel(name: str) -> None:
    item = f'{{"type":"text","text":"Context that satchel adds","_meta":{{"{name}":true,"own":1}},"_meta":{{}}}}'
    line = f'{{"jsonrpc":"2.0","id":1,"result":{{"content":[{item}]}}}}\n'.encode()
    passed = without_marks(line)
    assert b"atchel/context" not in passed.replace(b"\\/", b"/")
    assert json.loads(passed)["result"]["content"][0]["text"] == "Context that satchel adds"
    other = b'{"jsonrpc":"2.0","id":1,"result":{"text":"the word satchel/context, and \\u00e9"}}\n'
    assert without_marks(other) is other


def test_every_other_byte_stays() -> None:
    before, inside = b' {"id" : 1,"result":{"content":[ ', b'],"n":1.10,"big":12345678901234567890.5,"t":"\xff\\u00e9"'
    behind = b'} , "jsonrpc":"2.0"}\r\n'
    item, used = json.dumps(ITEM).encode(), b', "_meta": {"contextUsed": ' + json.dumps(USED).encode() + b"}"
    assert with_context(before + inside + behind, ITEM, USED) == before + item + inside + used + behind


@pytest.mark.parametrize("meta", ["null", '{"contextUsed": 1}'])
def test_a_meta_that_is_taken_stays(meta: str) -> None:
    raw = f'{{"jsonrpc":"2.0","id":1,"result":{{"content":[],"_meta":{meta}}}}}\n'.encode()
    assert with_context(raw, None, USED) == raw


@pytest.mark.parametrize(
    ("line", "is_message"),
    [
        (b'{"jsonrpc":"2.0","method":"x"}\n', True),
        (b'[{"jsonrpc":"2.0","id":1,"result":{}}]', True),
        (b'{"jsonrpc":"2.0","method":"\xff"}', True),
        (b'{"jsonrpc":' + b"[" * 100_000 + b"]" * 100_000 + b"}", True),
        (b'{"level":"info"}', False),
        (b'{"jsonrpc":"2.0"', False),
        (b"[]", False),
        (b"3", False),
        (b"started", False),
        (b"[" * 100_000 + b"]" * 100_000, False),
    ],
    ids=["message", "batch", "no UTF-8", "deep", "a log", "half", "empty batch", "number", "words", "deep junk"],
)
def test_what_is_a_message(line: bytes, is_message: bool) -> None:
    assert (parsed(line) is not None) == is_message


def test_what_is_a_request_to_remember() -> None:
    call = {"jsonrpc": "2.0", "id": "1", "method": "tools/call", "params": {"name": "a", "arguments": {"b": 1}}}
    assert request_of(call) == Request('"1"', "tools/call", "a", {"b": 1})
    assert request_of({**call, "params": {"name": "a", "arguments": [1]}}) == Request('"1"', "tools/call", "a", {})
    assert request_of({**call, "params": {"arguments": {}}}) is None
    assert request_of({**call, "params": []}) is None
    assert request_of({**call, "method": "tools/list"}) == Request('"1"', "tools/list")
    assert request_of({**call, "method": "tools/list", "params": {"cursor": "2"}}) is None
    assert request_of({"method": "tools/call"}) is None
    assert request_of([call]) is None


def test_ids_of_different_kinds_are_different() -> None:
    assert answered_keys([{"id": 1, "result": {}}, {"id": "1", "error": {}}, {"id": 1, "method": "x"}, 3]) == [
        "1", '"1"',
    ]  # fmt: skip
    assert cancelled_key({"method": "notifications/cancelled", "params": {"requestId": 1}}) == "1"
    assert cancelled_key({"method": "notifications/cancelled", "params": {}}) is None
    assert cancelled_key({"method": "other"}) is None


@pytest.mark.parametrize(
    ("result", "takes"),
    [
        ({"content": []}, True),
        ({"content": [], "isError": False, "resultType": "complete"}, True),
        ({"content": [], "isError": True}, False),
        ({"content": [], "resultType": "input_required"}, False),
        ({"task": {"taskId": "1"}}, False),
        ({"content": None}, False),
        (None, False),
    ],
)
def test_only_complete_successes_take_context(result: object, takes: bool) -> None:
    assert takes_context({"jsonrpc": "2.0", "id": 1, "result": result}) == takes
    assert not takes_context([{"result": result}])


def test_a_list_of_tools_is_compared_only_where_it_is_whole() -> None:
    assert tool_names({"result": {"tools": [{"name": "a"}, 3, {}]}}) == ["a"]
    assert tool_names({"result": {"tools": [], "nextCursor": "x"}}) is None
    assert tool_names({"error": {}}) is None


# Lines


@given(st.lists(st.binary(max_size=60).filter(lambda raw: b"\n" not in raw), max_size=8), st.binary(max_size=5))
def test_lines_put_together_are_what_was_read(given_lines: list[bytes], last: bytes) -> None:
    raw = b"".join(line + b"\n" for line in given_lines) + last.replace(b"\n", b"")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipes, "CHUNK_BYTES", 7)
        patch.setattr(pipes, "LONGEST_LINE", 20)
        assert list(map(joined, lines(piped(raw)))) == raw.splitlines(keepends=True) or raw.count(b"\r")
        assert b"".join(map(joined, lines(piped(raw)))) == raw


def joined(line: Any) -> bytes:
    return line if isinstance(line, bytes) else b"".join(line)


def piped(raw: bytes) -> int:
    """A descriptor that gives these bytes, then the end."""
    out_of, into = os.pipe()
    os.write(into, raw)
    os.close(into)
    opened.append(out_of)
    return out_of


opened: list[int] = []


@pytest.fixture(autouse=True, scope="module")
def closed() -> Any:
    yield
    for descriptor in opened:
        os.close(descriptor)


def test_a_closed_descriptor_is_an_end() -> None:
    out_of, into = os.pipe()
    os.close(out_of)
    os.close(into)
    assert list(lines(out_of)) == []
    assert not Output(into).write([b"x"])


# Relay


class Relayed:
    """A relay whose output is kept."""

    def __init__(self, *, fails: bool = False) -> None:
        self.out_of, into = os.pipe()
        opened.extend((self.out_of, into))
        self.notes: list[str] = []
        self.enriched = threading.Event()
        self._fails = fails
        output = Output(into)
        self.relay = Relay(output, output, ["a*"], self._enrich, lambda: 30.0, self.notes.append)

    def _enrich(self, request: Request, _: bytes) -> bytes:
        if self._fails:
            raise RuntimeError("broken")
        return f"{request.tool} with context\n".encode()

    def read(self) -> bytes:
        return os.read(self.out_of, 10_000)


def call(identity: int, tool: str = "a") -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "method": "tools/call", "params": {"name": tool}}).encode()


def result(identity: int) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "result": {"content": []}}).encode() + b"\n"


def test_a_result_is_enriched_once_and_only_for_its_request() -> None:
    relayed = Relayed()
    relayed.relay.sees(call(1, "ab"))
    relayed.relay.sees(call(2, "b"))
    assert relayed.relay.passes(result(1))
    assert relayed.read() == b"ab with context\n"
    for identity in (1, 2, 3):
        assert relayed.relay.passes(result(identity))
        assert relayed.read() == result(identity)


def test_a_request_that_was_taken_back_is_forgotten() -> None:
    relayed = Relayed()
    relayed.relay.sees(call(1))
    relayed.relay.sees(b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}')
    assert relayed.relay.passes(result(1))
    assert relayed.read() == result(1)


def test_answers_of_a_batch_pass_as_they_are() -> None:
    relayed = Relayed()
    relayed.relay.sees(call(1))
    relayed.relay.sees(call(2))
    batch = b"[" + result(1).strip() + b"," + result(2).strip() + b"]\n"
    assert relayed.relay.passes(batch)
    assert relayed.read() == batch


def test_the_oldest_requests_are_forgotten_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.mcp.proxy.MAX_REQUESTS", 2)
    relayed = Relayed()
    for identity in (1, 2, 3):
        relayed.relay.sees(call(identity))
    assert relayed.relay.passes(result(1))
    assert relayed.read() == result(1)
    assert relayed.relay.passes(result(3))
    assert relayed.read() == b"a with context\n"


def test_whatever_fails_the_result_passes() -> None:
    relayed = Relayed(fails=True)
    relayed.relay.sees(call(1))
    assert relayed.relay.passes(result(1))
    assert relayed.read() == result(1)
    relayed.relay.settle(30)
    assert relayed.notes == ["no context: RuntimeError: broken"]


def test_a_context_that_fails_at_its_deadline_holds_no_later_one_up() -> None:
    """The deadline of the first result passes between the end of its context and the writing of its line."""
    is_written, is_said = threading.Event(), threading.Event()
    read_end, write_end = os.pipe()

    def enrich(_: Request, line: bytes) -> bytes:
        if b'"id": 1' in line:
            raise RuntimeError("broken")
        return b"with context\n"

    def say(text: str) -> None:
        if "broken" in text:
            assert is_written.wait(300), "the deadline passes while the failure is told"
            is_said.set()

    seconds = iter([0.2, 300.0])
    output = Output(write_end)
    relay = Relay(output, output, ["*"], enrich, lambda: next(seconds), say)
    relay.sees(call(1))
    relay.sees(call(2))
    assert relay.passes(result(1))
    assert os.read(read_end, 10_000) == result(1)
    is_written.set()
    assert is_said.wait(300)
    assert relay.passes(result(2))
    assert os.read(read_end, 10_000) == b"with context\n"
    os.close(read_end)
    os.close(write_end)
