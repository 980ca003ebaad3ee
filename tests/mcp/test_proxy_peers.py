"""The proxy in front of servers of others, driven by the official client: every tool answers as without it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import pytest

from satchel.testing import TinyRepository
from tests.architecture.tree import ROOT
from tests.mcp.proxied import PATIENCE
from tests.oracle import o200k

pytest.importorskip("mcp.client.client", reason="the extra `mcp` is not installed")

MAX_TOKENS = 300
ERAS = (sys.executable, str(Path(__file__).with_name("era_server.py")))
PEERS = ROOT / "tests" / "peers" / "node_modules" / ".bin"

Call = tuple[str, dict[str, Any]]


def peer(name: str) -> str:
    """The program of somebody else."""
    program = PEERS / name
    if not program.exists():
        pytest.skip(f"{name} is not installed: scripts/install_peers.sh installs it")
    return str(program)


@dataclass(frozen=True)
class Place:
    """A repository to work on, and where logs go."""

    root: Path

    @property
    def folder(self) -> Path:
        return self.root / "files"

    @property
    def log(self) -> Path:
        return self.root.parent / "log"

    def proxied(self, command: Sequence[str], *tools: str) -> tuple[str, ...]:
        chosen = [part for tool in tools for part in ("--tools", tool)]
        satchel = (sys.executable, "-P", "-m", "satchel", "proxy", "--root", str(self.root), *chosen)
        return (*satchel, "--max-tokens", str(MAX_TOKENS), "--", *command)

    def environ(self, **more: str) -> dict[str, str]:
        own = {"SATCHEL_HOME": str(self.root.parent / "home"), "SATCHEL_TOOLS_DEADLINE_S": "60"}
        return {**os.environ, **own, **more}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Place:
    repository = TinyRepository(tmp_path_factory.mktemp("peers") / "repository")
    repository.commit("Retry with backoff", {"AGENTS.md": "Keep files short.\n", "files/a.txt": "one\ntwo\n"})
    (repository.root / "files" / "dot.png").write_bytes(bytes.fromhex("89504e470d0a1a0a"))
    return Place(repository.root)


@asynccontextmanager
async def client(command: Sequence[str], environ: Mapping[str, str], log: TextIO) -> AsyncIterator[Any]:
    """The official client on a server's standard input and output."""
    from mcp.client.client import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(command=command[0], args=[*command[1:]], env=dict(environ))
    async with Client(stdio_client(parameters, log), mode="auto") as connected:
        yield connected


