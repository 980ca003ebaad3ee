"""What stayed out, why, and the budget that would have admitted it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from satchel.assemble.candidates import Candidate
from satchel.assemble.fit import FILE_FRAME_TOKENS, RANGE_TOKENS
from satchel.assemble.section import Section
from satchel.keys import handle
from satchel.types import Omission

MOST_OMISSIONS = 20
"""How many of the best candidates that stayed out are listed for each kind."""

BUDGET = "budget"
LIMIT = "limit"
"""Why a candidate stayed out: there were no tokens left for it, or its kind had all the items that it may have."""


def omissions(sections: Sequence[Section], used: int) -> tuple[Omission, ...]:
    """The best candidates that are not shown, section by section, best first.

    `budget` is an estimate: what is used now, and what this and all better ones of the section would add, for every
    section that shares the budget. `receipts.budgets` replaces it by one that was tried.
    """
    listed: list[Omission] = []
    total = sum(section.weight for section in sections) or 1.0
    for section in sections:
        added = 0.0
        # What is only shown beside something else, such as its imports, comes in with that.
        own = (candidate for _, candidate in section.remaining() if candidate.leader is None)
        for candidate in islice(own, MOST_OMISSIONS):
            known = candidate.group in section.groups
            added += int(candidate.size) + RANGE_TOKENS + (0 if known else FILE_FRAME_TOKENS)
            is_barred = not known and len(section.groups) >= section.item_limit
            budget = 0 if is_barred else used + int(added * total / section.weight)
            listed.append(_omission(candidate, LIMIT if is_barred else BUDGET, budget))
    return tuple(listed)


def _omission(candidate: Candidate, reason: str, budget: int) -> Omission:
    document = candidate.document
    location = document.location
    ranges = candidate.steps[0].ranges
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
