"""Answers about graphs: resolve, walk, score, blend, fit and render, with a cache of the last answers."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import NamedTuple, Unpack

from satchel import config
from satchel.answer.candidates import Candidate
from satchel.answer.omissions import omissions
from satchel.answer.packing import Inputs, Packing
from satchel.answer.resources import Resources
from satchel.answer.sections import Section
from satchel.answer.source_lines import Unreadable
from satchel.answer.write import Fitted
from satchel.graph.export import GraphDrawing, neighbourhood, path_between
from satchel.graph.nodes import Nodes, Overflow, Rated, blended, rate
from satchel.graph.relevance import Relevance, Vectors
from satchel.graph.render import NODE_FRAME, SUMMARY_BUDGET, GraphPage, fitted_page, references
from satchel.graph.request import GraphOptions, GraphRequest, make_graph_request
from satchel.graph.walk import Bounds, GraphWalk, StartNode, walk
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.search import weights as search_weights
from satchel.search.chunks import REVISION, identity_of
from satchel.search.dense import Meaning, scores
from satchel.search.query import Query, analyse
from satchel.search.relations import clear, definitions_named, files_named
from satchel.search.resolve.code import Code, CodeDefinition
from satchel.search.searcher import SearchResult, search_kind
from satchel.search.strength import present_names
from satchel.services.open_root import OpenRoot, attempts, resources_of
from satchel.services.receipts import ReceiptService
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.text import is_compound
from satchel.tokens import counter
from satchel.types import FILE_KINDS, INDEX_KINDS, Context, Failure, HandleTarget, Hit, Json, Kind, ShownBefore, Usage

MAX_SOURCES = 5
"""Matches of a topic from which a walk starts, as the specification has it."""

MAX_MATCHES = 20
"""Matches of a topic that are nodes of the answer. The walk starts from the best five only."""

FACTOR_POWER, MEANT_FACTOR_POWER = 2.0, 2.5
"""The factor of a source is its score in parts of the best one, to this power: the best one is right so much more often
than the fifth. Scores by words and meaning lie closer together than those by words. On the multi-hop passages 1 and 3
measure one point less by words, and 2 one point less with vectors."""

NAMESAKE = 0.6
"""Factor of further definitions of the same name: what the first one is related to comes before them."""


def named_node(store: Store, query: str) -> int | None:
    """Return the row of the node that a query names by an id or a bare key of one kind, None for a topic."""
    kind, colon, rest = query.partition(":")
    row = _row(store, Kind(kind), rest) if colon and kind in map(str, INDEX_KINDS) else None
    matches = [row] if row is not None else [_row(store, kind, query) for kind in INDEX_KINDS]
    rows = [row for row in matches if row is not None]
    return rows[0] if len(rows) == 1 else None


def _row(store: Store, kind: Kind, rest: str) -> int | None:
    """Return the chunk of a kind whose id ends with `rest`."""
    for key in dict.fromkeys((rest, rest.partition("::")[0], rest.partition("#L")[0])):
        document = store.document(kind, key) if key else None
        if document is not None:
            return document.first_chunk if key == rest else _row_in(store, document, f"{kind}:{rest}")
    return None


def _row_in(store: Store, document: Document, identity: str) -> int | None:
    chunks = store.chunks(document.rows)
    return next((row for row, chunk in chunks.items() if identity_of(document, chunk) == identity), None)


def code_named(store: Store, query: str) -> dict[int, list[CodeDefinition]]:
    """Return the chunks of the definitions or files that a name means (`Client.send`); all if it is not clear.

    Each comes with the definitions that the name means.
    """
    named = definitions_named(Code(store), query)
    definitions_by_row: dict[int, list[CodeDefinition]] = {}
    for definition in clear(named, len(named)):
        definitions_by_row.setdefault(definition.row, []).append(definition)
    if definitions_by_row or "." not in query:
        return definitions_by_row
    files = sorted(files_named(store, query), key=lambda document: (document.secondary, document.key))
    return {file.first_chunk: [] for file in files}


def topic_sources(store: Store, results: Sequence[SearchResult]) -> list[StartNode]:
    """Return the best matches of a topic over several kinds, best first; empty where nothing matches."""
    best = max((result.strength for result in results), default=0.0)
    if best < 0.14:  # a topic that no kind answers with so much strength gets an empty answer
        return []
    rated = [(factor, hit) for result in results for hit, factor in _factors(result, best)]
    rated.sort(key=lambda rated_hit: (-rated_hit[0], rated_hit[1].chunk.id))
    documents = store.documents({hit.chunk.document for _, hit in rated[:MAX_MATCHES]})
    sources = []
    for index, (factor, hit) in enumerate(rated[:MAX_MATCHES]):
        document = documents[hit.chunk.document]
        rated_hit = _row_in(store, document, hit.chunk.id)
        sources.append(
            StartNode(document.first_chunk if rated_hit is None else rated_hit, factor, walked=index < MAX_SOURCES)
        )
    return sources


def _factors(result: SearchResult, best: float) -> Iterator[tuple[Hit, float]]:
    """Yield each match of one kind with its factor relative to the best match of all kinds (strength `best`).

    Scores are logarithms: of what ranks records, and of the value of spans of files, whose share is their square root.
    """
    hits = result.hits[:MAX_MATCHES]
    power = FACTOR_POWER if result.with_vectors is None else MEANT_FACTOR_POWER
    first = max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        is_record = hit.chunk.location is None or hit.chunk.kind is Kind.NOTE
        share = (
            result.strength
            / best
            * math.exp((1.0 if is_record else search_weights.SHARE_EXPONENT) * (hit.score - first))
        )
        if hit.relevance > 0:
            yield hit, min(share, 1.0) ** power


class Explored(NamedTuple):
    """The result of one query: its nodes, best first, and the walk. `is_named`: the query is the id of a node.

    `namesakes` counts the definitions or files that an ambiguous name means, `strength` is how well the workspace
    answers a topic, 1 for a node.
    """

    rated: tuple[Rated, ...]
    walk: GraphWalk
    vectors: Vectors
    is_named: bool
    sources: int
    namesakes: int = 0
    failures: tuple[Failure, ...] = ()
    strength: float = 1.0


Placed = tuple[Rated, Nodes]
"""A node with the nodes of its workspace."""


def _ranked(request: GraphRequest, resources: Resources, found: Sequence[Sequence[Explored]]) -> list[Placed]:
    """Return the nodes of all workspaces, best first; `found` has the queries in each of them.

    A score counts as much as the workspace answers the query in parts of the best one. An id that begins with the name
    of a workspace is looked for there alone.
    """
    placed: list[Placed] = []
    for workspace, explored in zip(resources.every, found, strict=True):
        walks = [done.rated for done in explored]
        if resources.others:
            everywhere = zip(request.queries, explored, zip(*found, strict=True), strict=True)
            walks = [_beside_others(*rated_node, workspace, resources.every) for rated_node in everywhere]
        nodes = Nodes(workspace.store, workspace.lines, request, workspace.allow, workspace.prefix)
        placed += [(rated, nodes) for rated in (walks[0] if len(walks) == 1 else blended(walks))]
    return sorted(placed, key=lambda rated_node: -rated_node[0].rating.total) if resources.others else placed


def _beside_others(
    query: str, done: Explored, every: Sequence[Explored], workspace: Resources, workspaces: Sequence[Resources]
) -> tuple[Rated, ...]:
    """Return the nodes of a query in one of several workspaces; `every` are its results in all of them."""
    homes = [other for other in workspaces if _without_workspace(query, other.prefix) != query]
    if homes and workspace not in homes:
        return ()
    share = done.strength / (max(other.strength for other in every) or 1.0)
    return tuple(rated._replace(rating=rated.rating._replace(total=rated.rating.total * share)) for rated in done.rated)


def _without_workspace(query: str, prefix: str) -> str:
    """Return an id as its workspace has it: `code:web/app.py` -> `code:app.py` for `web/`; any other query as it is."""
    kind, _, rest = query.partition(":")
    is_id = kind in map(str, INDEX_KINDS) and rest.startswith(prefix)
    return f"{kind}:{rest.removeprefix(prefix)}" if is_id else query.removeprefix(prefix)


def assemble_graph(request: GraphRequest, resources: Resources, clock: Callable[[], float] = time.monotonic) -> Context:
    """Return the context around a topic or node in all workspaces."""
    started = time.monotonic()
    found = [[explore(query, request, workspace, clock) for query in request.queries] for workspace in resources.every]
    walked = time.monotonic()
    explored = list(chain.from_iterable(found))
    rated = _ranked(request, resources, found)
    # One candidate for each of so many tokens of the budget: few nodes cost less with their heading, path and marks.
    best = rated[: max(request.max_tokens // 40, 40) + 40]
    every = list(dict.fromkeys(nodes for _, nodes in best))
    section, rest, shown_before = _sifted(_section(best, every, request), best, found, request, resources)
    seen = chain(resources.notes, *(done.failures for done in explored), *(nodes.notes for nodes in every))
    failures = sanitize.failures(list(dict.fromkeys(seen)), resources.allow)
    warnings = _warnings(request, found, failures, bool(rated), resources)
    token_counter = counter(request.tokenizer)
    page = GraphPage(
        request,
        resources.key,
        token_counter,
        rest=[nodes.overflow(other) for other, nodes in rest],
        reached=len(rated) - len(best) + len(rest),
        embeddings=all(other.vectors.is_ready for other in explored),
        warnings=warnings,
        shown_before=references(shown_before, token_counter, request.max_tokens, is_all=not rest),
    )
    nothing = Fitted(Packing(Inputs([], token_counter, NODE_FRAME), 0))
    fitted, named = fitted_page(page, section, partial(_uncap, every)) if rated else (nothing, [])
    meta = _meta(request, resources, explored, every, warnings, len(rated), named)
    now = time.monotonic()
    timings = {"walk_ms": round((walked - started) * 1000, 2), "assemble_ms": round((now - walked) * 1000, 2)}
    return Context(
        query=request.query,
        text=fitted.text,
        format=request.format,
        items=fitted.items,
        usage=Usage(request.max_tokens, fitted.used, token_counter.name, token_counter.exact),
        overflow=omissions(fitted.packing, fitted.used),
        sources_used=dict(Counter(Kind(item.source).plural for item in fitted.items)),
        failures=failures,
        shown_before=shown_before,
        meta={**meta, "timings": timings},
    )


def _meta(
    request: GraphRequest,
    resources: Resources,
    explored: Sequence[Explored],
    every: Sequence[Nodes],
    warnings: Sequence[str],
    reached: int,
    named: Sequence[Overflow],
) -> Json:
    return {
        "lens": request.lens.name,
        "depth": request.depth,
        "workspace": request.workspace,
        "warnings": warnings,
        "sources": [done.sources for done in explored],
        "embeddings": [f"{done.vectors.embedded}/{done.vectors.chunks}" for done in explored],
        "timed_out": any(done.walk.timed_out for done in explored),
        "reached": reached,
        "named": [node.id for node in named],
        "revision": resources.revision,
        "files": {path: shown for nodes in every for path, shown in nodes.shown_files.items()},
    }


def _section(best: Sequence[Placed], every: Sequence[Nodes], request: GraphRequest) -> Section:
    for nodes in every:
        nodes.load([rated for rated, walked_nodes in best if walked_nodes is nodes])
    candidates = tuple(nodes.candidate(node) for node, nodes in best)
    section = Section(Kind.NOTE, 1.0, candidates, {}, max(len(best), 1))
    if sum(candidate.size + NODE_FRAME.item for candidate in section.candidates) < request.max_tokens:
        _uncap(every)  # there is room for all of them, however long one is
    return section


def _uncap(every: Sequence[Nodes]) -> None:
    for nodes in every:
        nodes.uncap()


def _sifted(
    section: Section,
    best: Sequence[Placed],
    found: Sequence[Sequence[Explored]],
    request: GraphRequest,
    resources: Resources,
) -> tuple[Section, Sequence[Placed], tuple[ShownBefore, ...]]:
    """Return the section and the nodes that are new to the session or named by id, and references to the others."""
    account = resources.account
    if account is None or request.max_tokens < SUMMARY_BUDGET:
        return section, best, ()
    named_rows = {*_named_rows(resources, found)}
    kept: list[tuple[Placed, Candidate]] = []
    spent = 0.0
    for (rated, nodes), candidate in zip(best, section.candidates, strict=True):
        spent += candidate.size + NODE_FRAME.item
        is_named = (nodes.prefix, rated.row) in named_rows
        is_referred = spent <= request.max_tokens and not is_named
        rest = account.sift_node(candidate, nodes.lines(rated.row), is_referred=is_referred)
        if rest is not None or is_named:
            kept.append(((rated, nodes), rest or candidate))
    new = replace(section, candidates=tuple(candidate for _, candidate in kept))
    return new, [placed for placed, _ in kept], account.references()


def _named_rows(resources: Resources, found: Sequence[Sequence[Explored]]) -> Iterator[tuple[str, int]]:
    """Yield the nodes that queries name by id, each with the prefix of its workspace."""
    for workspace, explored in zip(resources.every, found, strict=True):
        walks = (done.walk for done in explored if done.is_named)
        yield from ((workspace.prefix, row) for walk in walks for row, at in walk.reached.items() if not at.distance)


def explore(
    query: str, request: GraphRequest, resources: Resources, clock: Callable[[], float] = time.monotonic
) -> Explored:
    """Resolve one query, walk from it, and rate what was reached."""
    store, lens, kinds = resources.store, request.lens, _searched_kinds(request, resources)
    analysed = analyse(query)
    meaning = Meaning(resources.embedder, query) if resources.embedder is not None else None
    sources, is_named, strength = _sources(analysed, resources, kinds, meaning, request.now)
    relevance = Relevance(store, kinds, analysed, None if is_named else meaning)
    bounds = Bounds(request.depth, request.max_nodes, request.deadline_seconds, clock)
    done = walk(store, sources, lens, relevance, bounds, by_names=not is_named)
    rows = sorted(done.reached)
    has_words = relevance.has_words and not is_named
    rated = [
        Rated(row, rate(done.reached[row], value, lens, request.now, has_words=has_words), done)
        for row, value in zip(rows, relevance.together(rows, done.pairs).tolist(), strict=True)
    ]
    reached = done.reached
    rated.sort(
        key=lambda other: (-other.rating.total, reached[other.row].distance, reached[other.row].place.key, other.row)
    )
    return Explored(
        tuple(rated),
        done,
        relevance.vectors,
        is_named,
        sum(source.walked for source in sources),
        len(sources) if is_named else 0,
        (meaning.failure,) if meaning is not None and meaning.failure is not None else (),
        strength,
    )


def _searched_kinds(request: GraphRequest, resources: Resources) -> tuple[Kind, ...]:
    searched = (Kind.CODE,) if request.lens.is_about_code else FILE_KINDS
    return tuple(kind for kind in searched if resources.kinds().get(kind))


def _sources(
    analysed: Query, resources: Resources, kinds: Sequence[Kind], meaning: Meaning | None, now: float
) -> tuple[list[StartNode], bool, float]:
    """Return where the walk begins, whether the query names it, and how well a topic is answered."""
    query = _without_workspace(analysed.text, resources.prefix)
    row = named_node(resources.store, query)
    if row is not None:
        return [StartNode(row, 1.0)], True, 1.0
    if Kind.CODE in kinds and not any(mark.isspace() for mark in query):
        defined = code_named(resources.store, query)
        if defined:
            starts = [
                StartNode(node_row, NAMESAKE if index else 1.0, walked=index < MAX_SOURCES, names=tuple(names))
                for index, (node_row, names) in enumerate(defined.items())
            ]
            return starts, True, 1.0
    results = [
        search_kind(resources.store, kind, analysed, likeness=scores(resources.store, kind, meaning), now=now)
        for kind in kinds
    ]
    return topic_sources(resources.store, results), False, max((result.strength for result in results), default=0.0)


def _warnings(
    request: GraphRequest,
    found: Sequence[Sequence[Explored]],
    failures: Sequence[Failure],
    has_nodes: bool,
    resources: Resources,
) -> list[str]:
    warnings = []
    if request.max_tokens < SUMMARY_BUDGET:
        warnings.append(
            f"{request.max_tokens} tokens are too few for nodes: below {SUMMARY_BUDGET} they are only named"
        )
    for query, *explored in zip(request.queries, *found, strict=True):
        namesakes, sources = map(max, zip(*((done.namesakes, done.sources) for done in explored), strict=True))
        if has_nodes and not sources:
            warnings.append(f"nothing here is about {query!r}")
        elif has_nodes and _is_absent_name(query, request, resources):
            warnings.append(f"nothing here is called {query!r}: what its words match is shown")
        if namesakes > MAX_SOURCES:
            warnings.append(
                f"{query!r} is the name of {namesakes} places: the first {MAX_SOURCES} are followed; "
                "name one with its path"
            )
    warnings += chain.from_iterable(done.walk.warnings for done in chain.from_iterable(found))
    warnings += [f"{failure.source}: {failure.message}" for failure in failures]
    return [sanitize.line(warning, allow=resources.allow) for warning in dict.fromkeys(warnings)]


def _is_absent_name(query: str, request: GraphRequest, resources: Resources) -> bool:
    """Return whether a query is a name that only code writes, and that no text has, though some may have its pieces."""
    parts = query.replace("::", ".").split(".")
    if not all(map(str.isidentifier, parts)) or not (len(parts) > 1 or is_compound(query)):
        return False
    lexicons = (
        workspace.store.lexicon(kind) for workspace in resources.every for kind in _searched_kinds(request, workspace)
    )
    return not present_names([query], lexicons)


MAX_CONTEXTS = 128
"""Contexts kept at once: at 4,000 tokens they need 5 MB."""


class ContextCache:
    """Contexts by key; the least recently used one is dropped first. Safe to share between threads."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds` to live; 0 keeps nothing."""
        self._seconds, self._clock = seconds, clock
        self._entries: OrderedDict[Hashable, tuple[float, Context]] = OrderedDict()
        self._guard = threading.Lock()

    def get(self, key: Hashable, is_current: Callable[[Context], bool]) -> Context | None:
        """Return the context under this key; None where there is none, it is too old, or a shown file has changed."""
        with self._guard:
            if key not in self._entries:
                return None
            made, context = self._entries[key]
            if self._clock() - made >= self._seconds:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
        return context if is_current(context) else None

    def put(self, key: Hashable, context: Context) -> None:
        """Keep a context, unless it has failures or timed out: the next answer may then differ."""
        if self._seconds <= 0 or context.failures or context.meta.get("timed_out"):
            return
        with self._guard:
            self._entries[key] = (self._clock(), context)
            self._entries.move_to_end(key)
            while len(self._entries) > MAX_CONTEXTS:
                self._entries.popitem(last=False)


