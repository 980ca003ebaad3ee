"""The events that hosts send, as files: `events/HOST/NAME.json`, in the shapes of November 2026."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "events"

RECORDED = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.json"))
"""`claude-code/prompt`, `cursor/after-edit` and so on."""


def recorded(name: str, **changed: Any) -> dict[str, Any]:
    """An event as its host sent it, with these fields in place of its own; None takes a field away."""
    sent: dict[str, Any] = json.loads((FOLDER / f"{name}.json").read_text(encoding="utf-8")) | changed
    return {key: value for key, value in sent.items() if value is not None}


def event_word(name: str) -> str:
    """The event that `satchel hook` is started with for a recorded one."""
    stem = name.partition("/")[2]
    stored = ("session-start", "subagent-start", "session-end", "prompt", "before-compaction", "before-tool")
    return next((word for word in stored if stem.startswith(word)), "after-tool")
