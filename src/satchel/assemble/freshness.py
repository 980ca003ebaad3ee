"""What of a hit can be shown as the files are now: unchanged, moved, changed, or only as it was indexed.

Costs nothing beyond one hash for a file that is as it was indexed. Any other is parsed as the index would do it, and
the parts of the index are looked up in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from satchel.assemble.candidates import ITEM_KEY, Candidate, Step, declaration_steps, file_candidates, lines_size
from satchel.assemble.request import STALE_CHOICES
from satchel.assemble.source_lines import FileLines, Lines, Unreadable
from satchel.assemble.truncation import Strategy
from satchel.store.protocol import Store
from satchel.store.records import Bundle, StoredPart
from satchel.types import Detail, Failure, Freshness, Hit, Kind, Location, Part, Span

STALE_GROUP = "~stale"
"""Ends the key of the item that shows the stale parts of a file of which other parts are shown as they are now."""

MOST_COMPARED = 16
"""New files of the right size that are read in search of one that was renamed."""

ListChanged = Callable[[], Iterable[tuple[str, int]]]
"""Paths and sizes (bytes) of the files that are new or changed since the index was built."""


def freshness_of(fields: Mapping[str, Any]) -> Freshness | None:
    """What the fields of a document say about how it differs from what was indexed."""
    return fields.get("freshness")


def gravest(every: Iterable[Freshness | None]) -> Freshness | None:
    """The one that says most: stale, then changed, then moved."""
    found = set(every)
    return next((one for one in (Freshness.STALE, Freshness.CHANGED, Freshness.MOVED) if one in found), None)


@dataclass(frozen=True, slots=True)
class Sighting:
    """A hit as it can be shown now: with its present lines, the text they are in, and the item it belongs to."""

    hit: Hit
    lines: Lines
    group: str

    def candidates(
        self, whole_item_tokens: int, asked: AbstractSet[str], shortener: Strategy | None = None
    ) -> list[Candidate]:
        """What could be shown of it.

        Of a changed definition that is all of it or its declaration, never a window: nobody knows which of its new
        lines answer.
        """
        made = file_candidates(self.hit, self.lines, whole_item_tokens, asked, shortener)
        if freshness_of(self.hit.document.fields) is Freshness.CHANGED:
            return [self._declared(candidate) for candidate in made]
        return made

    def _declared(self, candidate: Candidate) -> Candidate:
        first = candidate.place
        declared = declaration_steps(self.hit.document, self.lines) or [Step(Detail.LINE, ((first, first),))]
        if candidate.steps and candidate.steps[0].detail is Detail.FULL:
            candidate.keep([candidate.steps[0], *declared])
            return candidate
        size = sum(lines_size(self.lines, *span) for span in declared[0].ranges)
        return Candidate(self.hit, candidate.value, size, first, lambda: declared)


@dataclass(slots=True)
class _View:
    """One indexed file as it is now. `lines` is None where the file is gone; `places` is None where it is unchanged."""

    path: str
    kind: Kind
    lines: Lines | None
    places: Mapping[tuple[int, int], Place] | None = None
    reason: str = ""
    withheld: int = 0
    stored: Lines | None = None


@dataclass(slots=True)
class Freshener:
    """Says of each hit in a file how it can be shown now. One object for one question: each file is read once.

    `stale` is one of `STALE_CHOICES`. Without `changed` a renamed file counts as gone.
    """

    store: Store
    lines: FileLines
    stale: str = STALE_CHOICES[0]
    changed: ListChanged | None = None
    _views: dict[str, _View] = field(default_factory=dict)
    _live: dict[str, Lines] = field(default_factory=dict)
    _failures: dict[str, Failure] = field(default_factory=dict)
    _listed: list[tuple[str, int]] | None = None

    def see(self, hit: Hit) -> Sighting | None:
        """The hit as it can be shown now, None where it is withheld."""
        location = hit.document.location
        assert location is not None
        view = self._views.get(location.path)
        if view is None:
            view = self._views[location.path] = self._look(hit, location)
        if view.lines is not None and view.places is None:
            return Sighting(hit, view.lines, view.path) if view.path == location.path else _renamed(hit, view.lines)
        place = view.places.get((location.start_line, location.end_line)) if view.places is not None else None
        if view.lines is not None and place is not None:
            return Sighting(_at(hit, location, place, view.lines), view.lines, view.path)
        return self._stale(hit, location, view)

    @property
    def failures(self) -> list[Failure]:
        """What the answer has to note: files that cannot be read, and parts that are withheld."""
        notes = dict(self._failures)
        for path, view in self._views.items():
            if view.withheld:
                parts = "1 part" if view.withheld == 1 else f"{view.withheld} parts"
                message = f"{path}: {parts} withheld, {view.reason}"
                notes[path] = Failure(view.kind.plural, message, "context.stale = mark shows the stored text")
        return [notes[path] for path in sorted(notes)]

    def _look(self, hit: Hit, location: Location) -> _View:
        bundle, kind = int(hit.document.fields["bundle"]), hit.document.kind
        found = self._live.get(location.path) or self.lines.read(
            location.path, location.content_hash, lambda: self.store.text(bundle)
        )
        if isinstance(found, Lines):
            self._live[location.path] = found
            if found.content_hash == location.content_hash:
                return _View(location.path, kind, found)
        return self._look_again(location, kind, found, self.store.bundles([bundle])[bundle])

    def _look_again(self, location: Location, kind: Kind, found: Lines | Unreadable, stored: Bundle) -> _View:
        from satchel.file_contents import unwanted

        if isinstance(found, Unreadable) and found.is_error:
            note = Failure(kind.plural, f"{found.path}: {found.reason}", "the stored text is used")
            self._failures[found.path] = note
        else:
            self.lines.note_mismatch()
        if isinstance(found, Unreadable):
            elsewhere = self._find(stored)
            return elsewhere or _View(location.path, kind, None, reason=f"the file is {found.reason}")
        reason = unwanted(found.path, found.text(1, len(found.lines)))
        if reason is not None:
            return _View(location.path, kind, None, reason=f"the file is {reason}")
        old = self.store.parts(range(stored.first_document, stored.last_document + 1))
        parts = [old[row] for row in sorted(old)]
        before = self._stored(location, stored.id).lines
        places = relocate(parts, before, self.lines.outline(found, is_note=kind is Kind.NOTE).parts, found.lines)
        by_lines = {(part.start, part.end): places[part.row] for part in parts if part.row in places}
        found = self._live[found.path] = replace(found, marks=_marks(list(places.values()), found.lines, before))
        return _View(location.path, kind, found, by_lines, "no longer in the file")

    def _find(self, bundle: Bundle) -> _View | None:
        """The file that has the bytes of this one now, if it was renamed; one that always had them is another file."""
        if self.changed is None:
            return None
        if self._listed is None:
            self._listed = sorted(self.changed())
        same_size = [path for path, size in self._listed if size == bundle.size]
        for path in same_size[:MOST_COMPARED]:
            known = self.store.bundle(bundle.kind, path)
            if known is not None and known.content_hash == bundle.content_hash:
                continue
            found = self._live.get(path) or self.lines.read(
                path, bundle.content_hash, lambda: self.store.text(bundle.id)
            )
            if isinstance(found, Lines) and found.content_hash == bundle.content_hash:
                found = self._live[path] = _all(found, Freshness.MOVED)
                return _View(path, bundle.kind, found)
        return None

    def _stored(self, location: Location, bundle: int) -> Lines:
        """The text as it was indexed."""
        known = self.lines.known(location.path, location.content_hash)
        return known or self.lines.keep(location.path, location.content_hash, self.store.text(bundle))

    def _stale(self, hit: Hit, location: Location, view: _View) -> Sighting | None:
        if self.stale != STALE_CHOICES[0]:
            view.withheld += 1
            return None
        if view.stored is None:
            bundle = int(hit.document.fields["bundle"])
            view.stored = _all(self._stored(location, bundle), Freshness.STALE)
        lines = view.stored
        marked = _marked(hit, location, Freshness.STALE)
        if view.lines is None:
            return Sighting(marked, lines, location.path)
        group = f"{location.path}{STALE_GROUP}"
        fields = {**marked.document.fields, ITEM_KEY: group}
        return Sighting(replace(marked, document=replace(marked.document, fields=fields)), lines, group)


def _all(lines: Lines, mark: Freshness) -> Lines:
    return replace(lines, marks=(mark,) * len(lines.lines))


def _marks(places: Sequence[Place], lines: Sequence[str], before: Sequence[str]) -> tuple[Freshness | None, ...]:
    """How each line differs: as the part that it belongs to; one of no part has changed unless it was there before.

    What has a name decides over what has none, and blank lines between parts go with the line before them.
    """
    marks: list[Freshness | None] = [Freshness.CHANGED] * len(lines)
    known = bytearray(len(lines))
    for place in sorted(places, key=lambda place: (bool(place.name), place.shift == 0)):
        mark = Freshness.CHANGED if place.shift is None else Freshness.MOVED if place.shift else None
        for index in range(place.start - 1, place.end):
            marks[index], known[index] = mark, 1
    for index, line in enumerate(lines):
        if not known[index] and not line.strip():
            marks[index] = marks[index - 1] if index else None
        elif not known[index] and index < len(before) and before[index] == line:
            marks[index] = None
    return tuple(marks)


def _renamed(hit: Hit, lines: Lines) -> Sighting:
    location = hit.document.location
    assert location is not None
    if hit.document.title == location.path:
        hit = replace(hit, document=replace(hit.document, title=lines.path))
    return Sighting(_marked(hit, replace(location, path=lines.path), Freshness.MOVED), lines, lines.path)


def _at(hit: Hit, location: Location, place: Place, lines: Lines) -> Hit:
    """The hit on the lines that it has now. Windows move with their part; those of another text are forgotten."""
    there = Location(location.path, place.start, place.end, lines.content_hash)
    title = place.name or hit.document.title
    moved = replace(hit, document=replace(hit.document, title=title, signature=place.signature))
    if place.shift is None:
        moved = replace(moved, spans=(Span(place.start, place.end, hit.score),))
        return _marked(moved, there, Freshness.CHANGED)
    moved = replace(moved, spans=_shifted(hit.spans, place, place.shift))
    return _marked(moved, there, Freshness.MOVED if place.shift else None)


def _shifted(spans: Sequence[Span], place: Place, shift: int) -> tuple[Span, ...]:
    """The windows on their new lines, cut to the part; a window of blank lines at its end is its last line."""
    return tuple(
        Span(
            min(max(span.start + shift, place.start), place.end),
            max(min(span.end + shift, place.end), place.start),
            span.value,
        )
        for span in spans
    )


def _marked(hit: Hit, location: Location, freshness: Freshness | None) -> Hit:
    fields = {**hit.document.fields, "freshness": freshness} if freshness is not None else hit.document.fields
    return replace(hit, document=replace(hit.document, location=location, fields=fields))


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
