"""What set-up writes really starts: each client's server answers, and the written hook commands run."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from satchel.clients.records import CLIENTS
from satchel.clients.targets import ClientPlaces, find_launch, targets, words_of
from satchel.index.reading import WORKER
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


def traps(folder: Path) -> Path:
    """Fill a folder with modules named like ours, like our dependencies and like the standard library's.

    Each writes its name into the file that is returned when it is imported.
    """
    mark = folder.parent / "imported"
    code = f"with open({str(mark)!r}, 'a') as file: file.write(__name__ + '\\n')\n"
    ours = {"satchel", "mcp", "apsw", "yaml", "numpy", "msgspec", "structlog", "click", "tomlkit", "rs_bpe", "re2",
            "Stemmer", "tree_sitter", "sitecustomize", "usercustomize"}  # fmt: skip
    for name in ours | {name for name in sys.stdlib_module_names if not name.startswith("__")}:
        (folder / f"{name}.py").write_text(code)
    (folder / "urllib").mkdir()
    (folder / "urllib" / "__init__.py").write_text(code)
    return mark


def written_commands(root: Path) -> dict[str, list[str]]:
    """Every command that set-up writes when it is started as a module, and the other ones that we write, by a name."""
    launch = find_launch(is_shared=False, started_as="/x/__main__.py", prefix="/", environ={"PATH": ""})
    places = ClientPlaces(root.parent, root, {})
    commands = {}
    for client, record in CLIENTS.items():
        for scope in record.files:
            for target in targets(client, scope, places, launch, with_hooks=record.hooks is not None):
                for want in target.wants:
                    if isinstance(want.value, dict):
                        for entry in want.value.get("hooks", [want.value]):
                            words = (
                                words_of(entry)
                                if "hook" not in str(entry["command"])
                                else shlex.split(entry["command"])
                            )
                            commands[" ".join(words[4:])] = words
    image = (Path(__file__).parents[2] / "Dockerfile").read_text()
    (check,) = re.findall(r"^    CMD (\[.*\])$", image, re.M)
    program, *words = json.loads(check)
    assert Path(program).is_absolute()
    commands["health check"] = [sys.executable, *(word.replace(":8765/", ":9/") for word in words)]
    commands["reader of an index"] = [sys.executable, *WORKER]
    return commands


def test_no_written_command_starts_code_of_the_folder_it_is_started_in(world: World) -> None:
    mark = traps(world.root)
    commands = written_commands(world.root)
    assert {"mcp", "hook prompt", "hook session-start", "health check"} <= commands.keys()
    variables = {name: os.environ[name] for name in ("SATCHEL_HOME", "HOME", "PATH", "SATCHEL_EMBED_PROVIDER")}

    def start(words: list[str]) -> int:
        words = [word.replace("${workspaceFolder}", str(world.root)) for word in words]
        return subprocess.run(
            words, cwd=world.root, env=variables, input=b"{}", capture_output=True, check=False
        ).returncode

    for name, words in commands.items():
        assert Path(words[0]).is_absolute(), name
        code = start(words)
        assert not mark.exists(), (name, words, mark.read_text()[:200])
        assert code == 0 or name == "health check", name
    start([word for word in commands["hook prompt"] if word != "-P"])
    assert mark.exists(), "the traps catch nothing"


def test_doctor_names_an_entry_that_starts_code_of_the_folder(world: World, satchel: Satchel) -> None:
    assert satchel("setup", "claude-code", "--scope", "user", "--with-hooks", *OPTIONS).code == 0
    assert "clients: " in satchel("doctor").out
    assert "without -P" not in satchel("doctor").out
    for file in (world.home / ".claude.json", world.home / ".claude" / "settings.json"):
        new = file.read_text()
        file.write_text(re.sub(r'-P |"-P",\s*', "", new))
        ran = satchel("doctor")
        assert ran.code == 1
        assert f"fail  clients: ~/{file.relative_to(world.home)}: Python without -P runs a satchel.py" in ran.out
        assert "fix: run `satchel setup claude-code` again" in ran.out
        file.write_text(new)


def test_a_client_whose_folder_cannot_be_read_ends_no_doctor(satchel: Satchel, monkeypatch: pytest.MonkeyPatch) -> None:
    is_dir = Path.is_dir

    def refuse(self: Path) -> bool:
        if "Code" in self.parts:
            raise PermissionError(13, "Permission denied", str(self))
        return is_dir(self)

    monkeypatch.setattr(Path, "is_dir", refuse)
    assert "ok    clients: " in satchel("doctor").out


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
