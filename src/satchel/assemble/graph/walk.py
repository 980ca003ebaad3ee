"""Breadth first over the relations, from several sources at once.

Every node is visited once, at its smallest distance, so circles end. Of the ways to it at that distance the best one
counts: from the most relevant source, over the most important relations. Three caps bound the work, and each says so
where it was reached: neighbours of a single node, nodes in all, and seconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from satchel.assemble.graph.lenses import Direction, Lens
from satchel.assemble.graph.relations import Related, related
from satchel.assemble.graph.relevance import Relevance
from satchel.assemble.graph.resolve import Source
from satchel.search.relations import Relations
from satchel.store.protocol import Store
from satchel.store.records import Place
from satchel.types import EdgeType

RANK_FADE = 0.05
"""A step over the second relation of a lens is worth so much less than one over the first, and so on: enough to order
what is equally near, too little to put what is near behind what is far."""


@dataclass(frozen=True, slots=True)
class Hop:
    """One step of a path: the relation, its direction, the node that it leads to, and the line of a call (else 0)."""

    row: int
    type: EdgeType
    direction: Direction
    line: int = 0


@dataclass(frozen=True, slots=True)
class Reached:
    """A node that a walk came to. `previous` is the node before it, None for a source.

    `source_factor` is that of the source, `edge_factor` the worth of the relations on the way, both 0 to 1.
    """

    place: Place
    distance: int
    source_factor: float
    edge_factor: float
    previous: int | None = None
    hop: Hop | None = None

    @property
    def nearness(self) -> float:
        """1 for the best source, falling with each step: source and relations times 1 / (distance + 1)."""
        return self.source_factor * self.edge_factor / (self.distance + 1)


@dataclass(frozen=True, slots=True)
class Bounds:
    """How far a walk goes. `hub_nodes` are the most neighbours taken of one node; `clock` gives seconds."""

    depth: int
    max_nodes: int
    hub_nodes: int
    deadline_seconds: float
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True, slots=True)
class Walk:
    """All that was reached, by row, and what was left out on the way. `timed_out`: another run may reach more.

    `pairs` are the relations between nodes that were reached, as far as the walk saw them.
    """

    reached: Mapping[int, Reached]
    pairs: tuple[tuple[int, int], ...] = ()
    warnings: tuple[str, ...] = ()
    timed_out: bool = False

    def path(self, row: int) -> tuple[Hop, ...]:
        """The way from the source to a node, one hop a step; empty for a source."""
        hops = []
        at = self.reached[row]
        while at.hop is not None and at.previous is not None:
            hops.append(at.hop)
            at = self.reached[at.previous]
        return tuple(reversed(hops))


def walk(store: Store, sources: Sequence[Source], lens: Lens, relevance: Relevance, bounds: Bounds) -> Walk:
    """Walk from the sources as far as the lens and the bounds allow."""
    started = bounds.clock()
    places = store.places(source.row for source in sources)
    matched = {
        source.row: Reached(places[source.row], 0, source.factor, 1.0) for source in sources if source.row in places
    }
    reached = {source.row: matched[source.row] for source in sources if source.walked and source.row in matched}
    pairs: list[tuple[int, int]] = []
    warnings: list[str] = []
    frontier = list(reached)
    relations = Relations(store)
    hubs: dict[int, tuple[int, int]] = {}
    timed_out = False
    for distance in range(1, bounds.depth + 1):
        if not frontier:
            break
        if bounds.clock() - started > bounds.deadline_seconds:
            timed_out = True
            warnings.append(f"stopped after {bounds.deadline_seconds:g} s at distance {distance - 1}")
            break
        steps = related(relations, {row: reached[row].place for row in frontier}, lens.moves)
        pairs += [(step.source, step.target) for step in steps if step.target in reached or step.target in matched]
        steps = _sampled(
            store, [step for step in steps if step.target not in reached], relevance, bounds.hub_nodes, hubs
        )
        best = _best(steps, reached)
        room = bounds.max_nodes - len(reached)
        kept = _most_relevant(list(best), relevance, room)
        if len(kept) < len(best):
            warnings.append(
                f"{len(best) - len(kept):,} nodes at distance {distance} left out: {bounds.max_nodes:,} is the most"
            )
        found = store.places(kept)
        frontier = [row for row in kept if row in found]
        for row in frontier:
            reached[row] = _arrived(best[row], found[row], reached[best[row].source], distance)
        pairs += [(step.source, step.target) for step in steps if step.target in found]
    every = {**matched, **reached}
    together = tuple(dict.fromkeys(pair for pair in pairs if pair[0] in every and pair[1] in every))
    return Walk(every, together, (*_hub_notes(hubs, reached), *warnings), timed_out)


def _sampled(
    store: Store, steps: Sequence[Related], relevance: Relevance, most: int, hubs: dict[int, tuple[int, int]]
) -> list[Related]:
    """The steps, of each node those to its most relevant `most` neighbours, production code before tests.

    What was left out is noted in `hubs`.
    """
    kept: list[Related] = []
    for source, group in groupby(steps, key=lambda step: step.source):
        own = list(group)
        targets = list(dict.fromkeys(step.target for step in own))
        if len(targets) > most:
            hubs[source] = (most, len(targets))
            places = store.places(targets)
            production = [row for row in targets if row not in places or not places[row].secondary]
            chosen = set(_most_relevant(production, relevance, most))
            rest = [row for row in targets if row not in chosen]
            chosen |= set(_most_relevant(rest, relevance, most - len(chosen)))
            own = [step for step in own if step.target in chosen]
        kept += own
    return kept


def _most_relevant(rows: Sequence[int], relevance: Relevance, most: int) -> list[int]:
    """The most relevant of these documents, at most so many, in the order of their row numbers."""
    if len(rows) <= most:
        return sorted(rows)
    listed = np.array(sorted(rows))
    order = np.argsort(-relevance.of(listed.tolist()), kind="stable")
    return sorted(listed[order[: max(most, 0)]].tolist())


def _worth(step: Related, reached: Mapping[int, Reached]) -> float:
    """What the way over this step is worth, without the distance."""
    before = reached[step.source]
    return before.source_factor * before.edge_factor * (1 - RANK_FADE * step.move.rank)


def _best(steps: Sequence[Related], reached: Mapping[int, Reached]) -> dict[int, Related]:
    """For each node the best step to it; of equal ones the first in order of source, relation and direction."""
    best: dict[int, tuple[float, Related]] = {}
    for step in steps:
        worth = _worth(step, reached)
        known = best.get(step.target)
        if known is None or worth > known[0]:
            best[step.target] = (worth, step)
    return {target: step for target, (_, step) in best.items()}


def _arrived(step: Related, place: Place, before: Reached, distance: int) -> Reached:
    return Reached(
        place, distance, before.source_factor, before.edge_factor * (1 - RANK_FADE * step.move.rank), step.source,
        Hop(step.target, step.move.type, step.move.direction, step.line),
    )  # fmt: skip


def _hub_notes(hubs: Mapping[int, tuple[int, int]], reached: Mapping[int, Reached]) -> list[str]:
    """What was left out around nodes with many neighbours, the largest first, three by name."""
    rows = sorted(hubs, key=lambda row: (-hubs[row][1], row))
    notes = [
        f"{reached[row].place.key}: {hubs[row][0]:,} of {hubs[row][1]:,} new neighbours followed, the most relevant"
        for row in rows[:_HUBS_NAMED]
    ]
    more = len(rows) - len(notes)
    return [*notes, f"{more} more nodes with many neighbours were sampled"] if more else notes


_HUBS_NAMED = 3
