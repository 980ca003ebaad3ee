"""A conversation is about to be shortened, or over: what was said is kept."""

from __future__ import annotations

from pathlib import Path

from satchel import hook_log
from satchel.hooks import background, claude_code
from satchel.hooks.desk import Answer, Desk, nothing

DUPLICATE_SECONDS = 10.0

NEVER, COMPACTION, ALWAYS = "never", "compaction", "always"
"""When a conversation is remembered: not at all, when the host shortens it, or when its session ends too."""

CAPTURES = (NEVER, COMPACTION, ALWAYS)


def before(desk: Desk) -> Answer:
    """Keep the conversation. What was asked and changed lately is kept with every event, and shown after it."""
    if not desk.claim("save", DUPLICATE_SECONDS):
        return nothing("the conversation was saved a moment ago")
    return _captured(desk, is_wanted=desk.settings.hooks_capture != NEVER)


def end(desk: Desk) -> Answer:
    """Keep the conversation where that is wanted at the end of every session."""
    if not desk.claim("end", DUPLICATE_SECONDS):
        return nothing("the end of the session was told a moment ago")
    return _captured(desk, is_wanted=desk.settings.hooks_capture == ALWAYS)


def _captured(desk: Desk, *, is_wanted: bool) -> Answer:
    """Have the transcript remembered by another process: it may have megabytes, and is redacted line by line."""
    if not is_wanted:
        return nothing(f"hooks.capture is {desk.settings.hooks_capture}")
    happening = desk.happening
    if happening.host != claude_code.HOST or not happening.transcript:
        return Answer(hook_log.SAVED, "what was asked and changed; the host names no transcript that can be read")
    path = Path(happening.transcript).expanduser()
    if not path.is_file():
        return nothing("the transcript is not there")
    background.capture(desk.places.root, str(path.absolute()), desk.state)
    return Answer(hook_log.SAVED, "the conversation")