async def called(connected: Any, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    result = await connected.call_tool(tool, arguments)
    found: dict[str, Any] = result.model_dump(by_alias=True, mode="json", exclude_none=True)
    return found


async def both(
    place: Place, command: Sequence[str], calls: Sequence[Call], chosen: Sequence[str], *,
    environ: Mapping[str, str] = {}, before: Callable[[], None] = lambda: None,
) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:  # fmt: skip
    """Each call with its result without the proxy and with it; `before` is run before every call."""
    results = []
    own = {name: f"{value}-proxied" for name, value in environ.items()}
    with place.log.open("a", encoding="utf-8") as log:
        async with AsyncExitStack() as stack:
            enter = stack.enter_async_context
            direct = await enter(client(command, place.environ(**environ), log))
            proxied = await enter(client(place.proxied(command, *chosen), place.environ(**own), log))
            assert direct.protocol_version == proxied.protocol_version
            listed = [(await one.list_tools()).model_dump_json() for one in (direct, proxied)]
            assert listed[0] == listed[1]
            names = {tool["name"] for tool in json.loads(listed[0])["tools"]}
            assert names == {tool for tool, _ in calls}, "a tool is not called"
            for tool, arguments in calls:
                found = []
                for one in (direct, proxied):
                    before()
                    found.append(await called(one, tool, arguments))
                results.append((tool, found[0], found[1]))
    return results


def checked(results: Sequence[tuple[str, dict[str, Any], dict[str, Any]]], chosen: Sequence[str]) -> None:
    """Chosen results have one more item within the budget, and apart from it all are equal."""
    for tool, direct, proxied in results:
        if tool in chosen and not direct.get("isError"):
            *content, added = proxied["content"]
            assert added["_meta"] == {"satchel/context": True}
            assert added["text"].startswith(f"Context that satchel adds for {tool}:")
            assert "Keep files short." in added["text"]
            assert o200k(added["text"]) <= MAX_TOKENS
            meta = dict(proxied["_meta"])
            assert meta.pop("contextUsed")["tokens"] == o200k(added["text"])
            proxied = {**proxied, "content": content} | ({"_meta": meta} if meta else {})
            proxied = proxied if meta or "_meta" in direct else {k: v for k, v in proxied.items() if k != "_meta"}
        assert proxied == direct, tool


def test_a_file_server_answers_as_before(place: Place) -> None:
    folder = str(place.folder)
    a, b = f"{folder}/a.txt", f"{folder}/b.txt"

    def before() -> None:
        (place.folder / "b.txt").unlink(missing_ok=True)
        (place.folder / "a.txt").write_text("one\ntwo\n")

    calls: list[Call] = [
        ("read_file", {"path": a}),
        ("read_text_file", {"path": a, "head": 1}),
        ("read_text_file", {"path": f"{folder}/none"}),
        ("read_media_file", {"path": f"{folder}/dot.png"}),
        ("read_multiple_files", {"paths": [a, f"{folder}/none"]}),
        ("write_file", {"path": b, "content": "three"}),
        ("edit_file", {"path": a, "edits": [{"oldText": "one", "newText": "\u00e9in"}]}),
        ("edit_file", {"path": a, "edits": "wrong"}),
        ("create_directory", {"path": f"{folder}/new"}),
        ("list_directory", {"path": folder}),
        ("list_directory_with_sizes", {"path": folder}),
        ("directory_tree", {"path": folder}),
        ("move_file", {"source": a, "destination": b}),
        ("search_files", {"path": folder, "pattern": "*.txt"}),
        ("get_file_info", {"path": f"{folder}/dot.png"}),
        ("list_allowed_directories", {}),
        ("write_file", {"path": "/elsewhere", "content": ""}),
    ]
    chosen = ["edit_file", "read_text_file", "move_file"]
    command = (peer("mcp-server-filesystem"), folder)
    results = asyncio.run(both(place, command, calls, chosen, before=before))
    checked(results, chosen)
    assert sum(bool(direct.get("isError")) for _, direct, _ in results) == 3


def test_a_memory_server_answers_as_before(place: Place) -> None:
    entity = {"name": "Retry", "entityType": "idea", "observations": ["waits longer each time"]}
    relation = {"from": "Retry", "to": "Backoff", "relationType": "uses"}
    calls: list[Call] = [
        ("create_entities", {"entities": [entity, {**entity, "name": "Backoff"}]}),
        ("create_relations", {"relations": [relation]}),
        ("add_observations", {"observations": [{"entityName": "Retry", "contents": ["has a limit"]}]}),
        ("read_graph", {}),
        ("search_nodes", {"query": "retry"}),
        ("open_nodes", {"names": ["Backoff"]}),
        ("delete_observations", {"deletions": [{"entityName": "Retry", "observations": ["has a limit"]}]}),
        ("delete_relations", {"relations": [relation]}),
        ("delete_entities", {"entityNames": ["Retry"]}),
    ]
    environ = {"MEMORY_FILE_PATH": str(place.root.parent / "memory.jsonl")}
    every = [tool for tool, _ in calls]
    checked(asyncio.run(both(place, (peer("mcp-server-memory"),), calls, ["*"], environ=environ)), every)


def test_a_server_of_the_modern_era_answers_as_before(place: Place) -> None:
    calls: list[Call] = [("add", {"first": 1, "second": 2}), ("steps", {"count": 3}), ("refuse", {}), ("add", {})]
    results = asyncio.run(both(place, ERAS, calls, ["add"]))
    checked(results, ["add"])
    assert results[0][2]["structuredContent"] == {"result": 3}


CLIENT = {"name": "test", "version": "1"}
MODERN = {
    "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": CLIENT,
        "io.modelcontextprotocol/clientCapabilities": {},
    }
}
EITHER: list[tuple[str, dict[str, Any]]] = [
    ("server/discover", MODERN),
    ("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}),
    ("notifications/initialized", {}),
    ("tools/list", {}),
    ("no/such", {}),
    ("tools/call", {"name": "no such tool", "arguments": {}}),
]


def conversation(command: Sequence[str], environ: Mapping[str, str]) -> list[bytes]:
    """What a server answers, line by line, each question after the answer before; and its exit code."""
    answers = []
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number, (method, params) in enumerate(EITHER):
            message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
            is_question = not method.startswith("notifications/")
            process.stdin.write(json.dumps(message | ({"id": number} if is_question else {})).encode() + b"\n")
            process.stdin.flush()
            if is_question:
                answers.append(process.stdout.readline())
        process.stdin.close()
        answers.append(str(process.wait(PATIENCE)).encode())
    return answers


@pytest.mark.parametrize("name", ["mcp-server-filesystem", "mcp-server-memory"])
def test_a_client_of_either_era_gets_the_same_bytes(place: Place, name: str) -> None:
    command = (peer(name), str(place.folder))
    environ = place.environ(MEMORY_FILE_PATH=str(place.root.parent / "untouched.jsonl"))
    direct = conversation(command, environ)
    assert any(b'"tools":[' in line for line in direct)
    assert conversation(place.proxied(command, "*"), environ) == direct


def test_where_nothing_can_be_assembled_a_server_of_others_still_answers(place: Place, tmp_path: Path) -> None:
    damaged = tmp_path / "home"
    damaged.write_text("a file where a folder should be")
    command = place.proxied((peer("mcp-server-filesystem"), str(place.folder)), "*")

    async def asked() -> dict[str, Any]:
        with (tmp_path / "log").open("w") as log:
            async with client(command, {**place.environ(), "SATCHEL_HOME": str(damaged)}, log) as connected:
                assert (await connected.list_tools()).tools
                return await called(connected, "read_text_file", {"path": f"{place.folder}/a.txt"})

    result = asyncio.run(asked())
    assert len(result["content"]) == 1
    assert "_meta" not in result
    assert (tmp_path / "log").read_text().count("satchel proxy: no context: ") == 1


def test_a_server_of_others_that_is_killed_ends_the_proxy(place: Place) -> None:
    command = place.proxied(("sh", "-c", 'echo $$ >&2; exec "$0" "$@"', peer("mcp-server-memory")), "*")
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=place.environ()
    ) as process:
        assert process.stdin is not None
        assert process.stderr is not None
        number = int(process.stderr.readline())
        os.kill(number, 9)
        assert process.wait(PATIENCE) == 137
