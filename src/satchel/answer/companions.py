"""Companions of shown candidates: the imports they need, the rest of their function, more of their record."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from satchel.answer import weights
from satchel.answer.candidates import Candidate, Step
from satchel.answer.file_candidates import lines_size
from satchel.answer.record_candidates import cut_note, without_trailers
from satchel.answer.sections import FindCompanions, Group, outer_range, subtract
from satchel.answer.source_lines import Lines, joined, without_blank_ends
from satchel.answer.truncation import CHARACTERS_PER_TOKEN, excerpt
from satchel.text import pattern
from satchel.types import Chunk, Detail, Freshness, Import, Kind, Outline, Range, Role

WHOLE_BEST_TOKENS = 500
"""Most tokens of the rest of that function."""

WHOLE_BEST_LINES = 120
"""Lines of the best function that is shown whole for a reader with tools."""

LONGER_DROP = 1.5
"""Value that a longer passage of a record loses, so that a first one that is too large starves no smaller record."""

RECORD_GROWTH = 2.0
"""Length of the next passage of a record, as a multiple of the last."""

_WORD = pattern(r"[^\W\d]\w*")
_STEM_SUFFIX = pattern(r"\.(?:h|hh|hpp|hxx|inc|inl|php|rb|sh|bash|js|mjs|cjs|ts|d\.ts)$")
_SEPARATOR = pattern(r"[^\w]+")
_REEXPORT = pattern(r"export\b(?!\s+import\b)")
_UNKNOWN = frozenset({"*", "."})
"""Names that import everything in a module; the second one is for Go."""

_UNUSABLE = "_"
"""A name that binds nothing in the languages that import under it."""

_INNER = frozenset({Role.FUNCTION, Role.METHOD})


class ImportIndex:
    """The imports of a file by the names that they bind, and those that bind everything in a module."""

    __slots__ = ("by_name", "outline", "unknown")

    def __init__(self, outline: Outline) -> None:
        self.outline = outline
        self.by_name: dict[str, list[int]] = {}
        for position, imported in enumerate(outline.imports):
            for name in imported.names:
                self.by_name.setdefault(name, []).append(position)
        imports = enumerate(outline.imports)
        self.unknown = {
            position: _folded(_last_word(imported.target))
            for position, imported in imports
            if _UNKNOWN.issuperset(imported.names)
        }

    def used(self, names: AbstractSet[str]) -> list[Import]:
        """Return the imports that bind one of these names, or everything in a module whose name one begins with."""
        used = {position for name in self.by_name.keys() & names for position in self.by_name[name]}
        unsure = {position: stem for position, stem in self.unknown.items() if position not in used}
        stems = {_folded(word) for word in names} if unsure else set()
        for position, stem in unsure.items():
            # Fewest letters of the last word of an import without names to match by: `os` begins too many names.
            if len(stem) >= 3 and any(word.startswith(stem) for word in stems):
                used.add(position)
        return [self.outline.imports[position] for position in sorted(used)]


def binding(lines: Sequence[str], imports: ImportIndex, shown: Sequence[Range]) -> list[Range]:
    """Return the lines of imports that bind names used in the shown ranges, in order, except those that are shown.

    `lines` are all lines of the file, 0-based; ranges are 1-based and inclusive, `shown` in order. An import inside
    a function counts for that function alone. Names in comments and doc strings do not count.
    """
    outline = imports.outline
    if not outline.imports or not shown:
        return []
    first, last = outer_range(shown)
    silent = [(start, end) for start, end in outline.comment_lines if end >= first and start <= last]
    silent += [
        (imported.start, imported.end)
        for imported in outline.imports
        if imported.end >= first and imported.start <= last
    ]
    spoken = subtract(shown, joined(silent, -1))
    needed = []
    for imported in imports.used(_words(lines, spoken) - {_UNUSABLE}):
        if imported.target == "__future__" or _REEXPORT.match(lines[imported.start - 1].strip()):
            continue
        home = _home(outline, imported)
        if home is not None:
            home_start, home_end = home
            names = _words(lines, [(max(start, home_start), min(end, home_end)) for start, end in spoken])
            if imported not in imports.used(names):
                continue
        needed.append((imported.start, min(imported.end, len(lines))))
    return subtract(joined(needed, -1), shown)


def _home(outline: Outline, imported: Import) -> Range | None:
    """Return the lines of the function that contains an import, None for an import of the whole file."""
    for part in outline.parts:
        if part.start <= imported.start <= part.end:
            inside = part.role in _INNER and imported.start > part.start
            return (part.start, part.end) if inside else None
    return None


def _words(lines: Sequence[str], ranges: Iterable[Range]) -> set[str]:
    """Return the identifiers on these lines, without a `$` before the name."""
    return set(_WORD.findall("\n".join([line for start, end in ranges for line in lines[start - 1 : end]])))


def _last_word(target: str) -> str:
    """`json` of `lib/json.h`, `System.Text.Json`, `a::json` and `./json`."""
    words = [word for word in _SEPARATOR.split(_STEM_SUFFIX.sub("", target.strip("<>\"'"))) if word]
    return words[-1] if words else ""


def _folded(word: str) -> str:
    return word.replace("_", "").lower()


def import_lines(
    lines: Mapping[str, Lines], outline_of: Callable[[Lines], Outline]
) -> Callable[[Candidate, Step], list[Candidate]]:
    """Return a function from a shown step to the imports that it needs: at most one candidate, led by the shown one.

    `outline_of` parses files that differ from the index.
    """

    def needed(candidate: Candidate, step: Step) -> list[Candidate]:
        text = lines.get(candidate.group)
        if text is None or not step.ranges or Freshness.STALE in text.marks:  # the imports of now say nothing of then
            return []
        # A pin has no imports of its own, and those of the parser are known with their homes.
        key = ImportIndex, "imports" in candidate.chunk.fields, _is_indexed(candidate.chunk, text)
        imports = text.derived.get(key)
        if imports is None:
            imports = ImportIndex(indexed_imports(candidate.chunk, text) or outline_of(text))
            text.derived[key] = imports
        ranges = text.derived.get((key, step.ranges))
        if ranges is None:
            ranges = text.derived[key, step.ranges] = binding(text.lines, imports, step.ranges)
        if not ranges:
            return []
        size = sum(text.characters(*shown) for shown in ranges) / CHARACTERS_PER_TOKEN
        value = candidate.value + math.log(weights.IMPORT_VALUE)
        steps = (Step(Detail.LINE, tuple(ranges)),)
        first, _ = outer_range(ranges)
        return [Candidate(candidate.hit, value, size, first, lambda: steps, companion_of=candidate)]

    return needed


def indexed_imports(chunk: Chunk, lines: Lines) -> Outline | None:
    """Return the indexed imports of a file as an outline without parts; None for a file that differs from the index."""
    if not _is_indexed(chunk, lines):
        return None
    ranges = chunk.fields.get("imports", ())
    return Outline("", (), tuple([Import(target, tuple(names), start, end) for target, names, start, end in ranges]))


def _is_indexed(chunk: Chunk, lines: Lines) -> bool:
    """Return whether the lines are those that were indexed."""
    location = chunk.location
    return not lines.marks and location is not None and location.content_hash == lines.content_hash


def rest_of_function(candidate: Candidate, step: Step, group: Group) -> list[Candidate]:
    """Return the lines of the candidate's definition that are not shown yet: all, or the gaps between shown ones."""
    location, lines = candidate.chunk.location, group.lines
    if location is None or lines is None or step.detail is not Detail.SPAN or step.remarks:
        return []
    whole = without_blank_ends(lines.lines, location.start_line, location.end_line)
    missing = subtract([whole], group.ranges)
    first, last = whole
    if last - first >= weights.LONG_FUNCTION:
        steps_of_same = [picked for other, picked in group.picks if other.chunk.id == candidate.chunk.id]
        passages = (range_ for picked in steps_of_same for range_ in picked.ranges)
        shown = joined(((start, end) for start, end in passages if start <= last and end >= first), weights.JOIN_LINES)
        gaps = subtract([outer_range(shown)], shown)
        missing = subtract([(start, end) for start, end in gaps if end - start < weights.LONG_FUNCTION], group.ranges)
    if not any(line.strip() for start, end in missing for line in lines.lines[start - 1 : end]):
        return []
    size = sum(lines_size(lines, *span) for span in missing)
    steps = (Step(Detail.SPAN, tuple(missing)),)
    value = candidate.value - (weights.PARTIAL_DROP if candidate.hit.partial else 0.0)
    first_missing, _ = outer_range(missing)
    return [Candidate(candidate.hit, value, size, first_missing, lambda: steps, companion_of=candidate)]


