"""The stream of a graph context: resolve, walk, score, blend, fit, render, receipt."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from satchel import outside
from satchel.assemble.candidates import Candidate
from satchel.assemble.gather import Workbench
from satchel.assemble.graph.frame import Frame, Overflow, with_shown_before, writer_of
from satchel.assemble.graph.lenses import Lens
from satchel.assemble.graph.nodes import Nodes, Rated
from satchel.assemble.graph.page import NODE_FRAME, SUMMARY_BUDGET, GraphPage, fitted_page
from satchel.assemble.graph.relevance import Relevance, Vectors
from satchel.assemble.graph.request import GraphRequest
from satchel.assemble.graph.resolve import Source, code_named, named_node, topic_sources
from satchel.assemble.graph.score import Rating, rate
from satchel.assemble.graph.walk import Bounds, Walk, walk
from satchel.assemble.pack import omissions
from satchel.assemble.packer import Fitted
from satchel.assemble.section import Section
from satchel.search.dense import Meaning, scores
from satchel.search.query import analyse
from satchel.search.searcher import SearchResult, search_kind
from satchel.tokens import counter
from satchel.types import Context, Failure, Kind, ShownBefore, Signal, Usage

if TYPE_CHECKING:
    from satchel.assemble.receipts.session import Account

BACKEND = "sqlite"
"""What answers call the store: the specification has the name of what was read there."""

CANDIDATE_TOKENS = 40
"""One candidate for each of so many tokens of the budget: few nodes cost less with their heading, path and marks."""

LEAST_CANDIDATES = 40

BLEND_RANK = 60.0
"""Rank fusion adds 1 / (60 + rank) for each walk: the usual constant, which keeps one first place from deciding all."""


@dataclass(frozen=True, slots=True)
class Explored:
    """What one query came to: its nodes, best first, and how it was understood. `is_named`: it is the id of a node."""

    rated: tuple[Rated, ...]
    walk: Walk
    vectors: Vectors
    is_named: bool
    sources: int
    failures: tuple[Failure, ...] = ()


def assemble_graph(
    request: GraphRequest,
    bench: Workbench,
    notes: Sequence[Failure] = (),
    clock: Callable[[], float] = time.monotonic,
) -> Context:
    """The context around a topic or node. `notes` are failures that happened before."""
    started = time.monotonic()
    explored = [explore(query, request, bench, clock) for query in request.queries]
    walked = time.monotonic()
    rated = explored[0].rated if len(explored) == 1 else blended([one.rated for one in explored])
    nodes = Nodes(bench.store, bench.lines, request, bench.allow)
    best = rated[: max(request.max_tokens // CANDIDATE_TOKENS, LEAST_CANDIDATES) + LEAST_CANDIDATES]
    section = _section(best, nodes, request)
    rest, known = _sifted(section, best, explored, nodes, request, bench.account)
    noted = _unique(notes, (one for done in explored for one in done.failures), nodes.notes)
    failures = outside.failures(noted, bench.allow)
    warnings = [outside.line(one, allow=bench.allow) for one in _warnings(request, explored, failures, bool(rated))]
    token_counter = counter(request.tokenizer)
    frame = with_shown_before(_frame(request, explored, warnings), known, token_counter, is_all=not rest)
    names = [
        Overflow(
            nodes.identity(one.row), nodes.name(one.row), tuple(nodes.tags(one.row)), round(one.rating.total, 4),
            nodes.place(one),
        )
        for one in rest
    ]  # fmt: skip
    page = GraphPage(
        frame, writer_of(request.format), bench.key, token_counter, names, len(rated) - len(best) + len(rest)
    )
    fitted, named = fitted_page(page, section) if rated else (Fitted("", 0, ()), [])
    timings = {
        "walk_ms": round((walked - started) * 1000, 2),
        "assemble_ms": round((time.monotonic() - walked) * 1000, 2),
    }
    return Context(
        query=request.query,
        text=fitted.text,
        format=request.format,
        items=fitted.items,
        usage=Usage(request.max_tokens, fitted.used, token_counter.name, token_counter.exact),
        overflow=omissions([section], fitted.used) if rated else (),
        sources_used=_used(fitted.items),
        failures=failures,
        shown_before=known,
        meta={
            **_meta(request, explored, warnings),
            "reached": len(rated),
            "named": [one.id for one in named],
            "revision": bench.revision,
            "files": dict(nodes.shown_files),
            "timings": timings,
        },
    )


def _section(best: Sequence[Rated], nodes: Nodes, request: GraphRequest) -> Section:
    """The candidates for the budget, best first."""
    nodes.load(row for one in best for row in (one.row, *(hop.row for hop in one.walk.path(one.row))))
    nodes.load_texts(one.row for one in best)
    section = Section(Kind.NOTE, 1.0, [nodes.candidate(one) for one in best], {}, max(len(best), 1))
    if sum(candidate.size + NODE_FRAME.item for candidate in section.candidates) < request.max_tokens:
        nodes.cap = request.max_tokens  # there is room for all of them, however long one is
    return section


def _sifted(
    section: Section,
    best: Sequence[Rated],
    explored: Sequence[Explored],
    nodes: Nodes,
    request: GraphRequest,
    account: Account | None,
) -> tuple[Sequence[Rated], tuple[ShownBefore, ...]]:
    """The nodes that the session lacks or asked for by their id, which are the candidates then, and what it has."""
    if account is None or request.max_tokens < SUMMARY_BUDGET:
        return best, ()
    asked = {
        row for one in explored if one.is_named for row, reached in one.walk.reached.items() if not reached.distance
    }
    kept: list[tuple[Rated, Candidate]] = []
    spent = 0.0
    for one, candidate in zip(best, section.candidates, strict=True):
        spent += candidate.size + NODE_FRAME.item
        is_referred = spent <= request.max_tokens and one.row not in asked
        if account.sift_node(candidate, nodes.lines(one.row), is_referred=is_referred) or one.row in asked:
            kept.append((one, candidate))
    section.candidates = [candidate for _, candidate in kept]
    return [one for one, _ in kept], account.references()


def _frame(request: GraphRequest, explored: Sequence[Explored], warnings: Sequence[str]) -> Frame:
    return Frame(
        query=request.query,
        workspace=request.workspace,
        lens=request.lens.name,
        depth=request.depth,
        budget=request.max_tokens,
        now=request.now,
        backend=BACKEND,
        embeddings=all(one.vectors.is_ready for one in explored),
        warnings=tuple(warnings),
    )


def _meta(request: GraphRequest, explored: Sequence[Explored], warnings: Sequence[str]) -> dict[str, Any]:
    """What the answer depends on, and how far vectors are: `12/40`."""
    return {
        "lens": request.lens.name,
        "depth": request.depth,
        "workspace": request.workspace,
        "warnings": list(warnings),
        "sources": [one.sources for one in explored],
        "embeddings": [f"{one.vectors.embedded}/{one.vectors.documents}" for one in explored],
        "timed_out": any(one.walk.timed_out for one in explored),
    }


def explore(
    query: str, request: GraphRequest, bench: Workbench, clock: Callable[[], float] = time.monotonic
) -> Explored:
    """Resolve one query, walk from it, and rate what was reached."""
    store, lens = bench.store, request.lens
    kinds = walked_kinds(lens, bench.kinds())
    analysed = analyse(query)
    meaning = Meaning(bench.embedder, query) if bench.embedder is not None else None
    sources, is_named = _sources(query, bench, kinds, meaning, request.now)
    relevance = Relevance(store, kinds, analysed, None if is_named else meaning)
    bounds = Bounds(request.depth, request.max_nodes, request.hub_nodes, request.deadline_seconds, clock)
    done = walk(store, sources, lens, relevance, bounds)
    rows = sorted(done.reached)
    has_words = relevance.has_words and not is_named
    values = relevance.together(rows, done.pairs).tolist() if has_words else [0.0] * len(rows)
    ratings = {
        row: rate(done.reached[row], value, lens, request.now, has_words=has_words)
        for row, value in zip(rows, values, strict=True)
    }
    order = sorted(
        rows, key=lambda row: (-ratings[row].total, done.reached[row].distance, done.reached[row].place.key, row)
    )
    failures = (meaning.failure,) if meaning is not None and meaning.failure is not None else ()
    return Explored(
        tuple(Rated(row, ratings[row], done) for row in order),
        done,
        relevance.vectors,
        is_named,
        sum(source.walked for source in sources),
        failures,
    )


def walked_kinds(lens: Lens, available: Mapping[Kind, int]) -> tuple[Kind, ...]:
    """The kinds in which a topic is looked for: those that the relations of the lens lead from."""
    kinds = (Kind.CODE,) if lens.is_about_code else (Kind.NOTE, Kind.CODE, Kind.DOC)
    return tuple(kind for kind in kinds if available.get(kind))


def _sources(
    query: str, bench: Workbench, kinds: Sequence[Kind], meaning: Meaning | None, now: float
) -> tuple[list[Source], bool]:
    """Where the walk begins, and whether the query named that itself."""
    row = named_node(bench.store, query)
    if row is not None:
        return [Source(row, 1.0)], True
    if Kind.CODE in kinds and not any(mark.isspace() for mark in query):
        defined = code_named(bench.store, query)
        if defined:
            return [Source(one, 1.0) for one in defined], True
    analysed = analyse(query)

    def ask(kind: Kind) -> SearchResult:
        return search_kind(bench.store, kind, analysed, likeness=scores(bench.store, kind, meaning), now=now)

    return topic_sources(bench.store, ask, kinds), False


def blended(walks: Sequence[Sequence[Rated]]) -> tuple[Rated, ...]:
    """Several walks as one by rank fusion: what stands high in all of them comes first; scores are 0 to 1.

    A node keeps the path of the walk that rates it best, and shows its rank in each as a signal.
    """
    ranks: dict[int, dict[int, int]] = {}
    best: dict[int, Rated] = {}
    for number, rated in enumerate(walks):
        for rank, one in enumerate(rated, 1):
            ranks.setdefault(one.row, {})[number] = rank
            if one.row not in best or one.rating.total > best[one.row].rating.total:
                best[one.row] = one
    most = len(walks) / (BLEND_RANK + 1)
    fused = []
    for row, own in ranks.items():
        total = sum(1 / (BLEND_RANK + rank) for rank in own.values()) / most
        signals = tuple(Signal(f"rank {number + 1}", float(rank), 0.0) for number, rank in sorted(own.items()))
        fused.append(replace(best[row], rating=Rating(total, (*best[row].rating.signals, *signals))))
    fused.sort(key=lambda one: (-one.rating.total, -best[one.row].rating.total, one.row))
    return tuple(fused)


def _unique(*groups: Any) -> list[Failure]:
    return list(dict.fromkeys(one for group in groups for one in group))


def _warnings(
    request: GraphRequest, explored: Sequence[Explored], failures: Sequence[Failure], found: bool
) -> list[str]:
    warnings = []
    if request.max_tokens < SUMMARY_BUDGET:
        warnings.append(
            f"{request.max_tokens} tokens are too few for nodes: below {SUMMARY_BUDGET} they are only named"
        )
    for query, one in zip(request.queries, explored, strict=True):
        if found and not one.sources:
            warnings.append(f"nothing here is about {query!r}")
    warnings += [warning for one in explored for warning in one.walk.warnings]
    warnings += [f"{one.source}: {one.message}" for one in failures]
    return list(dict.fromkeys(warnings))


def _used(items: Sequence[Any]) -> dict[str, int]:
    counted: dict[str, int] = {}
    for item in items:
        plural = Kind(item.source).plural
        counted[plural] = counted.get(plural, 0) + 1
    return counted
