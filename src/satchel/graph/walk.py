"""Breadth first over the relations, from several sources at once.

Every node is visited once, at its smallest distance, so cycles end. Of several paths of that length the best one
counts: from the most relevant source, over the most important relations. Three limits bound the work, and reaching one
gives a warning: neighbours of a single node, nodes in all, and seconds.

Notes refer to each other by key, so one query in each direction answers. Calls and inheritance of code are resolved
(`satchel.search.relations`).
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import chain, groupby
from operator import attrgetter, itemgetter
from typing import NamedTuple

from satchel import lazy_numpy as np
from satchel.graph.relevance import Relevance, sharing
from satchel.graph.request import NOTE_EDGES, Direction, Lens, Move
from satchel.search.relations import MAX_FILES, USE, Relations
from satchel.search.resolve.code import Code, CodeDefinition
from satchel.search.resolve.modules import import_targets, importers
from satchel.store.protocol import Store
from satchel.store.records import Place, StoredChunk
from satchel.types import LINE_KINDS, EdgeType, Kind

HUB_NODES = 100
"""Neighbours of one node that are followed, the most relevant of them: thousands would be all that is seen."""


class WalkEdge(NamedTuple):
    """A step from the chunk `source` to the chunk `target`, both by row number.

    `line` is that of the call, 0 for all other relations. `share` is the rarity (0 to 1) of a name that both have.
    """

    source: int
    move: Move
    target: int
    line: int = 0
    share: float = 1.0


Named = Mapping[int, Sequence[CodeDefinition]]
"""The definitions of a chunk that a query names: a method of an interface has no chunk of its own."""


def related(
    relations: Relations, places: Mapping[int, Place], moves: Sequence[Move], named: Named | None = None
) -> list[WalkEdge]:
    """Return every step to other chunks that the moves allow, best moves first, the first of several calls."""
    by_type = {(move.type, move.direction): move for move in moves}
    store = relations.code.store
    edges = [
        WalkEdge(source, by_type[type_, side], target)
        for group in (_notes, _members, _imports, _touched, _touching)
        for source, type_, side, target in group(store, places, by_type.keys())
        if source != target
    ]
    edges += [
        WalkEdge(source, by_type[type_, side], target, line)
        for source, type_, side, target, line in _names(relations, places, by_type.keys(), named or {})
        if source != target
    ]
    edges.sort(key=lambda step: (step.source, step.move.rank, step.move.direction is Direction.IN, *step[2:]))
    return list({step[:3]: step for step in reversed(edges)}.values())[::-1]


_Moves = Collection[tuple[EdgeType, Direction]]
_Step = tuple[int, EdgeType, Direction, int]


def _of(places: Mapping[int, Place], *kinds: Kind) -> list[Place]:
    return [place for place in places.values() if place.kind in kinds]


def _types(moves: _Moves, side: Direction) -> list[EdgeType]:
    return sorted(type_ for type_, direction in moves if direction is side and type_ in NOTE_EDGES)


def _notes(store: Store, places: Mapping[int, Place], moves: _Moves) -> Iterator[_Step]:
    """Yield relations between notes. The target is the key of a note; an unknown key is skipped."""
    notes = _of(places, Kind.NOTE)
    if not notes:
        return
    if outgoing := _types(moves, Direction.OUT):
        edges = store.edges_from([note.row for note in notes], outgoing)
        rows = _note_rows(store, {target for _, _, target in edges})
        for source, type_, target in edges:
            if target in rows:
                yield source, EdgeType(type_), Direction.OUT, rows[target]
    if incoming := _types(moves, Direction.IN):
        rows = {note.natural_key: note.row for note in notes}
        for source, type_, target in store.edges_to(sorted(rows), incoming):
            yield rows[target], EdgeType(type_), Direction.IN, source


def _note_rows(store: Store, keys: Collection[str]) -> dict[str, int]:
    """Return the rows of the notes with these keys: `a.md` is a file of a vault, `a.md::Plan` a section in it."""
    rows = store.first_rows(Kind.NOTE, keys)
    sections = {key: key.partition("::")[0] for key in keys if "::" in key and key not in rows}
    if sections:
        documents = store.documents(store.document_ids(Kind.NOTE, set(sections.values())).values())
        inside = store.places(chain.from_iterable(document.rows for document in documents.values()))
        sections_by_key = {place.natural_key: row for row, place in inside.items()}
        rows |= {key: sections_by_key[key] for key in sections if key in sections_by_key}
    return rows


def _members(store: Store, places: Mapping[int, Place], moves: _Moves) -> Iterator[_Step]:
    """Yield containment inside files, by qualified names; the first chunk represents the file."""
    files = _of(places, *LINE_KINDS)
    if not files or EdgeType.CONTAINS not in dict(moves):
        return
    documents = store.documents({place.document for place in files})
    parts = store.chunks(chain.from_iterable(document.rows for document in documents.values()))
    for place in files:
        inside = [parts[row] for row in documents[place.document].rows if row in parts]
        yield from (step for step in _containment(parts[place.row], inside) if step[1:3] in moves)


def _containment(part: StoredChunk, inside: Sequence[StoredChunk]) -> Iterator[_Step]:
    """Yield the steps from a chunk to what it contains, and to what contains it."""
    for other in inside:
        if _owner(other, inside) == part.row:
            yield part.row, EdgeType.CONTAINS, Direction.OUT, other.row
    if owner := _owner(part, inside):
        yield part.row, EdgeType.CONTAINS, Direction.IN, owner


def _owner(part: StoredChunk, inside: Sequence[StoredChunk]) -> int:
    """Return the row of the chunk that contains one: by its name, else the first chunk of its file; 0 for that one."""
    above = part.name.rpartition(".")[0]
    by_name = next((chunk.row for chunk in inside if chunk.name == above), 0) if above else 0
    return by_name or (inside[0].row if part.row != inside[0].row else 0)


def _names(
    relations: Relations, places: Mapping[int, Place], moves: _Moves, named: Named
) -> Iterator[tuple[int, EdgeType, Direction, int, int]]:
    """Yield calls and inheritance, each with the line of the call (0 for inheritance)."""
    code = sorted(place.row for place in _of(places, Kind.CODE))
    if not code or dict(moves).keys().isdisjoint((EdgeType.CALLS, EdgeType.INHERITS)):
        return
    # For up to so many chunks in a step all callers are searched.
    # Files parsed for the callers of more chunks together, so that a step needs half a second at most.
    limit = MAX_FILES if len(code) <= 5 else max(100 // len(code), 1)
    relations.code.load(code)
    relations.code.load_files(relations.code.document_of(row).key for row in code)
    for row in code:
        definitions = named.get(row) or [*filter(None, [relations.definition(row)])]
        yield from ((row, *step) for step in _names_of(relations, row, definitions, moves, limit))


def _names_of(
    relations: Relations, row: int, definitions: Sequence[CodeDefinition], moves: _Moves, limit: int
) -> Iterator[tuple[EdgeType, Direction, int, int]]:
    if (EdgeType.CALLS, Direction.OUT) in moves:
        for call in relations.callees(row):
            yield EdgeType.CALLS, Direction.OUT, call.definition.row, call.line
    for definition in definitions:
        if (EdgeType.CALLS, Direction.IN) in moves:
            for site in relations.callers(definition, limit).sites:
                yield EdgeType.CALLS, Direction.IN, site.row, site.line
        for side, classes in ((Direction.OUT, relations.bases), (Direction.IN, relations.heirs)):
            if (EdgeType.INHERITS, side) in moves:
                yield from ((EdgeType.INHERITS, side, other.row, 0) for other in classes(definition))


def _imports(store: Store, places: Mapping[int, Place], moves: _Moves) -> Iterator[_Step]:
    """Yield imports between files, each by its first chunk: importers concern a file, not each of its functions."""
    code = _of(places, Kind.CODE)
    files = [place for place in code if place.is_first]
    for direction, pairs, sources in ((Direction.OUT, import_targets, code), (Direction.IN, importers, files)):
        if sources and (EdgeType.IMPORTS, direction) in moves:
            yield from ((source, EdgeType.IMPORTS, direction, target) for source, target in pairs(store, sources))


def _touched(store: Store, places: Mapping[int, Place], moves: _Moves) -> Iterator[_Step]:
    """Yield the files that commits changed."""
    commits = [place.row for place in _of(places, Kind.COMMIT)]
    if commits and (EdgeType.TOUCHES, Direction.OUT) in moves:
        edges = store.edges_from(commits, [EdgeType.TOUCHES])
        paths = {path for _, _, path in edges}
        rows = dict[str, int]()
        for kind in reversed(LINE_KINDS):
            rows |= store.first_rows(kind, paths)
        for source, _, path in edges:
            if path in rows:
                yield source, EdgeType.TOUCHES, Direction.OUT, rows[path]


def _touching(store: Store, places: Mapping[int, Place], moves: _Moves) -> Iterator[_Step]:
    """Yield the commits that changed files."""
    files: dict[str, list[int]] = defaultdict(list)
    for place in _of(places, *LINE_KINDS):
        files[place.key].append(place.row)
    if files and (EdgeType.TOUCHES, Direction.IN) in moves:
        for commit, _, path in store.edges_to(sorted(files), [EdgeType.TOUCHES]):
            for row in files[path]:
                yield row, EdgeType.TOUCHES, Direction.IN, commit


_HUBS_NAMED = 3


class StartNode(NamedTuple):
    """A node at distance 0. `factor` is its worth relative to the best one; 1 for a node that the query names.

    One that is not `walked` is a match beyond the best ones: the walk may reach it, but does not start there. `names`
    are the definitions that the query names, empty for that of the chunk.
    """

    row: int
    factor: float
    walked: bool = True
    names: tuple[CodeDefinition, ...] = ()


class Reached(NamedTuple):
    """A node that a walk reached. `step` led to it, None for a source.

    `source_factor` is that of the source, `edge_factor` the worth of the relations on the path, both 0 to 1.
    """

    place: Place
    distance: int
    source_factor: float
    edge_factor: float
    step: WalkEdge | None = None

    @property
    def nearness(self) -> float:
        """1 for the best source, falling with each step: source and relations times 1 / (distance + 1)."""
        return self.source_factor * self.edge_factor / (self.distance + 1)


class Bounds(NamedTuple):
    """Limits of a walk; `clock` gives seconds."""

    depth: int
    max_nodes: int
    deadline_seconds: float
    clock: Callable[[], float] = time.monotonic


class GraphWalk(NamedTuple):
    """The nodes that were reached, by row, and warnings about those left out. `timed_out`: another run may reach more.

    `pairs` are the relations that the walk saw between nodes that were reached.
    """

    reached: Mapping[int, Reached]
    pairs: tuple[tuple[int, int], ...] = ()
    warnings: tuple[str, ...] = ()
    timed_out: bool = False

    def path(self, row: int) -> tuple[WalkEdge, ...]:
        """Return the steps from the source to a node; none for a source."""
        steps = []
        at = self.reached[row]
        while at.step is not None:
            steps.append(at.step)
            at = self.reached[at.step.source]
        return tuple(reversed(steps))


def walk(
    store: Store,
    sources: Sequence[StartNode],
    lens: Lens,
    relevance: Relevance,
    bounds: Bounds,
    *,
    by_names: bool = False,
) -> GraphWalk:
    """Walk from the sources as far as the lens and the bounds allow; `by_names` also over names that they share."""
    started = bounds.clock()
    progress = _Progress(store, sources, lens, relevance, bounds.max_nodes)
    frontier, timed_out = list(progress.reached), False
    for distance in range(1, bounds.depth + 1):
        timed_out = bool(frontier) and bounds.clock() - started > bounds.deadline_seconds
        if timed_out:
            progress.warnings.append(f"stopped after {bounds.deadline_seconds:g} s at distance {distance - 1}")
        if timed_out or not frontier:
            break
        frontier = progress.step(frontier, distance, by_names=by_names and distance == 1)
    progress.warnings += _further_uses(progress, lens)
    every = {**progress.matched, **progress.reached}
    together = tuple(dict.fromkeys(pair for pair in progress.pairs if every.keys() >= {*pair}))
    notes = _hub_notes(progress.hubs, progress.relations.code)
    return GraphWalk(every, together, (*notes, *progress.warnings), timed_out)


class _Progress:
    """A walk under way: the matches, the nodes that are reached, the relations seen, and notes on what is left out."""

    def __init__(
        self, store: Store, sources: Sequence[StartNode], lens: Lens, relevance: Relevance, max_nodes: int
    ) -> None:
        self._store, self._lens, self._relevance, self._max_nodes = store, lens, relevance, max_nodes
        places = store.places(source.row for source in sources)
        present = [source for source in sources if source.row in places]
        self.matched = {source.row: Reached(places[source.row], 0, source.factor, 1.0) for source in present}
        self.starts = {source.row: self.matched[source.row] for source in present if source.walked}
        self.named = {source.row: source.names for source in present if source.names}
        self.reached = dict(self.starts)
        self.relations = Relations(store)
        self.pairs: list[tuple[int, int]] = []
        self.hubs: dict[int, tuple[int, int]] = {}
        self.warnings: list[str] = []

    def step(self, frontier: Sequence[int], distance: int, *, by_names: bool) -> list[int]:
        """Reach nodes at this distance from those of the frontier; returns them."""
        reached = self.reached
        places = {row: reached[row].place for row in frontier}
        steps = related(self.relations, places, self._lens.moves, self.named)
        if by_names and (notes := _of(places, Kind.NOTE)):
            steps = _with_mentions(self._store, steps, notes, self._lens, self._relevance)
        self._see(steps, {**self.matched, **reached})
        steps = [step for step in steps if step.target not in reached]
        steps = _sampled(self._store, steps, self._relevance, HUB_NODES, self.hubs)
        best = _best(steps, reached)
        kept = _most_relevant(list(best), self._relevance, self._max_nodes - len(reached))
        if len(kept) < len(best):
            left = f"{len(best) - len(kept):,} nodes at distance {distance} left out"
            self.warnings.append(f"{left}: {self._max_nodes:,} is the most")
        places = self._store.places(kept)
        frontier = [row for row in kept if row in places]
        for row in frontier:
            before = reached[best[row].source]
            edge_factor = before.edge_factor * _factor(best[row])
            reached[row] = Reached(places[row], distance, before.source_factor, edge_factor, best[row])
        self._see(steps, places)
        return frontier

    def _see(self, steps: Sequence[WalkEdge], known: Mapping[int, object]) -> None:
        self.pairs += [(step.source, step.target) for step in steps if step.target in known]


def _further_uses(progress: _Progress, lens: Lens) -> Iterator[str]:
    """Yield notes for each of the first definitions: uses other than calls, and lines that nothing resolves."""
    if (EdgeType.CALLS, Direction.IN) not in [move[:2] for move in lens.moves]:
        return
    relations, rows = progress.relations, [row for row, at in progress.starts.items() if at.place.kind is Kind.CODE]
    named = (progress.named.get(row) or [*filter(None, [relations.definition(row)])] for row in rows)
    for target in [*chain.from_iterable(named)][:3]:
        sites, uses = relations.callers(target).sites, relations.uses(target)
        lines, unread, _ = relations.unresolved(target, (*sites, *uses), has_uses=True)
        end = f"; {unread} more file{'s' if unread > 1 else ''} not read" if unread else ""
        by_value: dict[str, list[int]] = defaultdict(list)
        for site in (use for use in uses if use.how == USE):
            by_value[site.path].append(site.line)
        for found, what, last in (
            (by_value, ("use by value", "uses by value"), ""),
            (lines, [f"more call{s} of `{target.name}` by text could not be resolved" for s in ("", "s")], end),
            (relations.elsewhere(target, sites), [
                f"line{in_other} {target.name}, not resolved"
                for in_other in (" in another language contains", "s in other languages contain")
            ], ""),
        ):  # fmt: skip
            if count := sum(map(len, found.values())):
                shown = "; ".join(
                    f"{path}:{', '.join(map(str, numbers[:5]))}" for path, numbers in [*found.items()][:5]
                )
                more = f"; and {len(found) - 5} more files" if len(found) > 5 else ""
                yield f"{target.qualified}: {count} {what[count > 1]}{last}: {shown}{more}"


def _with_mentions(
    store: Store, steps: list[WalkEdge], notes: Sequence[Place], lens: Lens, relevance: Relevance
) -> list[WalkEdge]:
    """Return the steps with, by source, those to the few notes that share the rarest names and are most relevant."""
    move = {move.type: move for move in lens.moves}.get(EdgeType.MENTION)
    if move is None:
        return steps
    linked = {(step.source, step.target) for step in steps}
    for source, shared in groupby(sharing(store, [note.row for note in notes]), key=itemgetter(0)):
        found = [WalkEdge(source, move, row, share=share) for _, row, share in shared if (source, row) not in linked]
        # Added to the relevance of a note that shares a name, so that of several without words of the query the
        # rarest name decides.
        worth = relevance.of([*map(attrgetter("target"), found)]) + 0.1
        best = np.argsort(-worth * [step.share for step in found], kind="stable")
        # With ten of them the multi-hop passages measure no better, and an answer costs a third more.
        steps = [*steps, *(found[place] for place in best[:5])]
    return sorted(steps, key=lambda step: step.source)


def _sampled(
    store: Store, steps: Sequence[WalkEdge], relevance: Relevance, limit: int, hubs: dict[int, tuple[int, int]]
) -> list[WalkEdge]:
    """Return steps to each node's best `limit` neighbours, tests last; nodes with more get both counts in `hubs`."""
    kept: list[WalkEdge] = []
    for source, group in groupby(steps, key=lambda step: step.source):
        from_source = list(group)
        targets = list(dict.fromkeys(step.target for step in from_source))
        if len(targets) > limit:
            hubs[source] = (limit, len(targets))
            chosen = _best_neighbours(store, targets, relevance, limit)
            from_source = [step for step in from_source if step.target in chosen]
        kept += from_source
    return kept


