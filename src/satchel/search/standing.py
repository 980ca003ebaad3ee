"""Where one file stands among all files of its kind for a question, also far below what is ever shown."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from satchel.search import code
from satchel.search.history import Votes
from satchel.search.likeness import Likeness, similar_documents
from satchel.search.query import Query
from satchel.store.protocol import Store
from satchel.types import Kind, Signal


@dataclass(frozen=True, slots=True)
class FileStanding:
    """`rank` counts from 1 and is 0 for a file that matches nothing; `of` is how many files match.

    `relevance` is absolute, 0 to 1: that of its best part, as `search_kind` gives it.
    """

    rank: int
    of: int
    relevance: float
    signals: tuple[Signal, ...]


def file_standing(
    query: Query,
    store: Store,
    kind: Kind,
    path: str,
    votes: Votes,
    likeness: Likeness | None = None,
    weights: code.FileWeights = (),
) -> FileStanding:
    """The standing of an indexed file of a kind; nothing matches where the question has no meaningful word.

    `likeness` is that of `search_kind`, for kinds that are compared by meaning too, `weights` those of `code.rank`.
    """
    lexicon = store.lexicon(kind)
    bundle = store.bundle(kind, path)
    if bundle is None or not query.terms or bundle.id not in lexicon.columns.bundle_id:
        return FileStanding(0, 0, 0.0, ())
    similar = similar_documents(lexicon, likeness) if likeness is not None else None
    nearness = np.maximum(similar.contrast, 0.0) if similar is not None else None
    ranking = code.rank(query, store, lexicon, kind, votes, similar=nearness, weights=weights)
    position = int(np.flatnonzero(lexicon.columns.bundle_id == bundle.id)[0])
    matching = int(np.count_nonzero(ranking.file_score > 0))
    if ranking.file_score[position] <= 0:
        return FileStanding(0, matching, 0.0, ())
    values = [(name, float(row[position])) for name, row in ranking.file_signals.items()]
    signals = [Signal(name, round(value, 4), ranking.weights[name]) for name, value in values if value > 0]
    signals.append(Signal("file score", round(float(ranking.file_score[position]), 4), code.VALUE_FILE))
    if ranking.peripheral[position]:
        signals.append(Signal("peripheral", 1.0, round(math.log(code.SECONDARY_FACTOR), 4)))
    strength = ranking.evidence.strength
    if similar is not None:
        strength = max(strength, float(similar.relevance.max(initial=0.0)))
    first = int(lexicon.bundle_first_window[position])
    windows = range(first, first + int(lexicon.bundle_window_count[position]))
    relevance = float(code.relevance(ranking, lexicon, windows, strength).max(initial=0.0))
    own = lexicon.columns.document_bundle == position
    relevance = max([relevance, *(place.strength for place in ranking.mentions.places if own[place.document])])
    return FileStanding(int(ranking.file_rank[position]) + 1, matching, relevance, tuple(signals))
