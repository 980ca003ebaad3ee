"""The proxy between a client and a server that misbehaves as it is told."""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator

import pytest

from satchel.engine import Satchel
from satchel.errors import NoIndexError, UsageError
from satchel.testing import TinyRepository
from tests.mcp.proxied import proxy, request
from tests.oracle import o200k


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Satchel]:
    folder = tmp_path_factory.mktemp("proxy")
    repository = TinyRepository(folder / "shop")
    repository.commit("Retry sending with backoff", {"a.py": "x = 1\n", "AGENTS.md": "Keep it short.\n"})
    environ = {"SATCHEL_HOME": str(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off", "SATCHEL_KEY": "07" * 32}
    settings = {"tools.deadline_s": 600.0}
    with Satchel.open(root=repository.root, environ=environ, settings=settings) as opened:
        opened.index()
        yield opened


def missing() -> Satchel:
    raise NoIndexError("there is nothing to index here")


def test_everything_passes_as_it_is_and_chosen_results_carry_context(engine: Satchel) -> None:
    with proxy(lambda: engine, tools=["echo"]) as client:
        odd = b'{ "jsonrpc":"2.0", "id":"a", "method":"no/such", "params":{"n":1.10,"e":"\\u00e9"} }\n'
        client.write(odd)
        assert client.read()["result"]["echo"] == json.loads(odd)
        client.write({"jsonrpc": "2.0", "method": "notifications/x", "params": [1]})
        assert client.read()["method"] == "seen"
        client.write(b"no JSON at all\n")
        assert client.read()["error"]["code"] == -32700
        client.write({"jsonrpc": "2.0", "id": 5, "method": "asks/you"})
        assert client.read()["method"] == "roots/list"
        client.write({"jsonrpc": "2.0", "id": 1, "result": {"roots": []}})
        assert client.read()["params"]["result"] == {"roots": []}

        client.write(request("echo", 7, query="retry with backoff", path="a.py"))
        line = client.line()
        result = json.loads(line)["result"]
        own, added = result["content"]
        assert own == {"type": "text", "text": '{"path": "a.py", "query": "retry with backoff"}'}
        assert added["type"] == "text"
        assert added["text"].startswith("Context that satchel adds for echo:\n\n# Context\n")
        assert "Keep it short." in added["text"]
        assert "Retry sending with backoff" in added["text"]
        assert added["_meta"] == {"satchel/context": True}
        used = result["_meta"]["contextUsed"]
        assert result["_meta"]["own"] == 1
        assert [row["id"].partition(":")[0] for row in used["items"]] == ["context", "commit"]
        assert used["tokens"] == o200k(added["text"]) <= used["limit"] == 1_000
        assert b'"structuredContent": {"number": 1.1}' in line

        other = client.call("odd_echo", 8)["result"]
        assert len(other["content"]) == 1
        assert other["_meta"] == {"own": 1}
    assert client.code == 0


def test_results_that_are_none_are_left_alone(engine: Satchel) -> None:
    with proxy(lambda: engine) as client:
        assert client.call("fails")["result"] == {"content": [{"type": "text", "text": "it failed"}], "isError": True}
        assert client.call("asks")["result"] == {"resultType": "input_required", "content": [], "inputRequests": {}}


def test_a_call_that_was_taken_back_gets_nothing(engine: Satchel) -> None:
    with proxy(lambda: engine) as client:
        client.write(request("echo", 3))
        # The server answers in order, so that this comes first wherever the proxy reads it in time.
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4}})
        client.write(request("echo", 4))
        client.write({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "other"}})
        client.write({"jsonrpc": "2.0", "id": 9, "method": "last"})
        read = [client.read() for _ in range(5)]
        assert sorted(str(one.get("id")) for one in read) == ["3", "4", "9", "None", "None"]


def test_junk_of_the_server_goes_to_standard_error(engine: Satchel) -> None:
    with proxy(lambda: engine, tools=["echo"]) as client:
        client.write(request("junk"))
        assert client.read()["params"] == {"data": "before"}
        assert client.read()["id"] == 1
        assert [client.note() for _ in range(2)] == ["plain words", '{"level": "info"}']


def test_large_lines_pass_in_both_directions(engine: Satchel) -> None:
    with proxy(lambda: engine, tools=["big"]) as client:
        assert len(client.call("big", size=10_000_000)["result"]["content"][0]["text"]) == 10_000_000
        sender = threading.Thread(target=client.write, args=(request("echo", 2, text="y" * 10_000_000),))
        sender.start()
        assert len(client.read()["result"]["content"][0]["text"]) > 10_000_000
        sender.join()


