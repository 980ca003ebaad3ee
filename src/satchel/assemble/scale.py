"""How far an answer is filled, and the one scale on which the pieces of all kinds are compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from satchel.assemble.candidates import Candidate
from satchel.assemble.floors import RELATIVE_FLOOR, RELATIVE_FLOORS, floor_of, is_weak
from satchel.assemble.gather import Gathered
from satchel.assemble.pack import FILL, Filling
from satchel.assemble.request import AssembleRequest
from satchel.assemble.section import Section
from satchel.types import Kind

ABSENT_SHARE = 0.2
"""Share of the budget for the answer to a short question of which a telling word occurs nowhere."""

SHORT_QUESTION = 15
"""Search terms of a question whose every word counts: an issue text names things of other projects."""

SURE = 0.7
"""Strength from which an answer is given its room although a word of the question occurs nowhere."""

WEAK_SHARE = 0.5
"""Share of the budget for an answer to a short question that is only a weak match: one real question in fifty gets
one."""

LEAST_SHORT = 150
"""Tokens that an answer that is kept short may take in any case: enough for one piece with its frame."""

VALUE_RANGE = 2.4
"""Candidates worth less than the best one by more than this (log scale, a factor of 11) are not shown, up to a budget
of `USUAL_BUDGET` tokens. On 296 issues 2.2 spends 17 % fewer tokens and loses .018 of the files, 2.4 13 % and .010."""

USUAL_BUDGET = 4_000

RANGE_PER_DOUBLING = 0.5
"""So much wider the range is for each doubling of the budget: who gives more room wants to see more."""

USEFULNESS: Mapping[Kind, float] = {Kind.DOC: 0.12, Kind.COMMIT: 0.1}
"""How much a hit of a kind is worth beside code of the same relevance: prose matches the words of a question far more
easily than code does. With .4 and .25 answers to 109 questions show fewer of the deciding lines, .65 instead of .67,
and fewer of their tokens are on the topic, .69 instead of .72."""

LEAST_RELEVANCE = 0.01
"""Relevance from which the level of a kind is computed at least."""


def shares_budget(request: AssembleRequest) -> bool:
    """Whether each kind has its share of the budget: only where the caller or a plan named several."""
    return len(request.kinds) > 1 or bool(request.plan)


def is_weak_match(request: AssembleRequest, sections: Sequence[Section], strength: float) -> bool:
    """Whether nothing answers the question well: never where a trace or a caller's wish led to what is shown."""
    if request.plan or request.change is not None or request.pins:
        return False
    is_led = any(candidate.is_lifted for section in sections for candidate in section.candidates)
    return not is_led and is_weak(strength, request.min_score)


def filling_of(
    request: AssembleRequest, not_found: tuple[str, ...], terms: int, strength: float, *, is_weak: bool
) -> Filling:
    """How much of the budget an answer of this strength may spend, on which pieces, and what it tells the reader."""
    is_absent = bool(not_found) and terms <= SHORT_QUESTION and strength < SURE
    share = ABSENT_SHARE if is_absent else WEAK_SHARE if is_weak and terms <= SHORT_QUESTION else 1.0
    limit = 0 if request.fill else min(max(int(request.max_tokens * share), LEAST_SHORT), request.max_tokens)
    return Filling(
        not_found=not_found,
        is_weak=is_weak,
        most_items=FILL.most_items if request.plan else request.limit,  # a plan limits each of its sections
        limit=limit,
        value_range=math.inf if request.fill or request.plan else value_range(request.max_tokens),
        shares=shares_budget(request),
    )


def value_range(max_tokens: int) -> float:
    """How far below the best one (log scale) a candidate may be worth showing in a budget."""
    return VALUE_RANGE + RANGE_PER_DOUBLING * max(math.log2(max_tokens / USUAL_BUDGET), 0.0)


def level_of(row: Gathered, candidates: Sequence[Candidate]) -> float:
    """What makes the values of a kind comparable: the best of it counts its weight times its relevance."""
    best = max(candidates, key=lambda one: (not one.is_lifted, one.value))
    relevance = max(one.hit.relevance for one in candidates) if row.section.standing is None else 1.0
    useful = USEFULNESS.get(row.section.kind, 1.0)
    return math.log(row.section.weight * useful * max(relevance, LEAST_RELEVANCE)) - best.value


def section_floor(row: Gathered, request: AssembleRequest, strength: float) -> float | None:
    """The least relevance of what a section shows; None where it does not answer. What is not searched has none."""
    if row.section.standing is not None:
        return 0.0
    best = max((hit.relevance for hit in row.result.hits), default=0.0)
    if row.section.floor is not None and request.min_score is None:
        return max(row.section.floor, RELATIVE_FLOORS.get(row.section.kind, RELATIVE_FLOOR) * best)
    return floor_of(row.section.kind, best, strength, request.min_score)
