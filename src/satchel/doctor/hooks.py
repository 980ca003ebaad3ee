"""Whether editor hooks broke lately: they end well whatever happens, so nobody else would tell."""

from __future__ import annotations

from satchel import hook_log
from satchel.config import Folders
from satchel.doctor.check import Check, ok, warn

LOOKED_AT = 100
"""The newest events: what broke before them is mended, or is not met any more."""


def hooks(homes: Folders) -> Check:
    """The events of the hook log that broke."""
    lately = hook_log.entries(homes.state, LOOKED_AT)
    broken = [entry for entry in lately if entry.get("outcome") == hook_log.FAILED]
    if not lately:
        return ok("hooks", "no host has told an event yet")
    if not broken:
        return ok("hooks", f"the last {len(lately)} events went well")
    last = broken[-1]
    message = f"{len(broken)} of the last {len(lately)} events broke, {last.get('event')} at {last.get('at')} with "
    return warn("hooks", f"{message}{last.get('reason')}", "see all of them: satchel hook log")
