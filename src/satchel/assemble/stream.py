"""The value stream: question -> plan -> gather -> read -> dedupe -> fit -> render -> receipt."""

from __future__ import annotations

import fnmatch
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from satchel import outside
from satchel.assemble.call_sites import call_site_lines
from satchel.assemble.candidates import Candidate, record_candidate
from satchel.assemble.compact import compacted
from satchel.assemble.companions import followers, import_lines
from satchel.assemble.deal import dealt
from satchel.assemble.fresh import Freshener, ListChanged
from satchel.assemble.gather import Gathered, OpenExecutor, gather
from satchel.assemble.line_counts import CountLines, counted_items
from satchel.assemble.pack import ITEM_SHARE, answer, fit
from satchel.assemble.pins import find_pins, with_pins
from satchel.assemble.plan import PlannedSection, role_is_asked
from satchel.assemble.plans import plan_of
from satchel.assemble.question import safe_question as safe_question
from satchel.assemble.read import FileLines, Lines
from satchel.assemble.request import AssembleRequest
from satchel.assemble.scale import filling_of, is_weak_match, level_of, section_floor, shares_budget
from satchel.assemble.section import Section, by_priority
from satchel.assemble.selection import best_entities
from satchel.assemble.strategies import strategy
from satchel.search.absent import absent_words
from satchel.search.change_relations import Impact, beside_impact, impact_of_question, is_act, with_impact
from satchel.search.dense import Meaning, scores
from satchel.search.query import Query, analyse
from satchel.search.retrievers import silent, unavailable
from satchel.search.searcher import CANDIDATE_WINDOWS, SearchResult, balanced, search_kind
from satchel.search.strength import answer_strength
from satchel.search.votes import Votes
from satchel.sources.experiences import shown_record
from satchel.store.protocol import Store
from satchel.tokens import counter
from satchel.types import Context, Document, Failure, Hit, Kind
from satchel.vocabulary import Axis

if TYPE_CHECKING:
    from satchel.assemble.receipts.session import Account
    from satchel.embed.protocol import Embedder

MEMORY_KINDS = frozenset({Kind.MEMORY, Kind.EXPERIENCE, Kind.VALUE, Kind.CONVERSATION})
"""Kinds that the durable memory file holds; all others are derived and lie in the index."""

SMALL_BUDGET_TOKENS = 10
FEWEST_WINDOWS = 100
"""Below 4,000 tokens there are fewer candidates, one for each ten tokens: each is read, cleaned and compared before
it is known that it does not fit, and a window that is worth its place has thirty tokens or more."""

SMALL_CANDIDATE_TOKENS = 20
"""A large budget asks for one candidate for each of so many tokens, so that there is enough to fill it with."""

_WILD = frozenset("*?[")

MOST_SECTIONS_ALIKE = 3
"""Sections of a plan that may find the same records: each is given enough of them to have its own ones left."""


@dataclass(frozen=True, slots=True)
class Workbench:
    """What the stream works with; everything else is in the request. `memory` is None while nothing is remembered.

    `count_lines` counts the changed lines of the commits that are shown; without it they are not counted.
    `changed_files` lists what is new or changed in the tree; without it a renamed file counts as gone.
    `embedder` turns the question into a vector, to be compared with those of records; without it words answer alone.
    `account` knows what the session has received already; without it everything is new.
    """

    store: Store
    lines: FileLines
    key: bytes
    open_executor: OpenExecutor | None = None
    allow: tuple[str, ...] = ()
    memory: Store | None = None
    count_lines: CountLines | None = None
    changed_files: ListChanged | None = None
    embedder: Embedder | None = None
    account: Account | None = None

    def store_of(self, kind: Kind) -> Store:
        """The store that holds a kind: what cannot be derived again lies in the memory file."""
        return self.memory if kind in MEMORY_KINDS and self.memory is not None else self.store

    def kinds(self) -> dict[Kind, int]:
        """How many documents there are of each kind."""
        found = dict(self.store.kinds())
        if self.memory is not None:
            found |= {kind: count for kind, count in self.memory.kinds().items() if kind in MEMORY_KINDS}
        return found

    @property
    def revision(self) -> str:
        """A value that changes with every published write to either store."""
        return self.store.revision if self.memory is None else f"{self.store.revision}+{self.memory.revision}"


