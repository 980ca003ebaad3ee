"""What shown things have to do with each other, told instead of left out.

A commit that touched a shown file and a value that rests on a shown experience stay, with a link to it. Code that
stands word for word in several files is shown once, and the other places are told: whoever changes one of seven equal
functions has to change seven. So are the records that say what a shown one says.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from satchel.assemble.candidates import Candidate
from satchel.types import ContextItem, Kind, Role

_DECLARED = frozenset({Role.FUNCTION, Role.METHOD, Role.CLASS})


def linked(items: Sequence[ContextItem]) -> tuple[ContextItem, ...]:
    """The items, with `touches` (the shown paths) in the metadata of commits, `rests_on` (ids) in that of values."""
    paths = {item.location.path for item in items if item.location is not None}
    experiences = {own_id(item.id) for item in items if item.source == Kind.EXPERIENCE}
    return tuple(_linked(item, paths, experiences) for item in items)


def _linked(item: ContextItem, paths: set[str], experiences: set[str]) -> ContextItem:
    if item.source == Kind.COMMIT:
        name, targets = "touches", [path for path in item.metadata.get("files_changed", ()) if path in paths]
    elif item.source == Kind.VALUE:
        name, targets = "rests_on", [one for one in item.metadata.get("member_ids", ()) if one in experiences]
    else:
        return item
    return replace(item, metadata={**item.metadata, name: targets}) if targets else item


def also_at(candidates: Iterable[Candidate]) -> list[dict[str, Any]]:
    """The other places of code that is shown: whole definitions of several lines.

    An equal import line says nothing, and neither does `ordinal: n => n`. `of_line` is the first line, in the shown
    file, of what stands there as well.
    """
    places: dict[str, dict[str, Any]] = {}
    for candidate in candidates:
        own = candidate.document.location
        for twin in candidate.twins:
            location = twin.document.location
            if own is not None and location is not None and location.path != own.path and _is_worth_telling(twin):
                places[twin.document.id] = {
                    "id": twin.document.id,
                    "path": location.path,
                    "start_line": location.start_line,
                    "end_line": location.end_line,
                    "of_line": own.start_line,
                }
    return list(places.values())


def merged_with(candidate: Candidate) -> list[dict[str, str]]:
    """The records that a shown record stands for, because their bodies are equal."""
    records = [twin.document for twin in candidate.twins if twin.document.location is None]
    return [{"source": one.kind.value, "id": own_id(one.id)} for one in records if one.id != candidate.document.id]


def own_id(identity: str) -> str:
    """The id of a record without its kind and without the side of it that was found."""
    return identity.partition("::")[0].partition(":")[2]


def _is_worth_telling(twin: Candidate) -> bool:
    location = twin.document.location
    return twin.document.role in _DECLARED and location is not None and location.end_line > location.start_line
