"""The files by which clients and registries find satchel say the same as the program does."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

import satchel
from satchel.cli.application import COMMANDS
from satchel.cli.commands.connect import CLIENTS
from satchel.clients.targets import SCOPES, UVX, ClientPlaces, Launch, targets
from satchel.operations.registry import TOOLS

ROOT = Path(__file__).resolve().parents[2]

LONGEST_DESCRIPTION = 100
"""Characters that the registry of servers takes."""


def loaded(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def test_every_version_is_that_of_the_package() -> None:
    server, market = loaded("server.json"), loaded(".claude-plugin/marketplace.json")
    result = [
        server["version"],
        server["packages"][0]["version"],
        market["metadata"]["version"],
        market["plugins"][0]["version"],
        loaded("plugin/.claude-plugin/plugin.json")["version"],
    ]
    assert set(result) == {satchel.__version__}


def test_the_registry_entry_is_short_and_claimed_by_the_readme() -> None:
    server = loaded("server.json")
    assert len(server["description"]) <= LONGEST_DESCRIPTION
    assert re.fullmatch(r"io\.github\.[A-Za-z0-9-]+/[A-Za-z0-9._-]+", server["name"])
    assert f"<!-- mcp-name: {server['name']} -->" in (ROOT / "README.md").read_text(encoding="utf-8")
    package = server["packages"][0]
    assert (package["identifier"], package["transport"]) == ("satchel", {"type": "stdio"})
    assert [argument["value"] for argument in package["packageArguments"]] == ["mcp"]


def test_the_plugin_starts_what_set_up_would_write(tmp_path: Path) -> None:
    places = ClientPlaces(tmp_path, tmp_path, {})
    server, hooks = targets("claude-code", "project", places, Launch(UVX), with_hooks=True)
    assert loaded("plugin/.mcp.json") == {"mcpServers": {"satchel": server.wants[0].value}}
    expected: dict[str, Any] = {}
    for want in hooks.wants:
        if want.is_element:
            expected.setdefault(want.path[1], []).append(want.value)
    file = loaded("plugin/hooks/hooks.json")
    assert file["hooks"] == expected
    assert set(file) == {"description", "hooks"}


def test_the_plugin_has_the_names_that_its_host_wants() -> None:
    plugin, market = loaded("plugin/.claude-plugin/plugin.json"), loaded(".claude-plugin/marketplace.json")
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", plugin["name"])
    (entry,) = market["plugins"]
    assert entry["name"] == plugin["name"]
    assert entry["description"] == plugin["description"]
    assert (ROOT / entry["source"] / ".claude-plugin" / "plugin.json").is_file()


def test_the_skill_follows_the_rules_of_skills() -> None:
    file = ROOT / "plugin" / "skills" / "satchel" / "SKILL.md"
    _, head, body = file.read_text(encoding="utf-8").split("---\n", 2)
    front = yaml.safe_load(head)
    assert set(front) == {"name", "description"}
    assert front["name"] == file.parent.name
    assert re.fullmatch(r"[a-z0-9-]{1,64}", front["name"])
    assert len(front["description"]) <= 1024
    assert " Use it " in front["description"], "a description says when"
    assert len(body.splitlines()) < 500


def test_every_command_that_the_skill_names_exists() -> None:
    text = (ROOT / "plugin" / "skills" / "satchel" / "SKILL.md").read_text(encoding="utf-8")
    named = {shlex.split(line)[1] for line in re.findall(r"`(satchel [^`]+)`", text)}
    assert named <= set(COMMANDS)


def test_every_tool_that_the_skill_names_exists() -> None:
    text = (ROOT / "plugin" / "skills" / "satchel" / "SKILL.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| [^|]+ \| `(\w+)` \|", text, re.MULTILINE)
    assert sorted(named) == sorted(operation.name for operation in TOOLS)


def test_every_link_of_the_list_for_machines_leads_somewhere() -> None:
    text = (ROOT / "llms.txt").read_text(encoding="utf-8")
    assert text.startswith("# satchel\n\n> ")
    links = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)", text, re.MULTILINE)
    assert len(links) > 5
    assert [link for link in links if not (ROOT / link).is_file()] == []


@pytest.mark.parametrize("client", CLIENTS)
def test_the_command_line_offers_every_client_and_scope(client: str) -> None:
    assert tuple(SCOPES) == CLIENTS
    assert set(SCOPES[client]) <= {"local", "project", "user"}
