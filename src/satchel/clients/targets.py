"""The files and entries of each client (as of November 2026), and the command that starts satchel there.

docs/clients.md has the sources of these formats, and names those that could not be tested. Hook commands are written
as one quoted line, which every version of these programs understands: one without support for lists of arguments would
start satchel without any, and treat the usage error as a refusal of the prompt.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from satchel.errors import UsageError
from satchel.system.installed import source
from satchel.types import Data, Json

PROGRAM = "satchel"

_UVX_FOLDERS = frozenset({"archive-v0", "builds-v0", "environments-v2"})
"""Folders of uv's cache that hold environments for one run: a path into them is gone after the next clean-up."""


class _Row(NamedTuple):
    """A client whose server is one entry below `key` in a JSON file, and how a user sees that it works.

    `files` has the scopes, the usual one first. A path is below the project, or below the folder that its first part
    names (`ClientPlaces.file`). With `is_list` the entry has all words in one list.
    """

    program: str
    files: Mapping[str, str]
    key: str
    step: str
    arguments: tuple[str, ...] = ()
    frame: Data = MappingProxyType({})
    is_list: bool = False


_ROWS: Mapping[str, _Row] = {
    "cursor": _Row("cursor", {"project": ".cursor/mcp.json", "user": "~/.cursor/mcp.json"}, "mcpServers",
                   "in Cursor: Settings, MCP: satchel is listed with its tools", ("--root", "${workspaceFolder}")),
    "vscode": _Row("code", {"project": ".vscode/mcp.json", "user": "$code/User/mcp.json"}, "servers",
                   "in Visual Studio Code: Command Palette, MCP: List Servers, satchel, Start Server",
                   ("--root", "${workspaceFolder}"), {"type": "stdio"}),
    "zed": _Row("zed", {"project": ".zed/settings.json", "user": "$zed/settings.json"}, "context_servers",
                "in Zed: trust the folder if it asks; the settings of the agent list satchel with a green dot"),
    "windsurf": _Row("windsurf", {"local": "~/.codeium/windsurf/mcp_config.json"}, "mcpServers",
                     "in Windsurf: Settings, Cascade, MCP Servers: after a refresh satchel is listed with its tools"),
    "gemini": _Row("gemini", {"project": ".gemini/settings.json", "user": "~/.gemini/settings.json"}, "mcpServers",
                   "in a shell: gemini mcp list"),
    "opencode": _Row("opencode", {"project": "opencode.json", "user": "$config/opencode/opencode.json"}, "mcp",
                     "in a shell: opencode mcp list", (), {"type": "local"}, is_list=True),
    "cline": _Row("", {"local": "$code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json"},
                  "mcpServers", "in Cline: MCP Servers, Configure: satchel is listed with its tools"),
    "copilot": _Row("copilot", {"project": ".github/mcp.json", "user": "$copilot/mcp-config.json"}, "mcpServers",
                    "in Copilot CLI: /mcp show satchel", (), {"type": "local", "tools": ["*"]}),
    "kiro": _Row("kiro-cli", {"project": ".kiro/settings/mcp.json", "user": "~/.kiro/settings/mcp.json"}, "mcpServers",
                 "in Kiro: the Kiro panel, MCP Servers; in its command line: /mcp"),
    "kilo": _Row("kilo", {"project": ".kilo/kilo.jsonc", "user": "$config/kilo/kilo.jsonc"}, "mcp",
                 "in Kilo Code: Settings, Agent Behaviour, MCP Servers", (), {"type": "local", "enabled": True},
                 is_list=True),
    "roo": _Row("", {"project": ".roo/mcp.json",
                     "user": "$code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"},
                "mcpServers", "in Roo Code: MCP Servers: satchel is listed with its tools"),
    "amp": _Row("amp", {"project": ".amp/settings.json", "user": "$config/amp/settings.json"}, "amp.mcpServers",
                "in a shell, for a project: amp mcp approve satchel; then: amp mcp list"),
    "qwen": _Row("qwen", {"project": ".qwen/settings.json", "user": "~/.qwen/settings.json"}, "mcpServers",
                 "in a shell: qwen mcp list"),
    "antigravity": _Row("agy", {"project": ".agents/mcp_config.json", "user": "~/.gemini/config/mcp_config.json"},
                        "mcpServers", "in Antigravity: /mcp, or the MCP Store, Manage MCP Servers, Refresh"),
    "droid": _Row("droid", {"project": ".factory/mcp.json", "user": "~/.factory/mcp.json"}, "mcpServers",
                  "in Droid: /mcp", (), {"type": "stdio"}),
}  # fmt: skip