def test_lines_too_long_to_be_looked_at_pass_too(engine: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("satchel.mcp.pipes.LONGEST_LINE", 100_000)
    with proxy(lambda: engine) as client:
        client.write(request("echo", 1, text="y" * 300_000))
        client.write({"jsonrpc": "2.0", "id": 2, "method": "next"})
        long = client.read()["result"]
        assert len(long["content"]) == 1
        assert "contextUsed" not in long["_meta"]
        assert client.read()["id"] == 2


def test_a_glob_that_chooses_nothing_is_said(engine: Satchel) -> None:
    with proxy(lambda: engine, tools=["edit_*", "echo"]) as client:
        client.write({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
        assert len(client.read()["result"]["tools"]) == 8
        assert client.note() == (
            "satchel proxy: no tool of this server matches 'edit_*': "
            "it has echo, fails, asks, odd_echo, big, junk, broken, quits"
        )


def test_where_nothing_can_be_assembled_the_server_still_answers() -> None:
    with proxy(missing) as client:
        client.write(request("echo", 1))
        line = client.line()
        assert b"contextUsed" not in line
        assert len(json.loads(line)["result"]["content"]) == 1
        client.call("echo", 2)
        client.close()
        assert client.rest()[1].count("no context: NoIndexError: there is nothing to index here") == 1


def test_a_slow_assembly_holds_one_result_up_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()

    def slow() -> Satchel:
        go.wait(600)
        return missing()

    monkeypatch.setattr("satchel.mcp.proxy.ProxyContexts.deadline_seconds", lambda _: 0.05)
    with proxy(slow) as client:
        assert len(client.call("echo", 1)["result"]["content"]) == 1
        assert client.note() == "satchel proxy: no context: not assembled within 0.05 s (the setting tools.deadline_s)"
        monkeypatch.setattr("satchel.mcp.proxy.ProxyContexts.deadline_seconds", lambda _: 600.0)
        assert len(client.call("echo", 2)["result"]["content"]) == 1
        go.set()


def test_other_messages_overtake_a_result_that_waits(engine: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    enriched = "satchel.mcp.proxy.ProxyContexts.enriched"
    monkeypatch.setattr(enriched, lambda _self, _request, line: (go.wait(600), line)[1])
    with proxy(lambda: engine, tools=["echo"]) as client:
        client.write(request("echo", 1))
        client.write({"jsonrpc": "2.0", "id": 2, "method": "other"})
        assert client.read()["id"] == 2
        go.set()
        assert client.read()["id"] == 1


def test_a_result_that_waits_at_the_end_is_not_lost(engine: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    go = threading.Event()
    enriched = "satchel.mcp.proxy.ProxyContexts.enriched"
    monkeypatch.setattr(enriched, lambda _self, _request, line: (go.wait(600), line)[1])
    monkeypatch.setattr("satchel.mcp.proxy.END_SECONDS", 0.3)
    with proxy(lambda: engine) as client:
        client.write(request("echo", 1))
        client.close()
        assert client.read()["id"] == 1
    go.set()


def test_nothing_to_tell_adds_no_text(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("bare")
    repository = TinyRepository(folder / "bare")
    environ = {"SATCHEL_HOME": str(folder / "home"), "SATCHEL_EMBED_PROVIDER": "off"}
    with Satchel.open(root=repository.root, environ=environ) as bare, proxy(lambda: bare) as client:
        result = client.call("echo")["result"]
        assert len(result["content"]) == 1
        assert result["_meta"]["contextUsed"] == {"items": [], "tokens": 0, "limit": 1_000, "warnings": []}


def test_the_budget_holds_also_where_hardly_anything_fits(engine: Satchel) -> None:
    for budget in (50, 75, 90, 120):
        with proxy(lambda: engine, max_tokens=budget) as client:
            result = client.call("echo", query="retry with backoff")["result"]
            assert sum(o200k(item["text"]) for item in result["content"][1:]) <= budget
            assert result["_meta"]["contextUsed"]["limit"] == budget


def test_a_session_gets_nothing_twice(engine: Satchel) -> None:
    with proxy(lambda: engine, session="one session") as client:
        first, second = (client.call("echo", number)["result"] for number in (1, 2))
        assert "Keep it short." in first["content"][1]["text"]
        assert len(second["content"]) == 1
        assert second["_meta"]["contextUsed"]["items"] == []
    with proxy(lambda: engine, session="another session") as client:
        assert "Keep it short." in client.call("echo")["result"]["content"][1]["text"]


@pytest.mark.parametrize("tool", ["", "quits"], ids=["client ends", "server ends"])
def test_the_exit_code_of_the_server_is_ours(engine: Satchel, tool: str) -> None:
    with proxy(lambda: engine, "code=5") as client:
        if tool:
            client.write(request(tool))
            assert client.rest()[0] == b""
    assert client.code == (7 if tool else 5)


@pytest.mark.parametrize("how", ["close", "stop_reading"])
def test_a_server_that_does_not_end_is_ended(engine: Satchel, how: str, capfd: pytest.CaptureFixture[str]) -> None:
    with proxy(lambda: engine, "ignores-end", tools=["nothing"]) as client:
        client.call("echo")
        getattr(client, how)()
        if how == "stop_reading":
            client.write({"jsonrpc": "2.0", "id": 2, "method": "more"})
    assert client.code == 137
    assert "ready" in capfd.readouterr().err


def test_a_server_that_stops_listening_and_lives_on_ends_with_the_client(engine: Satchel) -> None:
    deaf = 'import os, threading; os.close(0); print(\'{"jsonrpc":"2.0"}\', flush=True); threading.Event().wait(600)'
    with proxy(lambda: engine, server=[sys.executable, "-c", deaf]) as client:
        assert client.read() == {"jsonrpc": "2.0"}
        for number in range(3):
            client.write({"jsonrpc": "2.0", "id": number, "method": "ping"})
    assert client.code == 143


def test_a_command_that_is_none_is_refused(engine: Satchel) -> None:
    from satchel.mcp.pipes import Child

    with pytest.raises(UsageError, match="cannot run 'no-such-server': No such file"):
        Child(["no-such-server"])
    assert engine
