"""What an answer does not show: its best omissions, and places for readers with tools."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice
from typing import TYPE_CHECKING

from satchel.answer.candidates import Candidate
from satchel.answer.fill_policy import VALUE_RANGE
from satchel.answer.items import rest_of
from satchel.answer.packing import BUDGET, FRAMES, TWIN, VALUE, Packing
from satchel.answer.render.labels import quote
from satchel.answer.sections import MOST_OMISSIONS, Section, priority
from satchel.answer.source_lines import COMMENT, Lines
from satchel.answer.truncation import matches
from satchel.safety.sanitize import clean_field, plain_name
from satchel.safety.trust import handle
from satchel.search.chunks import GIVEN_ORIGIN
from satchel.types import Detail, Format, Omission, Range

if TYPE_CHECKING:
    from satchel.answer.hops import Hop


def left_out(packing: Packing) -> int:
    """Return how many chunks are not shown at all."""
    rejected = {candidate.chunk.id for reasons in packing.rejected.values() for candidate in reasons}
    return len(rejected - {candidate.chunk.id for candidate in packing.shown})


def omissions(packing: Packing, used: int, asked: int = 0, *, is_weak: bool = False) -> tuple[Omission, ...]:
    """Return the best candidates that are not shown, section by section, best first.

    `budget` is an estimate: the tokens used now, plus those of this candidate and of all tried before it. It is 0 if no
    budget helps, because the kind has all its items or the candidate is not worth its tokens; of a weak answer
    nothing is. It is always above the budget that was asked with. Last come texts that are shown under another id.
    """
    waiting = [
        candidate
        for section, reasons in packing.rejected.items()
        for candidate in packing.remaining(section)
        if reasons[candidate] == BUDGET
    ]
    waiting.sort(key=lambda candidate: (-priority(candidate), candidate.chunk.id, candidate.place))
    budgets: dict[Candidate, int] = {}
    needed = float(used)
    frame = FRAMES[Format.MARKDOWN]
    for candidate in waiting:
        needed += candidate.size + frame.range + frame.item
        budgets[candidate] = max(int(needed), asked + 1)
    rows = (omission_of(packing, section, one, budgets.get(one, 0)) for section, one in listed(packing))
    shown = (row._replace(reason=VALUE, budget=0) if is_weak and row.reason == BUDGET else row for row in rows)
    twins = islice(_twins(packing), MOST_OMISSIONS)
    return (*shown, *(omission_of(packing, section, twin, 0) for section, twin in twins))


def _twins(packing: Packing) -> Iterator[tuple[Section, Candidate]]:
    for section, groups in packing.groups.items():
        yield from ((section, twin) for group in groups.values() for _, twin in group.twins)


def places(packing: Packing, terms: AbstractSet[str], most: int, hops: Sequence[Hop] = ()) -> tuple[str, ...]:
    """Return the best places that are not shown: `src/a.py:10-24 Reader.read: 12 def read(self): a2b3c4d5`.

    Each has its range, its name, its line that matches best, and its handle; `hops` are first, then the best place.
    """
    waiting = [(section, candidate) for section in packing.rejected for candidate in packing.remaining(section)]
    waiting.sort(key=lambda pair: (-pair[1].value, pair[1].chunk.id, pair[1].place))
    least = max((section.highest_value for section in packing.rejected), default=0.0) - VALUE_RANGE
    seen = {candidate.chunk.id for candidate in packing.shown}
    rows = [_row(hop.path, (hop.start, hop.end), hop.name, hop.line, hop.text, hop.why) for hop in hops[:most]]
    for section, candidate in waiting if most > len(rows) else ():
        lines = section.lines.get(candidate.group)
        if lines is None or candidate.chunk.id in seen or candidate.value < least or not candidate.steps:
            continue
        seen.add(candidate.chunk.id)
        omission = omission_of(packing, section, candidate, 0)
        if any(hop.path == omission.path and omission.start <= hop.line <= omission.end for hop in hops):
            continue
        rows.append(_place(omission, lines, terms))
        if len(rows) == most:
            break
    return tuple(rows)


def _place(omission: Omission, lines: Lines, terms: AbstractSet[str]) -> str:
    texts = lines.lines[omission.start - 1 : omission.end]
    gains = matches(texts, terms)
    remarks = [COMMENT.match(text) is not None or not text.strip() for text in texts]
    best = max(range(len(texts)), key=lambda index: (gains[index] - remarks[index], not remarks[index], -index))
    name = omission.title if omission.title != omission.path else ""
    span = (omission.start, omission.end)
    return f"{_row(omission.path, span, name, omission.start + best, texts[best])} {omission.handle}".rstrip()


def _row(path: str, span: Range, name: str, number: int, line: str, why: str = "") -> str:
    text = clean_field(line.strip(), 90)  # most characters of the best line of a place
    if span[0] == span[1]:
        return f"{why} {quote(f'{path}:{number}')} {text}".lstrip()
    named = f" {plain_name(name)}" if name else ""
    return f"{why} {quote(f'{path}:{span[0]}-{span[1]}{named}')}: {number} {text}".lstrip()


def listed(packing: Packing) -> Iterator[tuple[Section, Candidate]]:
    """Yield the candidates that are listed as omissions, section by section, best first.

    A long function that is shown in part is listed once, because its handle leads to all that is left of it.
    """
    for section in packing.rejected:
        continued: set[str] = set()
        for candidate in islice(packing.remaining(section), MOST_OMISSIONS):
            if candidate.chunk.id not in continued:
                yield section, candidate
            if _rest(packing, section, candidate):
                continued.add(candidate.chunk.id)


def _rest(packing: Packing, section: Section, candidate: Candidate) -> tuple[Range, ...]:
    """Return what is left of the candidate's function if that is long and shown in part."""
    group = packing.groups[section].get(candidate.group)
    is_shown = group is not None and any(one.chunk.id == candidate.chunk.id for one, _ in group.picks)
    return rest_of(group, candidate.hit) if group is not None and is_shown else ()


def omission_of(packing: Packing, section: Section, candidate: Candidate, budget: int) -> Omission:
    """Return a candidate that is not shown, with its handle; `budget` is as in `omissions`."""
    chunk = candidate.chunk
    location = chunk.location
    ranges = candidate.steps[0].ranges if candidate.steps else ()
    own = ranges if candidate.steps and candidate.steps[0].detail is Detail.FULL else ranges[-1:]
    content_hash = location.content_hash if location is not None else ""
    rest = _rest(packing, section, candidate)
    return Omission(
        id=chunk.id,
        source=candidate.kind.value,
        title=chunk.title,
        relevance=candidate.hit.relevance,
        reason=packing.rejected[section].get(candidate, TWIN),
        budget=budget,
        path=location.path if location is not None else "",
        start=own[0][0] if own else 0,
        end=own[-1][1] if own else 0,
        handle="" if chunk.origin == GIVEN_ORIGIN else handle(chunk.id, content_hash, rest or own),
        content_hash=content_hash,
        rest=rest,
    )
