"""Search results from anywhere as entities that can be trusted, and where each entity is in its file as it is now.

A result is a mapping or an object. Its entity is under `entity` (or is the result itself, or the chunk of one of our
own hits); a name may be written as here or in camel case; a location may be in the entity or in its metadata. A problem
with a result becomes a named note.

An entity is from an earlier state of its file. Its lines are used if they have its content or its name, unless the
definition of that name is only in part in them. Otherwise the content is searched, then the definition by its name. An
entity that is not in the file is shown by its given content, marked stale.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

from satchel.answer.source_lines import without_blank_ends
from satchel.safety.sanitize import clean_field, clean_text, redact
from satchel.types import Failure, Freshness, Outline, Part, Role, Signal
from satchel.vocabulary import is_number

SOURCE = "given results"
"""The source of notes about results."""

WHOLE_FILES = frozenset({"file", "module"})

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
}

_DEFINED = frozenset({Role.FUNCTION, Role.METHOD, Role.CLASS})
"""Roles of definitions, whose first and last line are known exactly."""

_VAGUE_ROLES = frozenset({"record", "text", "gap"})
"""Roles that say less than the kind of the chunk does."""


@dataclass(frozen=True, slots=True)
class Entity:
    """One entity, clean and redacted. `start` and `end` are 0 where they are missing; `score` is finite.

    `given_name` is the qualified name as it came. `sources` are the searches that returned it, `twins` the ids of the
    results that were the same entity. `fields` are those of the kind of a record, `signals` what is added to its score.
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
    given_name: str = ""
    sources: tuple[str, ...] = ()
    twins: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    signals: tuple[Signal, ...] = ()

    @property
    def label(self) -> str:
        """The name of the entity in notes."""
        return self.qualified_name or self.name or self.path or self.id


def read_results(results: Iterable[object], allow: Sequence[str] = ()) -> tuple[list[Entity], list[Failure]]:
    """Return distinct entities, best score first, and notes. `allow` are expressions of texts that are not secrets."""
    notes: list[Failure] = []
    distinct: dict[tuple[object, ...], Entity] = {}
    for number, result in enumerate(results, 1):
        entity = _Reader(result, number, allow, notes).entity()
        if entity is not None:
            key = _identity(entity)
            distinct[key] = _merged(distinct[key], entity) if key in distinct else entity
    return _with_distinct_ids(sorted(distinct.values(), key=lambda entity: -entity.score)), notes


def _identity(entity: Entity) -> tuple[object, ...]:
    """Return a key of equal entities: the same place and name in a file, else the same id or text."""
    if entity.path and (entity.start or entity.name):
        return ("place", entity.path, entity.start, entity.qualified_name or entity.name, entity.type)
    return ("id", entity.id) if entity.id else ("text", entity.name, entity.content)


def _merged(first: Entity, again: Entity) -> Entity:
    best, other = (first, again) if first.score >= again.score else (again, first)
    twins = tuple(twin for twin in dict.fromkeys((*best.twins, other.id, *other.twins)) if twin not in ("", best.id))
    return replace(best, sources=tuple(dict.fromkeys((*first.sources, *again.sources))), twins=twins)


def _with_distinct_ids(entities: Iterable[Entity]) -> list[Entity]:
    seen: dict[str, int] = {}
    rows = []
    for entity in entities:
        named = entity.qualified_name or entity.name
        place = f"{entity.path}::{named}" if entity.path else named
        identity = entity.id or f"{entity.type or 'entity'}:{place}"
        seen[identity] = seen.get(identity, 0) + 1
        rows.append(replace(entity, id=identity if seen[identity] == 1 else f"{identity}~{seen[identity]}"))
    return rows