def assemble(request: AssembleRequest, bench: Workbench, notes: Sequence[Failure] = ()) -> Context:
    """Answer one question. `notes` are failures that happened before, such as files that could not be indexed."""
    started = time.monotonic()
    query = analyse(safe_question(request.query, bench.allow))
    if request.change is not None:
        from satchel.search.change_impact import blended  # here, as all that only some requests need

        query = blended(query, request.change)
    impact = _impact(query, request, bench.store)
    plan = plan_of(request, bench.kinds())
    meaning = Meaning(bench.embedder, safe_question(request.query, bench.allow)) if bench.embedder is not None else None
    ask = _asker(bench, query, request, meaning, impact)
    gathered, failures = gather(plan.sections, ask, bench.open_executor, request.deadline_seconds)
    gathered = dealt(gathered) if plan.once else gathered
    searched = time.monotonic()
    token_counter = counter(request.tokenizer)
    sections, unreadable = _sections(request, bench, gathered, frozenset(term.term for term in query.terms))
    pinned, unpinned = find_pins(request.pins, bench.lines, bench.store)
    sections = with_pins(sections, pinned, request.weights, request.limit)
    absent = unavailable(
        request.searches,
        has_vectors=any(row.result.with_vectors for row in gathered),
        has_history=Kind.COMMIT in bench.store.kinds(),
    )
    problems = (*notes, *failures, *absent, *unreadable, *unpinned)
    if meaning is not None and meaning.failure is not None:
        problems = (*problems, meaning.failure)
    known = bench.account.references() if bench.account is not None else ()
    not_found = _absent(query, bench, plan.sections)
    strength = strength_of(gathered)
    is_sure = impact is not None and impact.is_sure
    if is_sure:
        not_found = tuple(word for word in not_found if not is_act(word))
    weak = not is_sure and is_weak_match(request, sections, strength)
    filling = filling_of(request, not_found, len(query.terms), 1.0 if is_sure else strength, is_weak=weak)
    callers = impact.listing() if impact is not None else []
    if impact is not None and impact.is_question:
        filling = replace(filling, call_sites=call_site_lines(callers, token_counter, request.max_tokens))
    fitted = fit(request, bench, sections, token_counter, problems, plan, known, filling)
    if bench.count_lines is not None:
        items, uncounted = counted_items(fitted.items, bench.count_lines)
        fitted, problems = replace(fitted, items=items), (*problems, *uncounted)
    if request.related:
        from satchel.assemble.related import with_related

        fitted = replace(fitted, items=with_related(fitted.items, _shown_documents(sections), bench.store, bench.lines))
    meta = {
        "timings": {
            "search_ms": round((searched - started) * 1000, 2),
            "assemble_ms": round((time.monotonic() - searched) * 1000, 2),
        },
        "revision": bench.revision,
        "embedder": bench.embedder.id if bench.embedder is not None else None,
        "vectors": _vectors(gathered),
        "callers": callers,
        "strength": round(strength, 4),
        "weak": weak,
        "missing_terms": list(not_found),
    }
    return answer(request, sections, fitted, token_counter, problems, meta, known)


def found_sections(request: AssembleRequest, bench: Workbench) -> tuple[list[Section], list[Failure]]:
    """What a question finds, ready to be packed beside something else, and what failed."""
    safe = safe_question(request.query, bench.allow)
    query = analyse(safe)
    meaning = Meaning(bench.embedder, safe) if bench.embedder is not None else None
    plan = plan_of(request, bench.kinds()).sections
    gathered, failures = gather(
        plan, _asker(bench, query, request, meaning), bench.open_executor, request.deadline_seconds
    )
    sections, unreadable = _sections(request, bench, gathered, frozenset(term.term for term in query.terms))
    missing = [meaning.failure] if meaning is not None and meaning.failure is not None else []
    return sections, [*failures, *unreadable, *missing]


def hit_candidates(
    hits: Sequence[Hit], bench: Workbench, request: AssembleRequest
) -> tuple[list[Candidate], list[Failure]]:
    """Records that are to be shown in any case, as candidates, and what could not be read of them."""
    candidates, _, failures = _candidates(hits, bench, request, request.whole_item_tokens, frozenset(), None)
    return candidates, failures


