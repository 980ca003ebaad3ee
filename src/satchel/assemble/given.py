"""Search results from anywhere, as values that can be trusted: what is wrong with one becomes a named note.

A result is a mapping or an object. Its entity stands under `entity` (or is the result itself, or the document of one of
our own hits); a name may be written as here or in camel case; a location may stand in the entity or in its metadata.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from satchel.clean import clean_field, clean_text
from satchel.redact import redact
from satchel.types import Failure

GIVEN = "given results"
"""The source that notes about them name."""

_NAMES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "entity_id", "entityId"),
    "name": ("name", "title"),
    "qualified_name": ("qualified_name", "qualifiedName"),
    "type": ("type", "role", "kind"),
    "content": ("content", "body"),
    "summary": ("summary",),
    "path": ("file_path", "filePath", "path", "file"),
    "start": ("start_line", "startLine", "line"),
    "end": ("end_line", "endLine"),
    "signature": ("signature",),
}

_VAGUE_ROLES = frozenset({"record", "text", "gap"})
"""Roles that say less than the kind of the document does."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity, clean and redacted. `start` and `end` are 0 where they are not given; `score` is finite.

    `sources` are the searches that found it, `twins` the ids of the results that were the same entity. `fields` is
    what the kind of a record defines.
    """

    id: str
    name: str
    qualified_name: str
    type: str
    content: str
    summary: str
    path: str
    start: int
    end: int
    score: float
    sources: tuple[str, ...] = ()
    twins: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """How a note names it."""
        return self.qualified_name or self.name or self.path or self.id


@dataclass(frozen=True, slots=True)
class Given:
    """The distinct entities, best first (ties as given), how many results there were, and what was wrong with them."""

    entities: tuple[Entity, ...]
    results: int
    notes: tuple[Failure, ...]


def read_results(results: Iterable[object], allow: Sequence[str] = ()) -> Given:
    """Results as entities, each entity once with its best score. `allow` are secrets that are none."""
    notes: list[Failure] = []
    found: dict[tuple[object, ...], Entity] = {}
    count = 0
    for number, result in enumerate(results, 1):
        count += 1
        reader = _Reader(result, number, allow, notes)
        entity = reader.entity()
        if entity is None:
            continue
        key = _identity(entity)
        known = found.get(key)
        found[key] = entity if known is None else _merged(known, entity)
    ordered = sorted(found.values(), key=lambda entity: -entity.score)
    return Given(tuple(_told_apart(ordered)), count, tuple(notes))


def _identity(entity: Entity) -> tuple[object, ...]:
    """Equal for results that mean one entity: the same place and name in a file, else the same id or text."""
    if entity.path and (entity.start or entity.name):
        return ("place", entity.path, entity.start, entity.qualified_name or entity.name, entity.type)
    return ("id", entity.id) if entity.id else ("text", entity.name, entity.content)


def _merged(known: Entity, again: Entity) -> Entity:
    best, other = (known, again) if known.score >= again.score else (again, known)
    twins = tuple(twin for twin in dict.fromkeys((*best.twins, other.id, *other.twins)) if twin not in ("", best.id))
    return replace(best, sources=tuple(dict.fromkeys((*known.sources, *again.sources))), twins=twins)


def _told_apart(entities: Iterable[Entity]) -> Iterable[Entity]:
    """The entities with ids that differ: an item is known by its id."""
    seen: dict[str, int] = {}
    for entity in entities:
        named = entity.qualified_name or entity.name
        place = f"{entity.path}::{named}" if entity.path else named
        identity = entity.id or f"{entity.type or 'entity'}:{place}"
        seen[identity] = seen.get(identity, 0) + 1
        yield replace(entity, id=identity if seen[identity] == 1 else f"{identity}~{seen[identity]}")


class _Reader:
    """Reads one result. What it cannot use it notes, under the number of the result."""

    def __init__(self, result: object, number: int, allow: Sequence[str], notes: list[Failure]) -> None:
        entity = _get(result, "entity")
        self._is_hit = entity is None and _get(result, "document") is not None
        entity = _get(result, "document") if entity is None else entity
        self._result = result
        self._entity = result if entity is None else entity
        self._places = (self._entity, _get(self._entity, "location"), _get(self._entity, "metadata"))
        self._number, self._allow, self._notes = number, allow, notes

    def entity(self) -> Entity | None:
        """The entity of the result, None where there is nothing in it to show."""
        path, name = self._line("path", 1_000), self._line("name")
        qualified = self._line("qualified_name")
        content, summary = self._text("content"), self._text("summary")
        if not (path or content.strip() or summary.strip() or self._is_hit):
            self._note("it has neither a file nor content", "give file_path with start_line, or content")
            return None
        if self._is_hit and not path and not content:
            content = name  # a hit on a record holds its title; whoever wants the body opens it
        start, end = self._whole("start"), self._whole("end")
        if end and end < start:
            self._note(f"it ends on line {end}, before line {start} where it starts; the end is ignored")
            end = 0
        source = _get(self._result, "source")
        return Entity(
            self._line("id", 400),
            name or qualified.rpartition("::")[2].rpartition(".")[2] or path.rpartition("/")[2],
            qualified.rpartition("::")[2],
            self._type(),
            content,
            summary,
            path,
            start,
            end,
            self._score(),
            (clean_field(source),) if isinstance(source, str) and source else (),
        )

    def _type(self) -> str:
        found = self._line("type").lower()
        return str(_get(self._entity, "kind")) if self._is_hit and found in _VAGUE_ROLES else found

    def _find(self, field: str) -> Any:
        for place in self._places:
            for name in _NAMES[field]:
                value = _get(place, name)
                if value is not None:
                    return value
        return None

    def _line(self, field: str, limit: int = 200) -> str:
        value = self._find(field)
        if value is None or not isinstance(value, str | int | float):
            return ""
        return redact(clean_field(str(value), limit), self._allow)[0].strip()

    def _text(self, field: str) -> str:
        value = self._find(field)
        return redact(clean_text(value)[0], self._allow)[0] if isinstance(value, str) else ""

    def _whole(self, field: str) -> int:
        value = self._find(field)
        if value is None:
            return 0
        number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
        is_whole = not isinstance(number, bool) and isinstance(number, int | float) and math.isfinite(number)
        if not is_whole or number != int(number) or number < 1:
            self._note(f"its {field} line is {clean_field(repr(value), 40)}, lines count from 1; it is ignored")
            return 0
        return int(number)

    def _score(self) -> float:
        # The score of a hit of ours ranks within its kind only; its relevance is absolute.
        names = ("relevance", "score") if self._is_hit else ("score", "relevance")
        value = next((found for found in (_get(self._result, name) for name in names) if found is not None), None)
        if value is None:
            return 0.0
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            self._note(f"its score is {clean_field(repr(value), 40)}, not a finite number; it ranks as 0")
            return 0.0
        return float(value)

    def _note(self, message: str, hint: str = "") -> None:
        self._notes.append(Failure(GIVEN, f"result {self._number}: {message}", hint))


def _get(thing: object, name: str) -> Any:
    """A value of a mapping or an attribute of an object, None where there is none."""
    if type(thing) is dict:  # the usual case, and far cheaper to tell than a mapping
        return thing.get(name)
    if thing is None or isinstance(thing, str | int | float):
        return None
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def value_of(result: object, *names: str) -> Any:
    """What a result says under the first of these names that it has, itself or in its `metadata`."""
    for name in names:
        for place in (result, _get(result, "metadata")):
            value = _get(place, name)
            if value is not None:
                return value
    return None