class _Reader:
    """Reads one result. Unusable values become notes with the number of the result."""

    def __init__(self, result: object, number: int, allow: Sequence[str], notes: list[Failure]) -> None:
        entity = _get(result, "entity")
        self._is_hit = entity is None and _get(result, "chunk") is not None
        entity = _get(result, "chunk") if entity is None else entity
        self._result = result
        self._entity = result if entity is None else entity
        self._places = (self._entity, _get(self._entity, "location"), _get(self._entity, "metadata"))
        self._number, self._allow, self._notes = number, allow, notes

    def entity(self) -> Entity | None:
        """Return the entity of the result, None if it has nothing to show."""
        path, name = self._line("path", 1_000), self._line("name")
        qualified = self._line("qualified_name")
        content, summary = self._text("content"), self._text("summary")
        if not (path or content.strip() or summary.strip() or self._is_hit):
            self._note("it has neither a file nor content", "give file_path with start_line, or content")
            return None
        if self._is_hit and not path and not content:
            content = name  # a hit on a record has its title only
        own = qualified.rpartition("::")[2]
        return Entity(
            self._line("id", 400),
            name or own.rpartition(".")[2] or path.rpartition("/")[2],
            own,
            self._type(),
            content,
            summary,
            path,
            *self._lines(),
            self._score(),
            qualified,
            self._sources(),
        )

    def _sources(self) -> tuple[str, ...]:
        source = _get(self._result, "source")
        return (clean_field(source),) if isinstance(source, str) and source else ()

    def _lines(self) -> tuple[int, int]:
        start, end = self._number_of("start"), self._number_of("end")
        if end and end < start:
            self._note(f"it ends on line {end}, before line {start} where it starts; the end is ignored")
            return start, 0
        return start, end

    def _type(self) -> str:
        name = self._line("type").lower()
        return str(_get(self._entity, "kind")) if self._is_hit and name in _VAGUE_ROLES else name

    def _value(self, field: str) -> Any:
        values = (_get(place, name) for place in self._places for name in _NAMES[field])
        return next((value for value in values if value is not None), None)

    def _line(self, field: str, limit: int = 200) -> str:
        value = self._value(field)
        if value is None or not isinstance(value, str | int | float):
            return ""
        return redact(clean_field(str(value), limit), self._allow)[0].strip()

    def _text(self, field: str) -> str:
        value = self._value(field)
        return redact(clean_text(value)[0], self._allow)[0] if isinstance(value, str) else ""

    def _number_of(self, field: str) -> int:
        """Return a line number, 0 if it is missing or impossible."""
        value = self._value(field)
        if value is None:
            return 0
        number = int(value) if isinstance(value, str) and value.strip().isdecimal() else value
        if not is_number(number) or number != int(number) or number < 1:
            self._note(f"its {field} line is {clean_field(repr(value), 40)}, lines count from 1; it is ignored")
            return 0
        return int(number)

    def _score(self) -> float:
        # The score of a hit of ours ranks within its kind only; its relevance is absolute.
        names = ("relevance", "score") if self._is_hit else ("score", "relevance")
        value = next((score for score in (_get(self._result, name) for name in names) if score is not None), None)
        if value is not None and not is_number(value):
            self._note(f"its score is {clean_field(repr(value), 40)}, not a finite number; it ranks as 0")
            return 0.0
        return 0.0 if value is None else float(value)

    def _note(self, message: str, hint: str = "") -> None:
        self._notes.append(Failure(SOURCE, f"result {self._number}: {message}", hint))


def _get(thing: object, name: str) -> Any:
    """Return a value of a mapping or an attribute of an object, None if missing."""
    if type(thing) is dict:  # the usual case, and a far cheaper check than for a mapping
        return thing.get(name)
    if thing is None or isinstance(thing, str | int | float):
        return None
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def value_of(result: object, *names: str) -> Any:
    """Return the value of the first of these names that a result has, itself or in its `metadata`."""
    values = (_get(place, name) for name in names for place in (result, _get(result, "metadata")))
    return next((value for value in values if value is not None), None)


class EntityPlace(NamedTuple):
    """Present lines (from 1) of an entity in its file, and its definition, if it is one."""

    start: int
    end: int
    freshness: Freshness | None = None
    part: Part | None = None


def relative_path(path: str, root: Path) -> str:
    """Return a path below the root, with forward slashes. A path outside is unchanged and will be refused."""
    if path.startswith("/"):
        for base in (str(root), str(root.resolve())):
            if path.startswith(f"{base}/"):
                return posixpath.normpath(path[len(base) + 1 :])
        return path
    return posixpath.normpath(path)


