"""Sections of candidates, their groups and order, twins among them, and pins.

A pin is a file or lines that the user always wants to see: it comes before every search result and has no floor. A pin
that does not fit is shown from its beginning. Only indexed files can be pinned: what the walk leaves out (ignored and
hidden files, everything below `.git`) is not for a reader of the repository, whoever names it.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import islice
from operator import itemgetter

from satchel.assemble.candidates import Candidate, Step
from satchel.assemble.source_lines import FileLines, Lines, Unreadable, joined
from satchel.errors import UsageError
from satchel.safety.sanitize import clean_field
from satchel.store.protocol import Store
from satchel.system import files
from satchel.text import SAME_PROSE, may_be_same, sampled, shingles, similarity
from satchel.types import (
    CONTEXT_TYPES,
    Chunk,
    ContextItem,
    Detail,
    Failure,
    Hit,
    Kind,
    Location,
    Range,
    Role,
    ScoredSpan,
    Signal,
)

ONE_LINE = 100
"""Longest text (characters) that counts as one line: two such texts with different version numbers share nine tenths of
their shingles. The threshold was calibrated on paragraphs of 120 characters and more."""

_PROSE_KINDS = frozenset({Kind.DOC, Kind.NOTE})
_INSIGNIFICANT = re.compile(r"[\W_]+")


@dataclass(frozen=True, slots=True)
class Marks:
    """The shingles of a text, and a sample of them that tells most other texts apart from it."""

    all: frozenset[str]
    sample: frozenset[str]


@dataclass(slots=True)
class Seen:
    """The texts of tried candidates, for one request."""

    exact: dict[tuple[str, ...], list[tuple[Section, Candidate]]] = field(default_factory=dict)
    ends: dict[Candidate, tuple[str, ...]] = field(default_factory=dict)
    keys: dict[Candidate, str] = field(default_factory=dict)
    prose: list[tuple[Section, Candidate, Marks]] = field(default_factory=list)

    def is_twin(self, section: Section, candidate: Candidate) -> bool:
        """Return whether a shown candidate has the same full text; it then lists this one as another origin.

        A text without a twin is remembered.
        """
        ends = self.ends.get(candidate)
        if ends is None:
            ends = self.ends[candidate] = _ends(section, candidate)
        if not ends:
            return False
        rows = self.exact.setdefault(ends, [])
        shown = ((own, one) for own, one in rows if one in own.shown and _may_be_twins(one, candidate))
        twin = next((row for row in shown if self._key(*row) == self._key(section, candidate)), None)
        marks = None
        text = _full_text(section, candidate) if twin is None and candidate.kind in _PROSE_KINDS else ""
        if len(text) > ONE_LINE:
            every = shingles(text)
            marks = Marks(every, sampled(every))
            alike = (row for row in self.prose if row[1] in row[0].shown and row[1].chunk.id != candidate.chunk.id)
            twin = next(((own, one) for own, one, other in alike if is_same_prose(marks, other)), None)
        if twin is not None:
            own, one = twin
            one.twins.append(candidate)
            own.groups[one.group].item = None
            return True
        rows.append((section, candidate))
        if marks is not None:
            self.prose.append((section, candidate, marks))
        return False

    def _key(self, section: Section, candidate: Candidate) -> str:
        """Return the key of a candidate, made once."""
        key = self.keys.get(candidate)
        if key is None:
            key = self.keys[candidate] = _key(section, candidate)
        return key

    def forget(self, candidates: AbstractSet[Candidate]) -> None:
        """Forget candidates that were withdrawn."""
        for rows in self.exact.values():
            rows[:] = [row for row in rows if row[1] not in candidates]
        self.prose[:] = [row for row in self.prose if row[1] not in candidates]


def _full_text(section: Section, candidate: Candidate) -> str:
    """Return the full text of a candidate, without labels."""
    if candidate.chunk.location is None:
        return candidate.body or next((step.text for step in candidate.steps), "")
    lines = section.lines.get(candidate.group)
    ranges = candidate.steps[0].ranges if candidate.steps else ()
    return "".join(lines.text(*span) for span in ranges) if lines is not None else ""


def _key(section: Section, candidate: Candidate) -> str:
    """Return a key of equal texts: white space is folded, in prose also case and punctuation."""
    text = _full_text(section, candidate)
    if candidate.kind is Kind.CODE:
        return " ".join(text.split())
    return _INSIGNIFICANT.sub(" ", text.casefold()).strip()


def _ends(section: Section, candidate: Candidate) -> tuple[str, ...]:
    """Return the first and the last word of the key, without making that of code; none if it is empty."""
    lines = section.lines.get(candidate.group) if candidate.kind is Kind.CODE else None
    key = _ends, candidate.steps[0].ranges if candidate.steps else ()
    ends: tuple[str, ...] | None = lines.derived.get(key) if lines is not None else None
    if ends is None:
        text = _full_text(section, candidate) if lines is not None else _key(section, candidate)
        ends = (*text.split(None, 1)[:1], *text.rsplit(None, 1)[-1:])
        if lines is not None:
            lines.derived[key] = ends
    return ends


def _may_be_twins(one: Candidate, other: Candidate) -> bool:
    """Return whether candidates may be twins: not one chunk, and not two places of one code file."""
    if one.chunk.id == other.chunk.id:
        return False
    return one.kind is not Kind.CODE or other.kind is not Kind.CODE or one.group != other.group


def is_same_prose(one: Marks, other: Marks) -> bool:
    """Return whether two texts are nearly equal, by their shingles."""
    # Two sets whose sizes differ more cannot have that much in common; sizes are compared far faster than sets.
    fewer, more = sorted((len(one.all), len(other.all)))
    if fewer < SAME_PROSE * more or not may_be_same(one.sample, other.sample):
        return False
    return similarity(one.all, other.all) >= SAME_PROSE


COST_EXPONENT = 0.42
"""Candidates are ordered by value over cost to this power. Measured flat from 0.35 to 0.5 at 4,000 tokens."""

COST_OFFSET = 60.0
"""Tokens added to every cost before the power, so that tiny spans do not win by being tiny. Anything from 8 to 60
measures the same on 296 issues; with 60 fewer one-line pieces are shown between the ranges that answer."""


@dataclass(slots=True, eq=False)
class Section:
    """The candidates of one kind.

    `weight` is its share of the budget where the kinds were named. `level` is added to the values of its candidates
    (log scale), which makes them comparable with those of other sections. `reserve` is the part of the budget for this
    kind alone (tokens). `follow` returns the companions of a shown step, such as imports and the rest of its function.
    `title` is the heading above it, empty for the one of the kind. `best` is the value of the best candidate of the
    search, also if the session has it already. `rejected` maps each candidate that is not shown to the reason.
    """

    kind: Kind
    weight: float
    candidates: list[Candidate]
    lines: Mapping[str, Lines]
    item_limit: int
    reserve: int = 0
    follow: Callable[[Candidate, Step, Group], Sequence[Candidate]] | None = None
    title: str = ""
    level: float = 0.0
    best: float = -math.inf
    shown: set[Candidate] = field(default_factory=set)
    groups: dict[str, Group] = field(default_factory=dict)
    rejected: dict[Candidate, str] = field(default_factory=dict)
    tokens: int = 0
    _ranked: list[Candidate] | None = None

    def value(self, candidate: Candidate) -> float:
        """Return the value of a candidate on the scale of the request (log)."""
        return self.level + candidate.value

    def highest_value(self) -> float:
        """Return the value of the best candidate of the ranking, except pinned and lifted ones."""
        ranked = (one for one in self.candidates if not (one.pinned or one.is_lifted))
        return max([self.best, *map(self.value, ranked)])

    def remaining(self) -> Iterator[Candidate]:
        """Return the rejected candidates, best first; twins of shown ones are not among them.

        The order is that of the first call: the packer changes neither the candidates nor their values.
        """
        if self._ranked is None:
            self._ranked = sorted(self.candidates, key=lambda one: (-priority(one), one.chunk.id, one.place))
        return (one for one in self._ranked if one in self.rejected)


def priority(candidate: Candidate, level: float = 0.0) -> float:
    """Return value over a power of the cost, on the log scale: higher ones are tried first."""
    return level + candidate.value - COST_EXPONENT * math.log(candidate.size + COST_OFFSET)


def highest_priority(hit: Hit) -> float:
    """Return a priority that no candidate of this hit exceeds."""
    return max([hit.score, *(span.value for span in hit.spans)]) - COST_EXPONENT * math.log(COST_OFFSET)


def by_priority(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Candidates of one section in the order in which they are tried."""
    return sorted(candidates, key=lambda one: (not one.pinned, -priority(one), one.chunk.id, one.place))


