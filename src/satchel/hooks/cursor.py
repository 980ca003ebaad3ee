"""Cursor: `.cursor/hooks.json` with `"version": 1`.

Written against Cursor's hook reference as of November 2026, which moves fast. Events have names of their own, a session
is a `conversation_id`, the folder is the first of `workspace_roots`, and shell commands and edits come without a tool.
A prompt can only be let through or stopped, so nothing is injected there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from satchel.hooks import claude_code
from satchel.hooks.events import (
    Event,
    Happening,
    first_path,
    first_text,
    has_failed,
    mapping,
    output_of,
    session_of,
    snake,
)

HOST = "cursor"

NAMES: Mapping[str, Event] = {
    "sessionStart": Event.SESSION_START,
    "beforeSubmitPrompt": Event.PROMPT,
    "postToolUse": Event.AFTER_TOOL,
    "postToolUseFailure": Event.AFTER_TOOL,
    "afterShellExecution": Event.AFTER_TOOL,
    "afterFileEdit": Event.AFTER_TOOL,
    "preCompact": Event.BEFORE_COMPACTION,
    "sessionEnd": Event.SESSION_END,
}

INJECTING = frozenset({"sessionStart", "postToolUse"})


def is_mine(given: Mapping[str, Any]) -> bool:
    """Whether Cursor sent this. It also runs hooks of Claude Code, in their words: those are answered as such."""
    sent = snake(given)
    if first_text(sent, "hook_event_name") in claude_code.NAMES:
        return False
    return any(name in sent for name in ("conversation_id", "workspace_roots", "cursor_version"))


def read(given: Mapping[str, Any], event: Event) -> Happening:
    """The event in our words."""
    sent = snake(given)
    name = first_text(sent, "hook_event_name") or next(key for key, value in NAMES.items() if value == event)
    called = mapping(sent.get("tool_input"))
    response = next((sent[key] for key in ("tool_output", "result_json", "output") if sent.get(key)), None)
    error = first_text(sent, "error_message", "error")
    roots = sent.get("workspace_roots")
    attached = sent.get("attachments")
    return Happening(
        event=event,
        host=HOST,
        name=name,
        session=session_of(sent, "conversation_id", "session_id"),
        folder=first_text(sent, "cwd") or next(iter(_texts(roots)), ""),
        transcript=first_text(sent, "transcript_path"),
        prompt=first_text(sent, "prompt"),
        attached=tuple(path for row in _rows(attached) for path in first_path(snake(row), "file_path", "path")),
        start=first_text(sent, "source", "reason"),
        tool=first_text(sent, "tool_name") or {"afterShellExecution": "Shell", "afterFileEdit": "Edit"}.get(name, ""),
        command=first_text(sent, "command") or first_text(called, "command"),
        files=first_path(sent, "file_path") or first_path(called, "file_path", "path"),
        output="\n".join(filter(None, (error, output_of(response)))),
        failed=True if name.endswith("Failure") or error else _failed(sent, response),
        injects=name in INJECTING,
    )


def answer(happening: Happening, text: str, notice: str) -> dict[str, Any]:  # noqa: ARG001 - as the other hosts have it
    """What the host takes: context for the model. It has no line for the person at these events."""
    return {"additional_context": text} if text else {}


def _failed(sent: Mapping[str, Any], response: object) -> bool | None:
    """By the exit code beside the output, else by what the response says."""
    return has_failed(sent) if "exit_code" in sent else has_failed(response)


def _texts(value: object) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []


def _rows(value: object) -> list[Mapping[str, Any]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []
