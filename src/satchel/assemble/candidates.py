"""From hits to candidates: what could be shown, in which steps of detail, and the value of each."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cache

from satchel import text as words
from satchel.assemble.source_lines import Lines, around, without_blank_ends
from satchel.assemble.truncation import Remark, Source, Strategy, best_run, excerpt, matches, shortenings
from satchel.types import Chunk, Detail, Hit, Kind, Role, Trust

CHARACTERS_PER_TOKEN = 3.6
"""Only for ordering and for the whole-or-spans choice; what is shown is counted exactly."""

SIGNATURE_SEARCH_LINES = 40
"""Decorators and comments may stand this far above the line that declares a name."""

LONGEST_SIGNATURE_LINES = 6

DOC_REACH_LINES = 4
"""A doc string begins this close below the declaration; one above it is looked for up to where its unit begins."""

DOC_CHARACTERS = 30
"""So much of a doc comment's first sentence knows its line: the sentence may go on in the next one."""

SHRINK_SHARES = (0.9, 0.6, 0.35)
"""Shares of the room that is left for which a shortened form is tried: the size in tokens is only an estimate."""

LEAST_EXCERPT = 60
"""Characters of a cut line below which it says nothing."""

RECORD_SPREAD = 3.0
"""The scores of records lie close together: the value (log scale) of one falls this much faster than its score. A
record of half the best score is worth an eighth of it, as a file of half the best score is."""

NOTE_TOKENS = 16
"""Tokens of the note that says where the full record is."""

SLIVER_TOKENS = 16
"""A candidate below this size is worth its place only if it says a word of the question: `T = TypeVar("T")` ranks by
what its file says. Larger ones are judged by their value alone."""

BARE_OPENING_TOKENS = 15
"""A class header below this size that ends by opening its body shows nothing but a name."""

_TRAILER = re.compile(
    r"(?:[A-Z][\w-]*-by|Change-Id|Reviewed-on|PiperOrigin-RevId|GitOrigin-RevId|git-svn-id|Cr-Commit-Position)\s?: \S",
    re.IGNORECASE,
)
"""Lines of a commit message that programs write for programs: who signed, who reviewed, which number."""

_COMMENT_LINE = re.compile(r"\s*(?:$|//|#(?!!?\[)|/?\*|--|;|<!--|%)")
_LICENCE = re.compile(r"copyright|licen[cs]e|spdx", re.IGNORECASE)
"""A comment at the top of a file, and the words of one that is the same in every file."""

_WIDENED = frozenset({Detail.FULL, Detail.SPAN})

_DECLARED = frozenset({Role.FUNCTION, Role.METHOD, Role.CLASS})