JOIN_LINES = 3
"""Most lines between two ranges that are joined: the lines cost less than another range marker."""


@dataclass(slots=True)
class Group:
    """One item in the making: a file with its ranges, or a record. `picks` are in the order of admission.

    `title` is that of its section, empty for that of its kind; `item` is None where it must be built again.
    """

    kind: Kind
    key: str
    lines: Lines | None
    ranges: list[Range] = field(default_factory=list)
    picks: list[tuple[Candidate, Step]] = field(default_factory=list)
    tokens: int = 0
    title: str = ""
    item: ContextItem | None = None

    def added(self, step: Step) -> tuple[list[Range], int]:
        """Return the new ranges of a step, joined over tiny gaps to shown ones, and how many range markers it adds.

        The number is negative if the step closes a gap.
        """
        before = self.ranges[self._near(step)]
        merged = self._joined([*before, *step.ranges])
        return subtract(merged, before), len(merged) - len(before)

    def admit(self, candidate: Candidate, step: Step, tokens: int) -> None:
        """Add a step."""
        near = self._near(step)
        self.ranges[near] = self._joined([*self.ranges[near], *step.ranges])
        self.picks.append((candidate, step))
        self.tokens += tokens
        self.item = None

    def withdraw(self, tokens: int) -> None:
        """Undo the last admission; `ranges` are valid again after `rejoin`."""
        self.picks.pop()
        self.tokens -= tokens
        self.item = None

    def rejoin(self) -> None:
        """Compute the ranges again from the admitted steps."""
        self.ranges = self._joined([piece for _, step in self.picks for piece in step.ranges])

    def _near(self, step: Step) -> slice:
        """Return the ranges that a step may be joined with: a file may have thousands, and a step touches few."""
        if not step.ranges:
            return slice(0, 0)
        first = min(start for start, _ in step.ranges) - 1 - JOIN_LINES
        last = max(end for _, end in step.ranges) + 1 + JOIN_LINES
        return slice(
            bisect_left(self.ranges, first, key=itemgetter(1)), bisect_right(self.ranges, last, key=itemgetter(0))
        )

    def _joined(self, ranges: Sequence[Range]) -> list[Range]:
        """Return joined ranges; a gap over lines that the session has is not closed."""
        together = joined(ranges, JOIN_LINES)
        return subtract(together, self.lines.sent) if self.lines is not None and self.lines.sent else together


