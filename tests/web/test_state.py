"""Requests wait for their turn, within limits; who goes away takes the work along."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import pytest
from starlette.types import Message

from satchel.engine import Satchel
from satchel.errors import StoreError
from satchel.operations.registry import OPERATIONS
from satchel.system.state_files import holder
from satchel.testing import TinyRepository
from satchel.types import ShouldStop
from satchel.web.access import Access, own_origins
from satchel.web.application import application
from satchel.web.middleware import BUSY, STOPPING
from satchel.web.routes import same_request
from satchel.web.state import ClientGoneError, RefusedError, RequestQueue, ServerState, server_state
from tests.web.asking import PORT, TOKEN, client_of, environment

PATIENCE_SECONDS = 60

FILES = {f"part{number}/module.py": f"def function_{number}() -> int:\n    return {number}\n" for number in range(40)}


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


def test_work_runs_in_a_thread_and_its_result_comes_back() -> None:
    async def test() -> None:
        turns = RequestQueue(1, 0)
        here = threading.get_ident()
        assert await turns.answer(lambda _: threading.get_ident(), Client().receive) != here
        with pytest.raises(ZeroDivisionError):
            await turns.answer(lambda _: 1 // 0, Client().receive)
        assert turns.close(PATIENCE_SECONDS)

    running(test)


def test_there_are_so_many_places_and_no_more() -> None:
    turns = RequestQueue(2, 1)
    with turns.admitted(), turns.admitted(), turns.admitted():
        with pytest.raises(RefusedError) as refused, turns.admitted():
            pass
        assert refused.value.refusal is BUSY
        assert BUSY.headers["Retry-After"] == "1"
    with turns.admitted():
        pass
    turns.close(0)
    with pytest.raises(RefusedError) as refused, turns.admitted():
        pass
    assert refused.value.refusal is STOPPING


@pytest.mark.parametrize("path", ["/api/context_query", "/mcp"])
def test_a_full_queue_tells_the_next_one_to_come_again(repository: TinyRepository, tmp_path: Path, path: str) -> None:
    limits = {"serve.threads": 1, "serve.waiting": 0}
    with Satchel.open(root=repository.root, environ=environment(tmp_path), settings=limits) as engine:
        shared = server_state(engine)
        with client_of(engine, shared=shared) as client, shared.asking.admitted():
            answer = client.post(path, json={"question": "function"})
            assert answer.status_code == 503
            assert answer.headers["Retry-After"] == "1"
            assert answer.json()["error"]["type"] == "Busy"
            assert client.get("/api/status").status_code == 200


def test_a_client_that_goes_away_stops_what_runs_and_drops_what_waits() -> None:
    async def test() -> None:
        turns = RequestQueue(1, 5)
        begun, ended, never = threading.Event(), threading.Event(), threading.Event()

        def until_stopped(should_stop: ShouldStop) -> None:
            begun.set()
            while not should_stop():
                pass
            ended.set()

        first, second = Client(), Client()
        runs = asyncio.ensure_future(turns.answer(until_stopped, first.receive))
        await happened(begun)
        waits = asyncio.ensure_future(turns.answer(lambda _: never.set(), second.receive))
        await asyncio.wait({waits}, timeout=0)
        second.gone.set()
        with pytest.raises(ClientGoneError):
            await waits
        first.gone.set()
        with pytest.raises(ClientGoneError):
            await runs
        await happened(ended)
        assert turns.close(PATIENCE_SECONDS)
        assert not never.is_set()

    running(test)


def test_work_waits_for_what_has_to_come_first() -> None:
    async def test() -> None:
        turns = RequestQueue(1, 0)
        first = asyncio.get_running_loop().create_future()
        done = threading.Event()
        waits = asyncio.ensure_future(turns.answer(lambda _: done.set(), Client().receive, first))
        gone = Client()
        leaves = asyncio.ensure_future(turns.answer(lambda _: None, gone.receive, first))
        gone.gone.set()
        with pytest.raises(ClientGoneError):
            await leaves
        assert not done.is_set()
        first.set_result(None)
        await waits
        assert done.is_set()
        assert turns.close(PATIENCE_SECONDS)

    running(test)


def test_an_end_stops_what_runs_and_refuses_what_waited() -> None:
    async def test() -> None:
        turns = RequestQueue(1, 1)
        first = asyncio.get_running_loop().create_future()
        waits = asyncio.ensure_future(turns.answer(lambda _: None, Client().receive, first))
        await asyncio.wait({waits}, timeout=0)
        turns.stop()
        first.set_result(None)
        with pytest.raises(RefusedError):
            await waits
        assert turns.close(PATIENCE_SECONDS)

    running(test)


def test_work_that_does_not_stop_is_told_to_whoever_closes() -> None:
    async def test() -> None:
        turns = RequestQueue(1, 0)
        begun, release = threading.Event(), threading.Event()

        def deaf(_: ShouldStop) -> None:
            begun.set()
            release.wait(PATIENCE_SECONDS)

        runs = asyncio.ensure_future(turns.answer(deaf, Client().receive))
        await happened(begun)
        assert not turns.close(0)
        release.set()
        await runs
        assert turns.close(PATIENCE_SECONDS)

    running(test)


@pytest.fixture
def repository(tmp_path: Path) -> TinyRepository:
    repository = TinyRepository(tmp_path / "repository")
    repository.commit("Everything", FILES)
    return repository


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
            shared = server_state(engine)
            watched = Watched(shared)
            app = application(shared, own_origins("127.0.0.1", PORT), Access(TOKEN, PORT))
            dropped, body = Client(), iter([b'{"question": "function"}'])

            async def receive() -> Message:
                for part in body:
                    return {"type": "http.request", "body": part, "more_body": False}
                return await dropped.receive()

            async def send(_message: Message) -> None:
                pass

            asked = asyncio.ensure_future(app(scope_of("/api/context_query"), receive, send))
            await happened(watched.begun)
            lock = engine.places.index / "index.lock"
            assert holder(lock), "the question is indexing"
            dropped.gone.set()
            await asked
            assert 'satchel_requests_total{door="api",status="499"} 1' in shared.metrics.text().splitlines()
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
        shared = server_state(engine)
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
        shared = server_state(engine)
        with client_of(engine, shared=shared) as client:
            answer = client.post("/api/search", json={"question": "function"})
            assert answer.status_code == 500
            assert answer.json()["error"]["message"] == "the disk is full"
            assert client.get("/api/status").json()["indexing"]["failure"] == "the disk is full"
    assert "the disk is full" in capfd.readouterr().err


class Counted:
    """Work that begins, waits to be released, and counts how often it ran."""

    def __init__(self) -> None:
        self.runs = 0
        self.begun, self.released, self.stopped = threading.Event(), threading.Event(), threading.Event()

    def __call__(self, should_stop: ShouldStop) -> int:
        self.runs += 1
        self.begun.set()
        while not self.released.wait(0.01):
            if should_stop():
                self.stopped.set()
                break
        return self.runs


def test_equal_requests_in_flight_are_answered_once_while_one_of_them_is_left() -> None:
    async def test() -> None:
        turns, work, clients = RequestQueue(4, 9), Counted(), [Client() for _ in range(6)]
        asked = [
            asyncio.ensure_future(turns.answer(work, client.receive, None, lambda: ("search", "same")))
            for client in clients
        ]
        await happened(work.begun)
        clients[0].gone.set()
        with pytest.raises(ClientGoneError):
            await asked[0]
        work.released.set()
        assert await asyncio.gather(*asked[1:]) == [1] * 5
        assert await turns.answer(work, Client().receive, None, lambda: ("search", "same")) == 2, "none is in flight"
        assert turns.close(PATIENCE_SECONDS)
        assert not work.stopped.is_set()

    running(test)


def test_other_requests_and_older_work_are_not_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        turns, work = RequestQueue(8, 9), Counted()
        keys = ["a", "b"]
        asked = [asyncio.ensure_future(turns.answer(work, Client().receive, None, partial(str, key))) for key in keys]
        await happened(work.begun)
        monkeypatch.setattr("satchel.web.state.REFRESH_PAUSE_SECONDS", 0)
        asked.append(asyncio.ensure_future(turns.answer(work, Client().receive, None, partial(str, keys[0]))))
        asked += [asyncio.ensure_future(turns.answer(work, Client().receive)) for _ in range(2)]
        await asyncio.wait(asked, timeout=0)
        work.released.set()
        await asyncio.gather(*asked)
        assert work.runs == len(asked)
        assert turns.close(PATIENCE_SECONDS)

    running(test)


def test_the_last_client_of_shared_work_stops_it() -> None:
    async def test() -> None:
        turns, work, clients = RequestQueue(1, 9), Counted(), [Client(), Client()]
        asked = [asyncio.ensure_future(turns.answer(work, one.receive, None, lambda: "key")) for one in clients]
        await happened(work.begun)
        for client in clients:
            client.gone.set()
        assert all(isinstance(one, ClientGoneError) for one in await asyncio.gather(*asked, return_exceptions=True))
        await happened(work.stopped)
        assert turns.close(PATIENCE_SECONDS)

    running(test)


def test_a_request_ends_at_its_deadline_and_its_work_is_stopped() -> None:
    async def test() -> None:
        turns, work = RequestQueue(1, 1, 0.2), Counted()
        with pytest.raises(RefusedError) as late:
            await turns.answer(work, Client().receive)
        assert (late.value.refusal.status, late.value.refusal.type) == (504, "DeadlineExceeded")
        assert "serve.deadline_s" in late.value.refusal.hint
        await happened(work.stopped)

        def slow_file(_: ShouldStop) -> None:
            raise TimeoutError("of a file")

        with pytest.raises(TimeoutError, match="of a file"):
            await turns.answer(slow_file, Client().receive)
        assert turns.close(PATIENCE_SECONDS)

    running(test)


def test_a_question_that_waits_for_the_first_index_has_a_deadline_too(
    repository: TinyRepository, tmp_path: Path
) -> None:
    limits = {"serve.deadline_s": 0.1}
    with Satchel.open(root=repository.root, environ=environment(tmp_path), settings=limits) as engine:
        shared = server_state(engine)
        watched = Watched(shared)
        with client_of(engine, shared=shared) as client:
            try:
                answer = client.post("/api/search", json={"question": "function"})
            finally:
                watched.released.set()
    assert answer.status_code == 504
    assert "not built yet" in answer.json()["error"]["hint"]


def test_requests_with_effects_or_other_revisions_are_not_equal(repository: TinyRepository, tmp_path: Path) -> None:
    with Satchel.open(root=repository.root, environ=environment(tmp_path)) as engine:
        shared = server_state(engine)

        def key(name: str, body: bytes) -> object:
            return same_request(shared, OPERATIONS[name], body)

        first = key("search", b'{"question": "a", "limit": 3}')
        assert first is not None
        assert key("search", b'{"limit": 3,"question":"a"}') == first
        assert key("search", b'{"question": "b", "limit": 3}') != first
        assert key("context_query", b'{"question": "a", "limit": 3}') != first
        assert key("context_query", b'{"question": "a", "session": "s"}') is None
        assert key("remember", b'{"action": "list"}') is None
        assert key("search", b"nonsense") is None
        engine.index()
        second = key("search", b'{"question": "a", "limit": 3}')
        assert second != first, "the index was written"
        assert shared.close()
