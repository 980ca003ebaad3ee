"""The value stream: question -> plan -> gather -> read -> dedupe -> fit -> render -> receipt."""

from __future__ import annotations

import fnmatch
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from satchel.assemble.candidates import Candidate, file_candidates, record_candidate
from satchel.assemble.dedupe import Seen
from satchel.assemble.fit import ITEM_SHARE, Fitter, Section, by_density
from satchel.assemble.gather import Gathered, OpenExecutor, gather
from satchel.assemble.page import Page
from satchel.assemble.plan import PlannedSection, make_plan
from satchel.assemble.read import FileLines, Lines, Unreadable
from satchel.assemble.receipt import omissions
from satchel.assemble.render import RenderRequest
from satchel.assemble.request import AssembleRequest
from satchel.clean import clean_text
from satchel.redact import redact
from satchel.search.history import Votes
from satchel.search.query import Query, analyse
from satchel.search.searcher import CANDIDATE_WINDOWS, SearchResult, search_kind
from satchel.store.protocol import Store
from satchel.tokens import TokenCounter, counter
from satchel.types import Context, ContextItem, Failure, Hit, Kind, Usage

CALIBRATED_FLOOR = 0.14
"""A kind answers only if its best file or record contains this share of the question's idf mass: 1 of 296 real
questions is answered with nothing. Asked about the code of another repository, 1.1 % are answered with nothing if it
is of the same language, 7.4 % if it is not (benchmarks/results/experiments.md)."""

ITEM_FLOOR = 0.1
"""Default of `min_score` for each record and section of prose of a kind that answers. Code has none beyond the floor of
its kind: a long question shares few words with each single file, and 0.1 there costs 1 to 2 points of file@4k."""

MEMORY_KINDS = frozenset({Kind.MEMORY, Kind.EXPERIENCE, Kind.VALUE, Kind.CONVERSATION})
"""Kinds that the durable memory file holds; all others are derived and lie in the index."""

SMALL_CANDIDATE_TOKENS = 20
"""A large budget asks for one candidate for each of so many tokens, so that there is enough to fill it with."""

RELATIVE_FLOOR = 0.6
RELATIVE_FLOORS: Mapping[Kind, float] = {Kind.CODE: 0.0, Kind.COMMIT: 0.75}
"""A record or a section of prose is shown only with at least this share of the relevance of the best of its kind:
beside a commit about the question, one that shares a single word with it is noise. Commits are many and short, so
the bar is higher for them: with 0.4 twenty of them filled their third of the budget. Code is ranked by file instead."""


@dataclass(frozen=True, slots=True)
class Workbench:
    """What the stream works with; everything else is in the request. `memory` is None while nothing is remembered."""

    store: Store
    lines: FileLines
    key: bytes
    open_executor: OpenExecutor | None = None
    allow: tuple[str, ...] = ()
    memory: Store | None = None

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


def safe_question(question: str, allow: Sequence[str] = ()) -> str:
    """A question without invisible characters and secrets: it is logged, echoed and searched like any other text."""
    return redact(clean_text(question)[0], allow)[0]


def assemble(request: AssembleRequest, bench: Workbench, notes: Sequence[Failure] = ()) -> Context:
    """Answer one question. `notes` are failures that happened before, such as files that could not be indexed."""
    started = time.monotonic()
    query = analyse(safe_question(request.query, bench.allow))
    plan = make_plan(request, bench.kinds())
    gathered, failures = gather(
        plan, _asker(bench, query, request.max_tokens), bench.open_executor, request.deadline_seconds
    )
    searched = time.monotonic()
    token_counter = counter(request.tokenizer)
    sections, unreadable = _sections(request, bench, gathered, frozenset(term.term for term in query.terms))
    problems = (*notes, *failures, *unreadable)
    fitted = _fit(request, bench, sections, token_counter, problems)
    meta = {
        "timings": {
            "search_ms": round((searched - started) * 1000, 2),
            "assemble_ms": round((time.monotonic() - searched) * 1000, 2),
        },
        "revision": bench.revision,
        "missing_terms": sorted({term for row in gathered for term in row.result.missing_terms}),
    }
    return _answer(request, sections, fitted, token_counter, problems, meta)


