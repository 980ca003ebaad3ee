"""How the budget of an answer is filled: its length by the strength of the answer, and what is worth its tokens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import chain
from operator import attrgetter

from msgspec import Struct
from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel.answer import weights
from satchel.answer.bearing import lesson_tokens
from satchel.answer.candidates import Candidate
from satchel.answer.findings import Searched
from satchel.answer.floors import is_weak
from satchel.answer.plans import FAILURE, PlannedSection
from satchel.answer.request import Budget
from satchel.answer.sections import Section
from satchel.answer.source_lines import Lines
from satchel.search.query import Query
from satchel.search.strength import strength_at
from satchel.sources.code.languages import PROSE, language_of
from satchel.sources.roles import Peripheral, peripheral_role
from satchel.store.protocol import Store
from satchel.text import count_terms, term_of, words
from satchel.types import PROSE_KINDS, Kind

BEST_NOTES = 10
"""Candidates among which a release note is looked for."""

MIN_STRENGTH = 0.01
"""Least strength for computing the level of a kind."""


def is_of_documents(store: Store) -> bool:
    """Return whether most of the text of a store is prose, worked out once for each state of its documents."""
    code = store.lexicon(Kind.CODE)
    in_prose = sum(
        store.lexicon(kind).derived(is_of_documents, partial(_prose_words, store, kind)) for kind in PROSE_KINDS
    )
    return in_prose >= weights.DOCUMENTS_SHARE * (in_prose + float(code.document_length[code.live_document].sum()))


def leading_prose(sections: Sequence[Section], stores: Iterable[Store]) -> Kind | None:
    """Return the kind of prose that comes before code, None for code first.

    That is the best kind where it answers much better than code, in stores of documents also where it answers as well.
    """
    best = {section.kind: section.highest_value for section in sections}
    relevance = {
        section.kind: max([candidate.hit.relevance for candidate in section.candidates], default=0.0)
        for section in sections
    }
    prose = sorted(PROSE_KINDS, key=lambda kind: -best.get(kind, -math.inf))
    for kind in prose:
        if relevance.get(kind, 0.0) >= weights.KIND_LEAD * relevance.get(Kind.CODE, math.inf):
            return kind
    is_as_good = best.get(prose[0], -math.inf) >= best.get(Kind.CODE, math.inf)
    return prose[0] if is_as_good and all(map(is_of_documents, stores)) else None


def reason_in(
    query: Query, kind: Kind, candidates: Sequence[Candidate], files: Mapping[str, Lines]
) -> Candidate | None:
    """Return the candidate that answers a question for a reason, with most words of the question; None for no such.

    That is the best commit, or one of the best release notes: of these the lines that match best are read, because a
    note tells much else.
    """
    if kind not in (Kind.COMMIT, *PROSE_KINDS) or not query.asks_why or not candidates:
        return None
    best = sorted(candidates, key=attrgetter("value"), reverse=True)[: 1 if kind is Kind.COMMIT else BEST_NOTES]
    asked = [term.term for term in query.terms if not term.guessed]
    for candidate in best:
        chunk = candidate.chunk
        present = count_terms(
            words(f"{chunk.title}\n{chunk.body}" if kind is Kind.COMMIT else _lines_of_note(candidate, files))
        )
        if sum(term in present for term in asked) >= weights.REASON_SHARE * max(len(asked), 1):
            return candidate
    return None


def past_words(query: Query, past: Sequence[str], sections: Sequence[Section]) -> frozenset[str]:
    """Return those of the words `past`, which only commits have, that the best commit for a short question has."""
    commits = [*chain.from_iterable(section.candidates for section in sections if section.kind is Kind.COMMIT)]
    if not (past and commits) or sum(not term.guessed for term in query.terms) > weights.SHORT_QUESTION:
        return frozenset()
    chunk = max(commits, key=attrgetter("value")).chunk
    present = count_terms(words(f"{chunk.title}\n{chunk.body}"))
    return frozenset(word for word in past if term_of(word) in present)


def _lines_of_note(candidate: Candidate, files: Mapping[str, Lines]) -> str:
    """Return the lines of a release note that match best, nothing of another document."""
    location, spans = candidate.chunk.location, candidate.hit.spans
    if location is None or not spans or peripheral_role(location.path, is_prose=True) is not Peripheral.CHANGELOG:
        return ""
    read = files.get(location.path)
    return "\n".join(read.lines[spans[0].start - 1 : spans[0].end]) if read is not None else ""


def _prose_words(store: Store, kind: Kind) -> float:
    """Return the words of the documents that people read, not those of configuration and data."""
    lexicon = store.lexicon(kind)
    keys = [key for key in store.iterate_keys(kind) if language_of(key) in PROSE]
    positions = lexicon.document_positions(store.document_ids(kind, keys).values())
    length = np.where(lexicon.live_document, lexicon.document_length, 0.0)
    return float(length[positions[positions >= 0]].sum())


class FillPolicy(Struct, frozen=True):
    """How the budget is filled.

    Candidates worth less than the best one by more than `value_range` (log scale) are left out. `limit` (tokens) is
    below the budget for a short answer, 0 for the budget itself; the best files may use `first` of it, 0 for all of it.
    `not_found` are distinctive words of the question that no file has, `past` those of them that a commit has,
    `of_tests` words that only tests and examples have, and `is_weak` says that nothing answers it well. With `is_cut`
    the answer is short because it is weak; `unsure` says that many definitions match alike. `prose_range` is a narrower
    range for prose. With `shares` every section gets its share of the budget by weight first. `is_strict` leaves out
    candidates that are clearly weaker than one that did not fit. `call_sites` are lines that list the callers of the
    definition in question, `hunks` those of the change in question, `left_out` notes on files that are not indexed.
    """

    value_range: float = math.inf
    limit: int = 0
    first: int = 0
    not_found: tuple[str, ...] = ()
    past: tuple[str, ...] = ()
    of_tests: tuple[str, ...] = ()
    is_weak: bool = False
    is_cut: bool = False
    unsure: bool = False
    prose_range: float | None = None
    max_items: int = 1_000_000
    shares: bool = False
    is_strict: bool = True
    call_sites: tuple[str, ...] = ()
    hunks: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


FILL = FillPolicy()
"""The policy to show everything that fits."""


def is_weak_match(searched: Searched, sections: Sequence[Section]) -> bool:
    """Return whether nothing answers the question well; never for plans, changes, pins and candidates from a trace."""
    asked, scope = searched.asked, searched.scope
    if scope.plan or asked.change is not None or asked.pins:
        return False
    return is_weak(searched.strength, scope.min_score) and not has_lifted(sections)


def has_lifted(sections: Sequence[Section]) -> bool:
    """Return whether the question names a line or a definition that is shown first."""
    return any(candidate.is_lifted for section in sections for candidate in section.candidates)


def fill_policy(
    searched: Searched,
    budget: Budget,
    strength: float,
    *,
    is_weak: bool,
    unsure: bool = False,
    call_sites: tuple[str, ...] = (),
) -> FillPolicy:
    """Return the policy for an answer of this strength, and its remarks for the reader."""
    scope, missing, max_tokens = searched.scope, searched.missing, budget.max_tokens
    query = searched.findings.query
    is_short = sum(not term.guessed for term in query.terms) <= weights.SHORT_QUESTION
    # The strength counts the words of a feature apart: without the feature it says nothing.
    is_unsure = strength < weights.SURE_STRENGTH or missing.lacks_feature
    is_absent = bool(missing.words or missing.of_tests) and is_short and is_unsure
    share, maximum = 1.0, math.inf
    if is_absent and not query.is_broad:
        share = weights.ABSENT_SHARE
    elif (is_weak or is_absent) and is_short:
        share = weights.WEAK_SHARE
    if budget.is_for_tools and not query.is_broad:
        maximum = weights.UNSURE_TOKENS if unsure else weights.FIND_TOKENS
        maximum *= max(max_tokens / weights.USUAL_BUDGET, 1.0)
    if share < 1.0 and not query.is_broad:
        maximum = min(maximum, weights.WEAK_TOKENS)
    minimum = max(max_tokens * share, weights.MIN_SHORT)
    limit = 0 if budget.fill else int(min(minimum, max_tokens, maximum))
    narrows_prose = budget.is_for_tools and not (budget.fill or scope.plan or query.is_broad)
    usual_range = value_range(searched, budget)
    return FillPolicy(
        not_found=missing.words,
        past=missing.past,
        of_tests=missing.of_tests,
        left_out=missing.notes,
        is_weak=is_weak,
        is_cut=share < 1.0 and not budget.fill,
        max_items=FILL.max_items if scope.plan else scope.limit,  # a plan limits each of its sections
        limit=limit,
        first=int(maximum * weights.FIRST_SHARE)
        if unsure and share == 1.0 and maximum * weights.FIRST_SHARE < limit
        else 0,
        value_range=max(usual_range, weights.VALUE_RANGE) if unsure else usual_range,
        prose_range=weights.FIND_RANGE if narrows_prose else None,
        unsure=unsure,
        shares=scope.shares_budget,
        is_strict=not budget.fill,
        call_sites=call_sites,
    )


def with_lessons(policy: FillPolicy, count: int, max_tokens: int) -> FillPolicy:
    """Return the policy with room for so many lessons beside what a weak answer shows, and for as many more items."""
    more = lesson_tokens(max_tokens) if count else 0
    limit = min(policy.limit + more, max_tokens) if policy.limit else 0
    first = min(policy.first + more, limit) if policy.first else 0
    return replace(policy, max_items=policy.max_items + count, limit=limit, first=first)


def value_range(searched: Searched, budget: Budget) -> float:
    """Return the largest distance in value (log scale) from the best candidate to a shown one."""
    if budget.fill or searched.scope.plan not in ("", FAILURE):
        return math.inf
    if budget.is_for_tools and not searched.findings.query.is_broad:
        return weights.GLIMPSE_RANGE
    doublings = max(math.log2(budget.max_tokens / weights.USUAL_BUDGET), 0.0)
    return weights.VALUE_RANGE + weights.VALUE_RANGE_DOUBLED * doublings


def level_of(section: PlannedSection, candidates: Sequence[Candidate], *, of_documents: bool = False) -> float:
    """Return the level that makes values of kinds comparable: the best of a kind counts its weight times strength.

    `of_documents` is whether the section is searched in stores of documents.
    """
    ranked = [candidate for candidate in candidates if not candidate.is_lifted] or candidates
    best = max(ranked, key=attrgetter("value"))
    strength = (
        strength_at(max([candidate.hit.relevance for candidate in candidates])) if section.ranked_by is None else 1.0
    )
    kind = Kind.CODE if of_documents and section.kind.traits.is_prose else section.kind
    useful = weights.USEFULNESS.get(kind, 1.0)
    return math.log(section.weight * useful * max(strength, MIN_STRENGTH)) - best.value
