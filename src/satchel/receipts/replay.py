"""Ask a saved question again, and name the differences between the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Any

from satchel import __version__
from satchel.assemble.request import AssembleRequest, request_from
from satchel.errors import UsageError
from satchel.safety.sanitize import clean_field
from satchel.settings import Settings
from satchel.types import Context

SHAPING_SETTINGS = ("index_", "redact_")
"""Prefixes of settings that shape answers and are not in a request: the index, and patterns of secrets."""

HARMLESS_SETTINGS = frozenset({"index_workers", "index_lock_wait_s"})
"""Settings of the index that change its speed but not its content."""

CHANGES_NAMED = 10


def settings_mark(settings: Settings) -> dict[str, str]:
    """Return a short hash of each setting that shapes answers and differs from its default, by name.

    Hashes are enough to name a difference, and do not show patterns of allowed secrets to readers of the answer.
    """
    plain = Settings()
    marks = {}
    for field in fields(settings):
        value = getattr(settings, field.name)
        shapes = field.name.startswith(SHAPING_SETTINGS) and field.name not in HARMLESS_SETTINGS
        if shapes and value != getattr(plain, field.name):
            marks[field.name.replace("_", ".", 1)] = blake2b(repr(value).encode(), digest_size=4).hexdigest()
    return marks


@dataclass(frozen=True, slots=True)
class Replay:
    """A saved question asked again. `differences` is empty where the answer is the same byte for byte."""

    request: AssembleRequest
    context: Context
    differences: tuple[str, ...]


def saved_request(saved: Mapping[str, Any]) -> AssembleRequest:
    """Return the request of a saved envelope. Raises UsageError for anything else."""
    meta = saved.get("meta")
    data = meta.get("request") if isinstance(meta, Mapping) else None
    if not isinstance(data, Mapping) or not isinstance(saved.get("text"), str) or "items" not in saved:
        raise UsageError("this is no saved context: save one with `satchel context QUESTION --json > FILE`")
    if "lens" in data:
        raise UsageError("this is a saved graph context: it is not replayed, ask again with `satchel graph`")
    request = request_from(data)
    return replace(request, ledger=str(saved["meta"].get("ledger", ""))) if request.session else request


def is_of_the_tree(saved: Mapping[str, Any]) -> bool:
    """Return whether a saved answer looked at the tree first; briefs and premortems only look at the memory."""
    from satchel.assemble.plans import BRIEF, PREMORTEM

    meta = saved.get("meta")
    request = meta.get("request") if isinstance(meta, Mapping) else None
    return not isinstance(request, Mapping) or request.get("plan") not in {PREMORTEM, BRIEF}


def differences(saved: Mapping[str, Any], context: Context) -> tuple[str, ...]:
    """Return the differences, one line each: first those of the inputs, then those of the answer itself."""
    meta = saved["meta"]
    lines = [
        _moved("version of satchel", meta.get("version"), __version__),
        _moved("store revision", meta.get("revision"), context.meta.get("revision")),
        _moved("ledger of the session", meta.get("ledger"), context.meta.get("ledger")),
        *_settings(meta.get("settings") or {}, context.meta.get("settings") or {}),
        *_items(saved["items"], context),
        _failures(saved.get("failures") or [], context),
    ]
    if saved["text"] != context.text and not any(lines):
        lines.append("text: other bytes from the same items")
    return tuple(line for line in lines if line)


def _moved(what: str, before: object, now: object) -> str:
    return "" if before == now else f"{what}: {clean_field(str(before))} then, {now} now"


def _settings(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    return [f"setting {clean_field(name)}: has another value now" for name in changed]


def _items(saved: Sequence[Mapping[str, Any]], context: Context) -> list[str]:
    before = {str(item.get("id")): item for item in saved}
    now = {item.id: item for item in context.items}
    gone = [f"not shown any more: {clean_field(identity)}" for identity in before if identity not in now]
    fresh = [f"shown now: {clean_field(identity)}" for identity in now if identity not in before]
    both = [identity for identity in before if identity in now]
    changed = [
        f"changed: {clean_field(identity)}"
        for identity in both
        if (before[identity].get("content"), before[identity].get("handle"))
        != (now[identity].content, now[identity].handle)
    ]
    order = [] if gone or fresh or list(before) == list(now) else ["the same items stand in another order"]
    lines = [*changed, *gone, *fresh, *order]
    more = len(lines) - CHANGES_NAMED
    return [*lines[:CHANGES_NAMED], f"and {more} more items"] if more > 0 else lines


def _failures(saved: Sequence[Mapping[str, Any]], context: Context) -> str:
    before = [(row.get("source"), row.get("message")) for row in saved]
    now = [(failure.source, failure.message) for failure in context.failures]
    return "" if before == now else f"notes: {len(before)} then, {len(now)} now"
