"""The pipeline of an answer: search, candidates, what the session lacks, packing, text."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from msgspec import structs

from satchel.answer import weights
from satchel.answer.fill_policy import (
    FillPolicy,
    fill_policy,
    has_lifted,
    is_weak_match,
    leading_prose,
    past_words,
    reason_in,
    value_range,
    with_lessons,
)
from satchel.answer.findings import Searched
from satchel.answer.fitting import fit
from satchel.answer.glimpses import is_unsure, with_glimpses
from satchel.answer.inputs import sections_of
from satchel.answer.items import counted_items
from satchel.answer.pins import find_pins, with_pins
from satchel.answer.plans import written_names
from satchel.answer.render import call_site_lines
from satchel.answer.render.change import ChangeText, change_text
from satchel.answer.request import AssembleRequest, Budget
from satchel.answer.resources import Resources
from satchel.answer.search import search
from satchel.answer.sections import Section
from satchel.answer.write import WEAK, Filling, FindPlaces, Fitted, context_of
from satchel.search.filters import unavailable
from satchel.tokens import counter
from satchel.types import LESSON_KINDS, LINE_KINDS, PROSE_KINDS, Context, Failure, Json, Kind

if TYPE_CHECKING:
    from satchel.answer.situation import MakeGuides


def assemble(
    request: AssembleRequest,
    resources: Resources,
    guides: MakeGuides | None = None,
    searched: Searched | None = None,
) -> Context:
    """Answer one question, from several workspaces if there are others.

    `guides` makes the contexts for it; with `searched` the answer is made from what was found.
    """
    started = time.monotonic()
    if searched is None:
        searched = search(request.asked, request.scope, request.budget.max_tokens, resources)
    ended = time.monotonic()
    filling = _filling(request, searched, guides)
    fitted, uncounted = _with_line_counts(fit(filling), resources)
    meta = {
        "timings": {
            "search_ms": round((ended - started) * 1000, 2),
            "assemble_ms": round((time.monotonic() - ended) * 1000, 2),
        },
        "revision": resources.revision,
        "embedder": resources.embedder.id if resources.embedder is not None else None,
        "vectors": searched.vector_counts,
        "callers": [target for prefix, impact in searched.impacts for target in impact.listing(prefix)],
        **next(
            ({"change": impact.affected.data()} for _, impact in searched.impacts if impact.affected is not None), {}
        ),
        "strength": round(searched.strength, 4),
        "weak": filling.policy.is_weak or fitted.stopped == WEAK,
        "missing_terms": list(filling.policy.not_found),
        "only_in_history": [word for word in filling.policy.past if word in filling.policy.not_found],
        "only_in_tests": list(filling.policy.of_tests),
        "lessons": searched.lessons_told,
        "left_out": list(filling.policy.left_out),
    }
    return context_of(structs.replace(filling, failures=(*filling.failures, *uncounted)), fitted, meta)


def _first_kind(searched: Searched, sections: Sequence[Section]) -> Kind | None:
    """Return the kind that comes first for what is asked, None for the usual order."""
    query = searched.findings.query
    if query.commits:
        return Kind.COMMIT
    reasons = [
        section.kind
        for section in sections
        if reason_in(query, section.kind, section.candidates, section.lines) is not None
    ]
    if reasons:
        return min(reasons, key=lambda kind: kind is not Kind.COMMIT)
    if prose := leading_prose(sections, [workspace.store for workspace in searched.resources.every]):
        return prose
    return Kind.COMMIT if past_words(query, searched.missing.past, sections) else None


def _filling(request: AssembleRequest, searched: Searched, guides: MakeGuides | None) -> Filling:
    """Return all that decides what the answer shows."""
    resources, scope, budget = searched.resources, request.scope, request.budget
    sections, failures = _sections(request, searched)
    first_kind = scope.first_kind
    if first_kind is None and not scope.plan:
        first_kind = _first_kind(searched, sections)
        sections = sorted(sections, key=lambda section: section.kind is not first_kind) if first_kind else sections
    sections, unguided = _with_guides(request, resources, sections, guides)
    glimpses = budget.is_for_tools and not scope.plan and request.asked.change is None
    unsure = glimpses and is_unsure(sections)
    if glimpses:
        sections = [with_glimpses(section, searched.terms, searched.rarities, unsure=unsure) for section in sections]
    relate = None
    if budget.related:
        from satchel.answer.shapes import with_related  # here, because few questions ask for it

        relate = partial(with_related, resources=resources)
    return Filling(
        request.asked,
        budget,
        request.form,
        resources,
        sections,
        (*resources.notes, *_unavailable(searched), *failures, *searched.failures, *unguided),
        searched.findings.plan,
        resources.account.references() if resources.account is not None else (),
        _policy(searched, budget, sections, first_kind, unsure=unsure),
        relate,
        searched.terms,
        _place_finder(budget, searched, sections),
        first_kind,
        request.asker.workspaces,
    )


def _sections(request: AssembleRequest, searched: Searched) -> tuple[list[Section], list[Failure]]:
    """Return the candidates of what was found and of what is pinned, by section, and failures to read them."""
    resources, scope, budget = searched.resources, request.scope, request.budget
    # All candidates are made where they are counted, or where the session may have the best of those that are listed.
    counts_all = request.form.show_meta or (resources.account is not None and bool(resources.account.ledger.items))
    shown_range = math.inf if counts_all else max(value_range(searched, budget), weights.VALUE_RANGE)
    sections, unreadable = sections_of(searched, budget, shown_range)
    places = [(workspace.prefix, workspace.lines, workspace.store) for workspace in resources.every]
    pinned, unpinned = find_pins(request.asked.pins, places)
    sections = with_pins(_best_entities(sections, searched, budget), pinned, scope.weights, scope.limit)
    return sections, [*unreadable, *unpinned]


def _policy(
    searched: Searched, budget: Budget, sections: Sequence[Section], first_kind: Kind | None, *, unsure: bool
) -> FillPolicy:
    """Return how the answer is filled, and its remarks for the reader."""
    scope = searched.scope
    is_sure = any(impact.is_sure for _, impact in searched.impacts)
    is_known = any(impact.is_question for _, impact in searched.impacts)  # what the question names is found
    listing, told = _listed_calls(searched, budget)
    policy = structs.replace(
        fill_policy(
            searched,
            budget,
            1.0 if is_sure or has_lifted(sections) else searched.strength,
            is_weak=not is_known and scope.kinds != (Kind.CONTEXT,) and is_weak_match(searched, sections),
            unsure=unsure and first_kind not in PROSE_KINDS,  # code beside what answers better needs no second look
            call_sites=(*told.notes, *call_site_lines(listing, counter(budget.tokenizer), budget.max_tokens)),
        ),
        hunks=told.hunks,
    )
    of_lessons = [section for section in sections if section.kind in LESSON_KINDS]
    lessons = sum(candidate.is_lesson for section in of_lessons for candidate in section.candidates)
    policy = with_lessons(policy, lessons, budget.max_tokens)
    if policy.not_found and first_kind is Kind.COMMIT:
        # The commit that has all of the missing words comes first and answers: that is not a weak match.
        answered = past_words(searched.findings.query, policy.past, sections)
        policy = structs.replace(policy, is_weak=policy.is_weak and not answered.issuperset(policy.not_found))
    if scope.kinds and not set(scope.kinds) & set(LINE_KINDS):  # code may have what the records lack
        policy = structs.replace(policy, not_found=searched.nowhere(policy.not_found))
    return policy


def _listed_calls(searched: Searched, budget: Budget) -> tuple[list[Json], ChangeText]:
    """Return the lists of calls and the text about a change, which shows its calls: listed are then only the others."""
    listing = [target for prefix, impact in searched.impacts for target in impact.listing(prefix)]
    change = searched.asked.change
    if change is None:
        return listing, ChangeText()
    gone = {name for file in change.files for name in file.removed}
    listing = [target if target["name"] in gone else {**target, "files": (), "calls": 0} for target in listing]
    listing = [target for target in listing if target["unresolved"] or target["files"] or target["elsewhere"]]
    affected = next((impact.affected for _, impact in searched.impacts), None)
    return listing, change_text(change, affected, counter(budget.tokenizer), budget.max_tokens)


def _place_finder(budget: Budget, searched: Searched, sections: Sequence[Section]) -> FindPlaces | None:
    """Return what finds places to look at next; None for a small answer, one without code, and one without places."""
    has_code = any(section.kind is Kind.CODE for section in sections)
    if not budget.is_for_tools or budget.max_tokens < weights.MIN_NAMED or not has_code:
        return None
    from satchel.answer.hops import NUMBER, Hops  # here, because many answers do without

    query = searched.findings.query
    names = [*written_names(query), *searched.asked.names, *NUMBER.findall(searched.asked.query)]
    is_long = sum(not term.guessed for term in query.terms) > weights.SHORT_QUESTION
    bare = dict.fromkeys(name.rstrip("()") for name in names)
    return Hops(searched.resources, searched.terms, [*bare], is_long=is_long)


def _with_guides(
    request: AssembleRequest, resources: Resources, sections: list[Section], make_guides: MakeGuides | None
) -> tuple[list[Section], Sequence[Failure]]:
    """Return the sections, last the contexts that apply to the question as a task where these are asked for."""
    if Kind.CONTEXT not in request.scope.kinds or make_guides is None:
        return sections, ()
    from satchel.answer.situation import guide_section  # here, because few questions ask for contexts

    guides, notes = make_guides(request.asked.query, request.asked.now)
    chosen, uncounted = guide_section(guides, request, sections, resources.account)
    return [*sections, chosen] if chosen.candidates else sections, [*notes, *uncounted]


def _unavailable(searched: Searched) -> list[Failure]:
    has_history = any(Kind.COMMIT in resources.store.kinds() for resources in searched.resources.every)
    return unavailable(searched.scope.searches, has_vectors=searched.with_vectors, has_history=has_history)


def _with_line_counts(fitted: Fitted, resources: Resources) -> tuple[Fitted, list[Failure]]:
    """Return the answer with the changed lines of its commits, and what could not be counted."""
    items, failures = fitted.items, list[Failure]()
    for workspace in resources.every:
        if workspace.count_lines is not None:
            items, uncounted = counted_items(items, workspace.count_lines, workspace.prefix.rstrip("/"))
            failures += uncounted
    return structs.replace(fitted, items=items), failures


def _best_entities(sections: Sequence[Section], searched: Searched, budget: Budget) -> Sequence[Section]:
    """Return the sections with the candidates of the most relevant chunks; a section without any is left out."""
    scope = searched.scope
    if scope.entity_limit is None:
        return sections
    bests = {section: section.highest_value for section in sections}
    ranked: dict[str, tuple[float, int, int, str]] = {}
    for position, section in enumerate(sections):
        best = bests[section] if scope.shares_budget else max(bests.values())
        for rank, candidate in enumerate(section.candidates):
            if candidate.value < best - value_range(searched, budget):
                continue
            chunk = candidate.chunk.id
            rated = (-candidate.hit.relevance, rank, position, chunk)
            ranked[chunk] = min(rated, ranked.get(chunk, rated))
    kept = {chunk for *_, chunk in sorted(ranked.values())[: scope.entity_limit]}
    chosen = (
        replace(section, candidates=tuple(other for other in section.candidates if other.chunk.id in kept))
        for section in sections
    )
    return [section for section in chosen if section.candidates]