def _absent(query: Query, bench: Workbench, sections: Sequence[PlannedSection]) -> tuple[str, ...]:
    """The telling words of the question that occur nowhere in what was searched for it."""
    kinds = dict.fromkeys(row.kind for row in sections if _is_searched(row))
    if len(kinds) > 1:  # what only a commit message mentions is not here
        kinds.pop(Kind.COMMIT, None)
    return absent_words(query, (bench.store_of(kind).lexicon(kind) for kind in kinds))


def _vectors(gathered: Sequence[Gathered]) -> dict[str, str]:
    """How far the vectors of each type are that took part: `{"memories": "12/40"}`."""
    return {
        row.section.kind.plural: f"{row.result.with_vectors}/{row.result.documents}"
        for row in gathered
        if row.result.with_vectors is not None
    }


def _shown_documents(sections: Sequence[Section]) -> list[Document]:
    """The documents of which something is shown."""
    groups = (group for section in sections for group in section.groups.values())
    return [candidate.document for group in groups for candidate, _ in group.picks]


def asker(bench: Workbench, query: Query, **options: Any) -> Callable[[Kind], SearchResult]:
    """Searches one kind after the other for one question, by words and, where there are vectors, by meaning.

    `options` (candidates, filters, now) are those of `search_kind`.
    """
    meaning = Meaning(bench.embedder, query.text) if bench.embedder is not None else None

    def ask(kind: Kind) -> SearchResult:
        store = bench.store_of(kind)
        likeness = scores(store, kind, meaning)
        return search_kind(store, kind, query, likeness=likeness, **options)

    return ask


