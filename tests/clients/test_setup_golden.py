"""For each client: a settings file before, and the very bytes after. Removal gives the bytes of before
again; only blank and unfinished files are completed (`removed`).

`WRITE_GOLDEN=1` writes the files instead of comparing them; look at the difference then.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.clients.conftest import Satchel, World

GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "clients"

COMMAND = ("--command", "satchel")


@dataclass(frozen=True)
class Case:
    """A folder with `before` and `after`, the client and scope, and where the file lies (~ is the home folder)."""

    name: str
    client: str
    scope: str
    file: str
    hooks: bool = False

    @property
    def suffix(self) -> str:
        return Path(self.file).suffix

    def arguments(self) -> list[str]:
        return [self.client, "--scope", self.scope]

    def place(self, world: World) -> Path:
        return world.home / self.file[2:] if self.file.startswith("~/") else world.root / self.file

    def bytes_of(self, which: str, world: World) -> bytes | None:
        file = GOLDEN / self.name / f"{which}{self.suffix}"
        return file.read_bytes().replace(b"<ROOT>", str(world.root).encode()) if file.exists() else None


CASES = [
    Case("claude-project-new", "claude-code", "project", ".mcp.json"),
    Case("claude-project-others", "claude-code", "project", ".mcp.json"),
    Case("claude-user-state", "claude-code", "user", "~/.claude.json"),
    Case("claude-local-state", "claude-code", "local", "~/.claude.json"),
    Case("claude-user-minified", "claude-code", "user", "~/.claude.json"),
    Case("claude-hooks-new", "claude-code", "local", ".claude/settings.local.json", hooks=True),
    Case("claude-hooks-others", "claude-code", "project", ".claude/settings.json", hooks=True),
    Case("cursor-new", "cursor", "user", "~/.cursor/mcp.json"),
    Case("cursor-hooks-new", "cursor", "user", "~/.cursor/hooks.json", hooks=True),
    Case("cursor-hooks-others", "cursor", "project", ".cursor/hooks.json", hooks=True),
    Case("vscode-new", "vscode", "project", ".vscode/mcp.json"),
    Case("vscode-bom-tabs-crlf", "vscode", "project", ".vscode/mcp.json"),
    Case("vscode-empty", "vscode", "project", ".vscode/mcp.json"),
    Case("vscode-one-line", "vscode", "project", ".vscode/mcp.json"),
    Case("codex-new", "codex", "user", "~/.codex/config.toml"),
    Case("codex-comments", "codex", "user", "~/.codex/config.toml"),
    Case("codex-no-newline", "codex", "project", ".codex/config.toml"),
    Case("codex-crlf", "codex", "user", "~/.codex/config.toml"),
    Case("codex-hooks-new", "codex", "user", "~/.codex/hooks.json", hooks=True),
    Case("cursor-comments", "cursor", "project", ".cursor/mcp.json"),
    Case("vscode-last-comment", "vscode", "project", ".vscode/mcp.json"),
    Case("zed-new", "zed", "project", ".zed/settings.json"),
    Case("zed-comments", "zed", "project", ".zed/settings.json"),
    Case("zed-others", "zed", "project", ".zed/settings.json"),
    Case("windsurf-others", "windsurf", "local", "~/.codeium/windsurf/mcp_config.json"),
    Case("gemini-new", "gemini", "user", "~/.gemini/settings.json"),
    Case("gemini-comments", "gemini", "project", ".gemini/settings.json"),
    Case("opencode-new", "opencode", "project", "opencode.json"),
    Case("opencode-crlf", "opencode", "project", "opencode.json"),
    Case("copilot-new", "copilot", "user", "~/.copilot/mcp-config.json"),
    Case("copilot-hooks-new", "copilot", "project", ".github/hooks/satchel.json", hooks=True),
    Case("kiro-new", "kiro", "project", ".kiro/settings/mcp.json"),
    Case("kilo-comments", "kilo", "project", ".kilo/kilo.jsonc"),
    Case("roo-new", "roo", "project", ".roo/mcp.json"),
    Case("amp-others", "amp", "user", "~/.config/amp/settings.json"),
    Case("qwen-hooks-others", "qwen", "project", ".qwen/settings.json", hooks=True),
    Case("antigravity-new", "antigravity", "user", "~/.gemini/config/mcp_config.json"),
    Case("droid-new", "droid", "project", ".factory/mcp.json"),
    Case("droid-hooks-new", "droid", "user", "~/.factory/hooks.json", hooks=True),
]


def write(file: Path, content: bytes | None) -> None:
    if content is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)


def read(file: Path) -> bytes | None:
    return file.read_bytes() if file.exists() else None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_setup_gives_the_expected_bytes_and_removal_those_of_before(case: Case, world: World, satchel: Satchel) -> None:
    file, before = case.place(world), case.bytes_of("before", world)
    write(file, before)
    hooks = ["--with-hooks"] if case.hooks else []

    dry = satchel("setup", *case.arguments(), *COMMAND, *hooks, "--dry-run")
    assert dry.code == 0, dry.err
    assert read(file) == before, "a dry run writes nothing"

    ran = satchel("setup", *case.arguments(), *COMMAND, *hooks)
    assert ran.code == 0, ran.err
    after = read(file)
    golden = GOLDEN / case.name / f"after{case.suffix}"
    if os.environ.get("WRITE_GOLDEN") == "1" and after is not None:
        write(golden, after.replace(str(world.root).encode(), b"<ROOT>"))
    assert after == case.bytes_of("after", world)
    assert "added to" in ran.err

    again = satchel("setup", *case.arguments(), *COMMAND, *hooks)
    assert again.code == 0
    assert "already set up in" in again.err
    assert again.out == ""
    assert read(file) == after

    gone = satchel("remove", *case.arguments())
    assert gone.code == 0, gone.err
    rest, removed = read(file), GOLDEN / case.name / f"removed{case.suffix}"
    if os.environ.get("WRITE_GOLDEN") == "1" and rest is not None and rest != before:
        write(removed, rest.replace(str(world.root).encode(), b"<ROOT>"))
    assert rest == (case.bytes_of("removed", world) or before)
    assert file.parent.exists() is (before is not None or file.parent in (world.root, world.home))
    assert satchel("remove", *case.arguments()).code == 1


def test_a_file_with_a_repeated_key_is_left_alone(world: World, satchel: Satchel) -> None:
    file, before = world.root / ".cursor" / "mcp.json", b'// mine\n{"a": {"b": 1, "b": 2}, "mcpServers": {}}'
    write(file, before)
    for line in (("setup", "cursor", *COMMAND), ("remove", "cursor")):
        ran = satchel(*line)
        assert ran.code == 1
        assert "a key occurs twice in the same mapping; fix the file and try again" in ran.err
        assert read(file) == before


def test_every_golden_folder_has_a_case() -> None:
    assert {case.name for case in CASES} == {folder.name for folder in GOLDEN.iterdir()}
