"""Several processes on one socket: they answer as one, are replaced when they die, and end together."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.cli.test_serve_sockets import without_timings
from tests.e2e.sample import sample_repository
from tests.web.process import PATIENCE_SECONDS, Server, serving
from tests.web.test_application_mcp import ERAS, NOW, connected, text_of

WORKERS = ("--workers", "2")

PARALLEL = 60


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("workers")
    sample_repository(folder / "shop")
    return folder


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home / "shop", home, *WORKERS) as running:
        yield running


def workers_of(server: Server) -> list[int]:
    """The processes that answer; the first child looks after what they share."""
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text(encoding="ascii")
    return [pid for pid in map(int, children.split()) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]


def page(server: Server, target: str, cookie: str = "") -> tuple[int, str]:
    """The status of a page, and the cookie that it sets."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE_SECONDS)
    try:
        connection.request("GET", target, headers={"Cookie": cookie})
        answer = connection.getresponse()
        return answer.status, answer.getheader("Set-Cookie", "").partition(";")[0]
    finally:
        connection.close()


def test_the_link_works_once_over_all_workers_and_its_cookie_in_each(server: Server) -> None:
    parts = urlsplit(server.link)
    with ThreadPoolExecutor(20) as pool:
        answers = [*pool.map(lambda _: page(server, f"/?{parts.query}"), range(20))]
        assert sorted(status for status, _ in answers) == [303] + [401] * 19
        (cookie,) = [cookie for _, cookie in answers if cookie]
        assert {status for status, _ in pool.map(lambda _: page(server, "/openapi.json", cookie), range(20))} == {200}


def test_answers_are_the_same_in_each_worker(server: Server, home: Path) -> None:
    questions = [f"where is backoff number {number % 6} computed?" for number in range(PARALLEL)]

    def ask(question: str) -> tuple[int, object]:
        return without_timings(server.ask("context_query", {"question": question, "now": NOW, "max_tokens": 300}))

    with ThreadPoolExecutor(PARALLEL) as pool:
        answers = [*pool.map(ask, questions)]
    assert {status for status, _ in answers} == {200}
    with serving(home / "shop", home) as other:
        for question, answer in zip(questions, answers, strict=True):
            given = {"question": question, "now": NOW, "max_tokens": 300}
            assert without_timings(other.ask("context_query", given)) == answer


@pytest.mark.parametrize("era", ERAS)
def test_clients_of_both_protocols_are_answered_by_any_worker(server: Server, era: str) -> None:
    async def ask() -> str:
        async with connected(server, era) as client:
            assert await client.list_tools()
            return text_of(await client.call_tool("context_query", {"question": "backoff", "now": NOW}))

    async def test() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            answers = await asyncio.gather(*(ask() for _ in range(8)))
        assert len(set(answers)) == 1

    asyncio.run(test())


def started(server: Server) -> list[int]:
    """The workers, once both answer: an end that comes while they start would be another test."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    while len(busy := [pid for pid in workers_of(server) if listens(pid)]) < 2:
        assert time.monotonic() < deadline
        threading.Event().wait(0.05)
    return busy


def listens(pid: int) -> bool:
    """Whether an event loop runs in this process."""
    with contextlib.suppress(OSError):
        return any("eventpoll" in str(file.readlink()) for file in Path(f"/proc/{pid}/fd").iterdir())
    return False


def answered(server: Server) -> int:
    """The status of a question; one that a worker took at its end, and did not read any more, is asked again."""
    for _ in range(2):
        with contextlib.suppress(ConnectionError):
            return server.ask("context_query", {"question": "backoff"})[0]
    return 0


def test_a_worker_that_dies_is_replaced(home: Path) -> None:
    with serving(home / "shop", home, *WORKERS) as running:
        before = started(running)
        for dead, number in zip(before, (signal.SIGKILL, signal.SIGTERM), strict=True):
            os.kill(dead, number)
            assert answered(running) == 200
            while dead in started(running):
                pass
        assert not {*before} & {*started(running)}
        assert running.ask("context_query", {"question": "backoff"})[0] == 200


def test_workers_that_cannot_start_end_the_server(tmp_path: Path) -> None:
    root = sample_repository(tmp_path / "shop").root
    with serving(root, tmp_path, *WORKERS) as running:
        worker = started(running)[0]
        settings = tmp_path / "home" / "config"
        settings.mkdir(parents=True, exist_ok=True)
        (settings / "satchel.toml").write_text("[context", encoding="utf-8")
        os.kill(worker, signal.SIGKILL)
        _, errors = running.process.communicate(timeout=PATIENCE_SECONDS)
        assert running.process.returncode == 1
        assert "a worker cannot start" in errors
        assert "Traceback" not in errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_all_end_with_the_parent(tmp_path: Path, number: signal.Signals, code: int) -> None:
    root = sample_repository(tmp_path / "shop").root
    with serving(root, tmp_path, *WORKERS) as running:
        started(running)
        assert running.ask("remember", {"action": "store", "text": "ends well"})[0] == 200
        running.process.send_signal(number)
        _, errors = running.process.communicate(timeout=PATIENCE_SECONDS)  # returns when no worker has the pipe
        assert running.process.returncode == code
        assert "Traceback" not in errors
    assert [path.name for path in tmp_path.rglob("*.db")]
    assert not [path.name for path in tmp_path.rglob("*-wal")], "what SQLite leaves where a store was not closed"
