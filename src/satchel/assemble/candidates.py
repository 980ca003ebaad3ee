"""From hits to candidates: what could be shown, at which steps of detail, and what each is worth."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from satchel import text as words
from satchel.assemble.read import Lines
from satchel.types import Detail, Document, Hit, Kind, Role

CHARACTERS_PER_TOKEN = 3.6
"""Only for ordering and for the whole-or-windows choice; what is shown is counted exactly."""

SIGNATURE_SEARCH_LINES = 40
"""Decorators and comments may stand this far above the line that declares a name."""

LONGEST_SIGNATURE_LINES = 6

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

_DECLARED = frozenset({Role.FUNCTION, Role.METHOD, Role.CLASS})

Range = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Step:
    """One way to show a candidate: its line ranges (none for a record) or its record text."""

    detail: Detail
    ranges: tuple[Range, ...] = ()
    text: str = ""


class Candidate:
    """Something that may be shown.

    `value` is on the log scale, `size` in estimated tokens, `place` its first line. `group` is the path of a file or
    the id of a record: what is shown of one group is one item. `steps` go from most to least detail; they are worked
    out when first asked for, because most candidates are never looked at.
    """

    __slots__ = ("_make", "_steps", "document", "group", "hit", "kind", "place", "size", "value")

    def __init__(self, hit: Hit, value: float, size: float, place: int, make: Callable[[], Sequence[Step]]) -> None:
        location = hit.document.location
        self.hit, self.document, self.kind = hit, hit.document, hit.document.kind
        self.group = location.path if location is not None else hit.document.id
        self.value, self.size, self.place = value, size, place
        self._make = make
        self._steps: tuple[Step, ...] | None = None

    @property
    def steps(self) -> tuple[Step, ...]:
        """The ways to show it, from most to least detail."""
        if self._steps is None:
            self._steps = tuple(self._make())
        return self._steps

    def density(self, exponent: float, offset: float) -> float:
        """Value over a power of the cost, both on the log scale."""
        return self.value - exponent * math.log(self.size + offset)


def file_candidates(
    hit: Hit, lines: Lines, whole_item_tokens: int, asked: AbstractSet[str] = frozenset()
) -> list[Candidate]:
    """A small document is one candidate as a whole; of a larger one each matching window is a candidate.

    Blank lines at both ends are not shown. With `asked`, the terms of the question, slivers that say none of them and
    headers that open what is not shown are left out.
    """
    location = hit.document.location
    assert location is not None
    end = min(location.end_line, len(lines.lines))
    whole = within_blanks(lines, location.start_line, end)
    size = _tokens(lines, *whole)
    if size <= whole_item_tokens:
        made = [Candidate(hit, hit.score, size, whole[0], lambda: _whole_steps(hit, lines, *whole))]
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


def _whole_steps(hit: Hit, lines: Lines, start: int, end: int) -> list[Step]:
    signature = signature_range(hit.document, lines)
    steps = [Step(Detail.FULL, ((start, end),))]
    best = hit.spans[0]
    window = within_blanks(lines, best.start, min(best.end, end))
    if window != (start, end):
        steps.append(_window_step(*window, signature))
    return steps + _short_steps(signature)


def _window_maker(hit: Hit, lines: Lines, shown: Range) -> Callable[[], list[Step]]:
    def make() -> list[Step]:
        signature = signature_range(hit.document, lines)
        return [_window_step(*shown, signature), *_short_steps(signature)]

    return make


def _tokens(lines: Lines, start: int, end: int) -> float:
    return (sum(map(len, lines.lines[start - 1 : end])) + end - start + 1) / CHARACTERS_PER_TOKEN


def _window_step(start: int, end: int, signature: Range | None) -> Step:
    if signature is None or (start <= signature[0] and signature[1] <= end):
        return Step(Detail.WINDOW, ((start, end),))
    return Step(Detail.WINDOW, (signature, (start, end)))


def _short_steps(signature: Range | None) -> list[Step]:
    if signature is None:
        return []
    return [Step(Detail.SIGNATURE, (signature,))]


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


def record_candidate(hit: Hit, body: str, cap: int) -> Candidate:
    """A record (commit, memory): its whole body if that is short, else its beginning, else its first line.

    The trailers of a commit are not shown; they stay searchable.
    """
    body = without_trailers(body) if hit.document.kind is Kind.COMMIT else body
    size = len(body) / CHARACTERS_PER_TOKEN
    first = body.strip().split("\n", 1)[0]
    steps = []
    if size <= cap:
        steps.append(Step(Detail.FULL, text=body))
    else:
        steps.append(Step(Detail.WINDOW, text=_head(body, cap)))
    if first and first != body.strip():
        steps.append(Step(Detail.LINE, text=first))
    return Candidate(hit, hit.score, min(size, cap), 0, lambda: steps)


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
