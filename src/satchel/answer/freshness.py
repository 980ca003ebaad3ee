"""Hits brought up to date with the files: unchanged, moved, changed, or only as indexed.

A file that is unchanged since it was indexed costs one hash. Any other is parsed as for the index, and the indexed
parts are matched by name and text: the same text under the same name has moved (or not), another text under
the same name has changed, and a part with neither is gone. Blank lines at the ends of a part do not count, because the
parts of a file tile it. A part without a name is matched by its exact lines alone.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from typing import Any

from msgspec import Struct, field, structs

from satchel.answer.candidates import Candidate, Step
from satchel.answer.file_candidates import declaration_steps, file_candidates, lines_size
from satchel.answer.source_lines import FileLines, Lines, Unreadable, without_blank_ends
from satchel.answer.truncation import TruncationStrategy
from satchel.safety.sanitize import plain_name
from satchel.search.chunks import ITEM_KEY, in_workspace
from satchel.store.protocol import Store
from satchel.store.records import Document, StoredChunk
from satchel.system.properties import unlocked_cached_property
from satchel.types import Detail, Failure, Freshness, Hit, Kind, Location, Part, ScoredSpan
from satchel.vocabulary import STALE_CHOICES

ALIKE_TEXTS = 0.5
"""Share of lines that an old and a new text of one name must have in common to be paired where there is a choice."""

STALE_GROUP = "~stale"
"""Suffix of the key of the item with the stale parts of a file whose other parts are shown up to date."""

ListChanged = Callable[[], Iterable[tuple[str, int]]]
"""Paths and sizes (bytes) of the files that are new or changed since the index was built."""


def freshness_of(fields: Mapping[str, Any]) -> Freshness | None:
    """Return how a chunk differs from what was indexed, by its fields."""
    return fields.get("freshness")


def gravest(every: Iterable[Freshness | None]) -> Freshness | None:
    """Return the gravest mark: stale, then changed, then moved."""
    marks = set(every)
    return next(
        (freshness for freshness in (Freshness.STALE, Freshness.CHANGED, Freshness.MOVED) if freshness in marks), None
    )


class CurrentHit(Struct, frozen=True):
    """A hit as it can be shown now: with its present lines, the text they are in, and the item it belongs to."""

    hit: Hit
    lines: Lines
    group: str

    def within(self, prefix: str) -> CurrentHit:
        """Return it with its workspace (`web/`, empty for none) before the path."""
        if not prefix:
            return self
        lines = replace(self.lines, path=f"{prefix}{self.lines.path}")
        return CurrentHit(in_workspace(self.hit, prefix), lines, f"{prefix}{self.group}")

    def candidates(
        self, whole_item_tokens: int, terms: AbstractSet[str], shortener: TruncationStrategy | None = None
    ) -> list[Candidate]:
        """Return the candidates of the hit.

        A changed definition is shown in full or by its declaration, because its new lines were never ranked.
        """
        made = file_candidates(self.hit, self.lines, whole_item_tokens, terms, shortener)
        if freshness_of(self.hit.chunk.fields) is Freshness.CHANGED:
            return [self._declared(candidate) for candidate in made]
        return made

    def _declared(self, candidate: Candidate) -> Candidate:
        first = candidate.first_line
        declared = declaration_steps(self.hit.chunk, self.lines) or [Step(Detail.LINE, ((first, first),))]
        if candidate.steps and candidate.steps[0].detail is Detail.FULL:
            return candidate.offering([candidate.steps[0], *declared])
        size = sum(lines_size(self.lines, *span) for span in declared[0].ranges)
        return Candidate(self.hit, candidate.value, size, first, lambda: declared)


class PartNow(Struct, frozen=True):
    """Lines `start` to `end` of the new text. `shift` is how far the text moved, None where it is another text.

    `signature` is the declaration as it reads now.
    """

    start: int
    end: int
    shift: int | None
    name: str
    signature: str


class _FileNow(Struct, frozen=True):
    """One indexed file as it is now. `lines` is None where the file is gone; `parts` is None where it is unchanged."""

    path: str
    kind: Kind
    lines: Lines | None
    parts: Mapping[tuple[int, int], PartNow] | None = None
    reason: str = ""


class Freshener(Struct, frozen=True, dict=True):
    """Brings hits in files up to date. One object for one question: each file is read once.

    `stale` is one of `STALE_CHOICES`. Without `changed` a renamed file counts as gone.
    """

    store: Store
    lines: FileLines
    stale: str = STALE_CHOICES[0]
    changed: ListChanged | None = None
    _files: dict[str, _FileNow] = field(default_factory=dict)
    _live: dict[str, Lines] = field(default_factory=dict)
    _failures: dict[str, Failure] = field(default_factory=dict)
    _withheld: Counter[str] = field(default_factory=Counter)
    _as_indexed: dict[str, Lines] = field(default_factory=dict)

    def current(self, hit: Hit) -> CurrentHit | None:
        """Return the hit as it can be shown now, None where it is withheld."""
        location = hit.chunk.location
        assert location is not None
        file = self._files.get(location.path)
        if file is None:
            file = self._files[location.path] = self._present_state(hit, location)
        if file.lines is not None and file.parts is None:
            return CurrentHit(hit, file.lines, file.path) if file.path == location.path else _renamed(hit, file.lines)
        part = file.parts.get((location.start_line, location.end_line)) if file.parts is not None else None
        if file.lines is not None and part is not None:
            return CurrentHit(_moved(hit, location, part, file.lines), file.lines, file.path)
        return self._stale(hit, location, file)

    @property
    def failures(self) -> list[Failure]:
        """Notes for the answer: files that cannot be read, and parts that are withheld."""
        notes = dict(self._failures)
        for path, count in self._withheld.items():
            file, parts = self._files[path], "1 part" if count == 1 else f"{count} parts"
            message = f"{path}: {parts} withheld, {file.reason}"
            notes[path] = Failure(file.kind.plural, message, "context.stale = mark shows the stored text")
        return [notes[path] for path in sorted(notes)]

    @unlocked_cached_property
    def _changed_files(self) -> list[tuple[str, int]]:
        """Paths and sizes of the files that are new or changed since the index was built."""
        return sorted(self.changed()) if self.changed is not None else []

    def _read(self, path: str, content_hash: str, document: int) -> Lines | Unreadable:
        return self._live.get(path) or self.lines.read(path, content_hash, lambda: self.store.text(document))

    def _present_state(self, hit: Hit, location: Location) -> _FileNow:
        document, kind = hit.chunk.document, hit.chunk.kind
        lines = self._read(location.path, location.content_hash, document)
        if isinstance(lines, Lines):
            self._live[location.path] = lines
            if lines.content_hash == location.content_hash:
                return _FileNow(location.path, kind, lines)
        stored = self.store.documents([document])[document]
        if not isinstance(lines, Unreadable):
            self.lines.note_mismatch(location.path)
            return self._state_of_parts(location, kind, lines, stored)
        if lines.is_error:
            note = Failure(kind.plural, f"{plain_name(lines.path)}: {lines.reason}", "the stored text is used")
            self._failures[lines.path] = note
        else:
            self.lines.note_mismatch(location.path)
        return self._renamed_file(stored) or _FileNow(location.path, kind, None, reason=f"the file is {lines.reason}")

    def _state_of_parts(self, location: Location, kind: Kind, lines: Lines, stored: Document) -> _FileNow:
        from satchel.sources.outline import unwanted  # here, because most files are as they were indexed

        reason = unwanted(lines.path, lines.text(1, len(lines.lines)))
        if reason is not None:
            return _FileNow(location.path, kind, None, reason=f"the file is {reason}")
        old = self.store.chunks(stored.rows)
        parts = [old[row] for row in sorted(old)]
        before = self._stored(location, stored.id).lines
        now = relocate(parts, before, self.lines.outline(lines, is_note=kind is Kind.NOTE).parts, lines.lines)
        by_lines = {(part.start, part.end): now[part.row] for part in parts if part.row in now}
        lines = self._live[lines.path] = replace(lines, marks=_marks(list(now.values()), lines.lines, before))
        return _FileNow(location.path, kind, lines, by_lines, "no longer in the file")

    def _renamed_file(self, document: Document) -> _FileNow | None:
        """Return the new file with the bytes of a renamed one, except a file that is indexed with the same bytes."""
        same_size = [path for path, size in self._changed_files if size == document.size]
        for path in same_size[:16]:  # new files of the right size that are read to detect a renamed file
            indexed = self.store.document(document.kind, path)
            if indexed is not None and indexed.content_hash == document.content_hash:
                continue
            lines = self._read(path, document.content_hash, document.id)
            if isinstance(lines, Lines) and lines.content_hash == document.content_hash:
                lines = self._live[path] = _all_marked(lines, Freshness.MOVED)
                return _FileNow(path, document.kind, lines)
        return None

    def _stored(self, location: Location, document: int) -> Lines:
        """Return the text as it was indexed."""
        cached = self.lines.cached(location.path, location.content_hash)
        return cached or self.lines.keep(location.path, location.content_hash, self.store.text(document))

    def _stale(self, hit: Hit, location: Location, file: _FileNow) -> CurrentHit | None:
        if self.stale != STALE_CHOICES[0]:
            self._withheld[location.path] += 1
            return None
        stored = self._as_indexed.get(location.path)
        if stored is None:
            text = self._stored(location, hit.chunk.document)
            stored = self._as_indexed[location.path] = _all_marked(text, Freshness.STALE)
        marked = _marked(hit, location, Freshness.STALE)
        if file.lines is None:
            return CurrentHit(marked, stored, location.path)
        group = f"{location.path}{STALE_GROUP}"
        fields = {**marked.chunk.fields, ITEM_KEY: group}
        return CurrentHit(structs.replace(marked, chunk=replace(marked.chunk, fields=fields)), stored, group)


def _all_marked(lines: Lines, mark: Freshness) -> Lines:
    return replace(lines, marks=(mark,) * len(lines.lines))


def _marks(parts: Sequence[PartNow], lines: Sequence[str], before: Sequence[str]) -> tuple[Freshness | None, ...]:
    """Return how each line differs: like its part; a line outside all parts has changed unless it was there before.

    Parts with a name take precedence, and blank lines between parts are marked like the line before them.
    """
    marks: list[Freshness | None] = [Freshness.CHANGED] * len(lines)
    is_marked = bytearray(len(lines))
    for part in sorted(parts, key=lambda part: (bool(part.name), part.shift == 0)):
        mark = Freshness.CHANGED if part.shift is None else Freshness.MOVED if part.shift else None
        for index in range(part.start - 1, part.end):
            marks[index], is_marked[index] = mark, 1
    for index, line in enumerate(lines):
        if not is_marked[index] and not line.strip():
            marks[index] = marks[index - 1] if index else None
        elif not is_marked[index] and index < len(before) and before[index] == line:
            marks[index] = None
    return tuple(marks)


def _renamed(hit: Hit, lines: Lines) -> CurrentHit:
    location = hit.chunk.location
    assert location is not None
    if hit.chunk.title == location.path:
        hit = structs.replace(hit, chunk=replace(hit.chunk, title=lines.path))
    return CurrentHit(_marked(hit, location._replace(path=lines.path), Freshness.MOVED), lines, lines.path)


def _moved(hit: Hit, location: Location, part: PartNow, lines: Lines) -> Hit:
    """Return the hit on the lines that it has now. Spans move with their part; those of another text are forgotten.

    Spans are cut to the part; a span of blank lines at its end is its last line.
    """
    there = Location(location.path, part.start, part.end, lines.content_hash)
    title = part.name or hit.chunk.title
    hit = structs.replace(hit, chunk=replace(hit.chunk, title=title, signature=part.signature))
    if part.shift is None:
        return _marked(
            structs.replace(hit, spans=(ScoredSpan(part.start, part.end, hit.score),)), there, Freshness.CHANGED
        )
    spans = []
    for span in hit.spans:
        start, end = min(max(span.start + part.shift, part.start), part.end), min(span.end + part.shift, part.end)
        spans.append(ScoredSpan(start, max(end, part.start), span.value))
    return _marked(structs.replace(hit, spans=tuple(spans)), there, Freshness.MOVED if part.shift else None)


def _marked(hit: Hit, location: Location, freshness: Freshness | None) -> Hit:
    fields = {**hit.chunk.fields, "freshness": freshness} if freshness is not None else hit.chunk.fields
    return structs.replace(hit, chunk=replace(hit.chunk, location=location, fields=fields))


def relocate(
    old_parts: Sequence[StoredChunk], old_lines: Sequence[str], new_parts: Sequence[Part], new_lines: Sequence[str]
) -> dict[int, PartNow]:
    """Return the present lines of these parts by row number, without the parts that are gone.

    `old_parts` are all parts of the file, in order, or twins could be taken for each other. Lines are 0-based.
    """
    before = [_Side.of(part.row, part, old_lines) for part in old_parts]
    after = [_Side.of(row, part, new_lines) for row, part in enumerate(new_parts)]
    pairs: dict[int, _Side] = {}
    named = _by_name(after)
    for name, olds in _by_name(before).items():
        pairs |= _pair(olds, named.get(name, []))
    now = {side.row: _paired(side, pairs[side.row]) for side in before if side.row in pairs}
    find = _line_finder(new_lines)
    starts = {(side.first, len(side.body)): side for side in after if side.name}
    for side in before:
        if side.row not in now and (first := find(side.body, side.first)):
            twin = starts.get((first, len(side.body)), side)
            end = first + len(side.body) - 1
            now[side.row] = PartNow(first, end, first - side.first, twin.name if side.name else "", side.signature)
    return now


class _Side(Struct, frozen=True):
    """A part of either text, without the blank lines at its ends. `first` counts from 1."""

    row: int
    name: str
    signature: str
    first: int
    body: tuple[str, ...]

    @classmethod
    def of(cls, row: int, part: StoredChunk | Part, lines: Sequence[str]) -> _Side:
        first, last = without_blank_ends(lines, part.start, part.end)
        return cls(row, part.name, part.signature, first, tuple(lines[first - 1 : last]))


def _by_name(sides: Iterable[_Side]) -> dict[str, list[_Side]]:
    """Return the parts that have a name, those of one name together in order."""
    named: dict[str, list[_Side]] = defaultdict(list)
    for side in sides:
        if side.name:
            named[side.name].append(side)
    return named


def _pair(olds: Sequence[_Side], news: Sequence[_Side]) -> dict[int, _Side]:
    """Pair the old and new parts of one name: equal texts first, the others in order or by likeness."""
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
        if likeness >= ALIKE_TEXTS:
            pairs[old.row] = best
            free.remove(best)
    return pairs


def _likeness(old: _Side, new: _Side) -> float:
    """Return the share of distinct lines that both contain, 0 to 1, ignoring indentation."""
    first, second = ({line.strip() for line in side.body} for side in (old, new))
    return len(first & second) / len(first | second)


def _paired(old: _Side, new: _Side) -> PartNow:
    shift = new.first - old.first if old.body == new.body else None
    return PartNow(new.first, new.first + len(new.body) - 1, shift, new.name, new.signature)


def _line_finder(lines: Sequence[str]) -> Callable[[tuple[str, ...], int], int]:
    """Return a function `find(body, near)` that searches a text for consecutive lines.

    It returns the line nearest to `near` where exactly these lines begin; 0 if there is none or all are blank.
    """
    indices: dict[str, list[int]] = defaultdict(list)

    def find(body: tuple[str, ...], near: int) -> int:
        if not any(line.strip() for line in body):
            return 0
        if not indices:
            for number, line in enumerate(lines):
                indices[line].append(number)
        offset = min(range(len(body)), key=lambda index: len(indices.get(body[index], ())))
        begins = [number - offset for number in indices.get(body[offset], ()) if number >= offset]
        matches = [begin for begin in begins if tuple(lines[begin : begin + len(body)]) == body]
        return min(matches, key=lambda begin: (abs(begin + 1 - near), begin)) + 1 if matches else 0

    return find