def locate(entity: Entity, lines: Sequence[str], outline: Outline) -> EntityPlace | str:
    """Return the place of the entity in the file, or the reason why it is unknown."""
    last = len(lines) - (tuple(lines[-1:]) == ("",))
    named = _named(entity, outline.parts)
    starts = _content_starts(entity, lines)
    moved = _moved(entity, starts, named, lines, outline.parts)
    if not entity.start:
        return _place_without_lines(entity, moved, last)
    if entity.start > last:
        return moved or f"has only {last} lines, not the line {entity.start} of {entity.label}"
    end = min(_end(entity, outline.parts), last)
    as_given = EntityPlace(entity.start, end, None, _at(entity.start, outline.parts))
    if entity.start in starts:
        return as_given
    if starts or "\n" in entity.content.strip():
        return moved or f"no longer has {entity.label}"
    if named is None or moved is None:
        return as_given
    return _place_by_name(entity, as_given, named, moved, lines)


def _place_without_lines(entity: Entity, moved: EntityPlace | None, last: int) -> EntityPlace | str:
    if entity.type in WHOLE_FILES:
        return EntityPlace(1, max(last, 1))
    return "has no such definition, and no lines were given" if moved is None else moved._replace(freshness=None)


def _place_by_name(
    entity: Entity, as_given: EntityPlace, named: Part, moved: EntityPlace, lines: Sequence[str]
) -> EntityPlace:
    """Return the place where only the name can be checked: a content of one line may be a description."""
    if named.role in _DEFINED and _crosses(moved, as_given.start, as_given.end):
        return moved
    if named.start <= as_given.end and as_given.start <= named.end:
        return as_given._replace(part=named)
    simple = entity.name.rpartition(".")[2]
    return as_given if any(simple in line for line in lines[as_given.start - 1 : as_given.end]) else moved


def _crosses(place: EntityPlace, start: int, end: int) -> bool:
    """Whether the place begins before these lines and ends in them, or begins in them and ends after them."""
    return place.start < start <= place.end < end or start < place.start <= end < place.end


def _last_line(named: Part, parts: Sequence[Part]) -> int:
    """Return the last line of a definition: the part of a class is its head, and its members are parts behind it."""
    behind = takewhile(
        lambda part: not part.name or part.name.startswith(f"{named.name}."), parts[parts.index(named) + 1 :]
    )
    return max((part.end for part in behind if part.name and named.role is Role.CLASS), default=named.end)


def _moved(
    entity: Entity, starts: Sequence[int], named: Part | None, lines: Sequence[str], parts: Sequence[Part]
) -> EntityPlace | None:
    """Return the place of the content, or of the definition of that name."""
    if starts:
        return EntityPlace(starts[0], starts[0] + entity.content.strip("\n").count("\n"), Freshness.MOVED, named)
    if named is None:
        return None
    freshness = Freshness.CHANGED if "\n" in entity.content.strip() else Freshness.MOVED
    return EntityPlace(*without_blank_ends(lines, named.start, _last_line(named, parts)), freshness, named)


def _content_starts(entity: Entity, lines: Sequence[str]) -> list[int]:
    """Return the lines where the content begins in the file, ignoring blanks at both ends of lines."""
    expected = [line.strip() for line in entity.content.strip("\n").split("\n")]
    # Fewest characters of a text of one line that is searched elsewhere in the file: `}` is everywhere.
    if len(expected) < 2 and len(expected[0]) < 30:
        return []
    stripped = [line.strip() for line in lines]
    return [
        number
        for number, line in enumerate(stripped, 1)
        if line == expected[0] and stripped[number - 1 : number - 1 + len(expected)] == expected
    ]


def _named(entity: Entity, parts: Sequence[Part]) -> Part | None:
    """Return the definition of that name, the nearest of several."""
    full = (entity.qualified_name or entity.name).replace("::", ".").replace("#", ".")
    simple = full.rpartition(".")[2]
    exact = [part for part in parts if part.name and part.name == full]
    alike = exact or [part for part in parts if simple and part.name.rpartition(".")[2] == simple]
    return min(alike, key=lambda part: abs(part.start - entity.start), default=None)


def _end(entity: Entity, parts: Sequence[Part]) -> int:
    start = entity.start
    ends = (part.end for part in parts if part.start <= start <= part.end and part.name)
    # Lines of an entity without an end that is not a definition, from the specification.
    return entity.end or next(ends, start + 50)


def _at(start: int, parts: Sequence[Part]) -> Part | None:
    """Return the first definition around this line."""
    return next((part for part in parts if part.name and part.start <= start <= part.end), None)
