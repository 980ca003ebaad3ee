"""Claude Code: `settings.json` with `hooks`, and every host that took over its names.

Written against the hook reference and change log as of November 2026. Fields that were renamed on the way
(`user_prompt`, `tool_result`) are read under both names. Context is taken at the events of `INJECTING` only: others
refuse an answer with `hookSpecificOutput`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

HOST = "claude-code"

NAMES: Mapping[str, Event] = {
    "SessionStart": Event.SESSION_START,
    "UserPromptSubmit": Event.PROMPT,
    "PostToolUse": Event.AFTER_TOOL,
    "PostToolUseFailure": Event.AFTER_TOOL,
    "PreCompact": Event.BEFORE_COMPACTION,
    "SessionEnd": Event.SESSION_END,
}
"""The host's word for each event; the first one is assumed where the host does not say."""

INJECTING = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure"})


def read(given: Mapping[str, Any], event: Event) -> Happening:
    """The event in our words. `given` is what came on standard input, an empty mapping if nothing usable did."""
    sent = snake(given)
    name = first_text(sent, "hook_event_name", "event") or next(key for key, value in NAMES.items() if value == event)
    called = mapping(sent.get("tool_input"))
    response = next((sent[key] for key in ("tool_response", "tool_result", "tool_output") if sent.get(key)), None)
    error = first_text(sent, "error", "error_message")
    failed = True if name.endswith("Failure") or error else has_failed(response)
    return Happening(
        event=event,
        host=HOST,
        name=name,
        session=session_of(sent, "session_id", "id"),
        folder=first_text(sent, "cwd", "workspace", "project_dir"),
        transcript=first_text(sent, "transcript_path"),
        prompt=first_text(sent, "prompt", "user_prompt", "user_message"),
        start=first_text(sent, "source", "reason"),
        tool=first_text(sent, "tool_name", "tool"),
        command=first_text(called, "command", "cmd"),
        files=first_path(called, "file_path", "notebook_path", "path"),
        output="\n".join(filter(None, (error, output_of(response)))),
        failed=failed,
        injects=name in INJECTING,
    )


def answer(happening: Happening, text: str, notice: str) -> dict[str, Any]:
    """What the host takes: context for the model, and a line for the person; empty for neither."""
    told: dict[str, Any] = {"systemMessage": notice} if notice else {}
    if text:
        told["hookSpecificOutput"] = {"hookEventName": happening.name, "additionalContext": text}
    return told
