"""Every user has a token of their own: one that may only read changes nothing at any door."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

from satchel.cli.commands.serve import check_reach
from satchel.engine import Satchel
from satchel.errors import ConfigError, UsageError
from satchel.operations.registry import OPERATIONS
from satchel.web.access import Access, Rights, UserTokens
from tests.web.asking import PORT, TOKEN, client_of, environment
from tests.web.process import Server, serving
from tests.web.test_application_mcp import ERAS, connected, running, text_of

STARTED = {
    "action": "start", "domain": "debugging", "strategy": "read-the-error", "goal": "a goal", "hypothesis": "a cause",
    "action_taken": "a step", "prediction": "a result",
}  # fmt: skip
WRITES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("remember", {"action": "store", "text": "Deploy on Mondays"}),
    ("remember", {"action": "store", "text": "Deploy on Mondays", "visibility": "team"}),
    ("remember", {"action": "share", "ids": ["KEPT"]}),
    ("remember", {"action": "forget", "ids": ["KEPT"]}),
    ("remember", {"action": "forget", "question": "kept", "confirm": True}),
    ("remember", {"action": "store", "text": "Changed", "supersedes": "KEPT"}),
    ("remember", {"action": ["list"]}),
    ("remember", {}),
    ("experience", STARTED),
    ("experience", {"action": "note", "note": "a note"}),
    ("experience", {"action": "resolve", "status": "confirmed", "result": "done"}),
    ("experience", {"action": "correct", "id": "KEPT", "note": "a note"}),
)


def test_the_file_has_no_token_and_changes_count_at_once(tmp_path: Path) -> None:
    users, seen_by_a_server = UserTokens(tmp_path), UserTokens(tmp_path)
    assert seen_by_a_server.rights("") is None
    ada, grace = users.add("ada", Rights.WRITE), users.add("grace@example.org", Rights.READ)
    assert (seen_by_a_server.rights(ada), seen_by_a_server.rights(grace)) == (Rights.WRITE, Rights.READ)
    (file,) = (path for path in tmp_path.rglob("*.json"))
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert ada not in file.read_text()
    newer = users.add("ada", Rights.READ)
    assert (seen_by_a_server.rights(ada), seen_by_a_server.rights(newer)) == (None, Rights.READ)
    users.remove("ada")
    assert seen_by_a_server.rights(newer) is None
    assert users.names() == ["grace@example.org"]
    with pytest.raises(UsageError, match=r"there are grace@example\.org"):
        users.remove("ada")
    with pytest.raises(UsageError, match="can be no name"):
        users.add("../x", Rights.READ)
    file.write_text("[1]")
    with pytest.raises(ConfigError, match="is damaged"):
        UserTokens(tmp_path).rights(ada)


def test_users_are_a_reason_to_let_other_machines_in() -> None:
    check_reach("0.0.0.0", {}, allow_remote=True, has_users=True)
    with pytest.raises(UsageError, match="--add-token NAME"):
        check_reach("0.0.0.0", {}, allow_remote=True)


@pytest.fixture
def reader(engine: Satchel, tmp_path: Path) -> Iterator[TestClient]:
    """A client with a token that may only read."""
    users = UserTokens(tmp_path)
    token = users.add("grace", Rights.READ)
    with client_of(engine, Access(TOKEN, PORT, users)) as client:
        client.headers["Authorization"] = f"Bearer {token}"
        yield client


def test_a_reader_asks_everything_and_writes_nothing_over_http(reader: TestClient, engine: Satchel) -> None:
    kept = engine.memories.add("A kept fact").memory.id
    before = list(engine.export_memory())
    assert {name for name, _ in WRITES} == {one.name for one in OPERATIONS.values() if not one.hints.is_read_only}
    for name, arguments in WRITES:
        body = json.dumps(arguments).replace("KEPT", kept)
        answer = reader.post(f"/api/{name}", content=body, headers={"Content-Type": "application/json"})
        assert (answer.status_code, answer.json()["error"]["type"]) == (403, "ReadOnly"), (name, arguments)
    for name in ("memories", "experiences", "values", "status"):
        assert reader.get(f"/api/{name}").status_code == 200
    assert "A kept fact" in reader.post("/api/remember", json={"action": "list"}).text
    assert "def backoff" in reader.post("/api/context_query", json={"question": "where is backoff computed?"}).text
    assert list(engine.export_memory()) == before
    reader.headers["Authorization"] = f"Bearer {TOKEN}"
    assert reader.post("/api/remember", json={"action": "forget", "ids": [kept]}).status_code == 200


@pytest.fixture(scope="module")
def server(home: Path) -> Iterator[Server]:
    with serving(home / "shop", home) as started:
        yield started


def added(home: Path, *options: str) -> str:
    """The token that the command prints."""
    command = [sys.executable, "-m", "satchel", "serve", *options]
    source = {"PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, env={**environment(home), **source}, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("era", ERAS)
def test_a_reader_writes_nothing_over_mcp(server: Server, home: Path, era: str) -> None:
    token = added(home, "--add-token", "grace", "--read-only")

    async def test() -> None:
        async with connected(server, era) as writer:
            assert not (await writer.call_tool("remember", {"action": "store", "text": f"Kept {era}"})).is_error
        async with connected(server, era, token) as client:
            for name, arguments in WRITES:
                if arguments.get("action") != ["list"]:
                    result = await client.call_tool(name, arguments)
                    assert result.is_error
                    assert "may only read" in text_of(result)
            listed = await client.call_tool("remember", {"action": "list"})
            assert f"Kept {era}" in text_of(listed)
            assert "Mondays" not in text_of(listed)
            assert "def backoff" in text_of(await client.call_tool("context_query", {"question": "backoff computed"}))

    running(test)
    added(home, "--remove-token", "grace")
    refused = httpx2.get(f"{server.address}/api/status", headers={"Authorization": f"Bearer {token}"})
    assert refused.status_code == 401


def test_a_reader_in_the_session_of_a_writer_stays_a_reader(server: Server, home: Path) -> None:
    token = added(home, "--add-token", "grace", "--read-only")

    def posted(message: dict[str, object], token: str, session: str = "") -> httpx2.Response:
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json, text/event-stream"}
        headers |= {"Mcp-Session-Id": session} if session else {}
        return httpx2.post(f"{server.address}/mcp", json={"jsonrpc": "2.0", **message}, headers=headers)

    began = posted({"id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"},
    }}, TOKEN)  # fmt: skip
    session = began.headers["mcp-session-id"]
    posted({"method": "notifications/initialized"}, TOKEN, session)
    call = {"method": "tools/call", "params": {"name": "remember", "arguments": {"action": "store", "text": "A fact"}}}
    assert "may only read" in posted({"id": 2, **call}, token, session).text
    assert "mem_" in posted({"id": 3, **call}, TOKEN, session).text
