"""What stayed out, why, and the budget that would have admitted it."""

from __future__ import annotations

from collections.abc import Sequence

from satchel.assemble.fit import FILE_FRAME_TOKENS, RANGE_TOKENS, Section
from satchel.types import Omission

MOST_OMISSIONS = 20
"""How many of the best candidates that stayed out are listed for each kind."""


def omissions(sections: Sequence[Section], used: int) -> tuple[Omission, ...]:
    """The best candidates that are not shown, section by section, best first.

    `budget` is an estimate: what is used now and what this and all better ones of the section would add.
    """
    listed: list[Omission] = []
    for section in sections:
        budget = used
        for _, candidate in section.remaining():
            known = candidate.group in section.groups
            budget += int(candidate.size) + RANGE_TOKENS + (0 if known else FILE_FRAME_TOKENS)
            location = candidate.document.location
            ranges = candidate.steps[0].ranges
            listed.append(
                Omission(
                    id=candidate.document.id,
                    source=candidate.kind.value,
                    title=candidate.document.title,
                    relevance=candidate.hit.relevance,
                    reason="budget",
                    budget=budget,
                    path=location.path if location is not None else "",
                    start=ranges[-1][0] if ranges else 0,
                    end=ranges[-1][1] if ranges else 0,
                )
            )
            if sum(row.source == section.kind.value for row in listed) >= MOST_OMISSIONS:
                break
    return tuple(listed)
