"""What may be shown beside a piece that is shown: the imports that it uses, and the rest of its function or record.

Whatever follows a piece competes for the budget like any other candidate, and is never shown without it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from satchel.assemble.candidates import (
    CHARACTERS_PER_TOKEN,
    Candidate,
    Step,
    cut_note,
    declaration_steps,
    lines_size,
    within_blanks,
    without_trailers,
)
from satchel.assemble.imports import binding
from satchel.assemble.section import Group, subtract
from satchel.assemble.source_lines import Lines
from satchel.assemble.truncation import excerpt
from satchel.types import Detail, Document, Freshness, Import, Kind, Outline

if TYPE_CHECKING:
    from satchel.sources.change import Change


IMPORT_VALUE = 0.3
"""Share of the value of the code that its import lines have. Of 0.02, 0.1, 0.3, 0.5 and 1 the best on 296 issues:
.782 / .717 of files and spans against .776 / .709 without imports, because a fix often changes an import, too."""

WHOLE_LINES = 60
"""A function up to this size is completed once a window of it is shown; of a larger one the gaps are closed."""

REST_DROP, PARTIAL_DROP = 0.0, 1.6
"""The rest of a function is worth so much less (log scale) than the window that answers; of one that only calls what
was asked about it comes after everything that calls it."""

GROWTH = 2.0
"""The next passage of a record is so many times as long."""


def import_lines(
    lines: Mapping[str, Lines], outline_of: Callable[[Lines], Outline]
) -> Callable[[Candidate, Step], list[Candidate]]:
    """A function from a shown step to the imports that it needs: no or one candidate, led by the one that is shown.

    `outline_of` is asked for files that are not as they were indexed.
    """

    def needed(candidate: Candidate, step: Step) -> list[Candidate]:
        text = lines.get(candidate.group)
        if text is None or not step.ranges or Freshness.STALE in text.marks:  # the imports of now say nothing of then
            return []
        outline = indexed_imports(candidate.document, text) or outline_of(text)
        ranges = binding(text.lines, outline, step.ranges)
        if not ranges:
            return []
        size = sum(len(text.text(*shown)) for shown in ranges) / CHARACTERS_PER_TOKEN
        value = candidate.value + math.log(IMPORT_VALUE)
        steps = (Step(Detail.LINE, tuple(ranges)),)
        return [Candidate(candidate.hit, value, size, ranges[0][0], lambda: steps, leader=candidate)]

    return needed


def indexed_imports(document: Document, lines: Lines) -> Outline | None:
    """The imports that the index knows of a file, as an outline without parts; None for a file that differs from it."""
    location = document.location
    if lines.marks or location is None or location.content_hash != lines.content_hash:
        return None
    rows = document.fields.get("imports", ())
    return Outline("", (), tuple([Import(target, tuple(names), start, end) for target, names, start, end in rows]))


def rest_of_function(candidate: Candidate, step: Step, group: Group) -> list[Candidate]:
    """The lines of the candidate's definition that are not shown yet: all, or the gaps between shown ones."""
    location, lines = candidate.document.location, group.lines
    if location is None or lines is None or step.detail is not Detail.WINDOW or step.remarks:
        return []
    whole = within_blanks(lines, location.start_line, location.end_line)
    missing = subtract([whole], group.ranges)
    if whole[1] - whole[0] >= WHOLE_LINES:
        shown = [(start, end) for start, end in group.ranges if start <= whole[1] and end >= whole[0]]
        first, last = (shown[0][0], shown[-1][1]) if shown else whole
        missing = [(start, end) for start, end in missing if end - start < WHOLE_LINES and first < start and end < last]
    if not any(line.strip() for start, end in missing for line in lines.lines[start - 1 : end]):
        return []
    size = sum(lines_size(lines, *span) for span in missing)
    steps = (Step(Detail.WINDOW, tuple(missing)),)
    value = candidate.value - (PARTIAL_DROP if candidate.hit.partial else REST_DROP)
    return [Candidate(candidate.hit, value, size, missing[0][0], lambda: steps, leader=candidate)]


def more_of_record(candidate: Candidate, step: Step, asked: AbstractSet[str]) -> list[Candidate]:
    """A longer passage of a record of which a passage is shown."""
    body = without_trailers(candidate.body) if candidate.kind is Kind.COMMIT else candidate.body
    if step.detail is not Detail.WINDOW or not step.text.endswith(cut_note(candidate.document)):
        return []
    characters = len(step.text) * GROWTH
    text = excerpt(body, asked, characters)
    full = text == body
    made = Step(Detail.FULL, text=body) if full else Step(Detail.WINDOW, text=f"{text}\n{cut_note(candidate.document)}")
    if len(made.text) <= len(step.text):
        return []
    size = (len(made.text) - len(step.text)) / CHARACTERS_PER_TOKEN
    longer = Candidate(
        candidate.hit,
        candidate.value - REST_DROP,
        size,
        candidate.place,
        lambda: (made,),
        leader=candidate.leader or candidate,
    )
    longer.body, longer.trust = candidate.body, candidate.trust
    return [longer]


Imports = Callable[[Candidate, Step], Sequence[Candidate]]
Follow = Callable[[Candidate, Step, Group], Sequence[Candidate]]


def followers(imports: Imports | None, asked: AbstractSet[str]) -> Follow:
    """Everything that may be shown beside a step: imports, the rest of its function, more of its record."""

    def follow(candidate: Candidate, step: Step, group: Group) -> list[Candidate]:
        if group.lines is None:
            return more_of_record(candidate, step, asked)
        if candidate.leader is not None:
            return []
        rest = rest_of_function(candidate, step, group)
        # A call that somebody asked about says what it says without the imports of its file.
        return rest if imports is None or candidate.hit.partial else [*imports(candidate, step), *rest]

    return follow


SIGNATURE_CHARACTERS = 80
"""Of a signature with its frame, for ordering only."""


def compacted(candidates: Sequence[Candidate], change: Change, lines: Lines) -> list[Candidate]:
    """The candidates; those that the change touches as one signature a definition, without one not at all."""
    from satchel.search.change_impact import is_changed  # here, because few questions are about a change

    kept: list[Candidate] = []
    signed: set[str] = set()
    for candidate in candidates:
        ranges = candidate.steps[0].ranges
        if not ranges or not is_changed(change, candidate.hit, *ranges[-1]):
            kept.append(candidate)
            continue
        declared = declaration_steps(candidate.document, lines)
        if declared and candidate.document.id not in signed:
            signed.add(candidate.document.id)
            kept.append(_signature(candidate, declared[0]))
    return kept


def _signature(candidate: Candidate, step: Step) -> Candidate:
    size = SIGNATURE_CHARACTERS / CHARACTERS_PER_TOKEN
    made = Candidate(candidate.hit, candidate.value, size, step.ranges[0][0], lambda: (step,))
    made.group = candidate.group
    return made
