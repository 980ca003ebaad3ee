"""The least relevance and value of shown candidates, and the part of the budget that an answer may use."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING

from satchel.search.strength import WEAK_FLOOR, answer_strength
from satchel.types import Hit, Kind

if TYPE_CHECKING:
    from satchel.assemble.candidates import Candidate
    from satchel.assemble.gather import Gathered
    from satchel.assemble.plans import PlannedSection
    from satchel.assemble.request import AssembleRequest
    from satchel.assemble.section import Section
    from satchel.search.rank_records import SearchResult

ITEM_FLOOR = 0.1
"""Least relevance of each record and section of prose. Code has only the floor of its kind: its spans are chosen by
value."""

RELATIVE_FLOOR = 0.6
RELATIVE_FLOORS: Mapping[Kind, float] = {Kind.CODE: 0.0, Kind.COMMIT: 0.75}
"""A record or a section of prose is shown only with at least this share of the relevance of the best of its kind:
beside a commit about the question, one that shares a single word with it is noise. Commits are many and short, so
the bar is higher for them: with 0.4 twenty of them filled their third of the budget. Code is ranked by file instead."""

LEAST_LISTED = 0.005
"""Least relevance of a listed hit: lower ones would be written as 0.00."""

WEAK_ITEMS = 3
"""Chunks of an answer that is a weak match: the few best, not to be relied on."""


def is_weak(strength: float, min_score: float | None) -> bool:
    """Return whether an answer is a weak match: by its strength, unless the caller has a floor of their own."""
    return min_score is None and strength < WEAK_FLOOR


def floor_of(kind: Kind, best: float, strength: float, min_score: float | None) -> float | None:
    """Return the least relevance of a hit of a kind whose best has `best`; None where the kind does not answer.

    `strength` is that of the whole answer (`answer_strength`). A `min_score` is absolute and replaces all other
    floors. Beside a kind that matches well, one that hardly does is left out. A weak answer shows the hits near its
    best, so that it is never empty.
    """
    if min_score is not None:
        return min_score
    near = RELATIVE_FLOOR * strength
    if best <= 0 or (best < min(WEAK_FLOOR, near) and not is_weak(strength, min_score)):
        return None
    least = 0.0 if kind is Kind.CODE else min(ITEM_FLOOR, near)
    return max(least, RELATIVE_FLOORS.get(kind, RELATIVE_FLOOR) * best)


def admitted(results: Mapping[Kind, SearchResult], limit: int, min_score: float | None) -> list[Hit]:
    """Return the best hits of each kind, at most `limit` each. A weak answer has only the few best.

    A hit is not left out because another is better.
    """
    strength = answer_strength({kind: result.strength for kind, result in results.items()})
    hits: list[Hit] = []
    for kind, result in results.items():
        best = max((hit.relevance for hit in result.hits), default=0.0)
        least = floor_of(kind, best, strength, min_score)
        if least is not None:
            listed = LEAST_LISTED if is_weak(strength, None) else ITEM_FLOOR
            lowest = least if min_score is not None else min(least, listed)
            hits += [hit for hit in result.hits if hit.relevance >= lowest][:limit]
    if not is_weak(strength, min_score):
        return hits
    kept = sorted(hits, key=lambda hit: -hit.relevance)[:WEAK_ITEMS]
    return [hit for hit in hits if hit in kept]


ABSENT_SHARE = 0.2
"""Share of the budget for the answer to a short question with a telling word that occurs nowhere."""

SHORT_QUESTION = 15
"""Most search terms of a short question, in which every word counts: an issue text names things of other projects."""

SURE = 0.7
"""Strength from which an answer gets the full budget although a word of the question occurs nowhere."""

WEAK_SHARE = 0.5
"""Share of the budget for an answer to a short question that is only a weak match, as for one real question in
fifty."""

LEAST_SHORT = 150
"""Tokens that every short answer may use: enough for one piece with its frame."""

VALUE_RANGE = 2.4
"""Candidates worth less than the best one by more than this (log scale, a factor of 11) are not shown, up to a budget
of `USUAL_BUDGET` tokens. On 296 issues 2.2 spends 17 % fewer tokens and loses .018 of the files, 2.4 13 % and .010."""

USUAL_BUDGET = 4_000

RANGE_PER_DOUBLING = 0.5
"""Added to the range for each doubling of the budget above the usual one."""

USEFULNESS: Mapping[Kind, float] = {Kind.DOC: 0.12, Kind.COMMIT: 0.1}
"""Value of a hit of a kind relative to code of the same relevance: prose matches the words of a question far more
easily than code does. With .4 and .25 answers to 109 questions show fewer of the deciding lines, .65 instead of .67,
and fewer of their tokens are on the topic, .69 instead of .72."""

LEAST_RELEVANCE = 0.01
"""Least relevance for computing the level of a kind."""


@dataclass(frozen=True, slots=True)
class FillPolicy:
    """How the budget is filled.

    Candidates worth less than the best one by more than `value_range` (log scale) are left out. `limit` (tokens) is
    below the budget for a short answer, 0 for the budget itself. `not_found` are telling words of the
    question that occur nowhere, and `is_weak` says that nothing answers it well. With `shares` every section gets
    its share of the budget by weight first. `is_strict` leaves out candidates that are clearly weaker than one that
    did not fit. `call_sites` are lines that list the callers of the definition in question.
    """

    value_range: float = math.inf
    limit: int = 0
    not_found: tuple[str, ...] = ()
    is_weak: bool = False
    most_items: int = 1_000_000
    shares: bool = False
    is_strict: bool = True
    call_sites: tuple[str, ...] = ()


FILL = FillPolicy()
"""The policy to show everything that fits."""


def shares_budget(request: AssembleRequest) -> bool:
    """Return whether each kind has its share of the budget: only where the caller or a plan named several."""
    return len(request.kinds) > 1 or bool(request.plan)


def is_weak_match(request: AssembleRequest, sections: Sequence[Section], strength: float) -> bool:
    """Return whether nothing answers the question well; never for plans, changes, pins and candidates from a trace."""
    if request.plan or request.change is not None or request.pins:
        return False
    is_led = any(candidate.is_lifted for section in sections for candidate in section.candidates)
    return not is_led and is_weak(strength, request.min_score)


def fill_policy(
    request: AssembleRequest,
    not_found: tuple[str, ...],
    terms: int,
    strength: float,
    *,
    is_weak: bool,
    call_sites: tuple[str, ...] = (),
) -> FillPolicy:
    """Return the policy for an answer of this strength, and its remarks for the reader."""
    is_absent = bool(not_found) and terms <= SHORT_QUESTION and strength < SURE
    share = ABSENT_SHARE if is_absent else WEAK_SHARE if is_weak and terms <= SHORT_QUESTION else 1.0
    return FillPolicy(
        not_found=not_found,
        is_weak=is_weak,
        most_items=FILL.most_items if request.plan else request.limit,  # a plan limits each of its sections
        limit=0 if request.fill else min(max(int(request.max_tokens * share), LEAST_SHORT), request.max_tokens),
        value_range=math.inf if request.fill or request.plan else value_range(request.max_tokens),
        shares=shares_budget(request),
        call_sites=call_sites,
    )


def value_range(max_tokens: int) -> float:
    """Return the largest distance in value (log scale) from the best candidate to a shown one, for a budget."""
    return VALUE_RANGE + RANGE_PER_DOUBLING * max(math.log2(max_tokens / USUAL_BUDGET), 0.0)


def level_of(section: PlannedSection, candidates: Sequence[Candidate]) -> float:
    """Return the level that makes values of kinds comparable: the best of a kind counts its weight times relevance."""
    ranked = [one for one in candidates if not one.is_lifted] or candidates
    best = max(ranked, key=attrgetter("value"))
    relevance = max(one.hit.relevance for one in candidates) if section.ranked_by is None else 1.0
    useful = USEFULNESS.get(section.kind, 1.0)
    return math.log(section.weight * useful * max(relevance, LEAST_RELEVANCE)) - best.value


def section_floor(row: Gathered, min_score: float | None, strength: float) -> float | None:
    """Return the least relevance of hits of a section: None if it does not answer, 0 if it is not searched."""
    if row.section.ranked_by is not None:
        return 0.0
    best = max((hit.relevance for hit in row.result.hits), default=0.0)
    if row.section.floor is not None and min_score is None:
        return max(row.section.floor, RELATIVE_FLOORS.get(row.section.kind, RELATIVE_FLOOR) * best)
    return floor_of(row.section.kind, best, strength, min_score)
