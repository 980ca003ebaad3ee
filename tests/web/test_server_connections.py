"""Connections that send nothing, half a request or a slow one take no place from others; an end lets work finish."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from contextlib import contextmanager
from pathlib import Path

import pytest

from satchel.engine import Satchel
from satchel.system.state_files import index_lock
from satchel.web import server
from satchel.web.access import Access, own_origins
from satchel.web.server import listening, run
from tests.e2e.sample import sample_repository
from tests.web.asking import TOKEN, environment
from tests.web.process import PATIENCE_SECONDS, serving

DESCRIPTORS = 200
HALF_OPEN = 500
MOST_LINES = 5


@contextmanager
def limited_descriptors(most: int) -> Iterator[None]:
    """Processes that are started in the block may open so few files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_half_open_connections_stop_nobody_and_fill_no_log(tmp_path: Path, options: tuple[str, ...]) -> None:
    root = sample_repository(tmp_path / "shop").root
    with contextlib.ExitStack() as stack:
        with limited_descriptors(DESCRIPTORS):
            running = stack.enter_context(serving(root, tmp_path, *options))
        for _ in range(HALF_OPEN):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", running.port), PATIENCE_SECONDS))
            with contextlib.suppress(ConnectionError):
                half.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        assert running.ask("context_query", {"question": "backoff"})[0] == 200
        running.raw(b"nonsense\r\n\r\n" * 10)
        running.process.terminate()
        _, errors = running.process.communicate(timeout=PATIENCE_SECONDS)
        assert running.process.returncode == 0
        assert "many connections send no request" in errors
        assert len(errors.splitlines()) < MOST_LINES, errors


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """The port of a server in a thread of this process, so that its limits can be changed."""
    root = sample_repository(tmp_path / "shop").root
    ending = threading.Event()
    with Satchel.open(root=root, environ=environment(tmp_path)) as engine, listening("127.0.0.1", 0) as sock:
        number: int = sock.getsockname()[1]
        access, origins = Access(TOKEN, number), own_origins("127.0.0.1", number)
        thread = threading.Thread(target=run, args=(engine, sock, origins, access, ending.is_set))
        thread.start()
        yield number
        ending.set()
        thread.join(PATIENCE_SECONDS)
        assert not thread.is_alive()


def received(port: int, *parts: bytes) -> bytes:
    """All that comes back until the server closes the connection, which this side keeps open."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS) as connection:
        for part in parts:
            connection.sendall(part)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while part := connection.recv(65_536):
                answer += part
        return answer


HALF = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1"
WHOLE = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nAuthorization: Bearer " + TOKEN.encode() + b"\r\n\r\n"
REFUSED = b"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 99\r\n\r\n{"


def test_a_header_that_does_not_end_is_cut(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEADER_SECONDS", 0.05)
    assert received(port) == b""
    assert received(port, HALF) == b""
    assert received(port, WHOLE % port, HALF).count(b'"status":"ok"') == 1


def test_a_body_that_nobody_reads_is_cut(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "BODY_SECONDS", -0.95)
    assert received(port, REFUSED % port).startswith(b"HTTP/1.1 401 ")


def refused(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE_SECONDS).close()
    except ConnectionRefusedError:
        return True
    return False


@pytest.mark.parametrize("options", [(), ("--workers", "2")], ids=["one process", "workers"])
def test_an_end_waits_for_requests_in_progress_and_accepts_no_more(
    tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = sample_repository(tmp_path / "shop").root
    limits = {"THREADS": "1", "WAITING": "0", "DRAIN_S": str(PATIENCE_SECONDS)}
    for name, value in limits.items():
        monkeypatch.setenv(f"SATCHEL_SERVE_{name}", value)
    with Satchel.open(root=root, environ=environment(tmp_path)) as engine:
        lock = engine.places.index / "index.lock"
    with ThreadPoolExecutor(3) as pool, contextlib.ExitStack() as stack:
        holding = stack.enter_context(contextlib.ExitStack())
        holding.enter_context(index_lock(lock, PATIENCE_SECONDS, lambda: False))
        running = stack.enter_context(serving(root, tmp_path, *options))
        asked = {pool.submit(running.ask, "search", {"question": f"backoff {number}"}) for number in range(3)}
        busy, waiting = wait(asked, PATIENCE_SECONDS, FIRST_COMPLETED)  # so the others are admitted, or will be refused
        assert {one.result()[0] for one in busy} == {503}
        running.process.send_signal(signal.SIGTERM)
        while not refused(running.port):
            os.sched_yield()
        holding.close()
        statuses = [one.result(PATIENCE_SECONDS)[0] for one in waiting]
        assert 200 in statuses
        assert set(statuses) <= {200, 503}
        assert running.process.wait(PATIENCE_SECONDS) == 0
