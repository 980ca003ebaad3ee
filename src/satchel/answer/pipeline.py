"""The pipeline of an answer: search, candidates, what the session lacks, packing, text."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from satchel.answer import weights
from satchel.answer.fill_policy import (
    documents_lead,
    fill_policy,
    is_led,
    is_weak_match,
    past_words,
    reason_in,
    shares_budget,
    value_range,
    with_lessons,
)
from satchel.answer.glimpses import is_unsure, with_glimpses
from satchel.answer.inputs import sections_of
from satchel.answer.items import counted_items
from satchel.answer.pins import find_pins, with_pins
from satchel.answer.plans import written_names
from satchel.answer.render import call_site_lines
from satchel.answer.render.change import ChangeText, change_text
from satchel.answer.request import AssembleRequest
from satchel.answer.search import Searched, Workbench, search
from satchel.answer.sections import Section
from satchel.answer.write import WEAK, Filling, FindPlaces, Fitted, context_of, fit
from satchel.search.filters import unavailable
from satchel.tokens import counter
from satchel.types import LINE_KINDS, Context, Failure, Json, Kind

if TYPE_CHECKING:
    from satchel.answer.situation import MakeGuides


def assemble(
    request: AssembleRequest,
    bench: Workbench,
    guides: MakeGuides | None = None,
    searched: Searched | None = None,
) -> Context:
    """Answer one question, from several workspaces if the bench has others.

    `guides` makes the contexts for it; with `searched` the answer is made from what was found.
    """
    started = time.monotonic()
    searched = search(request, bench) if searched is None else searched
    ended = time.monotonic()
    filling = _filling(request, searched, guides)
    fitted, uncounted = _with_line_counts(fit(filling), bench)
    meta = {
        "timings": {
            "search_ms": round((ended - started) * 1000, 2),
            "assemble_ms": round((time.monotonic() - ended) * 1000, 2),
        },
        "revision": bench.revision,
        "embedder": bench.embedder.id if bench.embedder is not None else None,
        "vectors": searched.vector_counts,
        "callers": [row for prefix, impact in searched.impacts for row in impact.listing(prefix)],
        **next(({"change": impact.reach.data()} for _, impact in searched.impacts if impact.reach is not None), {}),
        "strength": round(searched.strength, 4),
        "weak": filling.policy.is_weak or fitted.stopped == WEAK,
        "missing_terms": list(filling.policy.not_found),
        "only_in_history": [word for word in filling.policy.past if word in filling.policy.not_found],
        "only_in_tests": list(filling.policy.of_tests),
        "lessons": searched.lessons_told,
        "left_out": list(filling.policy.left_out),
    }
    return context_of(filling._replace(failures=(*filling.failures, *uncounted)), fitted, meta)


def _lead(searched: Searched, sections: Sequence[Section]) -> Kind | None:
    """Return the kind that comes first for what is asked, None for the usual order."""
    query = searched.findings.query
    if query.commits:
        return Kind.COMMIT
    reasons = {
        section.kind
        for section in sections
        if reason_in(query, section.kind, section.candidates, section.lines) is not None
    }
    if reasons:
        return Kind.COMMIT if Kind.COMMIT in reasons else Kind.DOC
    if documents_lead(sections, [workbench.store for workbench in searched.bench.every]):
        return Kind.DOC
    return Kind.COMMIT if past_words(query, searched.missing.past, sections) else None


def _filling(request: AssembleRequest, searched: Searched, guides: MakeGuides | None) -> Filling:
    """Return all that decides what the answer shows."""
    bench = searched.bench
    # All candidates are made where they are counted, or where the session may have the best of those that are listed.
    counts_all = request.show_meta or (bench.account is not None and bool(bench.account.ledger.rows))
    sections, unreadable = sections_of(
        request, searched, math.inf if counts_all else max(value_range(request), weights.VALUE_RANGE)
    )
    pinned, unpinned = find_pins(
        request.pins, [(workbench.prefix, workbench.lines, workbench.store) for workbench in bench.every]
    )
    sections = with_pins(_best_entities(sections, request), pinned, request.weights, request.limit)
    if request.lead is None and not request.plan:
        lead = _lead(searched, sections)
        request = replace(request, lead=lead)
        sections = sorted(sections, key=lambda section: section.kind is not lead) if lead else sections
    sections, unguided = _with_guides(request, bench, sections, guides)
    impacts, strength = searched.impacts, searched.strength
    glimpses = bool(request.places) and not request.plan and request.change is None
    unsure = glimpses and is_unsure(sections)
    if glimpses:
        sections = [with_glimpses(section, searched.terms, searched.rarities, unsure=unsure) for section in sections]
    is_sure = any(impact.is_sure for _, impact in impacts)
    is_known = any(impact.is_question for _, impact in impacts)  # what the question names is found
    listing, told = _listed_calls(request, searched)
    policy = fill_policy(
        request,
        searched.missing,
        sum(not term.guessed for term in searched.findings.query.terms),
        1.0 if is_sure or is_led(sections) else strength,
        is_weak=not is_known and request.kinds != (Kind.CONTEXT,) and is_weak_match(request, sections, strength),
        unsure=unsure and request.lead is not Kind.DOC,  # code beside what answers better needs no second look
        call_sites=(*told.notes, *call_site_lines(listing, counter(request.tokenizer), request.max_tokens)),
    )._replace(hunks=told.hunks)
    lessons = sum(candidate.is_lesson for section in sections for candidate in section.candidates)
    policy = with_lessons(policy, lessons, request.max_tokens)
    if policy.not_found and request.lead is Kind.COMMIT:
        # The commit that has all of the missing words comes first and answers: that is not a weak match.
        answered = past_words(searched.findings.query, policy.past, sections)
        policy = policy._replace(is_weak=policy.is_weak and not answered.issuperset(policy.not_found))
    if request.kinds and not set(request.kinds) & set(LINE_KINDS):  # code may have what the records lack
        policy = policy._replace(not_found=searched.nowhere(policy.not_found))
    relate = None
    if request.related:
        from satchel.answer.shapes import with_related  # here, because few questions ask for it

        relate = partial(with_related, bench=bench)
    return Filling(
        request,
        bench,
        sections,
        (*bench.notes, *_unavailable(request, searched), *unreadable, *unpinned, *searched.failures, *unguided),
        searched.findings.plan,
        bench.account.references() if bench.account is not None else (),
        policy,
        relate,
        searched.terms,
        _place_finder(request, searched, sections),
    )


def _listed_calls(request: AssembleRequest, searched: Searched) -> tuple[list[Json], ChangeText]:
    """Return the lists of calls and the text about a change, which shows its calls: listed are then only the others."""
    listing = [row for prefix, impact in searched.impacts for row in impact.listing(prefix)]
    if request.change is None:
        return listing, ChangeText()
    gone = {name for file in request.change.files for name in file.removed}
    listing = [row if row["name"] in gone else {**row, "files": (), "calls": 0} for row in listing]
    listing = [row for row in listing if row["unresolved"] or row["files"] or row["elsewhere"]]
    reach = next((impact.reach for _, impact in searched.impacts), None)
    return listing, change_text(request.change, reach, counter(request.tokenizer), request.max_tokens)


def _place_finder(request: AssembleRequest, searched: Searched, sections: Sequence[Section]) -> FindPlaces | None:
    """Return what finds places to look at next; None for a small answer, one without code, and one without places."""
    has_code = any(section.kind is Kind.CODE for section in sections)
    if not request.places or request.max_tokens < weights.LEAST_NAMED or not has_code:
        return None
    from satchel.answer.hops import NUMBER, Hops  # here, because many answers do without

    query = searched.findings.query
    names = [*written_names(query), *request.names, *NUMBER.findall(request.query)]
    is_long = sum(not term.guessed for term in query.terms) > weights.SHORT_QUESTION
    bare = dict.fromkeys(name.rstrip("()") for name in names)
    return Hops(searched.bench, searched.terms, [*bare], is_long=is_long)


def _with_guides(
    request: AssembleRequest, bench: Workbench, sections: list[Section], make_guides: MakeGuides | None
) -> tuple[list[Section], Sequence[Failure]]:
    """Return the sections, last the contexts that apply to the question as a task where these are asked for."""
    if Kind.CONTEXT not in request.kinds or make_guides is None:
        return sections, ()
    from satchel.answer.situation import guide_section  # here, because few questions ask for contexts

    guides, notes = make_guides(request.query, request.now)
    chosen, uncounted = guide_section(guides, request, sections, bench.account)
    return [*sections, chosen] if chosen.candidates else sections, [*notes, *uncounted]


def _unavailable(request: AssembleRequest, searched: Searched) -> list[Failure]:
    has_history = any(Kind.COMMIT in bench.store.kinds() for bench in searched.bench.every)
    return unavailable(request.searches, has_vectors=searched.with_vectors, has_history=has_history)


def _with_line_counts(fitted: Fitted, bench: Workbench) -> tuple[Fitted, list[Failure]]:
    """Return the answer with the changed lines of its commits, and what could not be counted."""
    items, failures = fitted.items, list[Failure]()
    for workbench in bench.every:
        if workbench.count_lines is not None:
            items, uncounted = counted_items(items, workbench.count_lines, workbench.prefix.rstrip("/"))
            failures += uncounted
    return fitted._replace(items=items), failures


def _best_entities(sections: Sequence[Section], request: AssembleRequest) -> Sequence[Section]:
    """Return the sections with the candidates of the most relevant chunks; a section without any is left out."""
    if request.entity_limit is None:
        return sections
    bests = {section: section.highest_value for section in sections}
    ranked: dict[str, tuple[float, int, int, str]] = {}
    for position, section in enumerate(sections):
        best = bests[section] if shares_budget(request) else max(bests.values())
        for rank, candidate in enumerate(section.candidates):
            if candidate.value < best - value_range(request):
                continue
            chunk = candidate.chunk.id
            row = (-candidate.hit.relevance, rank, position, chunk)
            ranked[chunk] = min(row, ranked.get(chunk, row))
    kept = {chunk for *_, chunk in sorted(ranked.values())[: request.entity_limit]}
    chosen = (
        replace(section, candidates=tuple(other for other in section.candidates if other.chunk.id in kept))
        for section in sections
    )
    return [section for section in chosen if section.candidates]
