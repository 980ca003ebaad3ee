"""Which files of which program hold what: one table for each client, written down in October 2026.

Where these formats come from, and which of them could not be tried here, is said in docs/clients.md. Hook commands are
written as one quoted line, which every version of these programs understands: one that knew no list of arguments would
start satchel without any, and take the usage error for a refusal of the prompt.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel.clients.launch import PROGRAM, Launch
from satchel.errors import UsageError

SCOPES: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("local", "project", "user"),
    "cursor": ("project", "user"),
    "vscode": ("project", "user"),
    "codex": ("user", "project"),
}
"""Client -> its scopes, the usual one first: `local` is this user in this folder, `project` everybody in this folder,
`user` this user in every folder."""

CLIENTS = tuple(SCOPES)

HOOK_SECONDS = 10
"""What a host waits for a hook at most; the hook itself ends after 2 s."""

CLAUDE_TOKENIZER = ("SATCHEL_BUDGET_TOKENIZER", "claude")
"""Budgets for Claude are counted with its own estimate: its tokens are not those that the default counts."""

_EDITS = "Edit|MultiEdit|Write|NotebookEdit"

_CLAUDE_HOOKS = (
    ("SessionStart", "startup|resume|clear|compact", "session-start"),
    ("UserPromptSubmit", "", "prompt"),
    ("PostToolUse", _EDITS, "after-tool"),
    ("PostToolUseFailure", "Bash", "after-tool"),
    ("PreCompact", "", "before-compaction"),
    ("SessionEnd", "", "session-end"),
)

_CODEX_HOOKS = (
    ("SessionStart", "startup|resume|clear|compact", "session-start"),
    ("UserPromptSubmit", "", "prompt"),
    ("PostToolUse", f"Bash|apply_patch|{_EDITS}", "after-tool"),
    ("PreCompact", "", "before-compaction"),
)

_CURSOR_HOOKS = (
    ("sessionStart", "", "session-start"),
    ("beforeSubmitPrompt", "", "prompt"),
    ("afterFileEdit", "", "after-tool"),
    ("postToolUse", "Shell", "after-tool"),
    ("preCompact", "", "before-compaction"),
    ("sessionEnd", "", "session-end"),
)


@dataclass(frozen=True, slots=True)
class Want:
    """A value that has to stand below these keys; with `is_element` as one element of the list there.

    Another value of an `is_optional` key stays as it is. An `is_frame` key belongs to the file rather than to satchel:
    it goes only with everything else.
    """

    path: tuple[str, ...]
    value: Any
    is_element: bool = False
    is_optional: bool = False
    is_frame: bool = False


@dataclass(frozen=True, slots=True)
class Target:
    """One file and what it has to hold. `name` tells apart what satchel keeps in the same file for several folders."""

    file: Path
    name: str
    wants: tuple[Want, ...]
    is_toml: bool = False


@dataclass(frozen=True, slots=True)
class Places:
    """Where clients keep their settings: the home folder, the folder that is worked in, and what variables say."""

    home: Path
    root: Path
    environ: Mapping[str, str]

    @property
    def claude_state(self) -> Path:
        """Claude Code's own file, which holds the servers of a user."""
        own = self.environ.get("CLAUDE_CONFIG_DIR")
        return (Path(own) if own else self.home) / ".claude.json"

    @property
    def claude_settings(self) -> Path:
        """The folder of Claude Code's settings of a user."""
        own = self.environ.get("CLAUDE_CONFIG_DIR")
        return Path(own) if own else self.home / ".claude"

    @property
    def codex(self) -> Path:
        """The folder of Codex's settings of a user."""
        own = self.environ.get("CODEX_HOME")
        return Path(own) if own else self.home / ".codex"

    @property
    def vscode(self) -> Path:
        """The folder of Visual Studio Code's settings of a user."""
        if sys.platform == "darwin":
            return self.home / "Library" / "Application Support" / "Code" / "User"
        if os.name == "nt":
            return Path(self.environ.get("APPDATA") or self.home / "AppData" / "Roaming") / "Code" / "User"
        return Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config") / "Code" / "User"


def check_scope(client: str, scope: str | None) -> str:
    """The scope, or the client's usual one. Raises UsageError for one that the client does not have."""
    if client not in SCOPES:
        raise UsageError(f"there is no client {client!r}: the clients are {', '.join(CLIENTS)}")
    if scope is not None and scope not in SCOPES[client]:
        raise UsageError(f"{client} has no scope {scope!r}: give one of {', '.join(SCOPES[client])}")
    return scope or SCOPES[client][0]


def is_shared(scope: str) -> bool:
    """Whether the files of this scope belong to everybody who works in the folder."""
    return scope == "project"


def targets(client: str, scope: str, places: Places, launch: Launch, *, with_hooks: bool) -> tuple[Target, ...]:
    """The files of a client and scope, that of the server first. Raises UsageError for hooks where there are none."""
    if with_hooks and client not in _HOOKS:
        raise UsageError(f"{client} has no hooks that satchel can use: leave --with-hooks out")
    found = [_SERVERS[client](scope, places, launch.words)]
    if with_hooks:
        found.append(_HOOKS[client](scope, places, launch.words))
    return tuple(found)


