"""Codex: `.codex/hooks.json`, in the shape of Claude Code's hooks.

Written against the schemas that Codex publishes with its hooks, as of November 2026. They admit no other fields in an
answer than those used here. A patch is one tool call that names its files in its text, a failed command is told in the
text of its output, and every event of a turn has a `turn_id`, by which Codex is known.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from satchel.hooks import claude_code
from satchel.hooks.events import MOST_FILES, Event, Happening, first_text, mapping, snake

HOST = "codex"

NAMES: Mapping[str, Event] = {name: event for name, event in claude_code.NAMES.items() if not name.endswith("Failure")}

INJECTING = frozenset({"SessionStart", "UserPromptSubmit", "PostToolUse"})

_PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$|^\*\*\* Move to: (.+)$", re.MULTILINE)


def is_mine(given: Mapping[str, Any]) -> bool:
    """Whether Codex sent this: by the turn, or by a transcript among its own."""
    sent = snake(given)
    path = sent.get("transcript_path")
    return "turn_id" in sent or (isinstance(path, str) and "/.codex/" in path.replace("\\", "/"))


def read(given: Mapping[str, Any], event: Event) -> Happening:
    """The event in our words."""
    happening = claude_code.read(given, event)
    command = happening.command
    if not command:
        words = mapping(snake(given).get("tool_input")).get("command")
        command = " ".join(word for word in words if isinstance(word, str)) if isinstance(words, list) else ""
    files = happening.files
    if not files and "*** Begin Patch" in (patch := command or first_text(snake(given), "tool_input")):
        files = tuple((added or moved).strip() for added, moved in _PATCHED.findall(patch))[:MOST_FILES]
        command = ""
    return replace(happening, host=HOST, command=command, files=files, injects=happening.name in INJECTING)


answer = claude_code.answer
