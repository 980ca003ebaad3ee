"""From hits to candidates: what could be shown, at which steps of detail, and what each is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import overload

from satchel import text as words
from satchel.assemble.read import Lines, around
from satchel.assemble.strategies import Remark, Source, Strategy, shortenings
from satchel.types import Detail, Document, Hit, Kind, Role, Trust

CHARACTERS_PER_TOKEN = 3.6
"""Only for ordering and for the whole-or-windows choice; what is shown is counted exactly."""

SIGNATURE_SEARCH_LINES = 40
"""Decorators and comments may stand this far above the line that declares a name."""

LONGEST_SIGNATURE_LINES = 6

DOC_REACH_LINES = 4
"""A doc string begins this close below the declaration; one above it is looked for up to where its unit begins."""

DOC_CHARACTERS = 30
"""So much of a doc comment's first sentence knows its line: the sentence may go on in the next one."""

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

_WIDENED = frozenset({Detail.FULL, Detail.WINDOW})

_DECLARED = frozenset({Role.FUNCTION, Role.METHOD, Role.CLASS})

ITEM_KEY = "item key"
"""The field of a document that is shown in another item than the one of its path."""

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One way to show a candidate: its line ranges (none for a record) or its record text."""

    detail: Detail
    ranges: tuple[Range, ...] = ()
    text: str = ""
    remarks: tuple[Remark, ...] = ()
    """Lines of ours that a truncation strategy puts where it left lines out."""


class Steps(Sequence[Step]):
    """Steps between which there are some that have to be worked out, because a parser is asked for them.

    `least` is about how many tokens the smallest of those shows.
    """

    def __init__(
        self, first: Sequence[Step], between: Callable[[], Sequence[Step]], last: Sequence[Step], least: float
    ) -> None:
        self._first, self._between, self._last, self._least = tuple(first), between, tuple(last), least
        self._known: tuple[Step, ...] | None = None

    def within(self, tokens: float) -> Iterator[Step]:
        """The steps that may fit into so many tokens; those between are worked out only if one of them may."""
        yield from self._all() if tokens >= self._least else (*self._first, *self._last)

    def _all(self) -> tuple[Step, ...]:
        if self._known is None:
            self._known = (*self._first, *self._between(), *self._last)
        return self._known

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...

    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        if isinstance(index, int) and 0 <= index < len(self._first):
            return self._first[index]
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())


class Candidate:
    """Something that may be shown.

    `value` is on the log scale, `size` in estimated tokens, `place` its first line. `group` is the path of a file or
    the id of a record: what is shown of one group is one item. `steps` go from most to least detail; they are worked
    out when first asked for, because most candidates are never looked at. A `pinned` candidate comes before all
    others, whatever it is worth. One with a `leader` (the imports that a function needs) is shown only beside it.
    `twins` say the same and are not shown for that. `trust` is data unless whoever made the candidate raised it.
    `body` is all that a record says, as far as it was given.
    """

    __slots__ = (
        "_make",
        "_steps",
        "body",
        "document",
        "group",
        "hit",
        "kind",
        "leader",
        "pinned",
        "place",
        "size",
        "trust",
        "twins",
        "value",
    )

    def __init__(
        self,
        hit: Hit,
        value: float,
        size: float,
        place: int,
        make: Callable[[], Sequence[Step]],
        *,
        pinned: bool = False,
        leader: Candidate | None = None,
    ) -> None:
        self.pinned, self.leader = pinned, leader
        self.twins: list[Candidate] = []
        self.trust = Trust.DATA
        self.body = ""
        location = hit.document.location
        self.hit, self.document, self.kind = hit, hit.document, hit.document.kind
        self.group = hit.document.id if location is None else hit.document.fields.get(ITEM_KEY, location.path)
        self.value, self.size, self.place = value, size, place
        self._make = make
        self._steps: Sequence[Step] | None = None

    @property
    def steps(self) -> Sequence[Step]:
        """The ways to show it, from most to least detail."""
        if self._steps is None:
            self._steps = self._make()
        return self._steps

    def steps_within(self, tokens: float) -> Iterable[Step]:
        """The steps, without those that would have to be worked out and are larger than this."""
        steps = self.steps
        return steps.within(tokens) if isinstance(steps, Steps) else steps

    def widen(self, count: int, last_line: int) -> None:
        """Show so many lines more around its lines, within lines 1 to `last_line`; a bare declaration stays alone."""
        make, self._steps = self._make, None

        def widened(step: Step) -> Step:
            if step.detail not in _WIDENED or step.remarks:
                return step
            return replace(step, ranges=tuple(around(step.ranges, count, last_line)))

        self._make = lambda: [widened(step) for step in make()]

    def trim(self, cut: Callable[[Sequence[Range]], Sequence[Range]], size: float) -> None:
        """Show of each step only the ranges that `cut` leaves, about `size` tokens; a step without any is none."""
        make, self._steps, self.size = self._make, None, size
        self._make = lambda: [replace(step, ranges=left) for step in make() if (left := tuple(cut(step.ranges)))]

    def keep(self, steps: Sequence[Step]) -> None:
        """Show it in these ways only."""
        self._steps = steps

    def density(self, exponent: float, offset: float) -> float:
        """Value over a power of the cost, both on the log scale."""
        return self.value - exponent * math.log(self.size + offset)


def file_candidates(
    hit: Hit,
    lines: Lines,
    whole_item_tokens: int,
    asked: AbstractSet[str] = frozenset(),
    shortener: Strategy | None = None,
) -> list[Candidate]:
    """A small document is one candidate as a whole; of a larger one each matching window is a candidate.

    With a `shortener` a larger one is one candidate too, shortened by it where it can.
    Blank lines at both ends are not shown. With `asked`, the terms of the question, slivers that say none of them and
    headers that open what is not shown are left out.
    """
    location = hit.document.location
    assert location is not None
    end = min(location.end_line, len(lines.lines))
    whole = within_blanks(lines, location.start_line, end)
    size = _tokens(lines, *whole)
    if size <= whole_item_tokens or shortener is not None:

        def make() -> list[Step]:
            return _whole_steps(hit, lines, whole, whole_item_tokens, shortener)

        made = [Candidate(hit, hit.score, min(size, whole_item_tokens), whole[0], make)]
        return [candidate for candidate in made if not _is_sliver(lines, whole, size, hit.document.role, asked)]
    made = []
    for span in hit.spans:
        shown = within_blanks(lines, span.start, min(span.end, end))
        size = _tokens(lines, *shown)
        if not _is_sliver(lines, shown, size, Role.GAP, asked):
            made.append(Candidate(hit, span.value, size, shown[0], _window_maker(hit, lines, shown)))
    return made


def within_blanks(lines: Lines, start: int, end: int) -> Range:
    """The range without blank lines at its ends; blank throughout, its first line."""
    first, last = start, min(end, len(lines.lines))
    while last > first and not lines.lines[last - 1].strip():
        last -= 1
    while first < last and not lines.lines[first - 1].strip():
        first += 1
    return first, last


def _is_sliver(lines: Lines, shown: Range, size: float, role: Role, asked: AbstractSet[str]) -> bool:
    if not asked or size >= SLIVER_TOKENS:
        return False
    text = lines.text(*shown)
    if role is Role.CLASS and size < BARE_OPENING_TOKENS and text.rstrip().endswith(("{", ":", "(")):
        return True
    return asked.isdisjoint(words.count_terms(words.words(text)))


def _whole_steps(
    hit: Hit, lines: Lines, whole: Range, whole_item_tokens: int, shortener: Strategy | None = None
) -> list[Step]:
    signature = signature_range(hit.document, lines)
    size = _tokens(lines, *whole)
    steps = [Step(Detail.FULL, (whole,))] if size <= whole_item_tokens else []
    if shortener is not None:
        language = str(hit.document.fields.get("language", ""))
        steps += shortened_steps(shortener, lines, language, whole, min(size / 2, whole_item_tokens))
    best = hit.spans[0]
    window = within_blanks(lines, best.start, min(best.end, whole[1]))
    if window != whole:
        steps.append(_window_step(*window, signature))
    return steps + _short_steps(hit.document, lines, signature)


def shortened_steps(shortener: Strategy, lines: Lines, language: str, whole: Range, most_tokens: float) -> list[Step]:
    """The ways to show these lines that a truncation strategy offers, from most to least detail."""
    made = shortenings(shortener, Source(lines.lines, language), *whole, most_tokens)
    return [Step(Detail.WINDOW, short.ranges, remarks=short.remarks) for short in made]


def _window_maker(hit: Hit, lines: Lines, shown: Range) -> Callable[[], list[Step]]:
    def make() -> list[Step]:
        signature = signature_range(hit.document, lines)
        return [_window_step(*shown, signature), *_short_steps(hit.document, lines, signature)]

    return make


def _tokens(lines: Lines, start: int, end: int) -> float:
    return (sum(map(len, lines.lines[start - 1 : end])) + end - start + 1) / CHARACTERS_PER_TOKEN


def _window_step(start: int, end: int, signature: Range | None) -> Step:
    if signature is None or (start <= signature[0] and signature[1] <= end):
        return Step(Detail.WINDOW, ((start, end),))
    return Step(Detail.WINDOW, (signature, (start, end)))


def _short_steps(document: Document, lines: Lines, signature: Range | None) -> list[Step]:
    """The declaration with the first line of its doc comment, then the declaration's one line if it has only one."""
    if signature is None:
        return []
    documented = _doc_line(document, lines, signature)
    steps = [Step(Detail.SIGNATURE, (signature,) if documented is None else tuple(sorted((signature, documented))))]
    if documented is not None and signature[0] == signature[1]:
        steps.append(Step(Detail.LINE, (signature,)))
    return steps


