"""The order of turns in conversations, and scores with those of neighbouring turns.

A turn is short, and the turn before it has the question that it answers. So neighbours in the same session get a part
of a turn's score, and the turn after a question gets more. Measured on LoCoMo (benchmarks/memory.py):
R@10 .647 without neighbours, .748 with them, .768 with questions handed on, .787 with all of this file; each constant
moved by half of itself changes that by at most a point.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from satchel.search.bm25 import FloatArray
from satchel.search.query import Query
from satchel.sources.conversations import ASKS
from satchel.store.lexicon import Lexicon
from satchel.store.protocol import Store
from satchel.store.segments import IntArray
from satchel.types import Kind

NEIGHBOUR_WEIGHTS = (0.3, 0.3, 0.15)
"""Shares of the scores of turns 1, 2 and 3 places before and after that are added to a turn."""

ANSWER_WEIGHT = 0.4
"""Additional share of the score of a question that is added to the turn right after it."""

SPEAKER_BONUS = 0.2
"""Added to the factor of a turn of a named person, who mostly has the answer."""

QUESTION_PENALTY = 0.2
"""Subtracted from the factor of a turn that only asks, which is less often the answer."""

HALF_WEIGHT_TERMS = 4
"""A turn of so many terms counts half, one of twice as many two thirds: "Thanks!" says nothing by itself."""


@dataclass(frozen=True, slots=True)
class Order:
    """Chunks of a lexicon in the order of their turns, session after session.

    `chunks` are positions in the lexicon; `session` numbers the session of each. Exchanges of one session have
    keys that sort by time, so the order needs neither their texts nor their fields.
    """

    chunks: IntArray
    session: IntArray

    def shifted(self, values: FloatArray, places: int) -> FloatArray:
        """Return for every chunk the value of the one so many places before it in its session, 0 if there is none."""
        result = np.zeros(len(values))
        count = len(self.chunks)
        if abs(places) >= count:
            return result
        to, source = (
            (slice(places, None), slice(count - places)) if places > 0 else (slice(places), slice(-places, None))
        )
        same = self.session[to] == self.session[source]
        result[self.chunks[to][same]] = values[self.chunks[source][same]]
        return result


def order_of(store: Store, kind: Kind, lexicon: Lexicon) -> Order:
    """Return the order of a lexicon's live chunks, computed once for each revision."""
    return lexicon.derived(Order, lambda: _order(store, kind, lexicon))


def _order(store: Store, kind: Kind, lexicon: Lexicon) -> Order:
    columns = lexicon.columns
    keys = {stamp.document: key for key, stamp in store.stamps(kind).items()}
    live = np.flatnonzero(lexicon.live_chunk).tolist()
    owners = columns.document_id[columns.chunk_document[live]].tolist() if live else []
    placed = sorted((keys[owner], chunk) for chunk, owner in zip(live, owners, strict=True) if owner in keys)
    sessions: dict[str, int] = {}
    # The key of an exchange is `SESSION/20260501T103000-1a2b3c4d`.
    numbers = [sessions.setdefault(key.rpartition("/")[0], len(sessions)) for key, _ in placed]
    return Order(np.array([chunk for _, chunk in placed], dtype=np.int64), np.array(numbers, dtype=np.int64))


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Neighbours of the chunks of a lexicon and factors of the chunks, for one question."""

    order: Order
    asks: npt.NDArray[np.bool_]
    worth: FloatArray
    """Factor of each chunk, 0 to 1.2: by its length, by its speaker, and less where it only asks."""

    def spread(self, scores: FloatArray) -> FloatArray:
        """Return the scores with shares of those of neighbours and of preceding questions."""
        result = scores.copy()
        for places, weight in enumerate(NEIGHBOUR_WEIGHTS, 1):
            result += weight * (self.order.shifted(scores, places) + self.order.shifted(scores, -places))
        return result + ANSWER_WEIGHT * self.order.shifted(scores * self.asks, 1)

    def best(self, shares: FloatArray) -> FloatArray:
        """Return matched shares, each the best of a chunk's own and the weighted ones of its neighbours."""
        nearest = NEIGHBOUR_WEIGHTS[0]
        around = np.maximum(self.order.shifted(shares, 1), self.order.shifted(shares, -1)) * nearest
        answers = self.order.shifted(shares * self.asks, 1) * (nearest + ANSWER_WEIGHT)
        result: FloatArray = np.maximum(shares, np.maximum(around, answers))
        return result


def surroundings(store: Store, kind: Kind, lexicon: Lexicon, query: Query) -> Surroundings:
    """Return the surroundings of the chunks of a kind that consists of sessions."""
    columns = lexicon.columns
    marked, *term_postings = lexicon.postings([ASKS, *(term.term for term in query.terms)])
    asking = np.zeros(len(columns.document_id), dtype=bool)
    asking[marked.path[0]] = True
    asks = asking[columns.chunk_document]
    speakers = np.zeros(len(columns.chunk_row))
    for speaking in term_postings:
        speakers[speaking.signature[0]] = 1.0
    length = lexicon.chunk_length
    worth = (1 + SPEAKER_BONUS * speakers) * (1 - QUESTION_PENALTY * asks) * length / (length + HALF_WEIGHT_TERMS)
    return Surroundings(order_of(store, kind, lexicon), asks, worth)
