"""The files by which clients and registries find satchel say the same as the program does."""

from __future__ import annotations

import base64
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import yaml

import satchel
from satchel.cli.application import COMMANDS
from satchel.clients import setup
from satchel.clients.targets import ClientPlaces, Launch, targets
from satchel.operations.registry import OPERATIONS, TOOLS

ROOT = Path(__file__).resolve().parents[2]


def loaded(path: str) -> Any:
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def test_every_version_is_that_of_the_package() -> None:
    market = loaded(".claude-plugin/marketplace.json")
    bundle = tomllib.loads((ROOT / "bundle" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert bundle["dependencies"] == [f"satchel=={satchel.__version__}"]
    assert (
        f'path = "satchel-{satchel.__version__}-py3-none-any.whl"' in (ROOT / "bundle" / "pyproject.toml").read_text()
    )
    result = [
        bundle["version"],
        loaded("bundle/manifest.json")["version"],
        market["metadata"]["version"],
        market["plugins"][0]["version"],
        loaded("plugin/.claude-plugin/plugin.json")["version"],
    ]
    assert set(result) == {satchel.__version__}


def test_the_plugin_starts_what_set_up_would_write(tmp_path: Path) -> None:
    places = ClientPlaces(tmp_path, tmp_path, {})
    server, hooks = targets("claude-code", "project", places, Launch(("satchel",)), with_hooks=True)
    assert loaded("plugin/.mcp.json") == {"mcpServers": {"satchel": server.wants[0].value}}
    expected: dict[str, Any] = {}
    for want in hooks.wants:
        if want.is_element:
            expected.setdefault(want.path[1], []).append(want.value)
    file = loaded("plugin/hooks/hooks.json")
    assert file["hooks"] == expected
    assert set(file) == {"description", "hooks"}


def test_no_file_installs_satchel_by_its_name_from_a_registry() -> None:
    """Until a version is published, a registry may have the package of somebody else under this name."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    by_name = re.compile(r"(uvx|pipx run|--from|(uv tool|pipx|uv pip|pip) install)\s+['\"]?satchel\b(?![/.])")
    shipped = ("README.md", "llms", "docs/", "src/", "plugin/", "bundle/", "integrations/", ".claude-plugin/")
    texts = {path: (ROOT / path).read_text(encoding="utf-8", errors="replace")
             for path in listed.split("\0") if path.startswith(shipped) and (ROOT / path).is_file()}  # fmt: skip
    assert len(texts) > 30
    assert [path for path, text in texts.items() if by_name.search(text)] == []


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


def kinds(value: dict[str, Any], allowed: dict[str, type], required: set[str]) -> None:
    """Check the types of the fields of an object, that all required are there and that no other is."""
    assert required <= value.keys() <= allowed.keys(), value.keys()
    for name, content in value.items():
        assert isinstance(content, allowed[name]), name


def test_the_marketplace_and_the_plugin_have_the_fields_of_their_host() -> None:
    """The reference of plugin manifests and marketplaces of Claude Code."""
    market, plugin = loaded(".claude-plugin/marketplace.json"), loaded("plugin/.claude-plugin/plugin.json")
    kinds(market, {"name": str, "owner": dict, "metadata": dict, "plugins": list}, {"name", "owner", "plugins"})
    assert isinstance(market["owner"]["name"], str)
    shared = {"name": str, "version": str, "description": str, "license": str, "keywords": list}
    for entry in market["plugins"]:
        kinds(entry, {**shared, "source": str}, {"name", "source"})
        assert entry["source"].startswith("./"), "a path begins with ./"
    kinds(plugin, {**shared, "author": dict}, {"name"})
    hooks = loaded("plugin/hooks/hooks.json")["hooks"]
    for groups in hooks.values():
        for group in groups:
            kinds(group, {"matcher": str, "hooks": list}, {"hooks"})
            for hook in group["hooks"]:
                kinds(hook, {"type": str, "command": str, "timeout": int}, {"type", "command"})
                assert hook["type"] == "command"


def test_the_bundle_has_the_fields_of_its_schema_and_every_file_that_it_names() -> None:
    """Version 0.4 of the manifest of MCP bundles, which knows servers that uv starts."""
    manifest = loaded("bundle/manifest.json")
    texts = dict.fromkeys(
        ("$schema", "manifest_version", "name", "display_name", "version", "description", "license"), str
    )
    rest = {"author": dict, "keywords": list, "server": dict, "tools_generated": bool, "compatibility": dict,
            "user_config": dict}  # fmt: skip
    kinds(manifest, {**texts, **rest}, {"name", "version", "description", "author", "server"})
    assert manifest["manifest_version"] == "0.4"
    kinds(manifest["author"], {"name": str, "email": str, "url": str}, {"name"})
    server = manifest["server"]
    kinds(server, {"type": str, "entry_point": str, "mcp_config": dict}, {"type", "entry_point"})
    kinds(server["mcp_config"], {"command": str, "args": list, "env": dict}, {"command"})
    assert server["type"] == "uv"
    assert (ROOT / "bundle" / server["entry_point"]).is_file()
    assert set(manifest["compatibility"]["platforms"]) <= {"darwin", "win32", "linux"}
    options = dict.fromkeys(("type", "title", "description"), str)
    for option in manifest["user_config"].values():
        kinds(option, {**options, "required": bool}, {*options})
        assert option["type"] in {"string", "number", "boolean", "directory", "file"}
    used = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(server)))
    assert used == set(manifest["user_config"])


def test_the_bundle_starts_the_server_of_a_folder(tmp_path: Path) -> None:
    """The entry point is started as uv starts it, with this environment in place of the one that uv makes."""
    sent = "".join(json.dumps({"jsonrpc": "2.0", "params": {}, **one}) + "\n" for one in setup.REQUESTS)
    done = subprocess.run(
        [sys.executable, ROOT / "bundle" / "server.py", tmp_path], input=sent, capture_output=True, text=True,
        check=True, cwd=tmp_path, env={**os.environ, "SATCHEL_HOME": str(tmp_path / "home")},
    )  # fmt: skip
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    (tools,) = (one["result"]["tools"] for one in answers if one.get("id") == 2)
    assert [tool["name"] for tool in tools] == [operation.name for operation in TOOLS]


def test_links_that_install_contain_what_set_up_writes(tmp_path: Path) -> None:
    text = (ROOT / "docs" / "clients.md").read_text(encoding="utf-8")
    places = ClientPlaces(tmp_path, tmp_path, {})
    links = {urlsplit(link).hostname: parse_qs(urlsplit(link).query) for link in re.findall(r"\((https:[^)]+)\)", text)}
    for client, host, decode in (("cursor", "cursor.com", base64.b64decode), ("vscode", "vscode.dev", str)):
        (server,) = targets(client, "project", places, Launch(("satchel",)), with_hooks=False)
        assert links[host]["name"] == ["satchel"]
        assert json.loads(decode(links[host]["config"][0])) == server.wants[0].value


def test_the_prompt_to_paste_names_commands_and_options_that_exist() -> None:
    text = (ROOT / "llms-install.md").read_text(encoding="utf-8")
    named = {shlex.split(line)[1] for line in re.findall(r"`(satchel [^`]+)`", text)}
    assert {"setup", "index", "doctor", "remove"} <= named <= set(COMMANDS)
    arguments = json.loads(re.findall(r'`(\{"question".*?\})`', text)[0])
    assert OPERATIONS["context_query"].checked(arguments)
