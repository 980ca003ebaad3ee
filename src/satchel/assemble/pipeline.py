"""The pipeline of an answer: question -> plan -> search -> candidates -> pack -> context."""

from __future__ import annotations

import fnmatch
import heapq
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from satchel.assemble.candidates import Candidate, record_candidate
from satchel.assemble.companions import compacted, followers, import_lines
from satchel.assemble.fill_policy import fill_policy, is_weak_match, level_of, shares_budget, value_range
from satchel.assemble.freshness import Freshener
from satchel.assemble.gather import Findings, Workbench, balance, search_plan, section_floor, strength_of
from satchel.assemble.items import counted_items
from satchel.assemble.pack import ITEM_SHARE, MOST_OMISSIONS, answer, fit
from satchel.assemble.plans import PlannedSection, role_is_asked
from satchel.assemble.render.frame import call_site_lines
from satchel.assemble.request import AssembleRequest
from satchel.assemble.section import Section, by_priority, find_pins, highest_priority, priority, with_pins
from satchel.assemble.source_lines import Lines
from satchel.assemble.truncation import strategy
from satchel.safety import sanitize
from satchel.search.chunks import in_workspace
from satchel.search.filters import unavailable
from satchel.search.strength import strength_at
from satchel.sources.experiences import shown_record
from satchel.tokens import counter
from satchel.types import Context, Failure, Hit, Kind
from satchel.vocabulary import Axis

PASSAGE_SHARE = 0.5
"""Largest share of the budget for a passage of one of several records: one that does not fit leaves room for others."""

ROUNDING = 1e-6
"""Values that are below the range of shown ones by less than this may be in it, by the rounding of sums."""

_WILD = frozenset("*?[")


def assemble(request: AssembleRequest, bench: Workbench, notes: Sequence[Failure] = ()) -> Context:
    """Answer one question, from several workspaces if the bench has others.

    `notes` are earlier failures, such as files that could not be indexed.
    """
    started = time.monotonic()
    found = [(one, search_plan(request, one)) for one in bench.every]
    first, rows = found[0][1], [row for _, findings in found for row in findings.rows]
    searched = time.monotonic()
    # All candidates are made where they are counted, or where the session may have the best of those that are listed.
    counts_all = request.show_meta or (bench.account is not None and bool(bench.account.ledger.rows))
    reach = math.inf if counts_all else value_range(request)
    sections, unreadable = _sections(request, found, reach)
    pinned, unpinned = find_pins(request.pins, [(one.prefix, one.lines, one.store) for one in bench.every])
    has_history = any(Kind.COMMIT in one.store.kinds() for one in bench.every)
    has_vectors = any(row.result.with_vectors for row in rows)
    absent = unavailable(request.searches, has_vectors=has_vectors, has_history=has_history)
    searches = [failure for _, one in found for failure in (*one.failures, *one.embedder_failures)]
    failures = (*notes, *absent, *unreadable, *unpinned, *dict.fromkeys(searches))
    sent = bench.account.references() if bench.account is not None else ()
    strength = _strength_of(found)
    sections = _best_entities(sections, request)
    sections = with_pins(sections, pinned, request.weights, request.limit)
    impacts = [(one.prefix, findings.impact) for one, findings in found if findings.impact is not None]
    is_sure = any(impact.is_sure for _, impact in impacts)
    absences = [findings.missing_words(one) for one, findings in found]
    missing = tuple(word for word in absences[0] if all(word in others for others in absences))
    is_weak = not is_sure and is_weak_match(request, sections, strength)
    callers = [row for prefix, impact in impacts for row in impact.listing(prefix)]
    listing = [row for prefix, impact in impacts if impact.is_question for row in impact.listing(prefix)]
    call_sites = call_site_lines(listing, counter(request.tokenizer), request.max_tokens)
    sureness = 1.0 if is_sure else strength
    policy = fill_policy(request, missing, len(first.query.terms), sureness, is_weak=is_weak, call_sites=call_sites)
    relate = None
    if request.related:
        from satchel.assemble.shapes import with_related  # here, because few questions ask for it

        relate = partial(with_related, sections=sections, bench=bench)
    fitted = fit(request, bench, sections, failures, first.plan, sent, policy, relate)
    for one in bench.every:
        if one.count_lines is not None:
            items, uncounted = counted_items(fitted.items, one.count_lines, one.prefix.rstrip("/"))
            fitted, failures = replace(fitted, items=items), (*failures, *uncounted)
    meta = {
        "timings": {
            "search_ms": round((searched - started) * 1000, 2),
            "assemble_ms": round((time.monotonic() - searched) * 1000, 2),
        },
        "revision": bench.revision,
        "embedder": bench.embedder.id if bench.embedder is not None else None,
        "vectors": {
            f"{one.prefix}{name}": count for one, findings in found for name, count in findings.vector_counts.items()
        },
        "callers": callers,
        "strength": round(strength, 4),
        "weak": is_weak,
        "missing_terms": list(missing),
    }
    return answer(request, sections, fitted, failures, meta, sent)