def candidate_count(max_tokens: int) -> int:
    """How many windows are looked at for a budget."""
    few = min(CANDIDATE_WINDOWS, max_tokens // SMALL_BUDGET_TOKENS)
    return max(few, max_tokens // SMALL_CANDIDATE_TOKENS, FEWEST_WINDOWS)


def _impact(query: Query, request: AssembleRequest, store: Store) -> Impact | None:
    """What depends on the change, or on the definition that the question names."""
    if request.change is None:
        return impact_of_question(query, store)
    from satchel.search.change_impact import impact_of_change

    return impact_of_change(request.change, store)


def _asker(
    bench: Workbench, query: Query, request: AssembleRequest, meaning: Meaning | None, impact: Impact | None = None
) -> Callable[[PlannedSection], SearchResult]:
    votes = Votes(query, bench.store)
    candidates = candidate_count(request.max_tokens)
    quiet = silent(request.searches)

    def ask(section: PlannedSection) -> SearchResult:
        store = bench.store_of(section.kind)
        filters = request.filters if section.filters is None else section.filters
        if section.standing is not None:
            most = request.limit * MOST_SECTIONS_ALIKE
            from satchel.search.rank_without_query import known_records

            return known_records(store, section.kind, section.standing, most=most, filters=filters, now=request.now)
        likeness = scores(store, section.kind, meaning)
        asked, known = (analyse(section.question), None) if section.question else (query, votes)
        found = search_kind(
            store, section.kind, asked, votes=known, candidates=candidates, likeness=likeness, silent=quiet,
            filters=filters, now=request.now, weights=request.file_weights,
        )  # fmt: skip
        if request.change is not None and impact is not None:
            from satchel.search.change_impact import with_change

            return with_change(found, request.change, store, section.kind, impact)
        if impact is None and request.callers and section.kind is Kind.CODE:
            from satchel.search.change_relations import with_callers

            return with_callers(found, store)
        if impact is None:
            return found
        if section.kind is Kind.CODE:
            return with_impact(found, impact, store)
        return beside_impact(found) if impact.is_sure and section.kind in (Kind.DOC, Kind.COMMIT) else found

    return ask


def _sections(
    request: AssembleRequest, bench: Workbench, gathered: Sequence[Gathered], asked: frozenset[str]
) -> tuple[list[Section], list[Failure]]:
    sections, failures = [], []
    gathered = _balanced(gathered)
    strength = strength_of(gathered)
    total = sum(row.section.weight for row in gathered if row.result.hits) or 1.0
    for row in gathered:
        share = request.max_tokens * row.section.weight / total
        cap = (
            max(share * ITEM_SHARE, request.whole_item_tokens) if shares_budget(request) else request.whole_item_tokens
        )
        least = section_floor(row, request, strength)
        if least is None or not row.section.weight:
            continue
        hits = [hit for hit in row.result.hits if hit.relevance >= least and is_wanted(hit, request)]
        candidates, lines, problems = _candidates(hits, bench, request, cap, asked, row.section.side)
        failures += problems
        imports = import_lines(lines, bench.lines.outline) if request.imports else None
        if not candidates:
            continue
        level = level_of(row, candidates)
        best = level + max((one.value for one in candidates if not one.is_lifted), default=-math.inf)
        if bench.account is not None:
            candidates, lines = bench.account.sift(candidates, lines, share)
            imports = bench.account.sift_companions(imports, lines) if imports is not None else None
        sections.append(
            Section(
                row.section.kind,
                row.section.weight,
                by_priority(candidates),
                lines,
                row.section.limit,
                reserve=request.reserves.get(row.section.kind, 0),
                follow=followers(imports, asked),
                title=row.section.title,
                level=level,
                best=best,
            )
        )
    if request.entity_limit is not None:
        sections = best_entities(sections, request.entity_limit)
    return sections, failures


def _balanced(gathered: Sequence[Gathered]) -> list[Gathered]:
    """Code and prose on one scale, where both were searched for the question itself."""
    searched = {row.section.kind: row.result for row in gathered if _is_searched(row.section)}
    results = balanced(searched)
    return [
        replace(row, result=results[row.section.kind])
        if _is_searched(row.section) and row.result is searched[row.section.kind]
        else row
        for row in gathered
    ]


def _is_searched(section: PlannedSection) -> bool:
    return section.standing is None and not section.question


def strength_of(gathered: Sequence[Gathered]) -> float:
    """How well the question is answered by all that was searched for it."""
    return answer_strength({row.section.kind: row.result.strength for row in gathered if _is_searched(row.section)})


def is_wanted(hit: Hit, request: AssembleRequest) -> bool:
    """Whether the globs and roles of the request let a hit through."""
    if not role_is_asked(hit.document.kind, hit.document.role, request.roles):
        return False
    location = hit.document.location
    if location is None:
        return not request.paths
    if request.paths and not _is_among(location.path, request.paths):
        return False
    return not _is_among(location.path, request.exclude)


def _is_among(path: str, globs: Sequence[str]) -> bool:
    """Whether one of the globs matches. A plain path is compared: that needs no expression to be made first."""
    return any(fnmatch.fnmatchcase(path, glob) if _WILD.intersection(glob) else path == glob for glob in globs)


def _candidates(
    hits: Sequence[Hit],
    bench: Workbench,
    request: AssembleRequest,
    cap: float,
    asked: frozenset[str],
    side: Axis | None,
) -> tuple[list[Candidate], dict[str, Lines], list[Failure]]:
    candidates: list[Candidate] = []
    lines: dict[str, Lines] = {}
    fresh = Freshener(bench.store, bench.lines, request.stale, bench.changed_files)
    shortener = strategy(request.strategy)
    for hit in hits:
        if hit.document.location is None:
            bundle = int(hit.document.fields["bundle"])
            kind = hit.document.kind
            shown = outside.hit(hit, bench.allow)
            text = bench.store_of(kind).text(bundle)
            body, shorter = (
                safe_question(shown_record(kind, shown.document.fields, text, one), bench.allow) if one else ""
                for one in (side or Axis.FULL, side and Axis.ROOT_CAUSE)
            )
            candidates.append(record_candidate(shown, body, cap, asked, shorter))
            continue
        sighting = fresh.see(hit)
        if sighting is not None:
            lines[sighting.group] = sighting.lines
            made = sighting.candidates(request.whole_item_tokens, asked, shortener)
            if request.context_lines:
                for candidate in made:
                    candidate.widen(request.context_lines, len(sighting.lines.lines))
            candidates += made if request.change is None else compacted(made, request.change, sighting.lines)
    return candidates, lines, fresh.failures
