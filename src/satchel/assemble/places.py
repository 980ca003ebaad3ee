"""Where a given entity really stands in its file as the file is now.

Whoever gave the entity looked at some earlier state of the file. Its lines are believed where the file agrees: the
content is there, or the name is. Otherwise the content is looked for, then the definition by its name. What is found
nowhere is shown by the content that was given, marked stale.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from satchel.assemble.given import Entity
from satchel.types import Freshness, Outline, Part

ASSUMED_LINES = 50
"""How far an entity without an end reaches where no definition tells, as the specification has it."""

LEAST_MATCHED = 30
"""Characters that a text of one line needs before it is looked for elsewhere in the file: `}` is everywhere."""

WHOLE_FILES = frozenset({"file", "module"})


@dataclass(frozen=True, slots=True)
class Standing:
    """Lines (from 1) of the file as it is now, and the definition they are, if they are one."""

    start: int
    end: int
    freshness: Freshness | None = None
    part: Part | None = None


def relative_path(path: str, root: Path) -> str:
    """A given path below the root, with forward slashes. What leads outside stays as it is: reading refuses it."""
    if path.startswith("/"):
        for base in (str(root), str(root.resolve())):
            if path.startswith(f"{base}/"):
                return posixpath.normpath(path[len(base) + 1 :])
        return path
    return posixpath.normpath(path)


@dataclass(frozen=True, slots=True)
class _Found:
    """First lines at which a text stands, and how many lines it has."""

    starts: tuple[int, ...]
    height: int


def stand(entity: Entity, lines: Sequence[str], outline: Outline) -> Standing | str:
    """Where the entity stands, or why its lines cannot be told."""
    named = _named(entity, outline.parts)
    last = len(lines) - 1 if lines and not lines[-1] else len(lines)
    if entity.type in WHOLE_FILES and not entity.start:
        return Standing(1, max(last, 1))
    found = _content(entity, lines)
    if not entity.start:
        moved = _moved(entity, found, named)
        if moved is None:
            return "has no such definition, and no lines were given"
        return Standing(moved.start, moved.end, None, moved.part)
    if entity.start > last:
        moved = _moved(entity, found, named)
        return moved or f"has only {last} lines, not the line {entity.start} of {entity.label}"
    end = min(entity.end or _end(entity.start, outline.parts), last)
    if found is not None and entity.start in found.starts:
        return Standing(entity.start, end, None, _at(entity.start, end, outline.parts))
    moved = _moved(entity, found, named)
    has_code = "\n" in entity.content.strip()
    if found is None and not has_code:
        # Nothing but the name can be checked: a content of one line may be a description.
        simple = entity.name.rpartition(".")[2]
        is_there = named is not None and named.start <= end and entity.start <= named.end
        if is_there or any(simple in line for line in lines[entity.start - 1 : end]):
            return Standing(entity.start, end, None, named if is_there else _at(entity.start, end, outline.parts))
    if moved is not None:
        return moved
    if has_code:
        return f"no longer has {entity.label}"
    return Standing(entity.start, end, None, _at(entity.start, end, outline.parts))


def _moved(entity: Entity, found: _Found | None, named: Part | None) -> Standing | None:
    """The place of the content, or the definition of that name with what is its body now."""
    freshness = Freshness.CHANGED if "\n" in entity.content.strip() else Freshness.MOVED
    if found is not None:
        start = found.starts[0]
        return Standing(start, start + found.height - 1, Freshness.MOVED, named)
    return Standing(named.start, named.end, freshness, named) if named is not None else None


def _content(entity: Entity, lines: Sequence[str]) -> _Found | None:
    """Where the given content stands in the file, blanks at both ends of lines aside; None if it does not."""
    wanted = [line.strip() for line in entity.content.strip("\n").split("\n")]
    if len(wanted) < 2 and len(wanted[0]) < LEAST_MATCHED:
        return None
    stripped = [line.strip() for line in lines]
    starts = tuple(
        number + 1
        for number, line in enumerate(stripped)
        if line == wanted[0] and stripped[number : number + len(wanted)] == wanted
    )
    return _Found(starts, len(wanted)) if starts else None


def _named(entity: Entity, parts: Sequence[Part]) -> Part | None:
    """The definition of that name, the nearest where several have it."""
    full = (entity.qualified_name or entity.name).replace("::", ".").replace("#", ".")
    simple = full.rpartition(".")[2]
    exact = [part for part in parts if part.name and part.name == full]
    alike = exact or [part for part in parts if simple and part.name.rpartition(".")[2] == simple]
    return min(alike, key=lambda part: abs(part.start - entity.start), default=None)


def _end(start: int, parts: Sequence[Part]) -> int:
    return next((part.end for part in parts if part.start <= start <= part.end and part.name), start + ASSUMED_LINES)


def _at(start: int, end: int, parts: Sequence[Part]) -> Part | None:
    """The definition that these lines are, give or take what stands around it."""
    return next((part for part in parts if part.name and start <= part.end and part.start <= start <= end), None)
