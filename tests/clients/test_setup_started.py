"""What set-up writes really starts: each client's server answers, and the written hook commands run."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from satchel.clients.targets import words_of
from tests.clients.conftest import Satchel, World

OPTIONS = ("--command", f"'{sys.executable}' -m satchel")


def server_of(file: Path, key: str, root: Path) -> tuple[str, list[str], dict[str, str]]:
    """Command, arguments and variables, with the one placeholder that clients fill in."""
    data: Any = tomllib.loads(file.read_text()) if file.suffix == ".toml" else json.loads(file.read_text())
    entry = data[key]["satchel"]
    command, *arguments = (word.replace("${workspaceFolder}", str(root)) for word in words_of(entry))
    return command, arguments, entry.get("env", {})


async def tools(command: str, arguments: list[str], environment: dict[str, str], folder: Path) -> list[str]:
    """The names of the tools, asked by the official client."""
    from mcp import Client
    from mcp.client.stdio import StdioServerParameters, stdio_client

    parameters = StdioServerParameters(command=command, args=arguments, env=environment, cwd=str(folder))
    with Path(os.devnull).open("w") as nowhere:
        async with Client(stdio_client(parameters, errlog=nowhere)) as client:
            return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize(
    ("client", "file", "key"),
    [("claude-code", ".mcp.json", "mcpServers"), ("cursor", ".cursor/mcp.json", "mcpServers"),
     ("codex", ".codex/config.toml", "mcp_servers"), ("opencode", "opencode.json", "mcp")],
)  # fmt: skip
def test_the_written_server_lists_its_tools(client: str, file: str, key: str, world: World, satchel: Satchel) -> None:
    pytest.importorskip("mcp", reason="the official client, which asks here, comes with the extra mcp")
    assert satchel("setup", client, "--scope", "project", *OPTIONS).code == 0
    command, arguments, environment = server_of(world.root / file, key, world.root)
    variables = {name: os.environ[name] for name in ("SATCHEL_HOME", "HOME", "PATH", "SATCHEL_EMBED_PROVIDER")}
    folder = world.home if client == "cursor" else world.root
    assert "context_query" in asyncio.run(tools(command, arguments, variables | environment, folder))


@pytest.mark.parametrize("name", ["PreCompact", "SubagentStart"])
def test_the_written_hooks_run_and_never_fail(name: str, world: World, satchel: Satchel) -> None:
    assert satchel("setup", "claude-code", "--with-hooks", *OPTIONS).code == 0
    hooks = json.loads((world.root / ".claude" / "settings.local.json").read_text())["hooks"]
    (group,) = hooks[name]
    event = json.dumps({"hook_event_name": name, "session_id": "s", "cwd": str(world.root)})
    done = subprocess.run(
        group["hooks"][0]["command"],
        shell=True,
        input=event,
        cwd=world.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "" or json.loads(done.stdout) is not None