def rest_of_best(candidate: Candidate, group: Group) -> Candidate | None:
    """Return all lines of the best function that are not shown, None if they are too many, or it is no function."""
    location, lines = candidate.chunk.location, group.lines
    if location is None or lines is None or candidate.chunk.role not in _INNER or candidate.hit.partial:
        return None
    whole = without_blank_ends(lines.lines, location.start_line, location.end_line)
    missing = subtract(subtract([whole], lines.prose(*whole)), group.ranges)
    size = sum(lines_size(lines, *span) for span in missing)
    first, last = whole
    if not missing or last - first >= WHOLE_BEST_LINES or size > WHOLE_BEST_TOKENS:
        return None
    steps = (Step(Detail.SPAN, tuple(missing)),)
    first_missing, _ = outer_range(missing)
    return Candidate(candidate.hit, candidate.value, size, first_missing, lambda: steps, companion_of=candidate)


def more_of_record(candidate: Candidate, step: Step, terms: AbstractSet[str]) -> list[Candidate]:
    """Return a longer passage of a record that is shown in part."""
    body = without_trailers(candidate.body) if candidate.kind is Kind.COMMIT else candidate.body
    if step.detail is not Detail.SPAN or not step.text.endswith(cut_note(candidate.chunk)):
        return []
    characters = len(step.text) * RECORD_GROWTH
    text = excerpt(body, terms, characters)
    full = text == body
    made = Step(Detail.FULL, text=body) if full else Step(Detail.SPAN, text=f"{text}\n{cut_note(candidate.chunk)}")
    if len(made.text) <= len(step.text):
        return []
    size = (len(made.text) - len(step.text)) / CHARACTERS_PER_TOKEN
    value, companion_of = candidate.value - LONGER_DROP, candidate.companion_of or candidate
    return [
        replace(
            candidate,
            value=value,
            measured=size,
            make=lambda: (made,),
            shrink=None,
            pinned=False,
            companion_of=companion_of,
        )
    ]


Imports = Callable[[Candidate, Step], Sequence[Candidate]]


def companion_finder(imports: Imports | None, terms: AbstractSet[str]) -> FindCompanions:
    """Return a function from a shown step to its companions."""

    def find_companions(candidate: Candidate, step: Step, group: Group) -> list[Candidate]:
        if group.lines is None:
            return more_of_record(candidate, step, terms)
        if candidate.companion_of is not None:
            return []
        rest = rest_of_function(candidate, step, group)
        # A call site is clear without the imports of its file.
        return rest if imports is None or candidate.hit.partial else [*imports(candidate, step), *rest]

    return find_companions
