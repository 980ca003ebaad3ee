"""What a source of notes gives for one note, before it is cleaned and stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from satchel.types import EdgeType

SUFFIXES = (".md", ".markdown")
"""Files of a vault with one of these endings are notes."""


def is_note(path: str) -> bool:
    """Whether a file of a vault is a note."""
    return path.lower().endswith(SUFFIXES)


Link = tuple[EdgeType, str]
"""A relation: its type, and the key of a note, or the name that the text used where there is no such note."""


@dataclass(frozen=True, slots=True)
class Note:
    """One note of an export. `key` is its natural key, as it is used by links.

    `tags` are all, `inherited` those of them that come from a tag that another one extends. `fields` holds lists of
    values by name: a text, or `{"name": ..., "id": ...}` for a note. `type` says what it is besides a note,
    empty for an ordinary one. Times are in seconds (UTC), 0 where unknown.
    """

    key: str
    title: str
    body: str
    tags: tuple[str, ...] = ()
    inherited: tuple[str, ...] = ()
    fields: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    links: tuple[Link, ...] = ()
    type: str = ""
    created: float = 0.0
    updated: float = 0.0


def value_text(value: Any) -> str:
    """A value of a field as text: of a reference its name."""
    return str(value.get("name") or value.get("id") or "") if isinstance(value, Mapping) else str(value)


def field_lines(fields: Mapping[str, Sequence[Any]]) -> list[str]:
    """`Status: done` and the like, one line a field."""
    return [f"{name}: {', '.join(map(value_text, values))}" for name, values in fields.items()]
