"""Reading from a host that may never close the pipe, and may send anything."""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from types import SimpleNamespace
from typing import Any

import pytest

from satchel.hooks import supervise

Sent = Callable[..., AbstractContextManager[int]]


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Sent:
    """A pipe that this is written into as soon as there is room, by a writer that goes away then or stays."""

    @contextmanager
    def pipe(raw: bytes, *, closed: bool) -> Iterator[int]:
        source, target = os.pipe()
        os.set_blocking(target, False)
        left, is_open = memoryview(raw), True

        def written_first(*given: Any) -> object:
            nonlocal left, is_open
            with suppress(BlockingIOError):
                while left:
                    left = left[os.write(target, left) :]
            if closed and is_open and not left:
                os.close(target)
                is_open = False
            return select.select(*given)

        monkeypatch.setattr(supervise, "select", SimpleNamespace(select=written_first))
        try:
            yield source
        finally:
            os.close(source)
            if is_open:
                os.close(target)

    return pipe


def soon() -> float:
    """A deadline that no test reaches."""
    return time.monotonic() + 600


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("size", [0, 10, 10_000_000])
def test_an_object_is_complete_whether_the_pipe_is_closed_or_not(sent: Sent, size: int, closed: bool) -> None:
    raw = json.dumps({"prompt": "x" * size}).encode() + b"\n"
    with sent(raw, closed=closed) as source:
        assert supervise.receive(source, soon()) == raw


@pytest.mark.parametrize("raw", [b"", b"not JSON", b'{"a": {"b": 1}', b"\xff\xfe{}"])
def test_a_host_that_falls_silent_is_not_waited_for(sent: Sent, raw: bytes) -> None:
    with sent(raw, closed=False) as source:
        assert supervise.receive(source, soon()) == raw


def test_nothing_is_read_beyond_the_deadline_or_from_a_stream_that_is_closed(sent: Sent) -> None:
    with sent(b"{}", closed=False) as source:
        assert supervise.receive(source, time.monotonic() - 1) == b""
    source, target = os.pipe()
    os.close(target)
    os.close(source)
    assert supervise.receive(source, soon()) == b""


def test_more_than_any_event_needs_is_not_read(sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "MAX_BYTES", 1_000)
    monkeypatch.setattr(supervise, "_CHUNK", 400)
    with sent(b"x" * 5_000, closed=True) as source:
        assert len(supervise.receive(source, soon())) == 1_200