SCOPES: Mapping[str, tuple[str, ...]] = {
    "claude-code": ("local", "project", "user"),
    "codex": ("user", "project"),
    **{client: tuple(row.files) for client, row in _ROWS.items()},
}
"""Client -> its scopes, the usual one first: `local` is this user in this folder, `project` everybody in this folder,
`user` this user in every folder."""

CLIENTS = tuple(SCOPES)

CLAUDE_TOKENIZER = ("SATCHEL_BUDGET_TOKENIZER", "claude")
"""Budgets for Claude are counted with its own estimate: its tokens are not those that the default counts."""

_EDITS = "Edit|MultiEdit|Write|NotebookEdit"


class _Hooks(NamedTuple):
    """The hooks of a client: a file per scope (paths as in `_Row`), and event, matcher and word of satchel of each.

    `keys` lead to the mapping of events. A flat hook has its command in the element itself, beside the values of
    `frame`, any other in a group. `is_versioned` files need `"version": 1`. `timeout` is in the unit of the client.
    """

    files: Mapping[str, str]
    events: tuple[tuple[str, str, str], ...]
    keys: tuple[str, ...] = ("hooks",)
    is_flat: bool = False
    is_versioned: bool = False
    frame: Data = MappingProxyType({})
    timeout: int = 10


# Copilot CLI compares the matcher before a tool with its own names and those of Claude Code, after a tool with its own
# alone. Visual Studio Code ignores matchers. Neither takes context with a prompt, but what was asked is kept.
_COPILOT_HOOKS = _Hooks(
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
)

_HOOKS: Mapping[str, _Hooks] = {
    "claude-code": _Hooks(
        {"local": ".claude/settings.local.json", "project": ".claude/settings.json", "user": "$claude/settings.json"},
        (
            ("SessionStart", "startup|resume|clear|compact", "session-start"),
            ("SubagentStart", "", "subagent-start"),
            ("UserPromptSubmit", "", "prompt"),
            ("PreToolUse", _EDITS, "before-tool"),
            ("PostToolUse", _EDITS, "after-tool"),
            ("PostToolUseFailure", "Bash", "after-tool"),
            ("PreCompact", "", "before-compaction"),
            ("SessionEnd", "", "session-end"),
        ),
    ),
    "codex": _Hooks(
        {"user": "$codex/hooks.json", "project": ".codex/hooks.json"},
        (
            ("SessionStart", "startup|resume|clear|compact", "session-start"),
            ("UserPromptSubmit", "", "prompt"),
            ("PreToolUse", f"apply_patch|{_EDITS}", "before-tool"),
            ("PostToolUse", f"Bash|apply_patch|{_EDITS}", "after-tool"),
            ("PreCompact", "", "before-compaction"),
        ),
    ),
    "cursor": _Hooks(
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
    ),
    "vscode": _COPILOT_HOOKS,
    "copilot": _COPILOT_HOOKS,
    "qwen": _Hooks(
        _ROWS["qwen"].files,
        (
            ("SessionStart", "startup|resume|clear|compact", "session-start"),
            ("SubagentStart", "", "subagent-start"),
            ("UserPromptSubmit", "", "prompt"),
            ("PostToolUse", "read_file|edit|write_file|run_shell_command", "after-tool"),
            ("PostToolUseFailure", "run_shell_command", "after-tool"),
            ("PreCompact", "", "before-compaction"),
            ("SessionEnd", "", "session-end"),
        ),
        timeout=10_000,
    ),
    "droid": _Hooks(
        {"project": ".factory/hooks.json", "user": "~/.factory/hooks.json"},
        (
            ("SessionStart", "startup|resume|clear|compact", "session-start"),
            ("UserPromptSubmit", "", "prompt"),
            ("PostToolUse", "Read|Edit|Create|ApplyPatch|Execute", "after-tool"),
            ("PreCompact", "", "before-compaction"),
            ("SessionEnd", "", "session-end"),
        ),
        keys=(),
    ),
}

WITH_HOOKS = frozenset(_HOOKS)
"""Clients whose hooks set-up can write."""


class Launch(NamedTuple):
    """The words that start satchel, and notes about them for the user."""

    words: tuple[str, ...]
    notes: tuple[str, ...] = ()