def _doc_line(document: Document, lines: Lines, signature: Range) -> Range | None:
    """The line near a declaration that says what its doc comment begins with."""
    said = str(document.fields.get("summary", ""))[:DOC_CHARACTERS]
    location = document.location
    if not said or location is None:
        return None
    below = range(signature[1] + 1, min(signature[1] + DOC_REACH_LINES, location.end_line, len(lines.lines)) + 1)
    for number in (*below, *range(signature[0] - 1, location.start_line - 1, -1)):
        if said in lines.lines[number - 1]:
            return number, number
    return None


def signature_range(document: Document, lines: Lines) -> Range | None:
    """The lines of a document that declare it, None for what declares nothing."""
    location = document.location
    if document.role not in _DECLARED or not document.signature or location is None:
        return None
    declared = [line.strip() for line in document.signature.split("\n") if line.strip()]
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


def record_candidate(hit: Hit, body: str, cap: int, shorter: str = "") -> Candidate:
    """A record (commit, memory): its whole body if that is short, else its beginning, else its first line.

    Its beginning ends with a note that says where all of it is. `shorter` is what says most of it in less space, and
    then its first line is the last step. The trailers of a commit are not shown; they stay searchable.
    """
    whole, body = body, without_trailers(body) if hit.document.kind is Kind.COMMIT else body
    size = len(body) / CHARACTERS_PER_TOKEN
    first = body.strip().split("\n", 1)[0]
    steps = []
    if size <= cap:
        steps.append(Step(Detail.FULL, text=body))
    else:
        steps.append(Step(Detail.WINDOW, text=f"{_head(body, cap)}\n{cut_note(hit.document)}"))
    if shorter and shorter != body:
        steps.append(Step(Detail.WINDOW, text=shorter))
        first = shorter.split("\n", 1)[0]
    if first and first != body.strip():
        steps.append(Step(Detail.LINE, text=first))
    candidate = Candidate(hit, hit.score, min(size, cap), 0, lambda: steps)
    candidate.body = whole
    return candidate


def cut_note(document: Document) -> str:
    """Where all of a record is that is shown in part: `(truncated, full memory ID: mem_...)`."""
    identity = document.id.partition("::")[0].partition(":")[2]
    return f"… (truncated, full {document.kind} ID: {identity})"


def without_trailers(message: str) -> str:
    """A commit message without the lines that programs write for programs, and the rules and blanks before them."""
    kept = [line for line in message.split("\n") if _TRAILER.match(line.strip()) is None]
    while len(kept) > 1 and not kept[-1].strip(" \t-"):
        kept.pop()
    return "\n".join(kept)


def _head(body: str, cap: int) -> str:
    """The beginning of a body, whole lines, in about `cap` tokens."""
    kept: list[str] = []
    size = 0.0
    for line in body.split("\n"):
        size += (len(line) + 1) / CHARACTERS_PER_TOKEN
        if size > cap and kept:
            break
        kept.append(line[: int(cap * CHARACTERS_PER_TOKEN)])
    return "\n".join(kept).rstrip()
