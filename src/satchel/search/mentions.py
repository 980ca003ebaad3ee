"""What the question names outright: files, symbols and stack-trace lines, looked up exactly.

Weights from the retrieval recipe (docs/decisions/0002): in all they add 1 point of r@5 and 3 of r@1. Where a pasted
trace leads is found by `satchel.search.frames`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from satchel.search import frames
from satchel.search.bm25 import FloatArray
from satchel.search.query import FORM_WEIGHTS, Mention, Query, Zone
from satchel.search.trace import is_vendored
from satchel.store.lexicon import Lexicon
from satchel.store.protocol import Store
from satchel.store.segments import IntArray

PATH_SUFFIX_WEIGHT = 4.0
FILE_NAME_WEIGHT = 3.0
STEM_WEIGHTS = {"backticks": 1.5, "dotted": 1.2, "compound": 1.0, "call": 0.5, "capitalised": 0.5, "plain": 0.5}
"""What naming a file is worth: two or more path segments, its file name, its module stem; divided by the matches."""

TITLE_FACTOR = 1.5
CODE_FACTOR = 0.7
"""A path in the title says more, one in pasted code or a trace less."""

OWNER_FACTOR = 2.5
"""`Session.send` names `send` of class `Session`: worth this much more than any `send`."""

MOST_DEFINITIONS = 30
"""A name defined more often than this says nothing about where."""

DEFINITION_EXPONENT = 0.7

BARE_NAMES = frozenset({"__init__.py", "mod.rs", "index.js", "index.ts", "index.tsx", "main.rs", "lib.rs", "index.jsx"})
"""File names that every folder has."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """Exact look-ups: `path` by bundle; `symbol` and `trace` by document (positions in the lexicon).

    `places` are where the frames of a pasted trace lead, the best first; `trace` is the strength of each document that
    the question names by a line, in a frame or in prose.
    """

    path: FloatArray
    symbol: FloatArray
    trace: FloatArray
    places: tuple[frames.Place, ...] = ()


def look_up(query: Query, store: Store, lexicon: Lexicon) -> Mentions:
    """Resolve what the query names against the store."""
    values = _path_values(query, store)
    path = _placed(lexicon.bundle_positions(values), values, len(lexicon.columns.bundle_id))
    values = _symbol_values(query, store)
    symbol = _placed(lexicon.document_positions(values), values, len(lexicon.columns.document_row))
    places, mentioned = frames.places(query.trace, store, lexicon)
    trace = np.zeros(len(symbol))
    for place in (*mentioned, *reversed(places)):
        trace[place.document] = place.strength
    path[~lexicon.live_bundle] = 0.0
    symbol[~lexicon.live_document] = 0.0
    return Mentions(path, symbol, trace, tuple(places))


def _placed(positions: IntArray, values: Mapping[int, float], total: int) -> FloatArray:
    """The values at their positions; those at -1 are left out."""
    column = np.zeros(total)
    inside = positions >= 0
    column[positions[inside]] = np.fromiter(values.values(), dtype=np.float64)[inside]
    return column


def _path_values(query: Query, store: Store) -> dict[int, float]:
    """Bundle id -> what the query's paths and module names are worth to it; the best mention counts."""
    values: dict[int, float] = defaultdict(float)
    names = {mention.text.rpartition("/")[2] for mention in query.paths}
    stems = {mention.text: mention for mention in query.symbols}
    by_name: dict[str, list[tuple[int, str]]] = defaultdict(list)
    by_stem: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for bundle, path in store.paths_named(sorted(names), sorted(stems)):
        name = path.rpartition("/")[2]
        by_name[name].append((bundle, path))
        by_stem[name.rpartition(".")[0] or name].append((bundle, path))
    for mention in query.paths:
        name = mention.text.rpartition("/")[2]
        matches, worth = _path_matches(mention.text, by_name.get(name, []))
        by_name_only = worth == FILE_NAME_WEIGHT
        if not matches or (by_name_only and (name in BARE_NAMES or is_vendored(mention.text))):
            continue
        for bundle in matches:
            values[bundle] = max(values[bundle], worth / len(matches) * _zone_factor(mention))
    for stem, mention in stems.items():
        matches = [bundle for bundle, path in by_stem.get(stem, []) if path.rpartition("/")[2] not in BARE_NAMES]
        for bundle in matches:
            worth = STEM_WEIGHTS[mention.form] / len(matches) * _zone_factor(mention)
            values[bundle] = max(values[bundle], worth)
    return values


def _path_matches(mention: str, candidates: Sequence[tuple[int, str]]) -> tuple[list[int], float]:
    """Files that share the longest suffix of the mentioned path: two segments or more beat the file name alone."""
    pieces = [piece for piece in mention.split("/") if piece not in {"", ".", ".."}]
    for length in range(len(pieces), 1, -1):
        suffix = "/".join(pieces[-length:])
        matches = [bundle for bundle, path in candidates if path == suffix or path.endswith("/" + suffix)]
        if matches:
            return matches, PATH_SUFFIX_WEIGHT
    return [bundle for bundle, _ in candidates], FILE_NAME_WEIGHT


def _zone_factor(mention: Mention) -> float:
    if mention.zone is Zone.TITLE:
        return TITLE_FACTOR
    return 1.0 if mention.zone is Zone.PROSE else CODE_FACTOR


def _symbol_values(query: Query, store: Store) -> dict[int, float]:
    """Document row -> the best mention of a name that it defines."""
    by_name = defaultdict(list)
    for definition in store.definitions(sorted({mention.text for mention in query.symbols})):
        by_name[definition.name].append(definition)
    values: dict[int, float] = defaultdict(float)
    for mention in query.symbols:
        found = by_name.get(mention.text, [])
        if not found or len(found) > MOST_DEFINITIONS:
            continue
        worth = FORM_WEIGHTS[mention.form] / len(found) ** DEFINITION_EXPONENT
        for definition in found:
            owner = definition.owner.rpartition(".")[2]
            factor = OWNER_FACTOR if mention.qualifier and owner == mention.qualifier else 1.0
            values[definition.row] = max(values[definition.row], worth * factor)
    return values
