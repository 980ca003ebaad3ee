"""From hits to candidates: what could be shown, in which steps of detail, and the value of each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import partial

from msgspec import Struct, structs

from satchel import text as words
from satchel.answer import weights
from satchel.answer.source_lines import (
    Lines,
    around,
    branch_end,
    conditions,
    joined,
    trimmed,
    whole_statements,
    without_blank_ends,
)
from satchel.answer.truncation import CHARACTERS_PER_TOKEN as CHARACTERS_PER_TOKEN
from satchel.answer.truncation import (
    OmissionRemark,
    SourceText,
    TruncationStrategy,
    best_run,
    excerpt,
    matches,
    shortenings,
)
from satchel.search.chunks import ITEM_KEY
from satchel.search.lessons import is_lesson
from satchel.search.searcher import TRACE_SIGNAL
from satchel.sources.experiences import LINE_CHARACTERS as LONGEST_LINE
from satchel.store.licence import COMMENT_LINE
from satchel.system.properties import unlocked_cached_property
from satchel.text import pattern
from satchel.types import Chunk, Detail, Hit, Kind, Range, Role, Trust

SHRINK_SHARES = (0.9, 0.6, 0.35)
"""Shares of the remaining room for which a shortened form is tried: the size in tokens is only an estimate."""

LINE_CHARACTERS = (260, 200, 160, 120)
"""Length limits of an experience on one line that are tried, after the usual one."""

MIN_EXCERPT = 60
"""Fewest characters of a cut line that are still useful."""

NOTE_TOKENS = 16
"""Tokens of the note that says where the full record is."""

_TRAILER = pattern(
    r"(?:[A-Z][\w-]*-by|Change-Id|Reviewed-on|PiperOrigin-RevId|GitOrigin-RevId|git-svn-id|Cr-Commit-Position)\s?: \S",
    re.IGNORECASE,
)
"""Trailers of a commit message: who signed, who reviewed, which number."""

_FRAME_LINE = pattern(r"package\b|\s*(?:$|if\b.*TYPE_CHECKING\b|['\"]use |[)}]$)")
"""A line that says nothing without the imports beside it."""

_IMPORT_TERMS = frozenset(words.stem(word) for word in ("import", "include", "require", "dependency"))

_WIDENED = frozenset({Detail.FULL, Detail.SPAN})

DECLARED = frozenset({Role.FUNCTION, Role.METHOD, Role.CLASS})


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

    `value` is on a log scale, in a section on the one of the request; `measured` is the size, or what finds it, and
    `first_line` the first line. `make` computes the ways to show it, from most to least detail, and `shrink` gives
    further ones for the remaining room, after these. A `pinned` candidate comes before all others, whatever its value.
    One that is `companion_of` another (the imports that a function needs, the rest of a span's function) is shown only
    beside it. `trust` is data by default. `body` is the full text of a record, where it is available.
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
        """Find its size if it is not known; return it."""
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
        """Return what `alter` makes of it, done when its size or the ways to show it are first asked for."""
        later = _Later(self, alter)
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


class _Later:
    """A candidate that is altered once, when it is first asked for."""

    def __init__(self, candidate: Candidate, alter: Callable[[Candidate], Candidate]) -> None:
        self._candidate, self._alter = candidate, alter

    @unlocked_cached_property
    def _altered(self) -> Candidate:
        return self._alter(self._candidate)

    def size(self) -> float:
        return self._altered.size

    def steps(self) -> Sequence[Step]:
        return self._altered.steps

    def shrink(self, room: float) -> Iterable[Step]:
        shrink = self._altered.shrink
        return shrink(room) if shrink is not None else ()


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
    words_needed = frozenset() if any(signal.name == TRACE_SIGNAL for signal in hit.signals) else terms
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
    declared = [line.strip() for line in chunk.signature.split("\n") if line.strip()]
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


def record_candidate(
    hit: Hit,
    body: str,
    cap: float,
    terms: AbstractSet[str] = frozenset(),
    passage_cap: float = math.inf,
    *,
    line: Callable[[int], str] | None = None,
    shorter: str = "",
) -> Candidate:
    """Return a record (commit, memory): its full body if that has at most `cap` tokens, else its best passage.

    A passage has at most `passage_cap` tokens too, so that it leaves room for smaller records.

    A passage ends with a note that says where the full record is; the first line is the last resort. A record with a
    `line` (the record on one line of at most so many characters) is never cut: it is shown in full, as its summary
    `shorter` if there is one, or on one line. The trailers of a commit are not shown, but can be searched.
    """
    whole, body = body, without_trailers(body) if hit.chunk.kind is Kind.COMMIT else body
    size = len(body) / CHARACTERS_PER_TOKEN
    first = body.strip().split("\n", 1)[0]
    note = cut_note(hit.chunk)

    def passage(room: float) -> list[Step]:
        text = excerpt(body, terms, (room - NOTE_TOKENS) * CHARACTERS_PER_TOKEN) if room > NOTE_TOKENS else ""
        return [Step(Detail.SPAN, text=f"{text}\n{note}")] if text and text != body else []

    def make() -> list[Step]:
        if size <= cap:
            steps = [Step(Detail.FULL, text=body)]
        else:
            steps = passage(min(cap, passage_cap)) if line is None else []
        if shorter and shorter != body:
            steps.append(Step(Detail.SPAN, text=shorter))
        return steps if line is None else [*steps, Step(Detail.SPAN, text=f"{line(LONGEST_LINE)}\n{note}")]

    def shrink(room: float) -> Iterator[Step]:
        if line is not None:
            yield from line_steps(line)
            return
        for share in SHRINK_SHARES:
            yield from passage(min(room * share, cap * share, passage_cap))
        if first and first != body.strip():
            yield Step(Detail.LINE, text=first)

    return Candidate(hit, weights.RECORD_SPREAD * hit.score, min(size, cap), 0, make, shrink=shrink, body=whole)


def line_steps(line: Callable[[int], str]) -> Iterator[Step]:
    """Yield a record on one line, ever shorter; `line` returns it in so many characters."""
    yield from (Step(Detail.LINE, text=line(limit)) for limit in (LONGEST_LINE, *LINE_CHARACTERS))


def cut_note(chunk: Chunk) -> str:
    """Return the reference to the full record of a passage: `(truncated, full memory ID: mem_...)`."""
    identity = chunk.id.partition("::")[0].partition(":")[2]
    return f"… (truncated, full {chunk.kind} ID: {identity})"


def without_trailers(message: str) -> str:
    """Return a commit message without trailers, and without the rules and blank lines before them."""
    kept = [line for line in message.split("\n") if _TRAILER.match(line.strip()) is None]
    while len(kept) > 1 and not kept[-1].strip(" \t-"):
        kept.pop()
    return "\n".join(kept)
