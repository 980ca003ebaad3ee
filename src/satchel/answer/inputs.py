"""From what was searched to sections of candidates: read from files and stores, on one scale for the request."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from msgspec import structs

from satchel.answer import weights
from satchel.answer.bearing import gives_lessons, in_order, lesson_tokens
from satchel.answer.candidates import Candidate, Step
from satchel.answer.companions import companion_finder, import_lines
from satchel.answer.file_candidates import lines_size
from satchel.answer.fill_policy import is_of_documents, level_of, reason_in
from satchel.answer.findings import Searched
from satchel.answer.floors import section_floor
from satchel.answer.freshness import Freshener
from satchel.answer.lessons import lesson_candidate
from satchel.answer.omissions import OMISSIONS
from satchel.answer.plans import PlannedSection, role_is_asked
from satchel.answer.record_candidates import record_candidate
from satchel.answer.request import Budget, SearchScope
from satchel.answer.resources import Resources
from satchel.answer.sections import (
    FindCompanions,
    Group,
    Section,
    by_priority,
    subtract,
)
from satchel.answer.source_lines import Lines
from satchel.answer.truncation import strategy
from satchel.codec import iso_time
from satchel.intent import Intent, intent_of
from satchel.safety import sanitize
from satchel.search.chunks import in_workspace
from satchel.search.query import Query, asks_for_a_recipe
from satchel.search.strength import strength_at, title_of
from satchel.sources.experiences import lesson_line, shown_record
from satchel.sources.roles import is_inline_test
from satchel.system.globs import is_among
from satchel.types import Failure, Hit, Kind, Location, Role
from satchel.vocabulary import Axis

REASON_TOKENS = 200
"""Tokens reserved for the commits or release notes that give the reason that is asked for."""

REASON_MARGIN = 0.1
"""Value of the release note that gives the reason above that of the best other document."""

PASSAGE_SHARE = 0.5
"""Largest share of the budget for a passage of one of several records: one that does not fit leaves room for others."""

MIN_CANDIDATES = 3 * OMISSIONS
"""Candidates that are made even if they are not worth showing, so that there are enough to list beside what is."""

ITEM_SHARE = 0.25
"""Largest share of the budget of a kind for one chunk, where several kinds were named."""


_Part = tuple[PlannedSection, list[Candidate], dict[str, Lines], list[Hit]]
"""A section of one workspace: its candidates, the lines of their files by group, and the hits without candidates."""


def sections_of(
    searched: Searched, budget: Budget, value_range: float = math.inf
) -> tuple[list[Section], list[Failure]]:
    """Return the section of each kind, with the candidates of all workspaces, and failures.

    `value_range` is as in `_candidates`. What the session has is left out (`Account.filtered`).
    """
    parts, failures = _parts(searched, budget, value_range)
    made = [_section(searched, budget, workspaces) for workspaces in parts.values()]
    account = searched.resources.account
    return made if account is None else [account.filtered(section) for section in made], failures


def hit_candidates(hits: Sequence[Hit], resources: Resources, budget: Budget) -> tuple[list[Candidate], list[Failure]]:
    """Return records that are always shown as candidates, and failures to read them."""
    candidates, _, failures, _ = _candidates(hits, resources, budget, budget.whole_item_tokens, frozenset(), None)
    return candidates, failures


def _parts(
    searched: Searched, budget: Budget, value_range: float
) -> tuple[dict[tuple[Kind, str], list[_Part]], list[Failure]]:
    """Return the candidates by section, those of each workspace apart, and failures to read them."""
    failures: list[Failure] = []
    parts: dict[tuple[Kind, str], list[_Part]] = {}
    seen: set[str] = set()
    asked, scope, query = searched.asked, searched.scope, searched.findings.query
    is_change = intent_of(title_of(query)) is Intent.CHANGES
    for resources, gathered in searched.sections:
        planned = gathered.section
        is_lessons = gives_lessons(asked, scope, query, planned.kind)
        minimum = 0.0 if is_lessons and is_change else section_floor(gathered, scope.min_score, searched.strength)
        if minimum is None or not planned.weight:
            continue
        hits = [hit for hit in gathered.result.hits if hit.relevance >= minimum]
        hits = [hit for hit in hits if is_wanted(hit, scope, resources.prefix)]
        share = budget.max_tokens * planned.weight / searched.total_weight
        cap = max(share * ITEM_SHARE if scope.shares_budget else 0.0, budget.whole_item_tokens)
        others = [] if is_lessons else sorted(hits, key=_highest_value, reverse=True)
        lowers = budget.is_for_tools and planned.kind is Kind.CODE
        lower = partial(_lowered_if_minor, query) if lowers else None
        candidates, lines, problems, made = _candidates(
            others, resources, budget, cap, searched.terms, planned.side, value_range, lower
        )
        lessons = in_order(hits) if is_lessons else []
        candidates += [lesson_candidate(hit, resources).valued(-index) for index, hit in enumerate(lessons)]
        failures += problems
        if resources.prefix:  # what is remembered for all workspaces, and a commit of two clones, is found in each
            candidates = [candidate for candidate in candidates if candidate.chunk.id not in seen]
            seen |= {candidate.chunk.id for candidate in candidates if candidate.chunk.location is None}
        if candidates:
            without = [in_workspace(hit, resources.prefix) for hit in others[made:]]
            parts.setdefault((planned.kind, planned.title), []).append((planned, candidates, lines, without))
    return parts, failures


def _lowered_if_minor(query: Query, candidate: Candidate) -> Candidate:
    """Return what seldom decides with less value: lines outside of functions, getters, tests inside the file.

    Not what the question names.
    """
    chunk, location = candidate.chunk, candidate.chunk.location
    if candidate.is_lifted or candidate.hit.partial or location is None:
        return candidate
    if chunk.role in (Role.GAP, Role.CLASS):
        # The place and its best line say nearly as much.
        return candidate.valued(candidate.value - weights.BARE_DROP)
    is_short = location.end_line - location.start_line < weights.FEW_LINES
    is_test = is_inline_test(location.path, chunk.title) and not query.asks_for_tests
    if not (is_short or is_test) or chunk.title.rpartition(".")[2] in query.text:
        return candidate
    return candidate.valued(candidate.value - weights.ASIDE_DROP)


def _section(searched: Searched, budget: Budget, workspaces: Sequence[_Part]) -> Section:
    """Return the section of these candidates, their values on the scale of the request."""
    planned, candidates, *_ = workspaces[0]
    of_documents = planned.kind.traits.is_prose and all(
        is_of_documents(resources.store) for resources in searched.resources.every
    )
    if len(workspaces) > 1:
        measure = partial(level_of, planned, of_documents=of_documents)
        candidates = _on_one_scale([candidates for _, candidates, *_ in workspaces], measure)
    lines = {path: text for _, _, texts, _ in workspaces for path, text in texts.items()}
    imports = import_lines(lines, searched.resources.lines.outline) if budget.imports else None
    find_companions = companion_finder(imports, searched.terms)
    find_companions = _following_without_prose(find_companions) if budget.is_for_tools else find_companions
    if planned.kind.traits.is_prose and asks_for_a_recipe(searched.asked.query):
        planned = structs.replace(planned, weight=planned.weight * weights.RECIPE_FACTOR)
    query, scope, own_share = searched.findings.query, searched.scope, 0
    if (reason := reason_in(query, planned.kind, candidates, lines)) is not None:
        own_share = REASON_TOKENS
        if planned.kind.traits.is_prose:
            first = max(candidate.value for candidate in candidates) + REASON_MARGIN
            candidates = [candidate.valued(first) if candidate is reason else candidate for candidate in candidates]
    elif gives_lessons(searched.asked, scope, query, planned.kind) and scope.first_kind is not Kind.CONTEXT:
        own_share = lesson_tokens(budget.max_tokens)
    level = level_of(planned, candidates, of_documents=of_documents)
    leveled = [candidate.valued(level + candidate.value) for candidate in candidates]
    return Section(
        planned.kind,
        planned.weight,
        by_priority(leveled),
        lines,
        planned.limit,
        reserve=budget.reserves.get(planned.kind, own_share),
        find_companions=find_companions,
        title=planned.title,
        level=level,
        best=max([candidate.value for candidate in leveled if not candidate.is_lifted], default=-math.inf),
        share=budget.max_tokens * planned.weight / searched.total_weight,
        others=[hit for *_, hits in workspaces for hit in hits],
    )


def _on_one_scale(
    workspaces: Sequence[Sequence[Candidate]], measure: Callable[[Sequence[Candidate]], float]
) -> list[Candidate]:
    """Return the candidates of one kind in several workspaces: the best of each workspace counts by its relevance.

    `measure` is `level_of` for the section.
    """
    strengths = [strength_at(max(other.hit.relevance for other in candidates)) for candidates in workspaces]
    made = []
    for candidates, strength in zip(workspaces, strengths, strict=True):
        level = measure(candidates)
        for candidate in candidates:
            hit = candidate.hit
            if not candidate.is_lifted:
                hit = structs.replace(hit, file_score=hit.file_score * strength / max(strengths))
            made.append(replace(candidate, value=candidate.value + level, hit=hit))
    return made


def is_wanted(hit: Hit, scope: SearchScope, prefix: str = "") -> bool:
    """Return whether a hit matches the globs and roles of what is asked for; `exclude` may name records by their ids.

    `prefix` is before its path.
    """
    if scope.roles and not role_is_asked(hit.chunk.kind, hit.chunk.role, scope.roles):
        return False
    location = hit.chunk.location
    if location is None:
        return not scope.paths and hit.chunk.id.partition("::")[0] not in scope.exclude
    return is_path_wanted(scope, f"{prefix}{location.path}")


def is_path_wanted(scope: SearchScope, path: str) -> bool:
    """Return whether the globs of what is asked for admit a path."""
    is_admitted = not scope.paths or is_among(path, scope.paths)
    return is_admitted and not (scope.exclude and is_among(path, scope.exclude))


def _candidates(
    hits: Sequence[Hit],
    resources: Resources,
    budget: Budget,
    cap: float,
    terms: frozenset[str],
    side: Axis | None,
    value_range: float = math.inf,
    lower: Callable[[Candidate], Candidate] | None = None,
) -> tuple[list[Candidate], dict[str, Lines], list[Failure], int]:
    """Return the candidates of the first hits, the lines of their files by group, failures, and the number of the hits.

    `lower` may give them less value. None is shown whose value is below the best one by more than `value_range`. Hits
    that can have no other are left out, and files with only such hits are not read, but for as many as are listed
    beside what is shown; with a range the hits have to be in the order of their values.
    """
    candidates: list[Candidate] = []
    lines: dict[str, Lines] = {}
    best, made = -math.inf, 0
    freshener = Freshener(resources.store, resources.lines, budget.stale, resources.changed_files)
    shortener = strategy(budget.strategy)
    passage_cap = budget.max_tokens * PASSAGE_SHARE if len(hits) > 1 else math.inf
    for hit in hits:
        # Values that are below the range of shown ones by less than this may be in it, by the rounding of sums.
        if len(candidates) >= MIN_CANDIDATES and _highest_value(hit) < best - value_range - 1e-6:
            break
        made += 1
        if hit.chunk.location is None:
            candidates.append(_record(in_workspace(hit, resources.prefix), resources, cap, passage_cap, terms, side))
            continue
        current = freshener.current(hit)
        if current is None:
            continue
        current = current.within(resources.prefix)
        lines[current.group] = current.lines
        parts = current.candidates(budget.whole_item_tokens, terms, shortener)
        if budget.context_lines:
            parts = [part.widened(budget.context_lines, len(current.lines.lines)) for part in parts]
        if budget.is_for_tools:
            parts = [_without_prose(part, current.lines) for part in parts]
        if lower is not None:
            parts = [lower(part) for part in parts]
        candidates += parts
        best = max([best, *[candidate.value for candidate in parts if not candidate.is_lifted]])
    failures = [
        structs.replace(failure, message=f"{resources.prefix}{failure.message}") for failure in freshener.failures
    ]
    return candidates, lines, failures, made


def _highest_value(hit: Hit) -> float:
    """Return the value that no candidate of a hit exceeds; what was lifted comes before all others."""
    return max([math.inf if hit.file_score > 1.0 else hit.score, *[span.value for span in hit.spans]])


def _without_prose(candidate: Candidate, lines: Lines) -> Candidate:
    """Return a candidate of code without its long comments after their first sentence.

    One that the question names by its lines is shown with them.
    """
    location = candidate.chunk.location
    if candidate.kind is not Kind.CODE or location is None or candidate.is_lifted:
        return candidate
    return candidate.altered(partial(_cut_prose, lines, location))


def _cut_prose(lines: Lines, location: Location, candidate: Candidate) -> Candidate:
    """Return a candidate without the prose of its definition, as it is if it has nothing else."""
    prose = lines.prose(location.start_line, location.end_line)
    if not prose:
        return candidate
    kept = [piece for step in candidate.steps[:1] for piece in subtract(step.ranges, prose)]
    if not kept:
        return candidate
    return candidate.trimmed(lambda shown: subtract(shown, prose), sum(lines_size(lines, *span) for span in kept))


def _following_without_prose(find_companions: FindCompanions) -> FindCompanions:
    def shorter(candidate: Candidate, step: Step, group: Group) -> list[Candidate]:
        made = find_companions(candidate, step, group)
        return [other if group.lines is None else _without_prose(other, group.lines) for other in made]

    return shorter


def _record(
    hit: Hit, resources: Resources, cap: float, passage_cap: float, terms: frozenset[str], side: Axis | None
) -> Candidate:
    """Return a record as a candidate; with a `side` that side of an experience, in less space the root cause."""
    kind = hit.chunk.kind
    shown = sanitize.hit(hit, resources.allow)
    text = resources.store_of(kind).text(hit.chunk.document)

    def body(axis: Axis | None) -> str:
        return sanitize.text(shown_record(kind, shown.chunk.fields, text, axis), resources.allow) if axis else ""

    line = None
    if kind is Kind.EXPERIENCE:
        fields, day = shown.chunk.fields, iso_time(shown.chunk.created)[:10] if shown.chunk.created else ""

        def line(limit: int) -> str:
            return sanitize.text(lesson_line(fields, limit, day), resources.allow)

    shorter = body(side and Axis.ROOT_CAUSE)
    return record_candidate(shown, body(side or Axis.FULL), cap, terms, passage_cap, line=line, shorter=shorter)
