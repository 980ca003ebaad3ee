"""Requests wait for the index and for a thread, within limits; who goes away takes the work along."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from starlette.types import Message

from satchel.engine import Satchel
from satchel.errors import StoreError
from satchel.system.state_files import holder
from satchel.testing import TinyRepository
from satchel.types import Failure, ShouldStop
from satchel.web.application import application
from satchel.web.middleware import Access, own_origins
from satchel.web.routes import ClientGoneError, RefusedError, ServerState
from tests.web.asking import PORT, TOKEN, client_of, environment

PATIENCE_SECONDS = 300

FILES = {f"part{number}/module.py": f"def function_{number}() -> int:\n    return {number}\n" for number in range(40)}


@pytest.fixture(autouse=True)
def patient_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work has all the time of a slow machine to end."""
    monkeypatch.setattr("satchel.web.routes.END_SECONDS", PATIENCE_SECONDS)


class Client:
    """A client of one request: what it receives, and when it goes away."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()

    async def receive(self) -> Message:
        await self.gone.wait()
        return {"type": "http.disconnect"}


def running(test: Callable[[], Awaitable[None]]) -> None:
    """Run a test in an event loop of its own, with an end."""

    async def bounded() -> None:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await test()

    asyncio.run(bounded())


async def happened(event: threading.Event) -> None:
    """Wait for a thread without holding up the loop."""
    assert await asyncio.to_thread(event.wait, PATIENCE_SECONDS)


class Held:
    """Work that begins, and waits to be released or stopped."""

    def __init__(self) -> None:
        self.begun, self.released, self.stopped = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, should_stop: ShouldStop) -> str:
        self.begun.set()
        while not self.released.wait(0.01):
            if should_stop():
                self.stopped.set()
                break
        return "done"


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "repository")
    repository.commit("Everything", FILES)
    return repository


@contextmanager
def state_of(repository: TinyRepository, tmp_path: Path, **limits: float) -> Iterator[ServerState]:
    """The state of a server whose index was not looked at, with these settings."""
    settings = {f"serve.{name}": value for name, value in limits.items()}
    with Satchel.open(root=repository.root, environ=environment(tmp_path), settings=settings) as engine:
        yield ServerState(engine)


def test_work_runs_in_a_thread_and_its_result_comes_back(repository: TinyRepository, tmp_path: Path) -> None:
    async def test(shared: ServerState) -> None:
        here = threading.get_ident()
        assert await shared.answer(lambda _: threading.get_ident(), Client().receive) != here
        with pytest.raises(ZeroDivisionError):
            await shared.answer(lambda _: 1 // 0, Client().receive)

    with state_of(repository, tmp_path) as shared:
        running(lambda: test(shared))
        assert shared.close()


@pytest.mark.parametrize("path", ["/api/context_query", "/mcp"])
def test_a_full_server_tells_the_next_one_to_come_again(
    repository: TinyRepository, tmp_path: Path, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (
        state_of(repository, tmp_path, threads=1, waiting=0) as shared,
        client_of(shared.engine, shared=shared) as client,
    ):
        begun, released = threading.Event(), threading.Event()

        def held(*_given: object, **_options: object) -> list[Failure]:
            begun.set()
            assert released.wait(PATIENCE_SECONDS)
            return []

        monkeypatch.setattr(shared.engine, "refresh", held)
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(client.post, "/api/context_query", json={"question": "function"})
            assert begun.wait(PATIENCE_SECONDS)
            answer = client.post(path, json={"question": "function"})
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "1"
            assert answer.json()["error"]["type"] == "Busy"
            assert client.get("/api/status").status_code == 200
            released.set()
            assert first.result(PATIENCE_SECONDS).status_code == 200
        assert client.post("/api/search", json={"question": "function"}).status_code == 200


def test_a_client_that_goes_away_stops_what_runs_and_drops_what_waits(
    repository: TinyRepository, tmp_path: Path
) -> None:
    async def test(shared: ServerState) -> None:
        runs, waits, first, second = Held(), Held(), Client(), Client()
        running_one = asyncio.ensure_future(shared.answer(runs, first.receive))
        await happened(runs.begun)
        waiting_one = asyncio.ensure_future(shared.answer(waits, second.receive))
        await asyncio.wait({waiting_one}, timeout=0)
        second.gone.set()
        with pytest.raises(ClientGoneError):
            await waiting_one
        first.gone.set()
        with pytest.raises(ClientGoneError):
            await running_one
        await happened(runs.stopped)
        assert shared.close()
        assert not waits.begun.is_set()

    with state_of(repository, tmp_path, threads=1) as shared:
        running(lambda: test(shared))


def test_work_that_does_not_stop_is_told_to_whoever_closes(
    repository: TinyRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("satchel.web.routes.END_SECONDS", 0)
    begun, release = threading.Event(), threading.Event()

    def deaf(_: ShouldStop) -> None:
        begun.set()
        release.wait(PATIENCE_SECONDS)

    async def test(shared: ServerState) -> None:
        runs = asyncio.ensure_future(shared.answer(deaf, Client().receive))
        await happened(begun)
        assert not shared.close()
        release.set()
        await runs
        monkeypatch.undo()
        assert shared.close()

    with state_of(repository, tmp_path) as shared:
        running(lambda: test(shared))


def scope_of(path: str) -> dict[str, object]:
    """A request with the token."""
    host = f"127.0.0.1:{PORT}".encode()
    headers = [(b"host", host), (b"authorization", f"Bearer {TOKEN}".encode()), (b"content-type", b"application/json")]
    return {
        "type": "http", "method": "POST", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": headers, "http_version": "1.1", "scheme": "http", "root_path": "",
        "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 1),
    }  # fmt: skip


class Watched:
    """Stands in for the progress of a server: holds the index run up until it is released."""

    def __init__(self, shared: ServerState) -> None:
        self.begun, self.released = threading.Event(), threading.Event()
        self._advance = shared.indexing.advance
        shared.indexing.advance = self.advance  # type: ignore[method-assign]

    def advance(self, count: int) -> None:
        self._advance(count)
        if count:
            self.begun.set()
            assert self.released.wait(PATIENCE_SECONDS)


def test_a_client_that_drops_its_question_stops_the_index_run_and_frees_the_lock(
    repository: TinyRepository, tmp_path: Path
) -> None:
    async def test() -> None:
        with Satchel.open(root=repository.root, environ=environment(tmp_path)) as engine:
            shared = ServerState(engine)
            watched = Watched(shared)
            app = application(shared, own_origins("127.0.0.1", PORT), Access(TOKEN, PORT))
            dropped, body = Client(), iter([b'{"question": "function"}'])

            async def receive() -> Message:
                for part in body:
                    return {"type": "http.request", "body": part, "more_body": False}
                return await dropped.receive()

            sent: list[Message] = []

            async def send(message: Message) -> None:
                sent.append(message)

            asked = asyncio.ensure_future(app(scope_of("/api/context_query"), receive, send))
            await happened(watched.begun)
            lock = engine.places.index / "index.lock"
            assert holder(lock), "the question is indexing"
            dropped.gone.set()
            await asked
            assert sent[0]["status"] == 499
            watched.released.set()
            assert shared.close()
            assert not holder(lock)
            report = engine.index()
            assert report.added, "something was left to do"
            assert engine.search("function_39", refresh=False)

    running(test)


def test_a_question_waits_for_the_first_index_while_the_state_is_shown(
    repository: TinyRepository, tmp_path: Path
) -> None:
    with Satchel.open(root=repository.root, environ=environment(tmp_path)) as engine:
        shared = ServerState(engine)
        watched = Watched(shared)
        with client_of(engine, shared=shared) as client:
            assert watched.begun.wait(PATIENCE_SECONDS)
            answers: list[int] = []

            def ask() -> None:
                answers.append(client.post("/api/context_query", json={"question": "function_7"}).status_code)

            asker = threading.Thread(target=ask)
            asker.start()
            try:
                state = client.get("/api/status").json()["indexing"]
                waited = not answers
            finally:
                watched.released.set()
                asker.join(PATIENCE_SECONDS)
            assert state["running"]
            assert state["phase"]
            assert state["done"]
            assert waited
            assert answers == [200]
            assert client.get("/api/status").json()["indexing"]["running"] is False


def test_a_first_index_that_fails_is_told_and_ends_the_waiting(
    repository: TinyRepository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    with Satchel.open(root=repository.root, environ=environment(tmp_path)) as engine:

        def full(**_options: object) -> None:
            raise StoreError("the disk is full")

        monkeypatch.setattr(engine, "refresh", full)
        shared = ServerState(engine)
        with client_of(engine, shared=shared) as client:
            answer = client.post("/api/search", json={"question": "function"})
            assert answer.status_code == 500
            assert answer.json()["error"]["message"] == "the disk is full"
            assert client.get("/api/status").json()["indexing"]["failure"] == "the disk is full"
    assert "the disk is full" in capfd.readouterr().err


def test_a_request_ends_at_its_deadline_and_its_work_is_stopped(repository: TinyRepository, tmp_path: Path) -> None:
    async def test(shared: ServerState) -> None:
        work = Held()
        with pytest.raises(RefusedError) as late:
            await shared.answer(work, Client().receive)
        assert (late.value.refusal.status, late.value.refusal.type) == (504, "DeadlineExceeded")
        assert "serve.deadline_s" in late.value.refusal.hint
        assert shared.close()
        assert work.stopped.is_set() is work.begun.is_set()

    with state_of(repository, tmp_path, deadline_s=0.2) as shared:
        shared.indexing.is_first = False
        running(lambda: test(shared))


def test_a_timeout_of_the_work_is_no_deadline(repository: TinyRepository, tmp_path: Path) -> None:
    def slow_file(_: ShouldStop) -> None:
        raise TimeoutError("of a file")

    async def test(shared: ServerState) -> None:
        with pytest.raises(TimeoutError, match="of a file"):
            await shared.answer(slow_file, Client().receive)

    with state_of(repository, tmp_path) as shared:
        running(lambda: test(shared))
        assert shared.close()


def test_a_question_that_waits_for_the_first_index_has_a_deadline_too(
    repository: TinyRepository, tmp_path: Path
) -> None:
    limits = {"serve.deadline_s": 0.1}
    with Satchel.open(root=repository.root, environ=environment(tmp_path), settings=limits) as engine:
        shared = ServerState(engine)
        watched = Watched(shared)
        with client_of(engine, shared=shared) as client:
            try:
                answer = client.post("/api/search", json={"question": "function"})
            finally:
                watched.released.set()
    assert answer.status_code == 504
    assert "not built yet" in answer.json()["error"]["hint"]
