"""How the budget of an answer is filled: its length by the strength of the answer, and what is worth its tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from satchel import lazy_numpy as np
from satchel.answer.candidates import Candidate
from satchel.answer.plans import FAILURE, PlannedSection
from satchel.answer.request import AssembleRequest
from satchel.answer.search import is_weak
from satchel.answer.sections import Section
from satchel.search.query import subject_of
from satchel.search.strength import strength_at
from satchel.sources.code.languages import language_of
from satchel.sources.docs import PROSE
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon
from satchel.types import Kind

ITEM_SHARE = 0.25
"""Largest share of the budget of a kind for one chunk, where several kinds were named."""

SHORT_QUESTION = 15
"""Most search terms of a short question, in which every word counts: an issue text names things of other projects."""

LEAST_SHORT = 150
"""Tokens that every short answer may use: enough for one piece with its frame."""

VALUE_RANGE = 2.4
"""Candidates worth less than the best one by more than this (log scale, a factor of 11) are not shown, up to a budget
of `USUAL_BUDGET` tokens. On 296 issues 2.2 spends 17 % fewer tokens and loses .018 of the files, 2.4 13 % and .010."""

FIND_RANGE = 1.3
"""The same where only the sure places are shown, and the others are named."""

FIND_TOKENS = 1_600
"""Most tokens of an answer that names places, too, for the usual budget. Without it more is shown of each file, and the
places come later: of 62 issues .488 of the ranges are reached within 1,000 tokens, with it .547."""

USUAL_BUDGET = 4_000

USEFULNESS: Mapping[Kind, float] = {Kind.DOC: 0.12, Kind.COMMIT: 0.1}
"""Value of a hit of a kind relative to code of the same relevance: prose matches the words of a question far more
easily than code does. With .4 and .25 answers to 109 questions show fewer of the deciding lines, .65 instead of .67,
and fewer of their tokens are on the topic, .69 instead of .72."""


DOCUMENTS_SHARE = 2 / 3
"""Share of prose in the text of prose and code from which a store is one of documents: there prose counts like code. Of
37 repositories of code it is at most .47 (Flask, then .31), with tests; a handbook with some scripts has over .9."""


def is_of_documents(store: Store) -> bool:
    """Return whether most of the text of a store is prose, worked out once for each state of its documents."""
    prose, code = store.lexicon(Kind.DOC), store.lexicon(Kind.CODE)
    words = prose.derived(is_of_documents, lambda: _prose_words(store, prose))
    return words >= DOCUMENTS_SHARE * (words + float(code.document_length[code.live_document].sum()))


def documents_lead(sections: Sequence[Section], stores: Iterable[Store]) -> bool:
    """Return whether prose comes before code: in stores of documents where it answers as well."""
    best = {section.kind: section.highest_value for section in sections}
    is_as_good = best.get(Kind.DOC, -math.inf) >= best.get(Kind.CODE, math.inf)
    return is_as_good and all(map(is_of_documents, stores))


def _prose_words(store: Store, lexicon: Lexicon) -> float:
    """Return the words of the documents with headings, not those of configuration and data."""
    keys = [key for key in store.iterate_keys(Kind.DOC) if language_of(key) in PROSE]
    positions = lexicon.document_positions(store.document_ids(Kind.DOC, keys).values())
    length = np.where(lexicon.live_document, lexicon.document_length, 0.0)
    return float(length[positions[positions >= 0]].sum())


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
    # Strength from which an answer gets the full budget although a word of the question occurs nowhere.
    is_absent = bool(not_found) and terms <= SHORT_QUESTION and strength < 0.7
    # Share of the budget for the answer to a short question with a telling word that occurs nowhere.
    # Share of the budget for an answer to a short question that is only a weak match, as for one real question in
    # fifty.
    is_broad = bool(subject_of(request.query))
    share = 0.2 if is_absent and not is_broad else 0.5 if (is_weak or is_absent) and terms <= SHORT_QUESTION else 1.0
    most = FIND_TOKENS * max(request.max_tokens / USUAL_BUDGET, 1.0) if request.places and not is_broad else math.inf
    most = min(most, 800) if share < 1.0 and not is_broad else most  # what answers nothing well is not read further
    return FillPolicy(
        not_found=not_found,
        is_weak=is_weak,
        is_cut=share < 1.0 and not request.fill,
        most_items=FILL.most_items if request.plan else request.limit,  # a plan limits each of its sections
        limit=0 if request.fill else int(min(max(request.max_tokens * share, LEAST_SHORT), request.max_tokens, most)),
        value_range=value_range(request),
        shares=shares_budget(request),
        is_strict=not request.fill,
        call_sites=call_sites,
    )


def value_range(request: AssembleRequest) -> float:
    """Return the largest distance in value (log scale) from the best candidate to a shown one."""
    doublings = math.log2(request.max_tokens / USUAL_BUDGET)
    if request.fill or request.plan not in ("", FAILURE):
        return math.inf
    # Added to the range for each doubling of the budget above the usual one.
    is_narrow = request.places and not subject_of(request.query)
    return FIND_RANGE if is_narrow else VALUE_RANGE + 0.5 * max(doublings, 0.0)


def level_of(section: PlannedSection, candidates: Sequence[Candidate], *, of_documents: bool = False) -> float:
    """Return the level that makes values of kinds comparable: the best of a kind counts its weight times strength.

    `of_documents` is whether the section is searched in stores of documents.
    """
    ranked = [one for one in candidates if not one.is_lifted] or candidates
    best = max(ranked, key=attrgetter("value"))
    strength = strength_at(max(one.hit.relevance for one in candidates)) if section.ranked_by is None else 1.0
    useful = 1.0 if of_documents and section.kind is Kind.DOC else USEFULNESS.get(section.kind, 1.0)
    # Least strength for computing the level of a kind.
    return math.log(section.weight * useful * max(strength, 0.01)) - best.value