def _asker(bench: Workbench, query: Query, max_tokens: int) -> Callable[[PlannedSection], SearchResult]:
    votes = Votes(query, bench.store)
    candidates = max(CANDIDATE_WINDOWS, max_tokens // SMALL_CANDIDATE_TOKENS)
    return lambda section: search_kind(
        bench.store_of(section.kind), section.kind, query, votes=votes, candidates=candidates
    )


def _sections(
    request: AssembleRequest, bench: Workbench, gathered: Sequence[Gathered], asked: frozenset[str]
) -> tuple[list[Section], list[Failure]]:
    sections, failures = [], []
    competing = sum(bool(row.result.hits) for row in gathered) > 1
    total = sum(row.section.weight for row in gathered if row.result.hits) or 1.0
    for row in gathered:
        share = request.max_tokens * row.section.weight / total
        cap = int(max(share * ITEM_SHARE, request.whole_item_tokens)) if competing else request.whole_item_tokens
        best = _best_relevance(row)
        if request.min_score is None and best < CALIBRATED_FLOOR:
            continue
        floor = request.min_score
        if floor is None:
            floor = 0.0 if row.section.kind is Kind.CODE else ITEM_FLOOR
        least = max(floor, RELATIVE_FLOORS.get(row.section.kind, RELATIVE_FLOOR) * best)
        hits = [hit for hit in row.result.hits if hit.relevance >= least and _wanted(hit, request)]
        candidates, lines, problems = _candidates(hits, bench, request, cap, asked)
        failures += problems
        if candidates:
            sections.append(
                Section(row.section.kind, row.section.weight, by_density(candidates), lines, row.section.limit)
            )
    return sections, failures


def _best_relevance(row: Gathered) -> float:
    return max((hit.relevance for hit in row.result.hits), default=0.0)


def _wanted(hit: Hit, request: AssembleRequest) -> bool:
    location = hit.document.location
    if location is None:
        return not request.paths
    if request.paths and not any(fnmatch.fnmatchcase(location.path, glob) for glob in request.paths):
        return False
    return not any(fnmatch.fnmatchcase(location.path, glob) for glob in request.exclude)


def _candidates(
    hits: Sequence[Hit], bench: Workbench, request: AssembleRequest, cap: int, asked: frozenset[str]
) -> tuple[list[Candidate], dict[str, Lines], list[Failure]]:
    candidates: list[Candidate] = []
    lines: dict[str, Lines] = {}
    failures: dict[str, Failure] = {}
    for hit in hits:
        location = hit.document.location
        bundle = int(hit.document.fields["bundle"])
        if location is None:
            candidates.append(record_candidate(hit, bench.store_of(hit.document.kind).text(bundle), cap))
            continue
        if location.path not in lines and location.path not in failures:
            found = bench.lines.read(location.path, bundle, location.content_hash)
            if isinstance(found, Unreadable):
                failures[location.path] = Failure(hit.document.kind.plural, f"{found.path}: {found.reason}")
            else:
                lines[location.path] = found
        if location.path in lines:
            candidates += file_candidates(hit, lines[location.path], request.whole_item_tokens, asked)
    return candidates, lines, list(failures.values())


@dataclass(frozen=True, slots=True)
class _Fitted:
    """The outcome of fitting: the text, its tokens and its items; all empty when not even the frame fits."""

    text: str
    used: int
    items: tuple[ContextItem, ...]


def _fit(
    request: AssembleRequest,
    bench: Workbench,
    sections: Sequence[Section],
    token_counter: TokenCounter,
    problems: Sequence[Failure],
) -> _Fitted:
    rendering = RenderRequest(
        query=safe_question(request.query, bench.allow),
        show_sources=request.show_sources,
        show_code=request.show_code,
        group_by_type=request.group_by_type,
        failures=tuple(problems),
    )

    if not sections:
        return _Fitted("", 0, ())
    seen = Seen()
    page = Page(rendering, request.format, bench.key, token_counter)
    fitter = Fitter(token_counter, request.max_tokens, page.tokens, lambda section, c: _is_duplicate(seen, section, c))
    fitter.fit(sections)
    text, items = page.text(sections)
    used = token_counter.count(text)
    while used > request.max_tokens and fitter.take_back():
        text, items = page.text(sections)
        used = token_counter.count(text)
    if used > request.max_tokens or not items:
        return _Fitted("", 0, ())
    return _Fitted(text, used, tuple(_with_origins(item, seen) for item in items))


def _is_duplicate(seen: Seen, section: Section, candidate: Candidate) -> bool:
    step = candidate.steps[0]
    if not step.ranges:
        return seen.twin_of(candidate, step.text) is not None
    lines = section.lines[candidate.group]
    return seen.twin_of(candidate, "".join(lines.text(start, end) for start, end in step.ranges)) is not None


def _with_origins(item: ContextItem, seen: Seen) -> ContextItem:
    twins = [twin for origin in (*item.origins, item.id) for twin in seen.origins.get(origin, [])]
    return replace(item, origins=(*item.origins, *twins)) if twins else item


def _answer(
    request: AssembleRequest,
    sections: Sequence[Section],
    fitted: _Fitted,
    token_counter: TokenCounter,
    problems: Sequence[Failure],
    meta: Mapping[str, Any],
) -> Context:
    used_by_kind: dict[str, int] = {}
    for item in fitted.items:
        plural = Kind(item.source).plural
        used_by_kind[plural] = used_by_kind.get(plural, 0) + 1
    return Context(
        query=safe_question(request.query),
        text=fitted.text,
        format=request.format,
        items=fitted.items,
        usage=Usage(request.max_tokens, fitted.used, token_counter.name, token_counter.exact),
        overflow=omissions(sections, fitted.used),
        sources_used=used_by_kind,
        failures=tuple(problems),
        meta=meta,
    )