def searched_sections(request: AssembleRequest, bench: Workbench) -> tuple[list[Section], list[Failure]]:
    """Return the sections of an answer, to be packed beside others, and failures."""
    findings = search_plan(request, bench, with_impact=False)
    sections, unreadable = _sections(request, [(bench, findings)])
    return sections, [*findings.failures, *unreadable, *findings.embedder_failures]


def hit_candidates(
    hits: Sequence[Hit], bench: Workbench, request: AssembleRequest
) -> tuple[list[Candidate], list[Failure]]:
    """Return records that are always shown as candidates, and failures to read them."""
    candidates, _, failures = _candidates(hits, bench, request, request.whole_item_tokens, frozenset(), None)
    return candidates, failures


Found = Sequence[tuple[Workbench, Findings]]
"""What was found on each bench, that of the first workspace first."""


def _strength_of(found: Found) -> float:
    """Return how well the workspace that answers best answers the question."""
    return max(strength_of(findings.rows) for _, findings in found)


def _sections(request: AssembleRequest, found: Found, reach: float = math.inf) -> tuple[list[Section], list[Failure]]:
    """Return the section of each kind, with the candidates of all workspaces; `reach` as for `_candidates`."""
    failures: list[Failure] = []
    terms, strength = found[0][1].terms, _strength_of(found)
    is_free = not (request.roles or request.paths or request.exclude)
    rows = [(one, row) for one, findings in found for row in balance(findings.rows)]
    weights = {(row.section.kind, row.section.title): row.section.weight for _, row in rows if row.result.hits}
    total = sum(weights.values()) or 1.0
    parts: dict[tuple[Kind, str], list[tuple[PlannedSection, list[Candidate], dict[str, Lines]]]] = {}
    seen: set[str] = set()
    for one, row in rows:
        planned = row.section
        least = section_floor(row, request.min_score, strength)
        if least is None or not planned.weight:
            continue
        hits = [hit for hit in row.result.hits if hit.relevance >= least]
        hits = [hit for hit in hits if is_free or is_wanted(hit, request, one.prefix)]
        share = request.max_tokens * planned.weight / total
        cap = max(share * ITEM_SHARE if shares_budget(request) else 0.0, request.whole_item_tokens)
        candidates, lines, problems = _candidates(hits, one, request, cap, terms, planned.side, reach)
        failures += problems
        if one.prefix:  # what is remembered for all workspaces, and a commit of two clones, is found in each
            candidates = [candidate for candidate in candidates if candidate.chunk.id not in seen]
            seen |= {candidate.chunk.id for candidate in candidates if candidate.chunk.location is None}
        if candidates:
            parts.setdefault((planned.kind, planned.title), []).append((planned, candidates, lines))
    sections = []
    for own in parts.values():
        planned = own[0][0]
        if len(own) > 1:
            _scale([candidates for _, candidates, _ in own], planned)
        every = [candidate for _, candidates, _ in own for candidate in candidates]
        lines = {path: text for *_, lines in own for path, text in lines.items()}
        share = request.max_tokens * planned.weight / total
        sections.append(_section(request, found[0][0], planned, every, lines, terms, share))
    return sections, failures


def _scale(workspaces: Sequence[Sequence[Candidate]], planned: PlannedSection) -> None:
    """Make the candidates of one kind in several workspaces comparable: the best of each counts by its relevance."""
    best = [strength_at(max(one.hit.relevance for one in candidates)) for candidates in workspaces]
    for candidates, own in zip(workspaces, best, strict=True):
        level = level_of(planned, candidates)
        for one in candidates:
            one.value += level
            if not one.is_lifted:
                one.hit = replace(one.hit, file_score=one.hit.file_score * own / max(best))


def _section(
    request: AssembleRequest,
    bench: Workbench,
    planned: PlannedSection,
    candidates: list[Candidate],
    lines: dict[str, Lines],
    terms: frozenset[str],
    share: float,
) -> Section:
    """Return the section of the candidates that the session lacks; `share` is its part of the budget (tokens)."""
    imports = import_lines(lines, bench.lines.outline) if request.imports else None
    level = level_of(planned, candidates)
    best = level + max((one.value for one in candidates if not one.is_lifted), default=-math.inf)
    if bench.account is not None:
        candidates, lines = bench.account.sift(candidates, lines, share)
        imports = bench.account.sift_companions(imports, lines) if imports is not None else None
    return Section(
        planned.kind,
        planned.weight,
        by_priority(candidates),
        lines,
        planned.limit,
        reserve=request.reserves.get(planned.kind, 0),
        follow=followers(imports, terms),
        title=planned.title,
        level=level,
        best=best,
    )


