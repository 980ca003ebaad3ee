"""Candidates: what could be shown, in which steps of detail, and the value of each.

`file_candidates.py` makes them of lines of files, `record_candidates.py` of records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from msgspec import Struct, structs

from satchel.answer.source_lines import around
from satchel.answer.truncation import OmissionRemark
from satchel.search.chunks import ITEM_KEY
from satchel.search.lessons import is_lesson
from satchel.system.properties import unlocked_cached_property
from satchel.types import Chunk, Detail, Hit, Kind, Range, Trust

SHRINK_SHARES = (0.9, 0.6, 0.35)
"""Shares of the remaining room for which a shortened form is tried: the size in tokens is only an estimate."""

_WIDENED = frozenset({Detail.FULL, Detail.SPAN})


class Step(Struct, frozen=True):
    """One way to show a candidate: its line ranges (none for a record) or its record text."""

    detail: Detail
    ranges: tuple[Range, ...] = ()
    text: str = ""
    remarks: tuple[OmissionRemark, ...] = ()
    """Lines of ours that a truncation strategy puts where it left lines out."""


Shrink = Callable[[float], Iterable[Step]]
"""The ways to show a candidate in at most about so many tokens, the best one first."""


@dataclass(frozen=True, eq=False, repr=False)
class Candidate:
    """Something that may be shown.

    `value` is on a log scale, in a section on the one of the request, and `first_line` the first of its lines.
    `measured` is its size in estimated tokens, and `make` gives the ways to show it, from most to least detail; then
    `shrink` gives further ones for the remaining room. All functions are called on first use, because most candidates
    are never tried: use `size` and `steps`. A `pinned` candidate comes before all others, whatever its value. One that
    is `companion_of` another (the imports that a function needs, the rest of a span's function) is shown only beside
    it. `trust` is data by default. `body` is the full text of a record, where it is available.
    """

    hit: Hit
    value: float
    measured: float | Callable[[], float]
    first_line: int
    make: Callable[[], Sequence[Step]]
    shrink: Shrink | None = None
    pinned: bool = False
    companion_of: Candidate | None = None
    trust: Trust = Trust.DATA
    body: str = ""

    @property
    def chunk(self) -> Chunk:
        """The chunk that is shown."""
        return self.hit.chunk

    @property
    def kind(self) -> Kind:
        """The kind of its chunk."""
        return self.chunk.kind

    @unlocked_cached_property
    def group(self) -> str:
        """The path of its file or the id of its record: what is shown of one group is one item."""
        location = self.chunk.location
        return self.chunk.id if location is None else str(self.chunk.fields.get(ITEM_KEY, location.path))

    @property
    def is_lifted(self) -> bool:
        """Whether something outside the ranking, such as a frame of a pasted trace, placed it first."""
        return self.hit.file_score > 1.0

    @unlocked_cached_property
    def is_lesson(self) -> bool:
        """Whether it is given unasked, because it bears on the request."""
        return is_lesson(self.hit.signals)

    @unlocked_cached_property
    def size(self) -> float:
        """Its size in estimated tokens."""
        return self.measured() if callable(self.measured) else self.measured

    @property
    def is_measured(self) -> bool:
        """Whether its size is known."""
        return "size" in self.__dict__ or not callable(self.measured)

    def measure(self) -> float:
        """Find its size if it is not known; return it. One that is altered later is altered now."""
        return self.size

    @unlocked_cached_property
    def steps(self) -> Sequence[Step]:
        """The fixed ways to show it, made on first use, because most candidates are never tried."""
        return self.make()

    def valued(self, value: float) -> Candidate:
        """Return the candidate with another value. A question has hundreds, and `replace` is ten times slower."""
        made = object.__new__(Candidate)
        made.__dict__.update(self.__dict__, value=value)
        return made

    def offering(self, steps: Sequence[Step], shrink: Shrink | None = None) -> Candidate:
        """Return the candidate with these steps, and `shrink` after them."""
        return self.sized(self.size, lambda: steps, shrink)

    def sized(
        self, measured: float | Callable[[], float], make: Callable[[], Sequence[Step]], shrink: Shrink | None
    ) -> Candidate:
        """Return the candidate with another size, and other ways to show it."""
        made = self.valued(self.value)
        made.__dict__.update(measured=measured, make=make, shrink=shrink)
        made.__dict__.pop("size", None)
        made.__dict__.pop("steps", None)
        return made

    def altered(self, alter: Callable[[Candidate], Candidate]) -> Candidate:
        """Return what `alter` makes of it, called once, when its size or the ways to show it are first asked for.

        The value stays: candidates are put in order by it before any of them is altered.
        """
        later = _Altered(self, alter)
        return self.sized(later.size, later.steps, later.shrink)

    def widened(self, count: int, last_line: int) -> Candidate:
        """Return it with `count` lines around its lines, within lines 1 to `last_line`; none around a declaration."""

        def wide(step: Step) -> Step:
            if step.detail not in _WIDENED or step.remarks:
                return step
            return structs.replace(step, ranges=tuple(around(step.ranges, count, last_line)))

        return replace(self, make=lambda: [wide(step) for step in self.steps])

    def trimmed(self, cut: Callable[[Sequence[Range]], Sequence[Range]], size: float) -> Candidate:
        """Return it with the ranges of each step that `cut` returns, about `size` tokens, without empty steps."""
        shrink = self.shrink

        def cut_steps(steps: Iterable[Step]) -> Iterator[Step]:
            made = (structs.replace(step, ranges=tuple(cut(step.ranges))) for step in steps)
            return (step for step in made if step.ranges)

        shorter = None if shrink is None else lambda room: cut_steps(shrink(room))
        return self.sized(size, lambda: list(cut_steps(self.steps)), shorter)


class _Altered:
    """What `alter` makes of a candidate, once it is asked for."""

    def __init__(self, candidate: Candidate, alter: Callable[[Candidate], Candidate]) -> None:
        self._candidate, self._alter = candidate, alter

    @unlocked_cached_property
    def _made(self) -> Candidate:
        return self._alter(self._candidate)

    def size(self) -> float:
        return self._made.size

    def steps(self) -> Sequence[Step]:
        return self._made.steps

    def shrink(self, room: float) -> Iterable[Step]:
        return self._made.shrink(room) if self._made.shrink is not None else ()
