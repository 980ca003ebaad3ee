"""What of a file is not in its syntax tree until it is asked for, from the offsets in the index.

`sources/code/deferrable.py` says which functions, classes and statements these are.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, islice, takewhile
from operator import itemgetter
from typing import Any, NamedTuple

from satchel.system.properties import unlocked_cached_property
from satchel.types import Range

_Unit = tuple[int, int, int]
"""Where a function or class begins, where its body does, and where it ends; the body of a statement is empty."""

_IMPORTS = (b"import ", b"from ")


class Holes(NamedTuple):
    """What is not parsed, by offsets and in order: bodies that are `closed`, and what is `left_out` as a whole."""

    closed: list[Range]
    left_out: list[Range]

    @property
    def size(self) -> int:
        """The number of bytes."""
        return sum(end - start for start, end in (*self.closed, *self.left_out))


class Units:
    """The functions, classes and statements of a file that may be left out. Each has two parts, its head and its body.

    `parts` are all of them. Of a part that is not parsed the tree has no nodes, so none of the units in it either.
    """

    def __init__(self, source: bytes, fields: Mapping[str, Any]) -> None:
        self._source = source
        self._functions, self._classes = (_units(fields.get(name, ())) for name in ("functions", "classes"))
        offsets = accumulate(fields.get("statements", ()))
        self._statements = [(first, end, end) for first, end in zip(offsets, offsets, strict=True)]
        self._every = sorted(
            [*self._functions, *self._classes, *self._statements], key=lambda unit: (unit[0], -unit[2])
        )
        self.parts = frozenset(
            [part for first, body, end in self._every for part in ((first, body), (body, end)) if part[0] < part[1]]
        )

    @property
    def bodies(self) -> frozenset[Range]:
        """The bodies of the functions."""
        return frozenset((body, end) for _, body, end in self._functions)

    @unlocked_cached_property
    def _outer(self) -> list[_Unit]:
        """The units that are in no other one, in order."""
        return [*_outermost(self._every)]

    def holes(self, unparsed: AbstractSet[Range]) -> Holes:
        """Return what the parser does not see where these parts are not parsed."""
        closed, left_out, behind = [], [], 0
        for first, body, end in self._every if unparsed else ():
            if first < behind:
                continue
            if (first, body) in unparsed:
                left_out.append((first, end))
                behind = end
            elif (body, end) in unparsed:
                closed.append((body, end))
                behind = end
        return Holes(closed, left_out)

    def over(self, first: int, last: int, *, with_functions: bool = True) -> list[Range]:
        """Return the parts with a byte from one offset to before another, perhaps but those of functions."""
        units = [unit for unit in self._classes if unit[0] < last and first < unit[2]]
        units += _within(self._statements, first, last)
        units += _within(self._functions, first, last) if with_functions else ()
        parts = [(start, body) for start, body, _ in units]
        parts += [(body, end) for _, body, end in units if body < last]
        return parts

    def binding(self, start: int) -> Range | None:
        """Return the part that may bind a name at this offset for the whole file.

        It is the head of a function or class with this name, or a statement, but no import: these are in the index.
        """
        at = bisect_right(self._outer, start, key=itemgetter(0)) - 1
        first, body, end = self._outer[at] if at >= 0 else (0, 0, 0)
        if start < body == end:
            return (first, end) if not self._source.startswith(_IMPORTS, first) else None
        is_name = start < body and self._source[first:start].rstrip(b" \t\\").endswith((b"def", b"class"))
        return (first, body) if is_name else None


def _units(distances: Sequence[int]) -> list[_Unit]:
    offsets = accumulate(distances)
    return [*zip(offsets, offsets, offsets, strict=True)]


def _outermost(units: Sequence[_Unit]) -> Iterator[_Unit]:
    behind = 0
    for unit in units:
        if unit[0] >= behind:
            behind = unit[2]
            yield unit


def _within(units: Sequence[_Unit], first: int, last: int) -> Iterator[_Unit]:
    """Return those of these units, none in another one, that have a byte from one offset to before another."""
    at = bisect_left(units, first, key=itemgetter(2))
    return takewhile(lambda unit: unit[0] < last, islice(units, at, None))
