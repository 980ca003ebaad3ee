"""How the budget of an answer is filled: its length by the strength of the answer, and what is worth its tokens."""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import attrgetter
from typing import NamedTuple

from satchel.answer import weights
from satchel.answer.candidates import Candidate
from satchel.answer.plans import FAILURE, PlannedSection
from satchel.answer.request import AssembleRequest
from satchel.answer.search import is_weak
from satchel.answer.sections import Section
from satchel.search.query import subject_of
from satchel.search.strength import strength_at

LEAST_STRENGTH = 0.01
"""Least strength for computing the level of a kind."""


class FillPolicy(NamedTuple):
    """How the budget is filled.

    Candidates worth less than the best one by more than `value_range` (log scale) are left out. `limit` (tokens) is
    below the budget for a short answer, 0 for the budget itself. `not_found` are telling words of the
    question that occur nowhere, and `is_weak` says that nothing answers it well. With `is_cut` the answer is
    short because it is weak. With `shares` every section gets
    its share of the budget by weight first. `is_strict` leaves out candidates that are clearly weaker than one that
    did not fit. `call_sites` are lines that list the callers of the definition in question.
    """

    value_range: float = math.inf
    limit: int = 0
    not_found: tuple[str, ...] = ()
    is_weak: bool = False
    is_cut: bool = False
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
    is_short, is_broad = terms <= weights.SHORT_QUESTION, bool(subject_of(request.query))
    is_absent = bool(not_found) and is_short and strength < weights.SURE_STRENGTH
    share, most = 1.0, math.inf
    if is_absent and not is_broad:
        share = weights.ABSENT_SHARE
    elif (is_weak or is_absent) and is_short:
        share = weights.WEAK_SHARE
    if request.places and not is_broad:
        most = weights.FIND_TOKENS * max(request.max_tokens / weights.USUAL_BUDGET, 1.0)
    if share < 1.0 and not is_broad:
        most = min(most, weights.WEAK_TOKENS)
    least = max(request.max_tokens * share, weights.LEAST_SHORT)
    return FillPolicy(
        not_found=not_found,
        is_weak=is_weak,
        is_cut=share < 1.0 and not request.fill,
        most_items=FILL.most_items if request.plan else request.limit,  # a plan limits each of its sections
        limit=0 if request.fill else int(min(least, request.max_tokens, most)),
        value_range=value_range(request),
        shares=shares_budget(request),
        is_strict=not request.fill,
        call_sites=call_sites,
    )


def value_range(request: AssembleRequest) -> float:
    """Return the largest distance in value (log scale) from the best candidate to a shown one."""
    if request.fill or request.plan not in ("", FAILURE):
        return math.inf
    if request.places and not subject_of(request.query):
        return weights.FIND_RANGE
    doublings = max(math.log2(request.max_tokens / weights.USUAL_BUDGET), 0.0)
    return weights.VALUE_RANGE + weights.VALUE_RANGE_DOUBLED * doublings


def level_of(section: PlannedSection, candidates: Sequence[Candidate]) -> float:
    """Return the level that makes values of kinds comparable: the best of a kind counts its weight times strength."""
    ranked = [one for one in candidates if not one.is_lifted] or candidates
    best = max(ranked, key=attrgetter("value"))
    strength = strength_at(max(one.hit.relevance for one in candidates)) if section.ranked_by is None else 1.0
    useful = weights.USEFULNESS.get(section.kind, 1.0)
    return math.log(section.weight * useful * max(strength, LEAST_STRENGTH)) - best.value
