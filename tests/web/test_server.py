"""The server as a process: its one line, odd bytes on a socket, and its end."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.command import finish
from tests.e2e.sample import sample_repository
from tests.web.asking import TOKEN
from tests.web.process import PATIENCE_SECONDS, Server, resident_bytes, serving, started

SIGNED = b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("server")
    sample_repository(folder / "shop")
    return folder


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home / "shop", home) as running:
        yield running


def status_of(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:80]
    return int(answer.split(b" ", 2)[1])


def test_the_one_line_on_standard_output_is_the_link(server: Server) -> None:
    assert server.link.startswith(f"http://127.0.0.1:{server.port}/?token=")
    assert TOKEN not in server.link


HOSTS = [
    (b"", 400),
    (b"Host: evil.test\r\n", 421),
    (b"Host: 127.0.0.1:%(port)d\r\nHost: 127.0.0.1:%(port)d\r\n", 400),
    (b"Host: 127.0.0.1:%(port)d\r\nHost: evil.test\r\n", 400),
    (b"Host: 127.0.0.1:%(port)d, evil.test\r\n", 421),
    (b"Host: [::1]:%(port)d\r\n", 200),
    (b"Host: [::1]\r\n", 421),
    (b"Host: [0:0:0:0:0:0:0:1]:%(port)d\r\n", 421),
    (b"Host: [::ffff:127.0.0.1]:%(port)d\r\n", 421),
    (b"Host: [::1%%lo]:%(port)d\r\n", 421),
    (b"Host: ::1:%(port)d\r\n", 421),
    (b"Host: localhost:%(port)d\r\n", 200),
    (b"Host: LOCALHOST:%(port)d\r\n", 200),
    (b"Host: localhost.:%(port)d\r\n", 421),
    (b"Host: 127.0.0.1:%(port)d.evil.test\r\n", 421),
    (b"Host: user@127.0.0.1:%(port)d\r\n", 421),
    (b"Host: 127.0.0.1:%(port)d\r\nX-Forwarded-Host: evil.test\r\n", 200),
    (b"Host: evil.test\r\nX-Forwarded-Host: 127.0.0.1:%(port)d\r\n", 421),
]


@pytest.mark.parametrize(("host", "status"), HOSTS)
def test_the_host_is_compared_as_it_is_written(server: Server, host: bytes, status: int) -> None:
    for path in (b"/healthz", b"/api/options", b"/openapi.json"):
        line = b"GET " + path + b" HTTP/1.1\r\n"
        answer = server.raw(line + host % {b"port": server.port} + SIGNED + b"Connection: close\r\n\r\n")
        assert status_of(answer) == status, answer[:300]


def test_an_old_client_without_a_host_is_refused(server: Server) -> None:
    assert status_of(server.raw(b"GET /healthz HTTP/1.0\r\n" + SIGNED + b"\r\n")) == 421


@pytest.mark.parametrize(
    "target", [b"http://evil.test/healthz", b"http://127.0.0.1/healthz", b"evil.test:80", b"*", b"?token=x"]
)
def test_a_target_that_is_no_path_is_refused(server: Server, target: bytes) -> None:
    host = b"Host: 127.0.0.1:%d\r\n" % server.port
    answer = server.raw(b"GET " + target + b" HTTP/1.1\r\n" + host + SIGNED + b"Connection: close\r\n\r\n")
    assert status_of(answer) in {400, 421}


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /api/search HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /api/search HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 200_000 + b"\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    ],
    ids=["TLS", "nonsense", "version", "negative length", "two lengths", "large header", "web socket"],
)
def test_what_is_no_request_is_refused_and_the_server_lives(server: Server, request_bytes: bytes) -> None:
    assert status_of(server.raw(request_bytes)) in {400, 421, 431}
    assert server.get("/healthz")["status"] == "ok"


def test_nothing_that_was_refused_left_a_word_on_standard_error(home: Path) -> None:
    with serving(home / "shop", home) as running:
        running.raw(b"nonsense\r\n\r\n")
        running.raw(b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        running.process.send_signal(signal.SIGTERM)
        _, told = running.process.communicate(timeout=PATIENCE_SECONDS)
    assert "Traceback" not in told


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_it_ends_within_seconds_with_its_stores_closed(tmp_path: Path, number: signal.Signals, code: int) -> None:
    root = sample_repository(tmp_path / "shop").root
    with serving(root, tmp_path) as running:
        assert running.ask("remember", {"action": "store", "text": "ends well"})[0] == 200
        assert running.ask("context_query", {"question": "retry"})[0] == 200
        begun = time.monotonic()
        running.process.send_signal(number)
        assert running.process.wait(timeout=PATIENCE_SECONDS) == code
        assert time.monotonic() - begun < 3
    assert [path.name for path in tmp_path.rglob("*.db")]
    assert not [path.name for path in tmp_path.rglob("*-wal")], "what SQLite leaves where a store was not closed"


def test_two_servers_share_a_root(server: Server, home: Path) -> None:
    with serving(home / "shop", home) as other:
        assert other.port != server.port
        question = {"question": "backoff", "now": "2024-05-01"}
        first, second = (one.ask("context_query", question) for one in (server, other))
        assert without_timings(first) == without_timings(second)


PARALLEL = 200

GROWTH_BYTES = 150_000_000
"""What 200 questions at once may add to the memory of the server: each holds its question and its answer."""


def test_two_hundred_questions_at_once_each_get_their_own_answer(server: Server) -> None:
    questions = [f"where is backoff number {number} computed?" for number in range(PARALLEL)]

    def ask(question: str) -> tuple[int, Any]:
        given = {"question": question, "now": "2024-05-01", "max_tokens": 300}
        return without_timings(server.ask("context_query", given))

    assert ask(questions[0])[0] == 200
    before = resident_bytes(server.process)
    with ThreadPoolExecutor(PARALLEL) as pool:
        answers = [*pool.map(ask, questions)]
    assert [status for status, _ in answers] == [200] * PARALLEL
    assert [answer["query"] for _, answer in answers] == questions
    assert [answer["meta"]["request"]["query"] for _, answer in answers] == questions
    assert all(answer["items"] and not answer["failures"] for _, answer in answers)
    for number in range(0, PARALLEL, 20):
        assert ask(questions[number]) == answers[number], "alone it is the same"
    assert resident_bytes(server.process) - before < GROWTH_BYTES
    assert server.get("/healthz")["status"] == "ok"


def test_a_full_queue_tells_the_next_one_to_come_again(tmp_path: Path) -> None:
    root = sample_repository(tmp_path / "shop").root
    settings = tmp_path / "home" / "config" / "satchel.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text("[serve]\nthreads = 1\nwaiting = 0\n", encoding="utf-8")
    with serving(root, tmp_path) as running, ThreadPoolExecutor(30) as pool:
        asked = [pool.submit(running.ask, "context_query", {"question": "backoff"}) for _ in range(30)]
        answers = [one.result() for one in asked]
    counts = Counter(status for status, _ in answers)
    assert set(counts) == {200, 503}
    assert json.loads(next(body for status, body in answers if status == 503))["error"]["type"] == "Busy"


def without_timings(answer: tuple[int, bytes]) -> tuple[int, Any]:
    found = json.loads(answer[1])
    found["meta"].pop("timings", None)
    return answer[0], found


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--host", "0.0.0.0"], "--allow-remote"),
        (["--host", "::"], "--allow-remote"),
        (["--host", "example.invalid"], "--allow-remote"),
        (["--port", "70000"], "70000"),
    ],
)
def test_it_does_not_start_where_others_could_listen(home: Path, options: list[str], told: str) -> None:
    ran = finish(started(home / "shop", home, *options))
    assert ran.code == 2
    assert told in ran.err
    assert ran.out == ""


def test_a_taken_port_is_told(server: Server, home: Path) -> None:
    ran = finish(started(home / "shop", home, "--port", str(server.port)))
    assert ran.code == 2
    assert str(server.port) in ran.err
    assert "--port 0" in ran.err


def test_the_token_for_programs_is_shown_on_demand(home: Path) -> None:
    ran = finish(started(home / "shop", home, "--show-token"))
    assert (ran.code, ran.out.strip()) == (0, TOKEN)


def test_it_answers_on_ipv6_as_well(home: Path) -> None:
    with serving(home / "shop", home, "--host", "::1") as running:
        assert running.link.startswith(f"http://[::1]:{running.port}/?token=")


def test_another_signal_while_it_ends_ends_it_at_once(home: Path) -> None:
    with serving(home / "shop", home) as running:
        running.process.send_signal(signal.SIGTERM)
        running.process.send_signal(signal.SIGTERM)
        try:
            running.process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            pytest.fail("it goes on")
