"""The value stream: question -> plan -> gather -> read -> dedupe -> fit -> render -> receipt."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from satchel import outside
from satchel.assemble.candidates import Candidate, record_candidate
from satchel.assemble.compact import compacted
from satchel.assemble.companions import import_lines
from satchel.assemble.deal import dealt
from satchel.assemble.fit import ITEM_SHARE
from satchel.assemble.fresh import Freshener, ListChanged
from satchel.assemble.gather import Gathered, OpenExecutor, gather
from satchel.assemble.line_counts import CountLines, counted_items
from satchel.assemble.pack import answer, fit
from satchel.assemble.pins import find_pins, with_pins
from satchel.assemble.plan import PlannedSection
from satchel.assemble.plans import plan_of
from satchel.assemble.question import safe_question as safe_question
from satchel.assemble.read import FileLines, Lines
from satchel.assemble.request import AssembleRequest
from satchel.assemble.section import Section, by_density
from satchel.assemble.selection import best_entities
from satchel.assemble.strategies import strategy
from satchel.search.dense import Meaning, scores
from satchel.search.history import Votes
from satchel.search.impact import Impact, impact_of_question, with_impact
from satchel.search.query import Query, analyse
from satchel.search.searcher import CANDIDATE_WINDOWS, SearchResult, search_kind
from satchel.search.strategies import silent, unavailable
from satchel.sources.experiences import shown_record
from satchel.store.protocol import Store
from satchel.tokens import counter
from satchel.types import Context, Document, Failure, Hit, Kind
from satchel.vocabulary import Axis

if TYPE_CHECKING:
    from satchel.assemble.receipts.session import Account
    from satchel.embed.protocol import Embedder

CALIBRATED_FLOOR = 0.14
"""A kind answers only if its best file or record contains this share of the question's idf mass: 1 of 296 real
questions is answered with nothing. Asked about the code of another repository, 1.1 % are answered with nothing if it
is of the same language, 7.4 % if it is not (benchmarks/results/experiments.md)."""

ITEM_FLOOR = 0.1
"""Default of `min_score` for each record and section of prose of a kind that answers. Code has none beyond the floor of
its kind: a long question shares few words with each single file, and 0.1 there costs 1 to 2 points of file@4k."""

MEMORY_KINDS = frozenset({Kind.MEMORY, Kind.EXPERIENCE, Kind.VALUE, Kind.CONVERSATION})
"""Kinds that the durable memory file holds; all others are derived and lie in the index."""

SMALL_BUDGET_TOKENS = 10
FEWEST_WINDOWS = 100
"""Below 4,000 tokens there are fewer candidates, one for each ten tokens: each is read, cleaned and compared before
it is known that it does not fit, and a window that is worth its place has thirty tokens or more."""

SMALL_CANDIDATE_TOKENS = 20
"""A large budget asks for one candidate for each of so many tokens, so that there is enough to fill it with."""

RELATIVE_FLOOR = 0.6
RELATIVE_FLOORS: Mapping[Kind, float] = {Kind.CODE: 0.0, Kind.COMMIT: 0.75}
"""A record or a section of prose is shown only with at least this share of the relevance of the best of its kind:
beside a commit about the question, one that shares a single word with it is noise. Commits are many and short, so
the bar is higher for them: with 0.4 twenty of them filled their third of the budget. Code is ranked by file instead."""

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
        from satchel.search.concerned import blended  # here, as all that only some requests need

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
    fitted = fit(request, bench, sections, token_counter, problems, plan, known, looks_back=not request.plan)
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
        "overrun": max(fitted.used - request.max_tokens, 0),
        "embedder": bench.embedder.id if bench.embedder is not None else None,
        "vectors": _vectors(gathered),
        "callers": impact.listing() if impact is not None else [],
        "missing_terms": sorted({term for row in gathered for term in row.result.missing_terms}),
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
    from satchel.search.concerned import impact_of_change

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
            from satchel.search.known import known_records

            return known_records(store, section.kind, section.standing, most=most, filters=filters, now=request.now)
        likeness = scores(store, section.kind, meaning)
        asked, known = (analyse(section.question), None) if section.question else (query, votes)
        found = search_kind(
            store, section.kind, asked, votes=known, candidates=candidates, likeness=likeness, silent=quiet,
            filters=filters, now=request.now, weights=request.file_weights,
        )  # fmt: skip
        if request.change is not None and impact is not None:
            from satchel.search.concerned import with_change

            return with_change(found, request.change, store, section.kind, impact)
        return with_impact(found, impact, store) if impact is not None and section.kind is Kind.CODE else found

    return ask


def _sections(
    request: AssembleRequest, bench: Workbench, gathered: Sequence[Gathered], asked: frozenset[str]
) -> tuple[list[Section], list[Failure]]:
    sections, failures = [], []
    competing = sum(bool(row.result.hits) for row in gathered) > 1
    total = sum(row.section.weight for row in gathered if row.result.hits) or 1.0
    for row in gathered:
        share = request.max_tokens * row.section.weight / total
        cap = int(max(share * ITEM_SHARE, request.whole_item_tokens)) if competing else request.whole_item_tokens
        least = _floor(row, request)
        if least is None:
            continue
        hits = [hit for hit in row.result.hits if hit.relevance >= least and is_wanted(hit, request)]
        candidates, lines, problems = _candidates(hits, bench, request, cap, asked, row.section.side)
        failures += problems
        companions = import_lines(lines, bench.lines.outline) if request.imports else None
        if bench.account is not None:
            candidates, lines = bench.account.sift(candidates, lines, share)
            companions = bench.account.sift_companions(companions, lines) if companions is not None else None
        if candidates:
            sections.append(
                Section(
                    row.section.kind,
                    row.section.weight,
                    by_density(candidates),
                    lines,
                    row.section.limit,
                    reserve=request.reserves.get(row.section.kind, 0),
                    companions=companions,
                    title=row.section.title,
                )
            )
    if request.entity_limit is not None:
        sections = best_entities(sections, request.entity_limit)
    return sections, failures


def _floor(row: Gathered, request: AssembleRequest) -> float | None:
    """The least relevance of what a section shows; None where it does not answer. What is not searched has none."""
    if row.section.standing is not None:
        return 0.0
    best = max((hit.relevance for hit in row.result.hits), default=0.0)
    if row.section.floor is not None and request.min_score is None:
        return max(row.section.floor, RELATIVE_FLOORS.get(row.section.kind, RELATIVE_FLOOR) * best)
    return floor_of(row.section.kind, best, request)


def floor_of(kind: Kind, best: float, request: AssembleRequest) -> float | None:
    """The least relevance of a hit of a kind whose best has `best`; None where the kind does not answer at all."""
    if request.min_score is None and best < CALIBRATED_FLOOR:
        return None
    floor = request.min_score
    if floor is None:
        floor = 0.0 if kind is Kind.CODE else ITEM_FLOOR
    return max(floor, RELATIVE_FLOORS.get(kind, RELATIVE_FLOOR) * best)


def is_wanted(hit: Hit, request: AssembleRequest) -> bool:
    """Whether the globs and roles of the request let a hit through."""
    if request.roles and hit.document.role not in request.roles:
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
    hits: Sequence[Hit], bench: Workbench, request: AssembleRequest, cap: int, asked: frozenset[str], side: Axis | None
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
            candidates.append(record_candidate(shown, body, cap, shorter))
            continue
        sighting = fresh.see(hit)
        if sighting is not None:
            lines[sighting.group] = sighting.lines
            made = sighting.candidates(request.whole_item_tokens, asked, shortener)
            if request.context_lines:
                for candidate in made:
                    candidate.widen(request.context_lines, len(sighting.lines.lines))
            candidates += made if request.change is None else compacted(made, request.change)
    return candidates, lines, fresh.failures
