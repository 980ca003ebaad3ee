"""Several processes on one socket: they answer as one, are replaced when they die, and end together."""

from __future__ import annotations

import asyncio
import http.client
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from satchel.web.server import MOST_RESTARTS
from tests.e2e.sample import sample_repository
from tests.web.asking import TOKEN
from tests.web.process import PATIENCE_SECONDS, Server, serving
from tests.web.test_application_mcp import ERAS, NOW, connected, text_of
from tests.web.test_server import without_timings

WORKERS = ("--workers", "2")

PARALLEL = 60

METRICS = (
    b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nConnection: close\r\nAuthorization: Bearer "
    + TOKEN.encode()
    + b"\r\n\r\n"
)


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
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children")
    return [int(pid) for pid in children.read_text(encoding="ascii").split()]


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


def test_the_metrics_of_any_worker_count_the_requests_of_all(home: Path) -> None:
    def counted(server: Server) -> set[str]:
        text = {server.raw(METRICS % server.port).decode() for _ in range(8)}
        return {
            line for one in text for line in one.splitlines() if line.startswith('satchel_requests_total{door="api",')
        }

    with serving(home / "shop", home, *WORKERS) as running:
        with ThreadPoolExecutor(20) as pool:
            assert {
                status for status, _ in pool.map(lambda _: running.ask("search", {"question": "x"}), range(20))
            } == {200}
        before = counted(running)
        assert 'satchel_requests_total{door="api",status="200"} 20' in before
        os.kill(workers_of(running)[0], signal.SIGKILL)
        assert "Ctrl-C" in next_line(running)
        assert "another one is started" in next_line(running)
        assert counted(running) == before, "a worker continues the counts of the one that it replaces"


def next_line(server: Server) -> str:
    assert server.process.stderr is not None
    return server.process.stderr.readline()


def test_a_worker_that_dies_is_replaced_until_that_happens_too_often(home: Path) -> None:
    with serving(home / "shop", home, *WORKERS) as running:
        assert "Ctrl-C" in next_line(running)
        for _ in range(MOST_RESTARTS):
            before = workers_of(running)
            os.kill(before[0], signal.SIGKILL)
            assert "(SIGKILL): another one is started" in next_line(running)
            assert running.ask("context_query", {"question": "backoff"})[0] == 200
            after = workers_of(running)
            assert len(after) == len(before)
            assert before[0] not in after
        os.kill(workers_of(running)[0], signal.SIGKILL)
        assert "the server ends" in next_line(running)
        assert running.process.wait(PATIENCE_SECONDS) == 1


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0), (signal.SIGKILL, -9)])
def test_all_end_with_the_parent(tmp_path: Path, number: signal.Signals, code: int) -> None:
    root = sample_repository(tmp_path / "shop").root
    with serving(root, tmp_path, *WORKERS) as running:
        assert running.ask("remember", {"action": "store", "text": "ends well"})[0] == 200
        running.process.send_signal(number)
        _, errors = running.process.communicate(timeout=PATIENCE_SECONDS)  # returns when no worker has the pipe
        assert running.process.returncode == code
        assert "Traceback" not in errors
    assert [path.name for path in tmp_path.rglob("*.db")]
    assert not [path.name for path in tmp_path.rglob("*-wal")], "what SQLite leaves where a store was not closed"


def test_a_signal_to_one_worker_ends_only_that_one(home: Path) -> None:
    with serving(home / "shop", home, *WORKERS) as running:
        assert "Ctrl-C" in next_line(running)
        assert running.ask("search", {"question": "backoff"})[0] == 200
        os.kill(workers_of(running)[0], signal.SIGTERM)
        assert "another one is started" in next_line(running)
        assert running.ask("search", {"question": "backoff"})[0] == 200
