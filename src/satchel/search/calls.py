"""One hop over calls: what the best candidates call, and what calls them, gains a little value.

Measured: calls on the value of a window add 1.5 points of span@4k; spreading scores over the graph before ranking
loses. So this signal only breaks ties between windows (docs/decisions/0002). Every search asks for it, so it takes
calls by their bare names as the index has them; which definition a call means is settled in `relations`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from satchel.search.bm25 import FloatArray
from satchel.store.lexicon import Lexicon
from satchel.store.protocol import Store
from satchel.types import EdgeType

SEEDS = 20
CALLER_WEIGHT = 0.7
"""A callee of a good candidate is worth 1, a caller this much."""

MOST_DEFINITIONS = 4
"""A name defined more often is ambiguous: its calls are not followed."""


def neighbours(seeds: Sequence[tuple[int, float]], store: Store, lexicon: Lexicon) -> FloatArray:
    """One value a document: weighted support from `seeds` (document positions with their scores, best first)."""
    support = np.zeros(len(lexicon.columns.document_row))
    rows = lexicon.columns.document_row
    score_of = {int(rows[position]): value for position, value in seeds}
    parts = store.parts(score_of)
    called: dict[int, list[str]] = defaultdict(list)
    for row, _, target in store.edges_from(sorted(score_of), [EdgeType.CALLS]):
        called[row].append(target)
    own = {row: part.name.rpartition(".")[2] for row, part in parts.items() if part.name}
    names = {name for targets in called.values() for name in targets} | set(own.values())
    clear: dict[str, list[int]] = defaultdict(list)
    for definition in store.definitions(sorted(names), most=MOST_DEFINITIONS):
        clear[definition.name].append(definition.row)
    callers: dict[str, list[int]] = defaultdict(list)
    for row, _, target in store.edges_to(sorted(set(own.values()) & set(clear)), [EdgeType.CALLS]):
        callers[target].append(row)
    gained: dict[int, float] = defaultdict(float)
    for row, value in score_of.items():
        _spread(gained, row, value, {r: 1 / len(clear[n]) for n in called[row] if n in clear for r in clear[n]})
        name = own.get(row, "")
        if name in clear:
            share = CALLER_WEIGHT / len(clear[name])
            _spread(gained, row, value, dict.fromkeys(callers[name], share))
    places = lexicon.document_positions(gained)
    support[places[places >= 0]] = np.array(list(gained.values()))[places >= 0]
    support[~lexicon.live_document] = 0.0
    return support


def _spread(gained: dict[int, float], source: int, value: float, reached: dict[int, float]) -> None:
    """Give each reached document its part of the source's value, shared over the square root of how many there are."""
    degree = len(reached)
    for row, weight in reached.items():
        if row != source:
            gained[row] += value * weight / (degree + 1) ** 0.5