def all_targets(client: str, scope: str, places: Places) -> tuple[Target, ...]:
    """Every file that set-up may have written, to look for what is ours."""
    return targets(client, scope, places, Launch((PROGRAM,)), with_hooks=client in _HOOKS)


def _claude(scope: str, places: Places, words: Sequence[str]) -> Target:
    server = {"type": "stdio", **_started(words, "mcp"), "env": dict([CLAUDE_TOKENIZER])}
    if scope == "project":
        return _server(places.root / ".mcp.json", ("mcpServers", PROGRAM), server)
    if scope == "user":
        return _server(places.claude_state, ("mcpServers", PROGRAM), server)
    return _server(places.claude_state, ("projects", str(places.root), "mcpServers", PROGRAM), server)


def _claude_hooks(scope: str, places: Places, words: Sequence[str]) -> Target:
    folder = places.claude_settings if scope == "user" else places.root / ".claude"
    tokenizer = Want(("env", CLAUDE_TOKENIZER[0]), CLAUDE_TOKENIZER[1], is_optional=True)
    file = folder / ("settings.local.json" if scope == "local" else "settings.json")
    return Target(file, "hooks", (*_matched_hooks(_CLAUDE_HOOKS, words), tokenizer))


def _cursor(scope: str, places: Places, words: Sequence[str]) -> Target:
    file = _cursor_folder(scope, places) / "mcp.json"
    return _server(file, ("mcpServers", PROGRAM), _started(words, "mcp", "--root", "${workspaceFolder}"))


def _cursor_hooks(scope: str, places: Places, words: Sequence[str]) -> Target:
    version = Want(("version",), 1, is_optional=True, is_frame=True)
    hooks = (
        Want(("hooks", event), {**_matcher(matcher), **_timed(words, name)}, is_element=True)
        for event, matcher, name in _CURSOR_HOOKS
    )
    return Target(_cursor_folder(scope, places) / "hooks.json", "hooks", (version, *hooks))


def _cursor_folder(scope: str, places: Places) -> Path:
    return (places.root if scope == "project" else places.home) / ".cursor"


def _vscode(scope: str, places: Places, words: Sequence[str]) -> Target:
    folder = places.root / ".vscode" if scope == "project" else places.vscode
    server = {"type": "stdio", **_started(words, "mcp", "--root", "${workspaceFolder}")}
    return _server(folder / "mcp.json", ("servers", PROGRAM), server)


def _codex(scope: str, places: Places, words: Sequence[str]) -> Target:
    wants = (Want(("mcp_servers", PROGRAM), _started(words, "mcp")),)
    return Target(_codex_folder(scope, places) / "config.toml", "server", wants, is_toml=True)


def _codex_hooks(scope: str, places: Places, words: Sequence[str]) -> Target:
    return Target(_codex_folder(scope, places) / "hooks.json", "hooks", _matched_hooks(_CODEX_HOOKS, words))


def _codex_folder(scope: str, places: Places) -> Path:
    return places.root / ".codex" if scope == "project" else places.codex


Builder = Callable[[str, Places, Sequence[str]], Target]

_SERVERS: Mapping[str, Builder] = {"claude-code": _claude, "cursor": _cursor, "vscode": _vscode, "codex": _codex}
_HOOKS: Mapping[str, Builder] = {"claude-code": _claude_hooks, "cursor": _cursor_hooks, "codex": _codex_hooks}


def _server(file: Path, path: tuple[str, ...], value: Mapping[str, Any]) -> Target:
    return Target(file, "/".join(path), (Want(path, dict(value)),))


def _started(words: Sequence[str], *arguments: str) -> dict[str, Any]:
    return {"command": words[0], "args": [*words[1:], *arguments]}


def _timed(words: Sequence[str], event: str) -> dict[str, Any]:
    return {"command": shlex.join([*words, "hook", event]), "timeout": HOOK_SECONDS}


def _matcher(matcher: str) -> dict[str, str]:
    return {"matcher": matcher} if matcher else {}


def _matched_hooks(rows: Sequence[tuple[str, str, str]], words: Sequence[str]) -> tuple[Want, ...]:
    """Hooks in the shape of Claude Code, which Codex took over."""
    return tuple(
        Want(
            ("hooks", event),
            {
                **_matcher(matcher),
                "hooks": [{"type": "command", **_timed(words, name)}],
            },
            is_element=True,
        )
        for event, matcher, name in rows
    )


def next_steps(client: str, scope: str, *, with_hooks: bool) -> tuple[str, ...]:
    """What to type now, to see that it works."""
    steps = {
        "claude-code": ("in a shell: claude mcp list", "in a new session of Claude Code: /mcp"),
        "cursor": ("in Cursor: Settings, MCP: satchel is listed with its tools",),
        "vscode": ("in Visual Studio Code: Command Palette, MCP: List Servers, satchel, Start Server",),
        "codex": ("in a shell: codex mcp list", "in a new session of Codex: /mcp"),
    }[client]
    if client == "claude-code" and scope == "project":
        steps = (*steps, "Claude Code asks once whether this folder's servers may start: say yes to satchel")
    if with_hooks and client == "codex":
        steps = (*steps, "in Codex: /hooks, to trust them")
    return (*steps, "after the next prompt: satchel hook log") if with_hooks else steps