def _best_entities(sections: list[Section], request: AssembleRequest) -> list[Section]:
    """Return the sections with the candidates of the most relevant chunks; a section without any is left out.

    Candidates that are worth too little to be shown do not count. Ties are ordered by position in the section, then by
    section.
    """
    if request.entity_limit is None:
        return sections
    bests = {section: section.highest_value() for section in sections}
    ranked: dict[str, tuple[float, int, int, str]] = {}
    for position, section in enumerate(sections):
        best = bests[section] if shares_budget(request) else max(bests.values())
        for rank, candidate in enumerate(section.candidates):
            if section.value(candidate) < best - value_range(request):
                continue
            chunk = candidate.chunk.id
            row = (-candidate.hit.relevance, rank, position, chunk)
            ranked[chunk] = min(row, ranked.get(chunk, row))
    kept = {chunk for *_, chunk in sorted(ranked.values())[: request.entity_limit]}
    for section in sections:
        section.candidates = [candidate for candidate in section.candidates if candidate.chunk.id in kept]
    return [section for section in sections if section.candidates]


def is_wanted(hit: Hit, request: AssembleRequest, prefix: str = "") -> bool:
    """Return whether a hit matches the globs and roles of the request; `exclude` may name records by their ids.

    `prefix` is before its path.
    """
    if not role_is_asked(hit.chunk.kind, hit.chunk.role, request.roles):
        return False
    location = hit.chunk.location
    if location is None:
        return not request.paths and hit.chunk.id.partition("::")[0] not in request.exclude
    path = f"{prefix}{location.path}"
    if request.paths and not _is_among(path, request.paths):
        return False
    return not _is_among(path, request.exclude)


def _is_among(path: str, globs: Sequence[str]) -> bool:
    """Return whether one of the globs matches. A plain path is compared, which is faster than a glob."""
    return any(fnmatch.fnmatchcase(path, glob) if _WILD.intersection(glob) else path == glob for glob in globs)


def _candidates(
    hits: Sequence[Hit],
    bench: Workbench,
    request: AssembleRequest,
    cap: float,
    terms: frozenset[str],
    side: Axis | None,
    reach: float = math.inf,
) -> tuple[list[Candidate], dict[str, Lines], list[Failure]]:
    """Return the candidates of these hits, the lines of their files by group, and failures to read them.

    No candidate is shown whose value is below the best one by more than `reach`, and the first of these by priority
    are listed. Hits that would be neither are left out, and files with only such hits are not read.
    """
    candidates: list[Candidate] = []
    lines: dict[str, Lines] = {}
    best, listed = -math.inf, list[float]()
    freshener = Freshener(bench.store, bench.lines, request.stale, bench.changed_files)
    shortener = strategy(request.strategy)
    passage_cap = request.max_tokens * PASSAGE_SHARE if len(hits) > 1 else math.inf
    for hit in hits:
        if hit.chunk.location is None:
            candidates.append(_record(in_workspace(hit, bench.prefix), bench, cap, passage_cap, terms, side))
            continue
        if len(listed) == MOST_OMISSIONS and highest_priority(hit) < listed[0]:
            continue
        current = freshener.current(hit)
        if current is None:
            continue
        current = current.within(bench.prefix)
        lines[current.group] = current.lines
        parts = current.candidates(request.whole_item_tokens, terms, shortener)
        if request.context_lines:
            for candidate in parts:
                candidate.widen(request.context_lines, len(current.lines.lines))
        parts = parts if request.change is None else compacted(parts, request.change, current.lines)
        candidates += parts
        for candidate in parts:
            if not candidate.is_lifted:
                best = max(best, candidate.value)
            if candidate.value < best - reach - ROUNDING:
                keep = heapq.heappush if len(listed) < MOST_OMISSIONS else heapq.heappushpop
                keep(listed, priority(candidate))
    failures = [replace(one, message=f"{bench.prefix}{one.message}") for one in freshener.failures]
    return candidates, lines, failures


def _record(
    hit: Hit, bench: Workbench, cap: float, passage_cap: float, terms: frozenset[str], side: Axis | None
) -> Candidate:
    """Return a record as a candidate; with a `side` that side of an experience, or in less space its root cause."""
    kind = hit.chunk.kind
    shown = sanitize.hit(hit, bench.allow)
    text = bench.store_of(kind).text(hit.chunk.document)

    def body(axis: Axis | None) -> str:
        return sanitize.text(shown_record(kind, shown.chunk.fields, text, axis), bench.allow) if axis else ""

    shorter = body(side and Axis.ROOT_CAUSE)
    return record_candidate(shown, body(side or Axis.FULL), cap, terms, shorter, passage_cap)
