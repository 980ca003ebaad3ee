"""The clients that set-up knows, as of November 2026: all that is written about one is its record here.

The help of `satchel setup`, the hosts of hooks, the tables of docs/clients.md and docs/hooks.md, and the tests that
every client has to pass are derived from these records. It imports little, because help must start fast.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from msgspec import Struct

from satchel.types import Data

_NONE: Data = MappingProxyType({})


class Hooks(Struct, frozen=True):
    """The hooks of a client: a file per scope (paths as in `Client`), and event, matcher and word of satchel of each.

    `keys` lead to the mapping of events. A flat hook has its command in the element itself, beside the values of
    `frame`, any other in a group. `is_versioned` files need `"version": 1`. `timeout` is in the unit of the client.
    `steps` are what a user does then. A host that speaks as Claude Code does, but accepts context at other events,
    names those in `injecting`, and is recognised by `transcripts`, a folder in the path of its transcripts. `note` is
    for docs/hooks.md.
    """

    files: Mapping[str, str]
    events: tuple[tuple[str, str, str], ...]
    keys: tuple[str, ...] = ("hooks",)
    is_flat: bool = False
    is_versioned: bool = False
    frame: Data = _NONE
    timeout: int = 10
    steps: tuple[str, ...] = ()
    injecting: frozenset[str] = frozenset()
    transcripts: str = ""
    note: str = ""


class Client(Struct, frozen=True):
    """A client whose server is one entry below `key` in a file.

    `title` is its name for people, `program` the one on the PATH, empty for an extension. `files` has the scopes, the
    usual one first: `local` is this user in this folder, `project` everybody in this folder, `user` this user in every
    folder. A path is below the project, or below the folder that its first part names (`ClientPlaces.file`). `steps`
    show a user that it works, with `project_steps` for that scope. `source` is where the format was read, empty for the
    documentation of the client.

    The file is JSON, or TOML with `is_toml`. The entry has the words of `arguments`, the values of `frame` before them,
    and `environment` after them; with `is_list` all words are one list. With `folders` the entries of the scope `local`
    are below the path of their folder in the mapping of that name. `folder` has the settings of a user where they are
    not beside the file.
    """

    title: str
    program: str
    files: Mapping[str, str]
    key: str
    steps: tuple[str, ...]
    source: str = ""
    arguments: tuple[str, ...] = ()
    frame: Data = _NONE
    environment: Mapping[str, str] = MappingProxyType({})
    is_list: bool = False
    is_toml: bool = False
    folders: str = ""
    folder: str = ""
    project_steps: tuple[str, ...] = ()
    hooks: Hooks | None = None


CLAUDE_TOKENIZER = ("SATCHEL_BUDGET_TOKENIZER", "claude")
"""Budgets for Claude are counted with its own estimate: its tokens are not those that the default counts."""

_EDITS = "Edit|MultiEdit|Write|NotebookEdit"
_STARTS = "startup|resume|clear|compact"


def _copilot_hooks(note: str) -> Hooks:
    """Return the hooks that Visual Studio Code and Copilot CLI share. Neither accepts context with a prompt.

    Copilot CLI compares the matcher before a tool with its own names and those of Claude Code, after a tool with its
    own alone. Visual Studio Code ignores matchers.
    """
    return Hooks(
        {"project": ".github/hooks/satchel.json", "user": "$copilot/hooks/satchel.json"},
        (
            ("SessionStart", "", "session-start"),
            ("UserPromptSubmit", "", "prompt"),
            ("PreToolUse", "Edit|Write", "before-tool"),
            ("PostToolUse", "bash|powershell|create|edit|str_replace_editor|apply_patch|view", "after-tool"),
            ("PreCompact", "", "before-compaction"),
        ),
        is_flat=True,
        is_versioned=True,
        frame={"type": "command"},
        note=note,
    )


CLIENTS: Mapping[str, Client] = {
    "claude-code": Client(
        "Claude Code", "claude",
        {"local": "$state/.claude.json", "project": ".mcp.json", "user": "$state/.claude.json"},
        "mcpServers", ("in a shell: claude mcp list", "in a new session of Claude Code: /mcp"),
        frame={"type": "stdio"}, environment=dict([CLAUDE_TOKENIZER]), folders="projects", folder="$claude",
        project_steps=("Claude Code asks once whether this folder's servers may start: say yes to satchel",),
        hooks=Hooks(
            {"local": ".claude/settings.local.json", "project": ".claude/settings.json",
             "user": "$claude/settings.json"},
            (
                ("SessionStart", _STARTS, "session-start"),
                ("SubagentStart", "", "subagent-start"),
                ("UserPromptSubmit", "", "prompt"),
                ("PreToolUse", _EDITS, "before-tool"),
                ("PostToolUse", _EDITS, "after-tool"),
                ("PostToolUseFailure", "Bash", "after-tool"),
                ("PreCompact", "", "before-compaction"),
                ("SessionEnd", "", "session-end"),
            ),
            note="renamed fields (`user_prompt`, `tool_result`) are read too",
        ),
    ),
    "codex": Client(
        "Codex", "codex", {"user": "$codex/config.toml", "project": ".codex/config.toml"}, "mcp_servers",
        ("in a shell: codex mcp list", "in a new session of Codex: /mcp"), is_toml=True,
        hooks=Hooks(
            {"user": "$codex/hooks.json", "project": ".codex/hooks.json"},
            (
                ("SessionStart", _STARTS, "session-start"),
                ("UserPromptSubmit", "", "prompt"),
                ("PreToolUse", f"apply_patch|{_EDITS}", "before-tool"),
                ("PostToolUse", f"Bash|apply_patch|{_EDITS}", "after-tool"),
                ("PreCompact", "", "before-compaction"),
            ),
            steps=("in Codex: /hooks, to trust them",),
            note="a patch names its files in its text; failures are read from the output",
        ),
    ),
    "cursor": Client(
        "Cursor", "cursor", {"project": ".cursor/mcp.json", "user": "~/.cursor/mcp.json"}, "mcpServers",
        ("in Cursor: Settings, MCP: satchel is listed with its tools",), arguments=("--root", "${workspaceFolder}"),
        hooks=Hooks(
            {"project": ".cursor/hooks.json", "user": "~/.cursor/hooks.json"},
            (
                ("sessionStart", "", "session-start"),
                ("beforeSubmitPrompt", "", "prompt"),
                ("afterFileEdit", "", "after-tool"),
                ("postToolUse", "Shell|Read", "after-tool"),
                ("preCompact", "", "before-compaction"),
                ("sessionEnd", "", "session-end"),
            ),
            is_flat=True,
            is_versioned=True,
            note="lessons come once a file was read. Hooks of Claude Code that Cursor runs are answered as such",
        ),
    ),
    "vscode": Client(
        "Visual Studio Code", "code", {"project": ".vscode/mcp.json", "user": "$code/User/mcp.json"}, "servers",
        ("in Visual Studio Code: Command Palette, MCP: List Servers, satchel, Start Server",),
        'code.visualstudio.com: "Agent hooks in Visual Studio Code (Preview)"', ("--root", "${workspaceFolder}"),
        {"type": "stdio"},
        hooks=_copilot_hooks("it ignores matchers: each tool starts a hook, which ends at once where it edits nothing"),
    ),
    "zed": Client(
        "Zed", "zed", {"project": ".zed/settings.json", "user": "$zed/settings.json"}, "context_servers",
        ("in Zed: trust the folder if it asks; the settings of the agent list satchel with a green dot",),
    ),
    "windsurf": Client(
        "Windsurf", "windsurf", {"local": "~/.codeium/windsurf/mcp_config.json"}, "mcpServers",
        ("in Windsurf: Settings, Cascade, MCP Servers: after a refresh satchel is listed with its tools",),
    ),
    "gemini": Client(
        "Gemini CLI", "gemini", {"project": ".gemini/settings.json", "user": "~/.gemini/settings.json"}, "mcpServers",
        ("in a shell: gemini mcp list",),
    ),
    "opencode": Client(
        "opencode", "opencode", {"project": "opencode.json", "user": "$config/opencode/opencode.json"}, "mcp",
        ("in a shell: opencode mcp list",), frame={"type": "local"}, is_list=True,
    ),
    "cline": Client(
        "Cline", "",
        {"local": "$code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
        "mcpServers", ("in Cline: MCP Servers, Configure: satchel is listed with its tools",),
    ),
    "copilot": Client(
        "Copilot CLI", "copilot", {"project": ".github/mcp.json", "user": "$copilot/mcp-config.json"}, "mcpServers",
        ("in Copilot CLI: /mcp show satchel",),
        'docs.github.com: "Adding MCP servers for GitHub Copilot CLI", "GitHub Copilot hooks reference"',
        frame={"type": "local", "tools": ["*"]},
        hooks=_copilot_hooks("lessons come once a file was read (`view`)"),
    ),
    "kiro": Client(
        "Kiro", "kiro-cli", {"project": ".kiro/settings/mcp.json", "user": "~/.kiro/settings/mcp.json"}, "mcpServers",
        ("in Kiro: the Kiro panel, MCP Servers; in its command line: /mcp",), 'kiro.dev: "MCP configuration"',
    ),
    "kilo": Client(
        "Kilo Code", "kilo", {"project": ".kilo/kilo.jsonc", "user": "$config/kilo/kilo.jsonc"}, "mcp",
        ("in Kilo Code: Settings, Agent Behaviour, MCP Servers",), 'kilo.ai: "Using MCP in Kilo Code"',
        frame={"type": "local", "enabled": True}, is_list=True,
    ),
    "roo": Client(
        "Roo Code", "",
        {"project": ".roo/mcp.json",
         "user": "$code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"},
        "mcpServers", ("in Roo Code: MCP Servers: satchel is listed with its tools",),
        'docs.roocode.com: "Using MCP in Roo Code"',
    ),
    "amp": Client(
        "Amp", "amp", {"project": ".amp/settings.json", "user": "$config/amp/settings.json"}, "amp.mcpServers",
        ("in a shell, for a project: amp mcp approve satchel; then: amp mcp list",),
        "ampcode.com: the manual's settings, `amp.mcpServers`",
    ),
    "qwen": Client(
        "Qwen Code", "qwen", {"project": ".qwen/settings.json", "user": "~/.qwen/settings.json"}, "mcpServers",
        ("in a shell: qwen mcp list",), "its repository: `docs/users/features/mcp.md`, `hooks.md`",
        hooks=Hooks(
            {"project": ".qwen/settings.json", "user": "~/.qwen/settings.json"},
            (
                ("SessionStart", _STARTS, "session-start"),
                ("SubagentStart", "", "subagent-start"),
                ("UserPromptSubmit", "", "prompt"),
                ("PostToolUse", "read_file|edit|write_file|run_shell_command", "after-tool"),
                ("PostToolUseFailure", "run_shell_command", "after-tool"),
                ("PreCompact", "", "before-compaction"),
                ("SessionEnd", "", "session-end"),
            ),
            timeout=10_000,
            injecting=frozenset({
                "SessionStart", "SubagentStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure",
            }),
            transcripts="/.qwen/",
            note="what is sent before a tool must decide whether it may run: lessons come once a file was read",
        ),
    ),
    "antigravity": Client(
        "Antigravity", "agy", {"project": ".agents/mcp_config.json", "user": "~/.gemini/config/mcp_config.json"},
        "mcpServers", ("in Antigravity: /mcp, or the MCP Store, Manage MCP Servers, Refresh",),
        "guides of projects that set it up; Google's own page could not be read",
    ),
    "droid": Client(
        "Droid", "droid", {"project": ".factory/mcp.json", "user": "~/.factory/mcp.json"}, "mcpServers",
        ("in Droid: /mcp",), 'docs.factory.ai: "MCP", "Hooks"', frame={"type": "stdio"},
        hooks=Hooks(
            {"project": ".factory/hooks.json", "user": "~/.factory/hooks.json"},
            (
                ("SessionStart", _STARTS, "session-start"),
                ("UserPromptSubmit", "", "prompt"),
                ("PostToolUse", "Read|Edit|Create|ApplyPatch|Execute", "after-tool"),
                ("PreCompact", "", "before-compaction"),
                ("SessionEnd", "", "session-end"),
            ),
            keys=(),
            injecting=frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse"}),
            transcripts="/.factory/",
            note="as Qwen Code",
        ),
    ),
}  # fmt: skip
"""The clients by the name that `satchel setup` accepts."""
