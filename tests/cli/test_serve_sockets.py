"""The server as a process: its one line, odd bytes on a socket, and its end."""

from __future__ import annotations

import contextlib
import json
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from satchel.cli.commands.serve import listening, reachable
from satchel.errors import UsageError
from tests.e2e.sample import sample_repository
from tests.web.asking import TOKEN
from tests.web.process import PATIENCE_SECONDS, Server, resident_bytes, serving

SIGNED = b"Authorization: Bearer " + TOKEN.encode() + b"\r\n"

PIPE_BYTES = 65_536
"""What a server reads of a request before it has to decide."""


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
    answer = server.raw(request_bytes)
    is_cut = not answer and len(request_bytes) > PIPE_BYTES  # closed while more was on its way: the answer is lost then
    assert is_cut or status_of(answer) in {400, 421, 431}
    assert server.get("/healthz")["status"] == "ok"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 0)])
def test_it_ends_with_its_stores_closed(tmp_path: Path, number: signal.Signals, code: int) -> None:
    root = sample_repository(tmp_path / "shop").root
    with serving(root, tmp_path) as running:
        assert running.ask("remember", {"action": "store", "text": "ends well"})[0] == 200
        assert running.ask("context_query", {"question": "retry"})[0] == 200
        running.raw(b"nonsense\r\n\r\n")
        running.raw(b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
        running.process.send_signal(number)
        _, told = running.process.communicate(timeout=PATIENCE_SECONDS)
        assert running.process.returncode == code
        assert "Traceback" not in told
    assert [path.name for path in tmp_path.rglob("*.db")]
    assert not [path.name for path in tmp_path.rglob("*-wal")], "what SQLite leaves where a store was not closed"


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


def without_timings(answer: tuple[int, bytes]) -> tuple[int, Any]:
    found = json.loads(answer[1])
    found["meta"].pop("timings", None)
    return answer[0], found


HALF_OPEN = 200
MAX_LINES = 3


def test_half_requests_delay_nobody_and_fill_no_log(tmp_path: Path) -> None:
    root = sample_repository(tmp_path / "shop").root
    with serving(root, tmp_path) as running, contextlib.ExitStack() as stack:
        for _ in range(HALF_OPEN):
            half = stack.enter_context(socket.create_connection(("127.0.0.1", running.port), PATIENCE_SECONDS))
            half.sendall(b"GET /healthz HTTP/1.1\r\nHost: ")
        assert running.ask("context_query", {"question": "backoff"})[0] == 200
        running.raw(b"nonsense\r\n\r\n" * 10)
        running.process.terminate()
        _, errors = running.process.communicate(timeout=PATIENCE_SECONDS)
        assert running.process.returncode == 0
        assert len(errors.splitlines()) < MAX_LINES, errors


def test_it_answers_on_ipv6_beside_another_one_and_ends_at_once_at_the_second_signal(
    server: Server, home: Path
) -> None:
    with serving(home / "shop", home, "--host", "::1") as other:
        assert other.link.startswith(f"http://[::1]:{other.port}/?token=")
        question = {"question": "backoff", "now": "2024-05-01"}
        first, second = server.ask("context_query", question), other.ask("context_query", question, host="::1")
        assert without_timings(first) == without_timings(second)
        other.process.send_signal(signal.SIGTERM)
        other.process.send_signal(signal.SIGTERM)
        other.process.wait(timeout=PATIENCE_SECONDS)


def test_a_taken_port_and_an_unknown_host_are_told(server: Server) -> None:
    with pytest.raises(UsageError, match=f"port {server.port}: Address already in use; `--port 0`"):
        listening("127.0.0.1", server.port)
    for host in ("a..b", "", "192.0.2.1"):
        with pytest.raises(UsageError, match=r"cannot listen on .*; --host has to be an address of this machine"):
            listening(host, 0)


@pytest.mark.parametrize(("host", "name"), [("127.0.0.1", "127.0.0.1"), ("0.0.0.0", "127.0.0.1"), ("::", "::1")])
def test_the_link_names_an_address_that_this_machine_opens(host: str, name: str) -> None:
    assert reachable(host) == name