SAFE_PATH = "-P"
"""Option of Python: no modules are imported from the current folder, which belongs to a repository."""


def module_place(words: Sequence[str]) -> int | None:
    """Return the place of `-m` in words that start a module of this package with Python, None for other words."""
    places = [at for at in range(1, len(words) - 1) if words[at] == "-m" and words[at + 1].partition(".")[0] == PROGRAM]
    if not places:
        return None
    options = words[: places[0]]
    while options and options[-1].startswith("-"):
        options = options[:-1]
    is_python = bool(options) and Path(options[-1].replace("\\", "/")).name.startswith(("python", "pypy"))
    return places[0] if is_python else None


def imports_from_folder(words: Sequence[str]) -> bool:
    """Return whether these words start Python so that it imports modules from the folder it is started in."""
    place = module_place(words)
    options = () if place is None else words[:place]
    # -I implies -P; short options may be joined, as in `-IP`.
    is_safe = any(re.fullmatch(r"-[A-Za-z]*[PI][A-Za-z]*", word) for word in options[1:])
    return place is not None and not is_safe


def _guarded(words: Sequence[str]) -> tuple[str, ...]:
    """Return words with `-P` where Python would import modules from the folder it is started in."""
    place = module_place(words)
    if place is None or not imports_from_folder(words):
        return tuple(words)
    return (*words[:place], SAFE_PATH, *words[place:])


def parse_command(text: str, *, is_shared: bool = True) -> Launch:
    """Split the words of `--command` as a shell would. Raises UsageError.

    Python gets `-P`, and a path of this folder becomes a whole one in a file that is not shared: clients start the
    command in other folders, too, where a repository may have a program of that path.
    """
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--command {text!r} cannot be split into words: {error}") from None
    if not words:
        raise UsageError("--command is empty: write it as in 'uvx --from path/to/satchel satchel'")
    if not is_shared and Path(words[0]).name != words[0]:
        words[0] = str(Path(words[0]).absolute())
    return Launch(_guarded(words), _missing_program(words))


def find_launch(
    *,
    is_shared: bool,
    started_as: str | None = None,
    prefix: str | None = None,
    environ: Mapping[str, str] = os.environ,
) -> Launch:
    """Return the words that start this very satchel.

    A file of the user alone gets the whole path, which works wherever the client was started from. A file that is
    shared with others gets a name that means the same for all of them, where there is one. `started_as` is the script
    that runs, `prefix` its environment.
    """
    notes = (_OWN_PATH,) if is_shared else ()
    if _UVX_FOLDERS & set(Path(prefix or sys.prefix).parts):
        program = None if is_shared else shutil.which("uvx", path=environ.get("PATH", os.defpath))
        words = (program or "uvx", "--from", _origin(), PROGRAM)
        return Launch(words, (*notes, *_missing_program(words, environ)))
    script = Path(started_as if started_as is not None else sys.argv[0]).absolute()
    if script.stem != PROGRAM or not script.is_file():
        return Launch((sys.executable, SAFE_PATH, "-m", PROGRAM), notes)
    on_path = shutil.which(PROGRAM, path=environ.get("PATH", os.defpath))
    if on_path is None or Path(on_path).resolve() != script.resolve():
        return Launch((str(script),), notes)
    return Launch((PROGRAM if is_shared else str(Path(on_path).absolute()),))


_OWN_PATH = "the file is shared, but the command is a path of this machine: --command names one that works for all"


def _origin() -> str:
    """Return the folder or address that this package was installed from. Raises UsageError if it is not recorded.

    uv makes an environment for one run, which is gone later. The bare name of the package is never written: under that
    name a registry may have the package of somebody else.
    """
    origin = source()
    if not origin:
        raise UsageError("satchel runs in an environment that uvx removes, and where it came from is not recorded: "
                         "give --command, or install it with `uv tool install`")  # fmt: skip
    return origin