def _best_neighbours(store: Store, rows: Sequence[int], relevance: Relevance, limit: int) -> set[int]:
    places = store.places(rows)
    production = [row for row in rows if row not in places or not places[row].secondary]
    chosen = set(_most_relevant(production, relevance, limit))
    rest = [row for row in rows if row not in chosen]
    return chosen | set(_most_relevant(rest, relevance, limit - len(chosen)))


def _most_relevant(rows: Sequence[int], relevance: Relevance, limit: int) -> list[int]:
    """Return the most relevant of these chunks, at most so many, in the order of their row numbers."""
    if len(rows) <= limit:
        return sorted(rows)
    listed = np.array(sorted(rows))
    order = np.argsort(-relevance.of(listed.tolist()), kind="stable")
    return sorted(listed[order[: max(limit, 0)]].tolist())


def _best(steps: Sequence[WalkEdge], reached: Mapping[int, Reached]) -> dict[int, WalkEdge]:
    """Return the best step to each node; of equal ones the first in order of source, relation and direction."""
    best: dict[int, tuple[float, WalkEdge]] = {}
    for step in steps:
        before = reached[step.source]
        worth = before.source_factor * before.edge_factor * _factor(step)
        if step.target not in best or worth > best[step.target][0]:
            best[step.target] = (worth, step)
    return {target: step for target, (_, step) in best.items()}


def _factor(step: WalkEdge) -> float:
    # A step over the second relation of a lens is worth so much less than one over the first, and so on: enough to
    # order nodes of equal distance, too little to put a near node behind a far one.
    return (1 - 0.05 * step.move.rank) * step.share


def _hub_notes(hubs: Mapping[int, tuple[int, int]], code: Code) -> list[str]:
    """Return notes about neighbours left out, the nodes with most neighbours first, three by name."""
    rows = sorted(hubs, key=lambda row: (-hubs[row][1], row))
    notes = []
    code.load(rows[:_HUBS_NAMED])
    for row in rows[:_HUBS_NAMED]:
        name = code.part(row).name or code.document_of(row).title or code.document_of(row).key
        notes.append(f"{name}: {hubs[row][0]:,} of {hubs[row][1]:,} new neighbours followed, the most relevant")
    more = len(rows) - len(notes)
    return [*notes, f"{more} more nodes with many neighbours were sampled"] if more else notes
