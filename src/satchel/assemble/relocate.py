"""Where the parts of an indexed file stand in the text that the file has now.

A part is found again by its name and its text: the same text under the same name has moved (or not), another text
under the same name has changed, and what has neither is gone. Blank lines at the ends of a part do not count, because
the parts of a file tile it and such lines belong to nobody. A part without a name is known by its exact lines alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from satchel.store.records import StoredPart
from satchel.types import Part

SAME_DEFINITION = 0.5
"""Share of lines that two texts of one name must have in common to be paired where there is a choice among twins."""

Range = tuple[int, int]
Body = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Place:
    """Lines `start` to `end` of the new text. `shift` is how far the text moved, None where it is another text.

    `signature` is the declaration as it reads now.
    """

    start: int
    end: int
    shift: int | None
    name: str
    signature: str


class _Ranged(Protocol):
    @property
    def start(self) -> int: ...

    @property
    def end(self) -> int: ...


def relocate(
    old_parts: Sequence[StoredPart], old_lines: Sequence[str], new_parts: Sequence[Part], new_lines: Sequence[str]
) -> dict[int, Place]:
    """The places of these parts by row number; a part that is gone has none.

    `old_parts` are all parts of the file, in order, or twins could be taken for each other. Lines are 0-based.
    """
    before = [_Side(part.row, part.name, part.signature, *_trimmed(part, old_lines)) for part in old_parts]
    after = [_Side(row, part.name, part.signature, *_trimmed(part, new_lines)) for row, part in enumerate(new_parts)]
    named: dict[str, list[_Side]] = defaultdict(list)
    for side in after:
        named[side.name].append(side)
    pairs: dict[int, _Side] = {}
    for name, olds in _by_name(before).items():
        pairs |= _pair(olds, named[name])
    places = {side.row: _placed(side, pairs[side.row]) for side in before if side.row in pairs}
    text = _Text(new_lines)
    starts = {(side.first, len(side.body)): side for side in after if side.name}
    for side in before:
        if side.row not in places and (first := text.find(side.body, side.first)):
            twin = starts.get((first, len(side.body)), side)
            end = first + len(side.body) - 1
            places[side.row] = Place(first, end, first - side.first, twin.name if side.name else "", side.signature)
    return places


@dataclass(frozen=True, slots=True)
class _Side:
    """A part of either text, without the blank lines at its ends. `first` counts from 1."""

    row: int
    name: str
    signature: str
    first: int
    body: Body


def _trimmed(part: _Ranged, lines: Sequence[str]) -> tuple[int, Body]:
    first, last = part.start, min(part.end, len(lines))
    while last > first and not lines[last - 1].strip():
        last -= 1
    while first < last and not lines[first - 1].strip():
        first += 1
    return first, tuple(lines[first - 1 : last])


def _by_name(sides: Iterable[_Side]) -> dict[str, list[_Side]]:
    """The parts that have a name, those of one name together in order."""
    found: dict[str, list[_Side]] = defaultdict(list)
    for side in sides:
        if side.name:
            found[side.name].append(side)
    return found


def _pair(olds: Sequence[_Side], news: Sequence[_Side]) -> dict[int, _Side]:
    """Which of the new parts of one name each old one is: equal texts first, the rest in order or by likeness."""
    pairs: dict[int, _Side] = {}
    free = list(news)
    rest = []
    for old in olds:
        equal = next((new for new in free if new.body == old.body), None)
        if equal is None:
            rest.append(old)
        else:
            pairs[old.row] = equal
            free.remove(equal)
    if len(rest) == len(free):
        return pairs | {old.row: new for old, new in zip(rest, free, strict=True)}
    for old in rest:
        likeness, _, best = max(((_likeness(old, new), -new.first, new) for new in free), default=(0.0, 0, old))
        if likeness >= SAME_DEFINITION:
            pairs[old.row] = best
            free.remove(best)
    return pairs


def _likeness(old: _Side, new: _Side) -> float:
    """Share of distinct lines that both have, 0 to 1, indentation aside."""
    first, second = ({line.strip() for line in side.body} for side in (old, new))
    return len(first & second) / len(first | second)


def _placed(old: _Side, new: _Side) -> Place:
    shift = new.first - old.first if old.body == new.body else None
    return Place(new.first, new.first + len(new.body) - 1, shift, new.name, new.signature)


class _Text:
    """The new text, searched by whole lines."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._places: dict[str, list[int]] | None = None

    def find(self, body: Body, near: int) -> int:
        """The line at which exactly these lines begin, the nearest to `near`; 0 where they are nowhere.

        Lines that are all blank say nothing and are nowhere.
        """
        if not any(line.strip() for line in body):
            return 0
        if self._places is None:
            self._places = defaultdict(list)
            for number, line in enumerate(self._lines):
                self._places[line].append(number)
        places = self._places
        offset = min(range(len(body)), key=lambda index: len(places.get(body[index], ())))
        begins = [number - offset for number in places.get(body[offset], ()) if number >= offset]
        found = [begin for begin in begins if tuple(self._lines[begin : begin + len(body)]) == body]
        return min(found, key=lambda begin: (abs(begin + 1 - near), begin)) + 1 if found else 0
