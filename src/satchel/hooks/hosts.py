"""The hosts that send events. Reads their events, and formats the answers.

Written against the hook references, schemas and change logs of November 2026. All hosts send one JSON object with
nearly the same fields, some of them renamed on the way, so every field is read under all its names.

* Claude Code (`settings.json`), and every host with the same names: an answer with `hookSpecificOutput` is refused
  at events other than those of `injecting`.
* Codex (`.codex/hooks.json`): the shape of Claude Code. A patch is one tool call that names its files in its text, and
  the failure of a command is only in the text of its output.
* Cursor (`.cursor/hooks.json`, `"version": 1`): events have other names, and shell commands and edits have no tool. A
  prompt can only be allowed or stopped, and so can a tool, so nothing is injected there.
* Gemini CLI (`.gemini/settings.json`): the shape of Claude Code with other names. A tool can only be stopped or changed
  before it runs; its result takes context.
* Visual Studio Code and Copilot CLI (`.github/hooks/*.json`, `"version": 1`): the names of Claude Code and a time in
  each event. Neither takes context with a prompt, and only Visual Studio Code does before a tool.
* Clients whose record (`clients/records.py`) names the events that accept context: the shape of Claude Code. What is
  sent to Qwen Code and Droid before a tool has to decide whether it may run, which satchel never does.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from hashlib import blake2b
from itertools import islice

from msgspec import Struct

from satchel.clients.records import CLIENTS
from satchel.text import pattern
from satchel.types import Data, Json
from satchel.vocabulary import is_whole

TEXT_CHARACTERS = 60_000
"""Length limit of one text that a host sends; the end of a longer one is kept."""

MAX_FILES = 50
"""Number of files that are read from one tool call."""

_CAPITAL = pattern(r"(?<=[a-z0-9])([A-Z])")
_EXIT_CODE = pattern(r"\b(?:exit(?:ed with)?(?: code| status)?|exit_code)[:= ]+(-?\d+)\b", re.IGNORECASE)
_PATCHED = pattern(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)


class Event(StrEnum):
    """The events that `satchel hook` accepts."""

    SESSION_START = "session-start"
    SUBAGENT_START = "subagent-start"
    PROMPT = "prompt"
    BEFORE_TOOL = "before-tool"
    AFTER_TOOL = "after-tool"
    BEFORE_COMPACTION = "before-compaction"
    SESSION_END = "session-end"


class Start(StrEnum):
    """The reason of a session start: new, continued, emptied, shortened, or a copy of another session."""

    STARTUP = "startup"
    RESUME = "resume"
    CLEAR = "clear"
    COMPACT = "compact"
    FORK = "fork"


class HookEvent(Struct, frozen=True):
    """One event. `name` is that of the host; texts are unchanged, empty if missing.

    `session` is the host's id of the conversation, `folder` its working directory. `failed` is the result of a tool,
    None if unknown. `injects` is true if the host accepts context at this event, `injects_before_edits` if it does
    before a tool runs.
    """

    kind: Event
    host: str
    name: str
    session: str = ""
    folder: str = ""
    transcript: str = ""
    prompt: str = ""
    attached: tuple[str, ...] = ()
    start: str = ""
    tool: str = ""
    command: str = ""
    files: tuple[str, ...] = ()
    output: str = ""
    failed: bool | None = None
    injects: bool = False
    injects_before_edits: bool = False


class Host(Struct, frozen=True):
    """The names of the events of a host, the default first; those that accept context; its session fields."""

    name: str
    events: Mapping[str, Event]
    injecting: frozenset[str]
    session_fields: tuple[str, ...] = ("session_id", "id")


CLAUDE_CODE = Host(
    "claude-code",
    {
        "SessionStart": Event.SESSION_START, "SubagentStart": Event.SUBAGENT_START, "UserPromptSubmit": Event.PROMPT,
        "PreToolUse": Event.BEFORE_TOOL, "PostToolUse": Event.AFTER_TOOL, "PostToolUseFailure": Event.AFTER_TOOL,
        "PreCompact": Event.BEFORE_COMPACTION, "SessionEnd": Event.SESSION_END,
    },
    frozenset({
        "SessionStart", "SubagentStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure",
    }),
)  # fmt: skip
CODEX = Host(
    "codex",
    {name: event for name, event in CLAUDE_CODE.events.items() if not name.endswith("Failure")},
    frozenset({"SessionStart", "SubagentStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"}),
)
CURSOR = Host(
    "cursor",
    {
        "sessionStart": Event.SESSION_START, "beforeSubmitPrompt": Event.PROMPT, "preToolUse": Event.BEFORE_TOOL,
        "postToolUse": Event.AFTER_TOOL,
        "postToolUseFailure": Event.AFTER_TOOL, "afterShellExecution": Event.AFTER_TOOL,
        "afterFileEdit": Event.AFTER_TOOL, "preCompact": Event.BEFORE_COMPACTION, "sessionEnd": Event.SESSION_END,
    },
    frozenset({"sessionStart", "postToolUse"}),
    ("conversation_id", "session_id"),
)  # fmt: skip
GEMINI = Host(
    "gemini",
    {
        "SessionStart": Event.SESSION_START, "BeforeAgent": Event.PROMPT, "BeforeTool": Event.BEFORE_TOOL,
        "AfterTool": Event.AFTER_TOOL, "PreCompress": Event.BEFORE_COMPACTION, "SessionEnd": Event.SESSION_END,
    },
    frozenset({"SessionStart", "BeforeAgent", "AfterTool"}),
)  # fmt: skip
VSCODE = Host("vscode", CLAUDE_CODE.events, frozenset({"SessionStart", "SubagentStart", "PreToolUse", "PostToolUse"}))
COPILOT = Host("copilot", CLAUDE_CODE.events, frozenset({"SessionStart", "PostToolUse"}))
_ALIKE = {
    client.hooks.transcripts: Host(name, CLAUDE_CODE.events, client.hooks.injecting)
    for name, client in CLIENTS.items()
    if client.hooks is not None and client.hooks.transcripts
}
"""The hosts that speak as Claude Code does, by the folder of their transcripts."""

HOSTS = (CURSOR, GEMINI, CODEX, CLAUDE_CODE, VSCODE, COPILOT, *_ALIKE.values())

_FOLDERS = {"/.gemini/": GEMINI, "/.codex/": CODEX, "/.claude/": CLAUDE_CODE, **_ALIKE}
"""Folder of the transcript -> the host that writes it."""

_TOOLS = {"afterShellExecution": "Shell", "afterFileEdit": "Edit"}
"""Tools of events that name none."""

_PATCHES = frozenset({"apply_patch", "applypatch"})
"""Tools whose files are named in the text of a patch, in lower case."""


def event_of(word: str) -> Event | None:
    """Return the event that a word on the command line means, also a host's own word; None for an unknown one."""
    try:
        return Event(word)
    except ValueError:
        return next((host.events[word] for host in HOSTS if word in host.events), None)


