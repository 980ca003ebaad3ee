"""What is not shown, why, and the budget that would admit it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from satchel.assemble.candidates import Candidate
from satchel.assemble.packer import BUDGET, FRAMES, LIMIT, VALUE
from satchel.assemble.section import Section, priority
from satchel.keys import handle
from satchel.types import Format, Omission

__all__ = ["BUDGET", "LIMIT", "VALUE", "omissions"]

MOST_OMISSIONS = 20
"""How many of the best candidates that are not shown are listed for each kind."""


def omissions(sections: Sequence[Section], used: int) -> tuple[Omission, ...]:
    """The best candidates that are not shown, section by section, best first.

    `budget` is an estimate: what is used now, and what this candidate and everything tried before it would add. It is
    0 where no budget helps, because the kind has all its items or the candidate is not worth its tokens.
    """
    waiting = [
        (-priority(candidate, section.level), candidate)
        for section in sections
        for candidate in section.remaining()
        if section.left.get(candidate) == BUDGET
    ]
    budgets: dict[Candidate, int] = {}
    needed = float(used)
    frame = FRAMES[Format.MARKDOWN]
    for _, candidate in sorted(waiting, key=lambda row: (row[0], row[1].document.id, row[1].place)):
        needed += candidate.size + frame.range + frame.item
        budgets[candidate] = int(needed)
    return tuple(
        _omission(candidate, section.left.get(candidate, VALUE), budgets.get(candidate, 0))
        for section in sections
        for candidate in islice(_best_first(section), MOST_OMISSIONS)
    )


def _best_first(section: Section) -> list[Candidate]:
    return sorted(section.remaining(), key=lambda one: (-priority(one), one.document.id, one.place))


def _omission(candidate: Candidate, reason: str, budget: int) -> Omission:
    document = candidate.document
    location = document.location
    ranges = candidate.steps[0].ranges if candidate.steps else ()
    content_hash = location.content_hash if location is not None else ""
    return Omission(
        id=document.id,
        source=candidate.kind.value,
        title=document.title,
        relevance=candidate.hit.relevance,
        reason=reason,
        budget=budget,
        path=location.path if location is not None else "",
        start=ranges[-1][0] if ranges else 0,
        end=ranges[-1][1] if ranges else 0,
        handle=handle(document.id, content_hash, ranges[-1:]),
        content_hash=content_hash,
    )
