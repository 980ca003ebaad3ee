"""Reading from a host that may never close the pipe, and may send anything."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from satchel.hooks import supervise


@contextmanager
def sent(raw: bytes, *, closed: bool) -> Iterator[int]:
    """A pipe that this was written into, by a writer that goes away or stays."""
    source, target = os.pipe()

    def write() -> None:
        view = memoryview(raw)
        while view:
            view = view[os.write(target, view) :]
        if closed:
            os.close(target)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield source
    finally:
        writer.join()
        os.close(source)
        if not closed:
            os.close(target)


def soon() -> float:
    """A deadline that no test reaches."""
    return time.monotonic() + 30


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("size", [0, 10, 10_000_000])
def test_an_object_is_complete_whether_the_pipe_is_closed_or_not(size: int, closed: bool) -> None:
    raw = json.dumps({"prompt": "x" * size}).encode() + b"\n"
    with sent(raw, closed=closed) as source:
        assert supervise.receive(source, soon()) == raw


@pytest.mark.parametrize("raw", [b"", b"not JSON", b'{"a": {"b": 1}', b"\xff\xfe{}"])
def test_a_host_that_falls_silent_is_not_waited_for(raw: bytes) -> None:
    with sent(raw, closed=False) as source:
        assert supervise.receive(source, soon()) == raw


def test_nothing_is_read_beyond_the_deadline_or_from_a_stream_that_is_closed() -> None:
    with sent(b"{}", closed=False) as source:
        assert supervise.receive(source, time.monotonic() - 1) == b""
    source, target = os.pipe()
    os.close(target)
    os.close(source)
    assert supervise.receive(source, soon()) == b""


def test_more_than_any_event_needs_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervise, "MOST_BYTES", 1_000)
    monkeypatch.setattr(supervise, "_CHUNK", 400)
    with sent(b"x" * 5_000, closed=True) as source:
        assert len(supervise.receive(source, soon())) == 1_200