def parse(received: bytes) -> Json:
    """Return the object that was sent; empty for anything else."""
    try:
        value = json.loads(received.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def read(payload: Data, event: Event) -> HookEvent:
    """Read an event from the object on standard input, an empty mapping if there was none."""
    sent = _snake_case(payload)
    host = _host_of(sent)
    names = (name for name, kind in host.events.items() if kind == event)
    name = _first_text(sent, "hook_event_name", "event") or next(names, "")
    own = ("agent_id",) if event is Event.SUBAGENT_START else ()  # its conversation is empty, unlike the session's
    response_fields = ("tool_response", "tool_result", "tool_output", "result_json", "output")
    response = next(filter(None, map(sent.get, response_fields)), None)
    error = _first_text(sent, "error", "error_message")
    failed = True if name.endswith("Failure") or error else has_failed(sent if "exit_code" in sent else response)
    tool = _first_text(sent, "tool_name", "tool") or _TOOLS.get(name, "")
    command, files = _tool_call(sent, is_patch=host is CODEX or tool.lower() in _PATCHES)
    return HookEvent(
        kind=event,
        host=host.name,
        name=name,
        session=_session_of(_first_text(sent, *own, *host.session_fields)),
        folder=_first_text(sent, "cwd", "workspace", "project_dir") or "".join(texts(sent, "workspace_roots")[:1]),
        transcript=_first_text(sent, "transcript_path"),
        prompt=_first_text(sent, "prompt", "user_prompt", "user_message"),
        attached=_attachments(sent),
        start=_first_text(sent, "source", "reason"),
        tool=tool,
        command=command,
        files=files,
        output="\n".join(filter(None, (error, output_of(response)))),
        failed=failed,
        injects=name in host.injecting,
        injects_before_edits=any(host.events.get(one) is Event.BEFORE_TOOL for one in host.injecting),
    )


def answer(event: HookEvent, text: str, notice: str) -> Json:
    """Return the answer in the format of the host: context for the model, a line for the person; may be empty."""
    if event.host == CURSOR.name:  # which has no line for the person at these events
        return {"additional_context": text} if text else {}
    output: Json = {"systemMessage": notice} if notice else {}
    if text and event.host == COPILOT.name:
        output["additionalContext"] = text
    if text:
        output["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": text}
    return output


def _host_of(sent: Data) -> Host:
    """Return the host of an event. Cursor also runs hooks of Claude Code with their names; these get its format."""
    is_cursor = any(field in sent for field in ("conversation_id", "workspace_roots", "cursor_version"))
    if is_cursor and _first_text(sent, "hook_event_name") not in CLAUDE_CODE.events:
        return CURSOR
    path = sent.get("transcript_path")
    place = path.replace("\\", "/") if isinstance(path, str) else ""
    if _first_text(sent, "hook_event_name") in GEMINI.events.keys() - CLAUDE_CODE.events:
        return GEMINI
    if "turn_id" in sent:
        return CODEX
    named = next((host for folder, host in _FOLDERS.items() if folder in place), None)
    if named is None and "timestamp" in sent:
        return VSCODE if place else COPILOT
    return named or CLAUDE_CODE


def _tool_call(sent: Data, *, is_patch: bool) -> tuple[str, tuple[str, ...]]:
    """Return the shell command and the files of a tool call; the files of a patch are those that its text names."""
    call = _mapping(sent.get("tool_input"))
    command = _first_text(sent, "command") or _first_text(call, "command", "cmd") or " ".join(texts(call, "command"))
    files = _first_path(sent, "file_path") or _first_path(call, "file_path", "notebook_path", "path")
    files = files or tuple(path for path in texts(call, "files") if path and "\0" not in path)[:MAX_FILES]
    patch = command or _first_text(sent, "tool_input") or _first_text(call, "input", "patch")
    if is_patch and not files and "*** Begin Patch" in patch:
        return "", tuple((added or moved).strip() for added, moved in _PATCHED.findall(patch))[:MAX_FILES]
    return command, files


def _attachments(sent: Data) -> tuple[str, ...]:
    rows = sent.get("attachments")
    mappings = [row for row in rows if isinstance(row, Mapping)] if isinstance(rows, list) else []
    return tuple(path for row in mappings for path in _first_path(_snake_case(row), "file_path", "path"))


def _snake_case(payload: Data) -> Json:
    """Return the mapping with `camelCase` keys as `snake_case`; a key that was written so wins."""
    renamed = {_CAPITAL.sub(r"_\1", key).lower(): value for key, value in payload.items()}
    return renamed | {key: value for key, value in payload.items() if key in renamed}


def _mapping(value: object) -> Json:
    """Return a mapping, also one that was sent as JSON in a text; empty for anything else."""
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return _snake_case(value) if isinstance(value, Mapping) else {}


def _encodable(text: str) -> str:
    """Return a text that can be written: hosts cut between the halves of a character beyond the first 65,536."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _session_of(session: str) -> str:
    """Return the id of a session, or a digest of a text that cannot be an id."""
    if len(session) <= 200 and session.isprintable():  # length limit of a session id: hosts use 36
        return session
    return blake2b(session.encode(), digest_size=16).hexdigest()


def _first_text(payload: Data, *fields: str) -> str:
    """Return the first of these fields that is a text and not blank, at most its last `TEXT_CHARACTERS`."""
    values = (value for value in map(payload.get, fields) if isinstance(value, str) and value.strip())
    return _encodable(next(values, "")[-TEXT_CHARACTERS:])


def _first_path(payload: Data, *fields: str) -> tuple[str, ...]:
    """Return the first of these fields that is a path, as the only one."""
    values = (value for value in map(payload.get, fields) if isinstance(value, str) and value and "\0" not in value)
    return tuple(map(_encodable, islice(values, 1)))


def texts(payload: Data, field: str) -> list[str]:
    """Return the texts of a field that is a list; none for anything else."""
    rows = payload.get(field)
    return [row for row in rows if isinstance(row, str)] if isinstance(rows, list) else []


def output_of(response: object) -> str:
    """Return the output of a tool: a text, or the texts of its streams in an object, in the order they are read."""
    if isinstance(response, str):
        inner = _mapping(response)
        return output_of(inner) if inner else _encodable(response[-TEXT_CHARACTERS:])
    if isinstance(response, list):
        return "\n".join(filter(None, map(output_of, response)))[-TEXT_CHARACTERS:]
    payload = _snake_case(response) if isinstance(response, Mapping) else {}
    fields = (
        "stdout", "stderr", "output", "aggregated_output", "text", "error", "error_message", "content", "llm_content",
        "result", "text_result_for_llm",
    )  # fmt: skip
    texts = [output_of(payload[field]) for field in fields if isinstance(payload.get(field), str | list | Mapping)]
    return "\n".join(filter(None, dict.fromkeys(texts)))[-TEXT_CHARACTERS:]


def has_failed(response: object) -> bool | None:
    """Return whether a tool failed by its response, None if unknown."""
    payload = _mapping(response)
    codes = map(payload.get, ("exit_code", "return_code", "returncode", "code", "status_code"))
    if (code := next(filter(is_whole, codes), None)) is not None:
        return code != 0
    for field in ("is_error", "failed", "success"):
        if isinstance(payload.get(field), bool):
            return bool(payload[field] is (field != "success"))
    if isinstance(response, str):
        exit_code = _EXIT_CODE.search(response[:200])
        return exit_code[1] != "0" if exit_code else None
    return None
