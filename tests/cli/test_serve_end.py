"""An end lets the requests in progress finish, and accepts no more."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from satchel.engine import Satchel
from satchel.system.state_files import index_lock
from tests.e2e.sample import sample_repository
from tests.web.asking import environment
from tests.web.process import PATIENCE_SECONDS, serving


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
    patience = str(PATIENCE_SECONDS)
    limits = {"SERVE_THREADS": "1", "SERVE_WAITING": "0", "SERVE_DRAIN_S": patience, "INDEX_LOCK_WAIT_S": patience}
    for name, value in limits.items():
        monkeypatch.setenv(f"SATCHEL_{name}", value)
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
