"""What should stand beside shown code: the import lines that bind the names it uses.

An import line says where a name comes from, and is worth a share of the code that uses it. It competes for the budget
like any other piece, and never stands without that code.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from satchel.assemble.candidates import CHARACTERS_PER_TOKEN, Candidate, Step
from satchel.assemble.imports import binding
from satchel.assemble.read import Lines
from satchel.types import Detail, Document, Freshness, Import, Outline

IMPORT_VALUE = 0.3
"""Share of the value of the code that its import lines have. Of 0.02, 0.1, 0.3, 0.5 and 1 the best on 296 issues:
.782 / .717 of files and spans against .776 / .709 without imports, because a fix often changes an import, too."""


def import_lines(
    lines: Mapping[str, Lines], outline_of: Callable[[Lines], Outline]
) -> Callable[[Candidate, Step], list[Candidate]]:
    """A function from a shown step to the imports that it needs: no or one candidate, led by the one given.

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
