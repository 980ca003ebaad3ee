"""What an answer does not show: its best omissions, and places for readers with tools."""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from itertools import islice

from satchel.answer.candidates import Candidate
from satchel.answer.fill_policy import VALUE_RANGE
from satchel.answer.items import rest_of
from satchel.answer.packing import BUDGET, FRAMES, Packing
from satchel.answer.render.labels import quote
from satchel.answer.sections import MOST_OMISSIONS, Section, priority
from satchel.answer.source_lines import Lines
from satchel.answer.truncation import matches
from satchel.safety.sanitize import clean_field, plain_name
from satchel.safety.trust import handle
from satchel.search.chunks import GIVEN_ORIGIN
from satchel.types import Detail, Format, Omission, Range


def left_out(packing: Packing) -> int:
    """Return how many chunks are not shown at all."""
    rejected = {candidate.chunk.id for reasons in packing.rejected.values() for candidate in reasons}
    return len(rejected - {candidate.chunk.id for candidate in packing.shown})


def omissions(packing: Packing, used: int) -> tuple[Omission, ...]:
    """Return the best candidates that are not shown, section by section, best first.

    `budget` is an estimate: the tokens used now, plus those of this candidate and of all tried before it. It is 0 if no
    budget helps, because the kind has all its items or the candidate is not worth its tokens.
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
        budgets[candidate] = int(needed)
    return tuple(
        omission_of(packing, section, candidate, budgets.get(candidate, 0)) for section, candidate in listed(packing)
    )


def places(packing: Packing, terms: AbstractSet[str], most: int) -> tuple[str, ...]:
    """Return the best places of files that are not shown: `src/a.py:10-24 Reader.read: 12 def read(self): a2b3c4d5`.

    Each has its range, its name, its line that matches best, and its handle; the best place is first.
    """
    waiting = [(section, candidate) for section in packing.rejected for candidate in packing.remaining(section)]
    waiting.sort(key=lambda pair: (-pair[1].value, pair[1].chunk.id, pair[1].place))
    least = max((section.highest_value for section in packing.rejected), default=0.0) - VALUE_RANGE
    seen = {candidate.chunk.id for candidate in packing.shown}
    rows: list[str] = []
    for section, candidate in waiting if most else ():
        lines = section.lines.get(candidate.group)
        if lines is None or candidate.chunk.id in seen or candidate.value < least or not candidate.steps:
            continue
        seen.add(candidate.chunk.id)
        rows.append(_place(packing, section, candidate, lines, terms))
        if len(rows) == most:
            break
    return tuple(rows)


def _place(packing: Packing, section: Section, candidate: Candidate, lines: Lines, terms: AbstractSet[str]) -> str:
    omission = omission_of(packing, section, candidate, 0)
    texts = lines.lines[omission.start - 1 : omission.end]
    gains = matches(texts, terms)
    best = max(range(len(texts)), key=lambda index: (gains[index], bool(texts[index].strip()), -index))
    line = clean_field(texts[best].strip(), 90)  # most characters of the best line of a place
    name = f" {plain_name(omission.title)}" if omission.title not in ("", omission.path) else ""
    place = quote(f"{omission.path}:{omission.start}-{omission.end}{name}")
    return f"{place}: {omission.start + best} {line} {omission.handle}".rstrip()


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
        reason=packing.rejected[section][candidate],
        budget=budget,
        path=location.path if location is not None else "",
        start=own[0][0] if own else 0,
        end=own[-1][1] if own else 0,
        handle="" if chunk.origin == GIVEN_ORIGIN else handle(chunk.id, content_hash, rest or own),
        content_hash=content_hash,
        rest=rest,
    )
