"""POST /api/{operation}: the bytes of the command line, errors that help, and nothing of the inside."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from satchel.engine import Satchel
from satchel.errors import LockedError, MissingExtraError, StoreError, UnreachableStoreError
from satchel.memory.review import Suggestion
from satchel.operations.operation import Operation, without_home
from satchel.operations.registry import OPERATIONS
from satchel.web.middleware import refusal_of
from tests.e2e.command import Satchel as Command
from tests.operations.bounds import TOO_MUCH
from tests.web.asking import client_of

NOW = "2024-05-01"

JSON = {"Content-Type": "application/json"}


@pytest.fixture(scope="module")
def asking(engine: Satchel) -> Iterator[TestClient]:
    with client_of(engine) as client:
        yield client


@pytest.fixture(scope="module")
def command(home: Path, asking: TestClient) -> Command:
    """The command line on the same folders."""
    assert asking
    return Command(home / "shop", home / "home")


def timeless(envelope: dict[str, Any]) -> dict[str, Any]:
    """An answer without its durations: no two runs take the same time."""
    envelope.get("meta", {}).pop("timings", None)
    return envelope


def error_of(client: TestClient, path: str, status: int, **options: Any) -> dict[str, str]:
    """The error of a request that has to fail in this way."""
    answer = client.post(path, **options)
    assert answer.status_code == status, answer.text
    found: dict[str, str] = answer.json()["error"]
    assert set(found) == {"type", "message", "hint"}
    return found


SAME: tuple[tuple[str, dict[str, Any], tuple[str, ...]], ...] = (
    ("context_query", {"question": "where is backoff computed?", "now": NOW},
     ("context", "where is backoff computed?", "--now", NOW)),
    ("context_query", {"question": "discount", "max_tokens": 300, "format": "xml", "types": ["code"], "now": NOW},
     ("context", "discount", "--max-tokens", "300", "--format", "xml", "--types", "code", "--now", NOW)),
    ("search", {"question": "retry", "limit": 3}, ("search", "retry", "-n", "3")),
    ("why", {"target": "shop/client.py", "question": "retry"}, ("why", "shop/client.py", "retry")),
    ("history", {"path": "shop/client.py"}, ("history", "shop/client.py")),
    ("memories", {}, ("memory", "list")),
)  # fmt: skip


@pytest.mark.parametrize(("operation", "arguments", "line"), SAME, ids=[f"{row[0]} {row[1]}"[:40] for row in SAME])
def test_the_same_request_has_the_same_answer_as_on_the_command_line(
    asking: TestClient, command: Command, operation: str, arguments: dict[str, Any], line: tuple[str, ...]
) -> None:
    answer = asking.post(f"/api/{operation}", json=arguments)
    assert answer.status_code == 200
    ran = command(*line, "--json")
    assert ran.code == 0, ran.err
    assert timeless(answer.json()) == timeless(ran.json)
    if "timings" not in ran.out:
        assert answer.text == ran.out, "the very same bytes"


def test_the_same_question_has_the_same_text_in_python(asking: TestClient, engine: Satchel) -> None:
    question = "how are orders sent again?"
    told = asking.post("/api/context_query", json={"question": question, "now": NOW}).json()
    assert told["text"] == engine.assemble(question, now=1714521600.0, purpose="find").text
    assert told["items"]


def test_an_unknown_operation_is_told_with_those_that_exist(asking: TestClient) -> None:
    error = error_of(asking, "/api/contxt", 404, json={})
    assert error["type"] == "UnknownOperation"
    assert "contxt" in error["message"]
    assert "context_query" in error["hint"]
    long = error_of(asking, f"/api/{'x' * 500}", 404, json={})
    assert len(long["message"]) < 200


@pytest.mark.parametrize(
    ("operation", "arguments", "named"),
    [
        ("context_query", {"question": "x", "max_tokens": "many"}, "max_tokens"),
        ("context_query", {"question": "x", "max_tokns": 5}, "max_tokens"),
        ("context_query", {"question": "x", "format": "word"}, "word"),
        ("context_query", {"question": "x", "types": ["nonsense"]}, "nonsense"),
        ("context_query", {"question": "   "}, "question"),
        ("search", {}, "question"),
        ("remember", {"action": "eat"}, "eat"),
        ("graph_context", {"query": "x", "depth": 99}, "99"),
        ("expand", {"handles": "notalist"}, "handles"),
    ],
)
def test_an_impossible_argument_is_named(
    asking: TestClient, operation: str, arguments: dict[str, Any], named: str
) -> None:
    error = error_of(asking, f"/api/{operation}", 400, json=arguments)
    assert named in error["message"]
    assert "openapi" in error["hint"]


@pytest.mark.parametrize(("arguments", "message"), TOO_MUCH)
def test_too_much_is_refused_in_one_sentence(asking: TestClient, arguments: dict[str, Any], message: str) -> None:
    assert error_of(asking, "/api/context_query", 400, json=arguments)["message"].startswith(message)


@pytest.mark.parametrize(
    "body",
    [b"[1]", b'"x"', b"null", b"{", b"\xff\xfe", b'{"question": NaN}', b"[" * 100_000, b'{"a":' * 50_000, b"1" * 5_000],
    ids=["list", "text", "null", "open", "bytes", "NaN", "deep list", "deep object", "long number"],
)
def test_a_body_that_is_no_object_is_told(asking: TestClient, body: bytes) -> None:
    error = error_of(asking, "/api/context_query", 400, content=body, headers=JSON)
    assert error["message"].startswith(("the body is not valid JSON: ", "the body is not a JSON object: "))
    assert ("it is nested too deeply" in error["message"]) == (len(body) > 90_000)
    assert len(error["message"]) < 300


@pytest.mark.parametrize("path", ["/api/context_query", "/mcp"])
def test_a_body_that_is_too_large_or_too_deep_is_refused_on_both_routes(asking: TestClient, path: str) -> None:
    large = b'{"question": "' + b"x" * 50_000_000 + b'"}'
    assert "more than 2,097,152 bytes" in error_of(asking, path, 413, content=large, headers=JSON)["message"]
    own = {**JSON, "Accept": "application/json, text/event-stream"}
    answer = asking.post(path, content=b"[" * 100_000, headers=own)
    assert (answer.status_code, bool(answer.json()["error"]["message"])) == (400, True)


def test_no_body_is_no_arguments(asking: TestClient) -> None:
    assert asking.post("/api/memories", headers=JSON).json() == {"memories": []}


def test_half_a_character_is_answered_with_bytes_that_can_be_sent(asking: TestClient) -> None:
    answer = asking.post("/api/search", content=b'{"question": "\\ud800 backoff"}', headers=JSON)
    assert answer.status_code == 200
    assert answer.json()["hits"]


def test_what_is_remembered_is_found_and_forgotten(asking: TestClient) -> None:
    stored = asking.post("/api/remember", json={"action": "store", "text": "Deploys happen on Tuesdays."})
    assert stored.status_code == 200
    (memory,) = asking.post("/api/memories", json={}).json()["memories"]
    assert memory["content"] == "Deploys happen on Tuesdays."
    gone = asking.post("/api/remember", json={"action": "forget", "ids": [memory["id"]]})
    assert gone.status_code == 200
    assert asking.post("/api/memories", json={}).json() == {"memories": []}


def test_a_fault_of_ours_shows_nothing_of_the_inside(
    asking: TestClient, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_arguments: object) -> None:
        raise KeyError("/home/somebody/secret place")

    monkeypatch.setattr(Operation, "run", broken)
    error = error_of(asking, "/api/status", 500, json={})
    assert error["type"] == "InternalError"
    assert "somebody" not in json.dumps(error)
    assert "secret place" in capfd.readouterr().err, "the log says what happened"


def test_a_fault_outside_an_operation_shows_nothing_either(engine: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> None:
        raise KeyError("secret place")

    monkeypatch.setattr("satchel.web.application.openapi", broken)
    with client_of(engine) as client:
        client._transport.raise_server_exceptions = False  # type: ignore[attr-defined]
        answer = client.get("/openapi.json")
    assert answer.status_code == 500
    assert answer.json()["error"]["type"] == "InternalError"
    assert "secret" not in answer.text


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (LockedError("another process"), 409),
        (MissingExtraError("pip install 'satchel[values]'"), 501),
        (StoreError("damaged"), 500),
        (UnreachableStoreError("gone"), 503),
        (PermissionError(13, "Permission denied", "/home/somebody/file"), 500),
    ],
)
def test_every_error_has_a_status(error: Any, status: int) -> None:
    refusal = refusal_of(error)
    assert refusal.status == status
    assert "somebody" not in refusal.message


def test_the_home_folder_is_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert without_home("cannot read /home/ada/code/x.py") == "cannot read ~/code/x.py"
    monkeypatch.setenv("HOME", "/")
    assert without_home("/etc/x") == "/etc/x"


def test_every_operation_is_reachable(asking: TestClient) -> None:
    for name in OPERATIONS:
        assert asking.post(f"/api/{name}", json={"no such argument": 1}).status_code == 400, name


@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("context_query", '{"question": "backoff", "diff": "HEAD\\u0000"}'),
        ("history", '{"path": "../../etc/passwd"}'),
        ("history", '{"path": "/etc/passwd"}'),
        ("why", '{"target": "\\ud800", "question": "backoff"}'),
        ("situation_context", '{"context": "\\ud800", "task": "backoff"}'),
    ],
    ids=["NUL in a revision", "above the root", "outside the root", "half a name", "half a path"],
)
def test_what_no_system_call_takes_is_no_fault_of_ours(asking: TestClient, operation: str, arguments: str) -> None:
    answer = asking.post(f"/api/{operation}", content=arguments.encode(), headers=JSON)
    assert answer.status_code < 500, answer.text


def test_candidates_are_listed_corrected_accepted_and_rejected(asking: TestClient, engine: Satchel) -> None:
    suggested = {"Ada owns billing": "Ada does billing", "It rains": "rain"}
    engine.memory.review.propose(Suggestion("fact", text, quote, "s1/1") for text, quote in suggested.items())

    def review(**given: Any) -> dict[str, Any]:
        answer = asking.post("/api/remember", json={"action": "review", **given})
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    rows = {row["text"]: row for row in review(limit=500)["candidates"]}
    ada, rain = rows["Ada owns billing"], rows["It rains"]
    assert (ada["kind"], ada["quote"], ada["source"]) == ("fact", "Ada does billing", "s1/1")
    review(verdict="accept", ids=[ada["id"]], text="Ada leads billing")
    review(verdict="reject", ids=[rain["id"]])
    assert review()["candidates"] == []
    assert [memory.content for memory in engine.memories.listed()] == ["Ada leads billing"]
    again = error_of(asking, "/api/remember", 400, json={"action": "review", "verdict": "accept", "ids": [ada["id"]]})
    assert "waits here" in again["message"]