def subtract(ranges: Sequence[Range], excluded: Sequence[Range]) -> list[Range]:
    """Return the parts of `ranges` outside `excluded`; both in order and without overlaps."""
    rest: list[Range] = []
    behind = 0
    for start, end in ranges:
        position = start
        behind = bisect_left(excluded, start, lo=behind, key=itemgetter(1))
        for first, last in islice(excluded, behind, None):
            if first > end:
                break
            if first > position:
                rest.append((position, first - 1))
            position = max(position, last + 1)
        if position <= end:
            rest.append((position, end))
    return rest


_PLACE = re.compile(r"(.+?)(?::(\d+)(?:-(\d+))?)?", re.DOTALL)

PINNED_FILE_SCORE = 2.0
"""Above the score of any file of the ranking (at most 1): pinned files come first."""


@dataclass(frozen=True, slots=True)
class Pin:
    """A path below the root and its lines; 0, 0 for all lines."""

    path: str
    start: int = 0
    end: int = 0

    def __str__(self) -> str:
        """Return the pin as `parse_pin` reads it."""
        return f"{self.path}:{self.start}-{self.end}" if self.start else self.path


@dataclass(frozen=True, slots=True)
class Pinned:
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
    files.SkipReason.SPECIAL_FILE: "it is a folder or a special file: name a file in it",
}


def find_pins(
    pins: Iterable[Pin], places: Sequence[tuple[str, FileLines, Store]]
) -> tuple[list[Pinned], list[Failure]]:
    """Return the candidate of each pin, in order; a pin that cannot be read is a named failure.

    `places` are the workspaces, each with its name before paths (`web/`), its lines and its index.
    """
    pinned: list[Pinned] = []
    failures: list[Failure] = []
    for pin in dict.fromkeys(pins):
        prefix, lines, store = next((one for one in places if pin.path.startswith(one[0])), places[0])
        path = pin.path.removeprefix(prefix)
        shown = lines.read(path)
        if isinstance(shown, Unreadable):
            failures.append(_failure(pin, _UNPINNED.get(shown.reason, shown.reason)))
            continue
        kinds = [kind for kind in (Kind.CODE, Kind.DOC, Kind.NOTE) if store.document(kind, path) is not None]
        if not kinds:
            failures.append(_failure(pin, "it is not in the index, as ignored, hidden and excluded files are not"))
            continue
        last = len(shown.lines) - (1 if shown.lines[-1] == "" and len(shown.lines) > 1 else 0)
        if pin.start > last:
            failures.append(_failure(pin, f"it has only {last} lines"))
            continue
        kind = Kind.DOC if kinds[0] is Kind.DOC else Kind.CODE
        start, end = pin.start or 1, min(pin.end or last, last)
        pinned.append(
            Pinned(
                kind,
                _candidate(pin.path, kind, start, end, shown),
                replace(shown, path=pin.path) if prefix else shown,
            )
        )
    return pinned, failures


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
        file_score=PINNED_FILE_SCORE,
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
        section = next((one for one in every if one.kind is pin.kind), None)
        if section is None:
            section = Section(pin.kind, weights.get(pin.kind, 1.0), [], {}, item_limit)
            every.append(section)
        shown = section.lines.get(pin.candidate.group)
        lines = pin.lines if shown is None else replace(pin.lines, sent=shown.sent)
        section.lines = {**section.lines, pin.candidate.group: lines}
        section.candidates.insert(sum(candidate.pinned for candidate in section.candidates), pin.candidate)
    order = list(CONTEXT_TYPES.values())
    return sorted(every, key=lambda section: -1 if section.title else order.index(section.kind))