ITEM_KEY = "item key"
"""The field of a chunk that is shown in another item than the one of its path."""

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One way to show a candidate: its line ranges (none for a record) or its record text."""

    detail: Detail
    ranges: tuple[Range, ...] = ()
    text: str = ""
    remarks: tuple[Remark, ...] = ()
    """Lines of ours that a truncation strategy puts where it left lines out."""


Shrink = Callable[[float], Sequence[Step]]
"""The ways to show a candidate in at most about so many tokens, the best one first."""


@dataclass(slots=True, eq=False, repr=False)
class Candidate:
    """Something that may be shown.

    `value` is on a log scale, `size` in estimated tokens, `place` its first line. `group` is the path of a file or
    the id of a record: what is shown of one group is one item. `steps` go from most to least detail; they are worked
    out when first asked for, because most candidates are never looked at. `shrink` gives further steps for the room
    that is left, after the steps that are fixed. A `pinned` candidate comes before all others, whatever its value. One
    with a `leader` (the imports that a function needs, the rest of a span's function) is shown only beside it.
    `twins` say the same and are not shown for that. `trust` is data unless whoever made the candidate raised it.
    `body` is the full text of a record, as far as it is available. `make` works the steps out.
    """

    hit: Hit
    value: float
    size: float
    place: int
    make: Callable[[], Sequence[Step]]
    shrink: Shrink | None = None
    pinned: bool = False
    leader: Candidate | None = None
    chunk: Chunk = field(init=False)
    kind: Kind = field(init=False)
    group: str = field(init=False)
    twins: list[Candidate] = field(default_factory=list, init=False)
    trust: Trust = field(default=Trust.DATA, init=False)
    body: str = field(default="", init=False)
    _steps: Sequence[Step] | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        self.chunk = chunk = self.hit.chunk
        self.kind, location = chunk.kind, chunk.location
        self.group = chunk.id if location is None else chunk.fields.get(ITEM_KEY, location.path)

    @property
    def is_lifted(self) -> bool:
        """Whether something outside the ranking, such as a frame of a pasted trace, put it before everything else."""
        return self.hit.file_score > 1.0

    @property
    def steps(self) -> Sequence[Step]:
        """The fixed ways to show it, from most to least detail."""
        if self._steps is None:
            self._steps = self.make()
        return self._steps

    def widen(self, count: int, last_line: int) -> None:
        """Show so many lines more around its lines, within lines 1 to `last_line`; a bare declaration stays alone."""
        make, self._steps = self.make, None

        def widened(step: Step) -> Step:
            if step.detail not in _WIDENED or step.remarks:
                return step
            return replace(step, ranges=tuple(around(step.ranges, count, last_line)))

        self.make = lambda: [widened(step) for step in make()]

    def trim(self, cut: Callable[[Sequence[Range]], Sequence[Range]], size: float) -> None:
        """Show of each step only the ranges that `cut` leaves, about `size` tokens; a step without any is none."""
        make, shrink, self._steps, self.size = self.make, self.shrink, None, size

        def trimmed(steps: Sequence[Step]) -> list[Step]:
            return [replace(step, ranges=left) for step in steps if (left := tuple(cut(step.ranges)))]

        self.make = lambda: trimmed(make())
        if shrink is not None:
            self.shrink = lambda room: trimmed(shrink(room))

    def keep(self, steps: Sequence[Step]) -> None:
        """Show it in these ways only."""
        self._steps, self.shrink = steps, None


def file_candidates(
    hit: Hit,
    lines: Lines,
    whole_item_tokens: int,
    asked: AbstractSet[str] = frozenset(),
    shortener: Strategy | None = None,
) -> list[Candidate]:
    """A small chunk is one candidate as a whole; of a larger or partial one each matching span is a candidate.

    With a `shortener` a larger one is one candidate too, shortened by it where it can.
    Blank lines at both ends are not shown. With `asked`, the terms of the question, slivers that say none of them and
    headers that open what is not shown are left out.
    """
    location = hit.chunk.location
    assert location is not None
    end = min(location.end_line, len(lines.lines))
    has_licence = location.start_line == 1 and hit.chunk.kind is Kind.CODE
    start = min(licence_end(lines) + 1, end) if has_licence else location.start_line
    whole = without_blank_ends(lines.lines, start, end)
    size = lines_size(lines, *whole)
    if shortener is not None or (size <= whole_item_tokens and not hit.partial):
        if _is_sliver(lines, whole, size, hit.chunk.role, asked):
            return []
        full = [Step(Detail.FULL, (whole,))] if size <= whole_item_tokens else []

        def make() -> list[Step]:
            if shortener is None:
                return full
            language = str(hit.chunk.fields.get("language", ""))
            return full + shortened_steps(shortener, lines, language, whole, min(size / 2, whole_item_tokens))

        shrink = narrowing(lines, whole, asked)
        return [Candidate(hit, hit.score, min(size, whole_item_tokens), whole[0], make, shrink)]
    made = []
    for span in hit.spans:
        shown = without_blank_ends(lines.lines, max(span.start, start), min(span.end, end))
        size = lines_size(lines, *shown)
        if shown[0] <= shown[1] and not _is_sliver(lines, shown, size, Role.GAP, asked):
            shrink, steps = narrowing(lines, shown, asked), _span_maker(hit, lines, shown)
            made.append(Candidate(hit, span.value, size, shown[0], steps, shrink))
    return made


def narrowing(lines: Lines, whole: Range, asked: AbstractSet[str]) -> Shrink:
    """The best lines of a range for the room that is left; of a line that is longer than that, its best sentences."""

    @cache
    def counted() -> tuple[Sequence[str], list[int]]:
        rows = lines.lines[whole[0] - 1 : whole[1]]
        return rows, matches(rows, asked)

    def shrink(room: float) -> list[Step]:
        rows, gains = counted()
        steps: list[Step] = []
        for share in SHRINK_SHARES:
            characters = room * share * CHARACTERS_PER_TOKEN
            run = best_run(gains, [len(row) + 1 for row in rows], characters)
            if run is not None and any(row.strip() for row in rows[run[0] : run[1] + 1]):
                shown = without_blank_ends(lines.lines, whole[0] + run[0], whole[0] + run[1])
                steps.append(Step(Detail.SPAN, (shown,)))
            elif run is None and characters > LEAST_EXCERPT:
                steps += _cut_line(rows, gains, whole[0], asked, characters)
        return steps

    return shrink


def _cut_line(
    rows: Sequence[str], gains: Sequence[int], start: int, asked: AbstractSet[str], characters: float
) -> list[Step]:
    """Return the best sentences of the best of these lines, as a remark in its place."""
    best = max(range(len(rows)), key=lambda index: (gains[index], -index))
    passage = excerpt(rows[best], asked, characters)
    place = start + best
    return [Step(Detail.SPAN, remarks=(Remark(place, place, passage),))] if passage else []


def licence_end(lines: Lines) -> int:
    """Return the last line of the comment above everything that says who owns the file, 0 where there is none."""
    end = next((number for number, line in enumerate(lines.lines) if not _COMMENT_LINE.match(line)), len(lines.lines))
    return end if any(_LICENCE.search(line) for line in lines.lines[:end]) else 0


def _is_sliver(lines: Lines, shown: Range, size: float, role: Role, asked: AbstractSet[str]) -> bool:
    if not asked or size >= SLIVER_TOKENS:
        return False
    text = lines.text(*shown)
    if role is Role.CLASS and size < BARE_OPENING_TOKENS and text.rstrip().endswith(("{", ":", "(")):
        return True
    return asked.isdisjoint(words.count_terms(words.words(text)))


def shortened_steps(shortener: Strategy, lines: Lines, language: str, whole: Range, most_tokens: float) -> list[Step]:
    """Return the ways to show these lines that a truncation strategy offers, from most to least detail."""
    made = shortenings(shortener, Source(lines.lines, language), *whole, most_tokens)
    return [Step(Detail.SPAN, short.ranges, remarks=short.remarks) for short in made]


def _span_maker(hit: Hit, lines: Lines, shown: Range) -> Callable[[], list[Step]]:
    """Return a span with the declaration of its definition above it."""

    def make() -> list[Step]:
        signature = signature_range(hit.chunk, lines)
        is_inside = signature is None or (shown[0] <= signature[0] and signature[1] <= shown[1])
        return [Step(Detail.SPAN, (shown,) if signature is None or is_inside else (signature, shown))]

    return make


def lines_size(lines: Lines, start: int, end: int) -> float:
    """Estimated tokens of lines `start`..`end`."""
    return lines.characters(start, end) / CHARACTERS_PER_TOKEN


def declaration_steps(chunk: Chunk, lines: Lines) -> list[Step]:
    """Return the declaration of a chunk with the first line of its doc comment; none for what declares nothing."""
    signature = signature_range(chunk, lines)
    if signature is None:
        return []
    documented = _doc_line(chunk, lines, signature)
    return [Step(Detail.SIGNATURE, (signature,) if documented is None else tuple(sorted((signature, documented))))]


def _doc_line(chunk: Chunk, lines: Lines, signature: Range) -> Range | None:
    """Return the line near a declaration that says what its doc comment begins with."""
    summary = str(chunk.fields.get("summary", ""))[:DOC_CHARACTERS]
    location = chunk.location
    if not summary or location is None:
        return None
    below = range(signature[1] + 1, min(signature[1] + DOC_REACH_LINES, location.end_line, len(lines.lines)) + 1)
    for number in (*below, *range(signature[0] - 1, location.start_line - 1, -1)):
        if summary in lines.lines[number - 1]:
            return number, number
    return None


def signature_range(chunk: Chunk, lines: Lines) -> Range | None:
    """Return the lines of a chunk that declare it, None for what declares nothing."""
    location = chunk.location
    if chunk.role not in _DECLARED or not chunk.signature or location is None:
        return None
    declared = [line.strip() for line in chunk.signature.split("\n") if line.strip()]
    last_line = min(location.end_line, len(lines.lines))
    for number in range(location.start_line, min(location.start_line + SIGNATURE_SEARCH_LINES, last_line + 1)):
        if not lines.lines[number - 1].strip().startswith(declared[0][:60]):
            continue
        end = number
        for text in declared[1:LONGEST_SIGNATURE_LINES]:
            if end < last_line and lines.lines[end].strip().startswith(text[:60]):
                end += 1
        return number, end
    return None


def record_candidate(
    hit: Hit, body: str, cap: float, asked: AbstractSet[str] = frozenset(), shorter: str = ""
) -> Candidate:
    """Return a record (commit, memory): its full body if that is short, else its best passage.

    A passage ends with a note that says where the full record is. `shorter` says most of it in less space. The first
    line is the last resort. The trailers of a commit are not shown; they stay searchable.
    """
    whole, body = body, without_trailers(body) if hit.chunk.kind is Kind.COMMIT else body
    size = len(body) / CHARACTERS_PER_TOKEN
    first = (shorter or body.strip()).split("\n", 1)[0]
    note = cut_note(hit.chunk)

    def passage(room: float) -> list[Step]:
        text = excerpt(body, asked, (room - NOTE_TOKENS) * CHARACTERS_PER_TOKEN) if room > NOTE_TOKENS else ""
        return [Step(Detail.SPAN, text=f"{text}\n{note}")] if text and text != body else []

    def make() -> list[Step]:
        steps = [Step(Detail.FULL, text=body)] if size <= cap else passage(cap)
        return steps + ([Step(Detail.SPAN, text=shorter)] if shorter and shorter != body else [])

    def shrink(room: float) -> list[Step]:
        steps = [] if shorter else [step for share in SHRINK_SHARES for step in passage(min(room, cap) * share)]
        return steps + ([Step(Detail.LINE, text=first)] if first and first != body.strip() else [])

    candidate = Candidate(hit, RECORD_SPREAD * hit.score, min(size, cap), 0, make, shrink=shrink)
    candidate.body = whole
    return candidate


def cut_note(chunk: Chunk) -> str:
    """Return where all of a record is that is shown in part: `(truncated, full memory ID: mem_...)`."""
    identity = chunk.id.partition("::")[0].partition(":")[2]
    return f"… (truncated, full {chunk.kind} ID: {identity})"


def without_trailers(message: str) -> str:
    """A commit message without the lines that programs write for programs, and the rules and blanks before them."""
    kept = [line for line in message.split("\n") if _TRAILER.match(line.strip()) is None]
    while len(kept) > 1 and not kept[-1].strip(" \t-"):
        kept.pop()
    return "\n".join(kept)