class GraphService:
    """Graph contexts of one opened root. An answer is kept until something that it shows changes."""

    def __init__(self, root: OpenRoot, receipts: ReceiptService) -> None:
        self._root = root
        self._receipts = receipts
        self._contexts = ContextCache(root.settings.graph_cache_s)

    def graph_request(self, query: str, blend: Sequence[str] = (), **options: Unpack[GraphOptions]) -> GraphRequest:
        """Return the checked request of `Satchel.graph`, for those who ask several times."""
        root, origin = self._root, str(config.user_file(config.Folders.from_environment()))
        return make_graph_request(
            query, blend, root.settings, options, lenses=root.loaded.lenses, workspace=root.alias, origin=origin
        )

    def drawing(self, request: GraphRequest, to: str = "", notes: Sequence[Failure] = ()) -> GraphDrawing:
        """Return the nodes and edges around the query of a checked request; with `to` the shortest path to that node.

        Without a path, or a node of such a name, the drawing has no edges and says why.
        """
        to = sanitize.text(to, self._root.settings.redact_allow)
        for attempt in attempts(self._root, ()):
            with attempt as states:
                drawn = _drawing(request, to, resources_of(states, notes))
        return drawn

    def graph_answer(self, request: GraphRequest, notes: Sequence[Failure] = ()) -> Context:
        """Return the context for a checked request from the present index; a kept one while nothing has changed."""
        account = self._receipts.account(request.session, request.ledger)
        with self._receipts.traced() as tell:
            for attempt in attempts(self._root, request.workspaces):
                with attempt as states:
                    context = self._answer(request, resources_of(states, notes, account))
            tell(context)
        return self._receipts.keep(context, account, node_handles(context), request.workspaces)

    def _answer(self, request: GraphRequest, resources: Resources) -> Context:
        if resources.prefix:  # what is kept is compared with the files of this root
            return assemble_graph(request, resources)
        embedder = resources.embedder.id if resources.embedder is not None else ""
        received = resources.account.meta["ledger"] if resources.account is not None else ""
        key = (request, resources.revision, embedder, received, resources.notes)
        former = self._contexts.get(key, self._is_as_shown)
        if former is not None:
            return replace(former, meta={**former.meta, "cached": True})
        context = assemble_graph(request, resources)
        self._contexts.put(key, context)
        return context

    def _is_as_shown(self, context: Context) -> bool:
        """Return whether the files that a context shows are unchanged."""
        files: Mapping[str, str] = context.meta["files"]
        for path, shown in files.items():
            lines = self._root.lines.read(path, shown)
            if ("" if isinstance(lines, Unreadable) else lines.content_hash) != shown:
                return False
        return True


def _drawing(request: GraphRequest, to: str, resources: Resources) -> GraphDrawing:
    names = [request.queries[0], to]
    if not to:
        return neighbourhood(request, explore(names[0], request, resources).rated, resources)
    named = [named_node(resources.store, name) for name in names]
    ends = [
        [*code_named(resources.store, name)] if row is None else [row] for name, row in zip(names, named, strict=True)
    ]
    missing = [clean_field(name) for name, rows in zip(names, ends, strict=True) if not rows]
    if missing:
        return GraphDrawing((), (), tuple(f"no file or definition is named {name}" for name in missing))
    first, last = ends
    return path_between(request, first, last, resources)


def node_handles(context: Context) -> list[HandleTarget]:
    """Return the targets of the handles of a graph context: the lines of a node in a file, else its record."""
    handles = []
    for item in context.items:
        path = item.metadata["node"].get("location", {}).get("file", "")
        content_hash, lines = item.metadata[REVISION]
        name = item.id.partition("::")[2] if path else ""
        handles.append(HandleTarget(item.handle, Kind(item.source), item.id, path, name, content_hash, lines))
    return handles
