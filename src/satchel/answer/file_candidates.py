"""Candidates of files: the lines of definitions and sections, whole, by matching spans, or by their best lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import partial

from satchel import text as words
from satchel.answer import weights
from satchel.answer.candidates import SHRINK_SHARES, Candidate, Step
from satchel.answer.source_lines import (
    Lines,
    branch_end,
    conditions,
    joined,
    trimmed,
    whole_statements,
    without_blank_ends,
)
from satchel.answer.truncation import (
    CHARACTERS_PER_TOKEN,
    OmissionRemark,
    SourceText,
    TruncationStrategy,
    best_run,
    excerpt,
    matches,
    shortenings,
)
from satchel.search.searcher import TRACE_SIGNAL
from satchel.store.licence import COMMENT_LINE
from satchel.system.properties import unlocked_cached_property
from satchel.text import pattern
from satchel.types import Chunk, Detail, Hit, Kind, Range, Role

MIN_EXCERPT = 60
"""Fewest characters of a cut line that are still useful."""

_FRAME_LINE = pattern(r"package\b|\s*(?:$|if\b.*TYPE_CHECKING\b|['\"]use |[)}]$)")
"""A line that says nothing without the imports beside it."""

_IMPORT_TERMS = frozenset(words.stem(word) for word in ("import", "include", "require", "dependency"))

DECLARED = frozenset({Role.FUNCTION, Role.METHOD, Role.CLASS})


def file_candidates(
    hit: Hit,
    lines: Lines,
    whole_item_tokens: int,
    terms: AbstractSet[str] = frozenset(),
    shortener: TruncationStrategy | None = None,
) -> list[Candidate]:
    """Return a small chunk as one candidate, a larger or partial one as a candidate for each matching span.

    With a `shortener` a larger chunk is one candidate too, shortened if possible. Blank lines at both ends are not
    shown. With `terms` (those of the question), slivers without any of them and bare headers are left out.
    """
    location = hit.chunk.location
    assert location is not None
    end = min(location.end_line, len(lines.lines))
    has_licence = location.start_line == 1 and hit.chunk.kind is Kind.CODE
    start = min(lines.licence_end + 1, end) if has_licence else location.start_line
    whole, characters = trimmed(lines, start, end)
    size = characters / CHARACTERS_PER_TOKEN
    # A line that the question names by its number need not have a word of it.
    words_needed = frozenset() if TRACE_SIGNAL in [signal.name for signal in hit.signals] else terms
    if shortener is not None or (size <= whole_item_tokens and not hit.partial):
        if _is_sliver(hit.chunk, lines, whole, size, words_needed, is_whole=True) or _imports_only(
            hit.chunk, lines, whole, words_needed
        ):
            return []
        make = partial(_whole_steps, hit, lines, whole_item_tokens, shortener, whole)
        shrink = Narrowing(lines, whole, terms, hit.chunk)
        return [Candidate(hit, hit.score, min(size, whole_item_tokens), whole[0], make, shrink)]
    made = []
    for span in hit.spans:
        shown, characters = trimmed(lines, max(span.start, start), min(span.end, end))
        size = characters / CHARACTERS_PER_TOKEN
        is_empty = shown[0] > shown[1] or _imports_only(hit.chunk, lines, shown, words_needed)
        if not is_empty and not _is_sliver(hit.chunk, lines, shown, size, words_needed):
            shrink, steps = Narrowing(lines, shown, terms, hit.chunk), partial(_span_steps, hit.chunk, lines, shown)
            made.append(Candidate(hit, span.value, size, shown[0], steps, shrink))
    return made


def _whole_steps(
    hit: Hit, lines: Lines, whole_item_tokens: int, shortener: TruncationStrategy | None, whole: Range
) -> list[Step]:
    """Return a chunk in full, then as the truncation strategy shortens it."""
    size = lines_size(lines, *whole)
    steps = [Step(Detail.FULL, (whole,))] if size <= whole_item_tokens else []
    if shortener is None:
        return steps
    language = str(hit.chunk.fields.get("language", ""))
    return steps + shortened_steps(shortener, lines, language, whole, min(size / 2, whole_item_tokens))


@dataclass(frozen=True, eq=False)
class Narrowing:
    """Steps with the best lines of a range, or the best sentences of a line that is longer than the room."""

    lines: Lines
    whole: Range
    terms: AbstractSet[str]
    chunk: Chunk

    def __call__(self, room: float) -> Iterator[Step]:
        """Yield the steps for about so many tokens."""
        if room <= 0 or self._is_too_long(room * SHRINK_SHARES[0] * CHARACTERS_PER_TOKEN):
            return
        gains, first = self._gains, self.whole[0]
        costs = [len(text) + 1 for text in self._texts]
        for share in SHRINK_SHARES:
            characters = room * share * CHARACTERS_PER_TOKEN
            run = best_run(gains, costs, characters)
            if run is not None and any(text.strip() for text in self._texts[run[0] : run[1] + 1]):
                shown = without_blank_ends(self.lines.lines, first + run[0], first + run[1])
                yield from _in_definition(self.chunk, self.lines, shown, (shown,))
            elif run is None and characters > MIN_EXCERPT:
                yield from _cut_line(self._texts, gains, first, self.terms, characters)

    @unlocked_cached_property
    def _texts(self) -> Sequence[str]:
        return self.lines.lines[self.whole[0] - 1 : self.whole[1]]

    @unlocked_cached_property
    def _gains(self) -> Sequence[int]:
        return matches(self._texts, self.terms)

    def _is_too_long(self, characters: float) -> bool:
        """Return whether the best line is certainly longer than so many characters, and they are too few to cut it.

        The short lines are matched alone: they are seldom the best, and most calls are for the last tokens of a budget.
        """
        if "_gains" in self.__dict__ or characters > MIN_EXCERPT or len(self._texts[0]) < characters:
            return False
        return not any(matches([text for text in self._texts if len(text) < characters], self.terms))


def _cut_line(
    lines: Sequence[str], gains: Sequence[int], start: int, terms: AbstractSet[str], characters: float
) -> list[Step]:
    """Return the best sentences of the best line, as a remark."""
    best = max(range(len(lines)), key=lambda index: (gains[index], -index))
    passage = excerpt(lines[best], terms, characters)
    position = start + best
    return [Step(Detail.SPAN, remarks=(OmissionRemark(position, position, passage),))] if passage else []


def _is_sliver(
    chunk: Chunk, lines: Lines, shown: Range, size: float, terms: AbstractSet[str], *, is_whole: bool = False
) -> bool:
    if not terms or size >= weights.SLIVER_TOKENS:
        return False
    text = lines.text(*shown)
    is_header = is_whole and chunk.role is Role.CLASS and size < weights.HEADER_TOKENS
    if is_header and text.rstrip().endswith(("{", ":", "(")):
        return True
    if chunk.kind is not Kind.CODE and chunk.location is not None:
        # A short passage need not repeat the title or the name of its document, or the headings above it.
        name = chunk.location.path.rpartition("/")[2]
        text = f"{text}\n{name}\n{chunk.title}\n{chunk.fields.get('title', '')}"
    return terms.isdisjoint(words.count_terms(words.words(text)))


def _imports_only(chunk: Chunk, lines: Lines, shown: Range, terms: AbstractSet[str]) -> bool:
    """Return whether the lines, outside of definitions, only import, and the question does not ask for imports.

    Imports that shown code needs are shown beside it (docs/decisions/0006).
    """
    if not terms or chunk.role is not Role.GAP or not terms.isdisjoint(_IMPORT_TERMS):
        return False
    key = _imports_only, chunk.id, shown
    if key not in lines.derived:
        lines.derived[key] = _terms_beside_imports(chunk, lines, shown)
    beside: AbstractSet[str] | None = lines.derived[key]
    return beside is not None and terms.isdisjoint(beside)


def _terms_beside_imports(chunk: Chunk, lines: Lines, shown: Range) -> AbstractSet[str] | None:
    """Return the terms of comments beside imports; None for lines without imports, and for those with other code."""
    imported = {line for *_, start, end in chunk.fields.get("imports", ()) for line in range(start, end + 1)}
    if not imported:
        return None
    others = [text for line, text in enumerate(lines.lines[shown[0] - 1 : shown[1]], shown[0]) if line not in imported]
    rest = [text for text in others if not _FRAME_LINE.match(text)]
    is_frame = all(map(COMMENT_LINE.match, rest))
    return frozenset(words.count_terms(words.words("\n".join(rest)))) if is_frame else None


def shortened_steps(
    shortener: TruncationStrategy, lines: Lines, language: str, whole: Range, max_tokens: float
) -> list[Step]:
    """Return the ways to show these lines that a truncation strategy offers, from most to least detail."""
    made = shortenings(shortener, SourceText(lines.lines, language), *whole, max_tokens)
    return [Step(Detail.SPAN, short.ranges, remarks=short.remarks) for short in made]


def _span_steps(chunk: Chunk, lines: Lines, shown: Range) -> list[Step]:
    """Return a span with the declaration of its definition above it. It is computed once while the lines are cached."""
    key = _span_steps, chunk.id, chunk.signature, shown
    steps: list[Step] | None = lines.derived.get(key)
    if steps is None:
        signature = signature_range(chunk, lines)
        is_inside = signature is None or (shown[0] <= signature[0] and signature[1] <= shown[1])
        ranges = (shown,) if signature is None or is_inside else (signature, shown)
        steps = lines.derived[key] = _in_definition(chunk, lines, shown, ranges)
    return steps


def _in_definition(chunk: Chunk, lines: Lines, shown: Range, plain: tuple[Range, ...]) -> list[Step]:
    """Return the lines to the end of a short branch, below their declaration and conditions; then `plain` ranges."""
    signature, location = signature_range(chunk, lines), chunk.location
    whole = [shown]
    if chunk.role in DECLARED and location is not None:
        last = min(location.end_line, len(lines.lines))
        start, end = whole_statements(lines.lines, *shown, location.start_line, last)
        whole = [(start, branch_end(lines.lines, start, end, last))]
    if signature is not None and not (shown[0] <= signature[0] and signature[1] <= shown[1]):
        whole = joined([signature, *conditions(lines.lines, signature[0], shown[0]), *whole])
    return [Step(Detail.SPAN, ranges) for ranges in dict.fromkeys((tuple(whole), plain))]


def is_long_function(chunk: Chunk) -> bool:
    """Return whether a chunk is a function that is not completed once a passage of it is shown."""
    if chunk.role not in (Role.FUNCTION, Role.METHOD) or chunk.location is None:
        return False
    return chunk.location.end_line - chunk.location.start_line >= weights.LONG_FUNCTION


def lines_size(lines: Lines, start: int, end: int) -> float:
    """Estimated tokens of lines `start`..`end`."""
    return lines.characters(start, end) / CHARACTERS_PER_TOKEN


def declaration_steps(chunk: Chunk, lines: Lines) -> list[Step]:
    """Return a step with the declaration of a chunk and the first line of its doc comment, if it has a declaration."""
    signature = signature_range(chunk, lines)
    if signature is None:
        return []
    documented = _doc_line(chunk, lines, signature)
    return [Step(Detail.SIGNATURE, (signature,) if documented is None else tuple(sorted((signature, documented))))]


def _doc_line(chunk: Chunk, lines: Lines, signature: Range) -> Range | None:
    """Return the line near a declaration where its doc comment begins."""
    # Characters of the first sentence of a doc comment that identify its line; the sentence may continue on the next.
    summary = str(chunk.fields.get("summary", ""))[:30]
    location = chunk.location
    if not summary or location is None:
        return None
    # Lines below a declaration that are searched for its doc string; above it the search ends where the unit begins.
    below = range(signature[1] + 1, min(signature[1] + 4, location.end_line, len(lines.lines)) + 1)
    for number in (*below, *range(signature[0] - 1, location.start_line - 1, -1)):
        if summary in lines.lines[number - 1]:
            return number, number
    return None


def signature_range(chunk: Chunk, lines: Lines) -> Range | None:
    """Return the lines that declare a chunk, None without a declaration."""
    location = chunk.location
    if chunk.role not in DECLARED or not chunk.signature or location is None:
        return None
    declared = [*filter(None, map(str.strip, chunk.signature.split("\n")))]
    last_line = min(location.end_line, len(lines.lines))
    # Lines between the start of a chunk and its declaration: decorators and comments come first.
    texts = lines.lines[location.start_line - 1 : min(location.start_line + 39, last_line)]
    first = declared[0][:60]
    for number, line in enumerate(texts, location.start_line):
        if not line.strip().startswith(first):
            continue
        end = number
        for text in declared[1:6]:  # longest signature lines
            if end < last_line and lines.lines[end].strip().startswith(text[:60]):
                end += 1
        return number, end
    return None
