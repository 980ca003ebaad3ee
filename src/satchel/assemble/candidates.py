"""From hits to candidates: what could be shown, at which steps of detail, and what each is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from satchel.assemble.read import Lines
from satchel.types import Detail, Document, Hit, Role, Span

CHARACTERS_PER_TOKEN = 3.6
"""Only for ordering and for the whole-or-windows choice; what is shown is counted exactly."""

SIGNATURE_SEARCH_LINES = 40
"""Decorators and comments may stand this far above the line that declares a name."""

LONGEST_SIGNATURE_LINES = 6

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


def file_candidates(hit: Hit, lines: Lines, whole_item_tokens: int) -> list[Candidate]:
    """A small document is one candidate as a whole; of a larger one each matching window is a candidate."""
    location = hit.document.location
    assert location is not None
    start, end = location.start_line, min(location.end_line, len(lines.lines))
    size = _tokens(lines, start, end)
    if size <= whole_item_tokens:
        return [Candidate(hit, hit.score, size, start, lambda: _whole_steps(hit, lines, start, end))]
    return [
        Candidate(
            hit, span.value, _tokens(lines, span.start, span.end), span.start, _window_maker(hit, lines, span, end)
        )
        for span in hit.spans
    ]


def _whole_steps(hit: Hit, lines: Lines, start: int, end: int) -> list[Step]:
    signature = signature_range(hit.document, lines)
    steps = [Step(Detail.FULL, ((start, end),))]
    best = hit.spans[0]
    if (best.start, best.end) != (start, end):
        steps.append(_window_step(best.start, best.end, signature))
    return steps + _short_steps(signature)


def _window_maker(hit: Hit, lines: Lines, span: Span, end: int) -> Callable[[], list[Step]]:
    def make() -> list[Step]:
        signature = signature_range(hit.document, lines)
        return [_window_step(span.start, min(span.end, end), signature), *_short_steps(signature)]

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
    """A record (commit, memory): its whole body if that is short, else its beginning, else its first line."""
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
