"""The hosts that speak to us, and which of them did. Each has one file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from satchel.hooks import claude_code, codex, cursor
from satchel.hooks.events import Event, Happening

HOSTS: Mapping[str, ModuleType] = {module.HOST: module for module in (cursor, codex, claude_code)}
"""Host -> how it speaks; the last one is assumed where nothing tells them apart."""


def event_of(word: str) -> Event | None:
    """The event that a word on the command line means, also a host's own word; None for an unknown one."""
    try:
        return Event(word)
    except ValueError:
        return next((host.NAMES[word] for host in HOSTS.values() if word in host.NAMES), None)


def host_of(given: Mapping[str, Any]) -> ModuleType:
    """How the host that sent this speaks."""
    return next((host for host in (cursor, codex) if host.is_mine(given)), claude_code)


def read(given: Mapping[str, Any], event: Event) -> Happening:
    """What happened, in our words."""
    happening: Happening = host_of(given).read(given, event)
    return happening


def answer(happening: Happening, text: str, notice: str) -> dict[str, Any]:
    """What the host takes for this event: context for the model, a line for the person."""
    told: dict[str, Any] = HOSTS[happening.host].answer(happening, text, notice)
    return told