def _missing_program(words: Sequence[str], environ: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    if shutil.which(words[0], path=environ.get("PATH", os.defpath)) is None:
        return (f"{words[0]} is not found on the PATH here",)
    return ()


def words_of(entry: Data) -> list[str]:
    """Return the command of an entry with its arguments, which are in two keys or in one list."""
    command, arguments = entry.get("command", ""), entry.get("args")
    words = [*(command if isinstance(command, list) else [command])]
    return [str(word) for word in words + (arguments if isinstance(arguments, list) else [])]


def runs_satchel(words: Sequence[str], command: str) -> bool:
    """Return whether these words start `satchel COMMAND` in any way: a path, uvx, `python -m`."""
    names = [Path(word.replace("\\", "/")).name.removesuffix(".exe") for word in words]
    return any(name == PROGRAM and words[at + 1] == command for at, name in enumerate(names[:-1]))


class Want(NamedTuple):
    """A required value below these keys; with `is_element` as one element of the list there.

    Another value of an `is_optional` key is kept. An `is_frame` key belongs to the file rather than to satchel:
    it is removed only with everything else.
    """

    path: tuple[str, ...]
    value: Any
    is_element: bool = False
    is_optional: bool = False
    is_frame: bool = False


class ClientFile(NamedTuple):
    """One file and its required values. `name` distinguishes entries for several folders in the same file.

    A file of a project is `inside` its root: a link of the repository must not lead set-up elsewhere.
    """

    file: Path
    name: str
    wants: tuple[Want, ...]
    is_toml: bool = False
    inside: Path | None = None


class ClientPlaces(NamedTuple):
    """Folders of settings: the home folder, the current project, and those of environment variables."""

    home: Path
    root: Path
    environ: Mapping[str, str]

    @property
    def claude_state(self) -> Path:
        """Claude Code's own file, with the servers of a user."""
        return Path(self.environ.get("CLAUDE_CONFIG_DIR") or self.home) / ".claude.json"

    def file(self, path: str) -> Path:
        """Return the place of a file of the tables: below the project, or the folder that its first part names.

        `~`, `$config`, `$code` and `$zed` are folders of the user, `$claude`, `$codex` and `$copilot` those of a
        client, which a variable of the environment may move.
        """
        config = Path(self.environ.get("XDG_CONFIG_HOME") or self.home / ".config")
        named = {"~": self.home, "$config": config, "$code": config / "Code", "$zed": config / "zed"}
        if sys.platform == "darwin":
            named |= {"$code": self.home / "Library/Application Support/Code", "$zed": self.home / ".config/zed"}
        elif os.name == "nt":
            roaming = Path(self.environ.get("APPDATA") or self.home / "AppData/Roaming")
            named |= {"$code": roaming / "Code", "$zed": roaming / "Zed"}
        for name, (variable, usual) in _FOLDERS.items():
            named[name] = Path(self.environ.get(variable) or self.home / usual)
        head, _, rest = path.partition("/")
        return named[head] / rest if head in named else self.root / path


_FOLDERS = {
    "$claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "$codex": ("CODEX_HOME", ".codex"),
    "$copilot": ("COPILOT_HOME", ".copilot"),
}


def installed(places: ClientPlaces) -> tuple[str, ...]:
    """Return the clients whose program is on the PATH, or that have a folder of settings of this user."""
    path = places.environ.get("PATH", os.defpath)
    traces: dict[str, tuple[str, Path | None]] = {
        "claude-code": ("claude", places.file("$claude/")), "codex": ("codex", places.file("$codex/"))
    }  # fmt: skip
    for client, row in _ROWS.items():
        file = row.files.get("user") or row.files.get("local")
        traces[client] = (row.program, places.file(file).parent if file else None)
    return tuple(
        client
        for client, (program, folder) in traces.items()
        # Path.is_dir raises for a folder that may not be looked into.
        if shutil.which(program, path=path) or (folder is not None and os.path.isdir(folder))  # noqa: PTH112
    )


def check_scope(client: str, scope: str | None) -> str:
    """Return the scope, or the usual one of the client. Raises UsageError for an unknown client or scope."""
    if client not in SCOPES:
        raise UsageError(f"there is no client {client!r}: the clients are {', '.join(CLIENTS)}")
    if scope is not None and scope not in SCOPES[client]:
        raise UsageError(f"{client} has no scope {scope!r}: give one of {', '.join(SCOPES[client])}")
    return scope or SCOPES[client][0]


def is_shared(scope: str) -> bool:
    """Return whether the files of this scope are shared by everybody who works in the folder."""
    return scope == "project"


def targets(
    client: str, scope: str, places: ClientPlaces, launch: Launch, *, with_hooks: bool
) -> tuple[ClientFile, ...]:
    """Return the files of a client and scope, the server first. Raises UsageError if the client has no hooks."""
    if with_hooks and client not in _HOOKS:
        raise UsageError(f"{client} has no hooks that satchel can use: leave --with-hooks out")
    files = [_entry(_ROWS[client], scope, places, launch.words) if client in _ROWS
             else _SERVERS[client](scope, places, launch.words)]  # fmt: skip
    if with_hooks:
        hooks = _hook_file(client, scope, places, launch.words)
        if hooks.file == files[0].file:  # a file is planned once
            files[0] = files[0]._replace(wants=files[0].wants + hooks.wants)
        else:
            files.append(hooks)
    root = places.root
    is_inside = [scope != "user" and file.file.is_relative_to(root) for file in files]
    return tuple(file._replace(inside=root) if inside else file for file, inside in zip(files, is_inside, strict=True))


def all_targets(client: str, scope: str, places: ClientPlaces) -> tuple[ClientFile, ...]:
    """Return every file that set-up can write."""
    return targets(client, scope, places, Launch((PROGRAM,)), with_hooks=client in _HOOKS)


def _claude(scope: str, places: ClientPlaces, words: Sequence[str]) -> ClientFile:
    server = {"type": "stdio", **_started(words, "mcp"), "env": dict([CLAUDE_TOKENIZER])}
    if scope == "project":
        return _server(places.root / ".mcp.json", ("mcpServers", PROGRAM), server)
    if scope == "user":
        return _server(places.claude_state, ("mcpServers", PROGRAM), server)
    return _server(places.claude_state, ("projects", str(places.root), "mcpServers", PROGRAM), server)


def _entry(row: _Row, scope: str, places: ClientPlaces, words: Sequence[str]) -> ClientFile:
    # A client with the scope `local` starts servers anywhere, so the entry names the folder.
    started = _started(words, "mcp", *(("--root", str(places.root)) if scope == "local" else row.arguments))
    if row.is_list:
        started = {"command": [started["command"], *started["args"]]}
    return _server(places.file(row.files[scope]), (row.key, PROGRAM), {**row.frame, **started})


def _hook_file(client: str, scope: str, places: ClientPlaces, words: Sequence[str]) -> ClientFile:
    hooks = _HOOKS[client]
    wants = [Want(("version",), 1, is_optional=True, is_frame=True)] if hooks.is_versioned else []
    for event, matcher, name in hooks.events:
        # Time that a host waits for a hook; the hook itself ends after 2 s.
        command: Json = {"command": shlex.join([*words, "hook", name]), "timeout": hooks.timeout}
        if not hooks.is_flat:
            command = {"hooks": [{"type": "command", **command}]}
        matched = {"matcher": matcher} if matcher else {}
        wants.append(Want((*hooks.keys, event), {**hooks.frame, **matched, **command}, is_element=True))
    if client == "claude-code":
        wants.append(Want(("env", CLAUDE_TOKENIZER[0]), CLAUDE_TOKENIZER[1], is_optional=True))
    return ClientFile(places.file(hooks.files[scope]), "hooks", tuple(wants))


def _codex(scope: str, places: ClientPlaces, words: Sequence[str]) -> ClientFile:
    wants = (Want(("mcp_servers", PROGRAM), _started(words, "mcp")),)
    folder = ".codex" if scope == "project" else "$codex"
    return ClientFile(places.file(f"{folder}/config.toml"), "server", wants, is_toml=True)


Builder = Callable[[str, ClientPlaces, Sequence[str]], ClientFile]

_SERVERS: Mapping[str, Builder] = {"claude-code": _claude, "codex": _codex}


def _server(file: Path, path: tuple[str, ...], value: Data) -> ClientFile:
    return ClientFile(file, "/".join(path), (Want(path, dict(value)),))


def _started(words: Sequence[str], *arguments: str) -> Json:
    return {"command": words[0], "args": [*words[1:], *arguments]}


def next_steps(client: str, scope: str, *, with_hooks: bool) -> tuple[str, ...]:
    """Return instructions to check the set-up."""
    steps = {
        "claude-code": ("in a shell: claude mcp list", "in a new session of Claude Code: /mcp"),
        "codex": ("in a shell: codex mcp list", "in a new session of Codex: /mcp"),
    }.get(client) or (_ROWS[client].step,)
    if client == "claude-code" and scope == "project":
        steps = (*steps, "Claude Code asks once whether this folder's servers may start: say yes to satchel")
    if with_hooks and client == "codex":
        steps = (*steps, "in Codex: /hooks, to trust them")
    return (*steps, "after the next prompt: satchel hook log") if with_hooks else steps
