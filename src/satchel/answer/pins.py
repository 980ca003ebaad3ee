"""Pins: files or lines that the user always wants to see.

A pin comes before every search result and has no floor. One that does not fit is shown from its beginning. Only indexed
files can be pinned: what the walk leaves out (ignored and hidden files, everything below `.git`) is not for a reader of
the repository, whoever names it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from msgspec import Struct

from satchel.answer.candidates import Candidate, Step
from satchel.answer.sections import Section
from satchel.answer.source_lines import FileLines, Lines, Unreadable
from satchel.errors import UsageError
from satchel.safety.sanitize import clean_field
from satchel.sources.roles import is_secondary
from satchel.store.protocol import Store
from satchel.system import files
from satchel.text import folded, pattern
from satchel.types import (
    CONTEXT_TYPES,
    FILE_KINDS,
    LINE_KINDS,
    Chunk,
    Detail,
    Failure,
    Hit,
    Kind,
    Location,
    Role,
    ScoredSpan,
    Signal,
)

Place = tuple[str, FileLines, Store]
_PLACE = pattern(r"(.+?)(?::(\d+)(?:-(\d+))?)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Pin:
    """A path below the root and its lines; 0, 0 for all lines."""

    path: str
    start: int = 0
    end: int = 0

    def __str__(self) -> str:
        """Return the pin as `parse_pin` reads it."""
        return f"{self.path}:{self.start}-{self.end}" if self.start else self.path


class Pinned(Struct, frozen=True):
    """The candidate of a pin, and the lines of its file."""

    kind: Kind
    candidate: Candidate
    lines: Lines


def parse_pin(text: str) -> Pin:
    """Read `PATH`, `PATH:12` or `PATH:10-20`. Raises UsageError for an empty path or an impossible range."""
    match = _PLACE.fullmatch(text.strip().removeprefix("./"))
    if match is None:
        raise UsageError(f"nothing to include in {text!r}: give a path below the root, as in src/app.py:10-20")
    start = int(match[2] or 0)
    end = int(match[3] or start)
    if match[2] and (start < 1 or end < start):
        raise UsageError(f"{text!r} names no lines: count from 1 upwards, as in src/app.py:10-20")
    return Pin(match[1].replace("\\", "/"), start, end)


_UNPINNED: Mapping[str, str] = {
    files.SkipReason.VANISHED: "there is no such file",
    files.SkipReason.SPECIAL_FILE: "it is a special file, or a folder without indexed files",
}


def find_pins(pins: Iterable[Pin], places: Sequence[Place]) -> tuple[list[Pinned], list[Failure]]:
    """Return the candidate of each pin, in order; a pin that cannot be read is a named failure.

    `places` are the workspaces, each with its name before paths (`web/`), its lines and its index. A folder stands for
    its indexed files.
    """
    pinned: list[Pinned] = []
    failures: list[Failure] = []
    for pin in dict.fromkeys(file for other in pins for file in _files_of(other, *_place_of(other, places))):
        prefix, files_of, store = _place_of(pin, places)
        path = pin.path.removeprefix(prefix)
        shown = files_of.read(path)
        if isinstance(shown, Unreadable):
            failures.append(_failure(pin, _UNPINNED.get(shown.reason, shown.reason)))
            continue
        kinds = [kind for kind in FILE_KINDS if store.document(kind, path) is not None]
        if not kinds:
            failures.append(_failure(pin, "it is not in the index: `satchel doctor` names what is left out"))
            continue
        last = len(shown.lines) - (1 if shown.lines[-1] == "" and len(shown.lines) > 1 else 0)
        if pin.start > last:
            failures.append(_failure(pin, f"it has only {last} lines"))
            continue
        kind = kinds[0] if kinds[0] in LINE_KINDS else Kind.CODE
        start, end = pin.start or 1, min(pin.end or last, last)
        lines = replace(shown, path=pin.path) if prefix else shown
        pinned.append(Pinned(kind, _candidate(pin.path, kind, start, end, shown), lines))
    return pinned, failures


def _place_of(pin: Pin, workspaces: Sequence[Place]) -> Place:
    for prefix, lines, store in workspaces:
        if pin.path.startswith(prefix):
            return prefix, lines, store
    return workspaces[0]


def _files_of(pin: Pin, prefix: str, _: FileLines, store: Store) -> Iterable[Pin]:
    """Return the pin, or one for each indexed file of its folder: production first, then by path."""
    path = pin.path.removeprefix(prefix)
    folder = f"{path.rstrip('/')}/" if path.strip("./") else ""
    keys = [key for kind in FILE_KINDS for key in store.iterate_keys(kind)]
    if path not in keys and len(same := [key for key in keys if folded(key) == folded(path)]) == 1:
        return [replace(pin, path=prefix + same[0])]  # as it is spelled on the disk
    inside = [key for key in keys if key.startswith(folder)] or [
        key for key in keys if folded(key).startswith(folded(folder))
    ]
    ordered = sorted(inside, key=lambda key: (is_secondary(key), key)) if not pin.start else []
    return [Pin(f"{prefix}{key}") for key in ordered if not key.endswith("/")] or [pin]


def _failure(pin: Pin, reason: str) -> Failure:
    return Failure("include", f"{clean_field(pin.path)}: {reason}", "the other items are shown")


def _candidate(path: str, kind: Kind, start: int, end: int, lines: Lines) -> Candidate:
    chunk = Chunk(
        id=f"{kind}:{path}#L{start}-{end}",
        kind=kind,
        title=path,
        body="",
        location=Location(path, start, end, lines.content_hash),
        role=Role.GAP,
    )
    hit = Hit(
        chunk=chunk,
        relevance=1.0,
        score=0.0,
        spans=(ScoredSpan(start, end, 0.0),),
        signals=(Signal("pin", 1.0, 1.0),),
        file_score=2.0,  # above the score of any file of the ranking (at most 1): pinned files come first
    )
    size = sum(map(len, lines.lines[start - 1 : end])) / 4 + 1
    return Candidate(hit, 0.0, size, start, lambda: _beginnings(start, end), pinned=True)


def _beginnings(start: int, end: int) -> Sequence[Step]:
    """Return steps with all lines, the first half, quarter and so on, down to one line."""
    steps = [Step(Detail.FULL, ((start, end),))]
    count = (end - start + 1) // 2
    while count:
        steps.append(Step(Detail.SPAN, ((start, start + count - 1),)))
        count //= 2
    return steps


def with_pins(
    sections: Sequence[Section], pinned: Sequence[Pinned], weights: Mapping[Kind, float], item_limit: int
) -> list[Section]:
    """Return the sections in order, with the pins first in theirs; a kind without results gets its own section.

    Sections with a title of their own keep the order of their plan, before the others.
    """
    every = list(sections)
    for pin in pinned:
        index = next((index for index, section in enumerate(every) if section.kind is pin.kind), len(every))
        if index == len(every):
            every.append(Section(pin.kind, weights.get(pin.kind, 1.0), (), {}, item_limit))
        every[index] = _with_pin(every[index], pin)
    order = list(CONTEXT_TYPES.values())
    return sorted(every, key=lambda section: -1 if section.title else order.index(section.kind))


def _with_pin(section: Section, pin: Pinned) -> Section:
    """Return the section with a pin after its earlier pins."""
    shown = section.lines.get(pin.candidate.group)
    lines = pin.lines if shown is None else replace(pin.lines, sent=shown.sent)
    first = sum(candidate.pinned for candidate in section.candidates)
    candidate = replace(pin.candidate, value=section.level + pin.candidate.value)
    return replace(
        section,
        lines={**section.lines, candidate.group: lines},
        candidates=(*section.candidates[:first], candidate, *section.candidates[first:]),
    )
