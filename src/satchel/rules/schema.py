"""What a context file may say: the fields that are known, and what is wrong with a value.

Keys and types that are not known are kept as they are. A known field with an impossible value is named with its line
and left out; the rest of the file counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from satchel.clean import clean_field
from satchel.rules.yaml_text import Place

INTENT_TYPES = ("personal_experience", "business_growth", "organizational_coordination", "civilizational_impact")
STATUSES = ("active", "inactive", "archived", "planning")

_REQUIRED = {
    "workspace": ("physical_path",),
    "workflow": ("workflow_steps",),
    "file": ("file_path",),
    "folder": ("folder_path",),
}
"""Fields that the configuration of a known type needs."""

_Check = Callable[[Any], str]


def _text(value: Any) -> str:
    return "" if isinstance(value, str) else "give a text"


def _share(value: Any) -> str:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return "" if is_number and 0 <= value <= 1 else "give a number from 0 to 1"


def _texts(value: Any) -> str:
    is_list = isinstance(value, list) and all(isinstance(entry, str) for entry in value)
    return "" if is_list else "give a list of texts"


def _text_or_texts(value: Any) -> str:
    return "" if isinstance(value, str) or not _texts(value) else "give a path, or a list of paths"


def _one_of(*choices: str) -> _Check:
    return lambda value: "" if value in choices else f"choose from {', '.join(choices)}"


def _mapping(value: Any) -> str:
    return "" if isinstance(value, Mapping) else "give names with values"


def _list(value: Any) -> str:
    return "" if isinstance(value, list) else "give a list"


_FIELDS: Mapping[Place, _Check] = {
    ("metadata",): _mapping,
    ("metadata", "id"): _text,
    ("metadata", "type"): _text,
    ("metadata", "name"): _text,
    ("metadata", "created"): _text,
    ("metadata", "updated"): _text,
    ("metadata", "description"): _text,
    ("intent_context",): _mapping,
    ("intent_context", "intent_type"): _one_of(*INTENT_TYPES),
    ("intent_context", "business_goal"): _text,
    ("intent_context", "extends"): _text_or_texts,
    ("intent_context", "context_adaptations"): _text,
    ("relationships",): _mapping,
    ("relationships", "depends_on"): _texts,
    ("relationships", "blocks"): _texts,
    ("relationships", "children"): _texts,
    ("relationships", "shares_with"): _texts,
    ("behavior_rules",): _list,
    ("injection_rules",): _list,
    ("status",): _mapping,
    ("status", "current"): _one_of(*STATUSES),
    ("status", "progress"): _share,
    ("status", "confidence"): _share,
}
"""Where a known field stands, and what is wrong with a value there (nothing where it is fine)."""


def problems(data: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """Every known field with an impossible value: where it stands, and what to write there instead."""
    for place, check in _FIELDS.items():
        held: Any = data
        for key in place[:-1]:
            held = held.get(key) if isinstance(held, Mapping) else None
        if not isinstance(held, Mapping) or held.get(place[-1]) is None:
            continue
        problem = check(held[place[-1]])
        if problem:
            name = ".".join(map(str, place))
            yield place, f"{name} is {clean_field(repr(held[place[-1]]), 60)}: {problem}"
    yield from _missing(data)


def _missing(data: Mapping[str, Any]) -> Iterator[tuple[Place, str]]:
    """What the configuration of a known type lacks; nothing is left out for that."""
    grouped = data.get("polymorphic_config")
    for kind, names in _REQUIRED.items():
        key = f"{kind}_config"
        within: Place = () if key in data else ("polymorphic_config",)
        config = data.get(key, grouped.get(key) if isinstance(grouped, Mapping) else None)
        if not isinstance(config, Mapping):
            continue
        for name in names:
            if config.get(name) is None:
                yield (*within, key, name), f"{key}.{name} is missing: a {kind} needs it"


def without(data: Mapping[str, Any], place: Place) -> dict[str, Any]:
    """The mapping without the value at a place."""
    key, *rest = place
    kept = dict(data)
    if not rest:
        kept.pop(str(key), None)
    elif isinstance(kept.get(str(key)), Mapping):
        kept[str(key)] = without(kept[str(key)], tuple(rest))
    return kept
