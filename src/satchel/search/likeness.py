"""What the vectors say of the documents of a kind, for one question, on the scale of relevance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from satchel.search.bm25 import FloatArray
from satchel.store.lexicon import Lexicon
from satchel.store.segments import IntArray

UNRELATED_COSINE = 0.19
UNRELATED_PRIOR = 20
"""The mean similarity of a question to all documents of a kind is what means nothing; while there are few documents
it is pulled to this, as if there were so many more of them. A little more than what the bundled model gives on LoCoMo
(.17, benchmarks/results/vectors.json): of few documents rather too little is said than too much."""

VECTOR_FLOOR = 0.35
"""Similarity above the mean, as a share of what is possible, that counts as relevance 0. Questions about other people's
conversations stay below .43 in 99 of 100 cases: vectors alone lift 8 of 1,000 such questions above the floor of a
context (relevance .14), and 735 of 1,000 that have an answer (benchmarks/results/vectors.json)."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Cosine similarity (-1 to 1) of a question to those documents of a kind that have a vector, by row number."""

    rows: IntArray
    values: FloatArray


@dataclass(frozen=True, slots=True)
class Similar:
    """One value a document of a lexicon, 0 where it has no vector.

    `cosine` is -1 to 1; `contrast` what lies above the usual for this question, as a share of what is possible (below
    0 for less than usual); `relevance` is 0 to 1, on the scale of the matched share of a question's words. `count`
    live documents have a vector.
    """

    cosine: FloatArray
    contrast: FloatArray
    relevance: FloatArray
    count: int


def similar_documents(lexicon: Lexicon, likeness: Likeness) -> Similar:
    """The likeness of every live document of the lexicon."""
    cosine, has_vector = _by_document(lexicon, likeness)
    count = int(has_vector.sum())
    contrast = _contrast(cosine, has_vector, count)
    relevance = np.clip((contrast - VECTOR_FLOOR) / (1 - VECTOR_FLOOR), 0.0, 1.0)
    return Similar(cosine, contrast, relevance, count)


def _by_document(lexicon: Lexicon, likeness: Likeness) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """Similarity of every live document of the lexicon, and which of them have a vector."""
    rows = lexicon.columns.document_row
    similar = np.zeros(len(rows))
    has_vector = np.zeros(len(rows), dtype=bool)
    if len(likeness.rows):
        order = np.argsort(likeness.rows, kind="stable")
        known = likeness.rows[order]
        place = np.minimum(np.searchsorted(known, rows), len(known) - 1)
        has_vector = (known[place] == rows) & lexicon.live_document
        similar[has_vector] = likeness.values[order][place][has_vector]
    return similar, has_vector


def _contrast(similar: FloatArray, has_vector: npt.NDArray[np.bool_], count: int) -> FloatArray:
    """Similarity above what is usual for this question, as a share of what is possible; 0 without a vector.

    Models differ in what they give two unrelated texts (.15 or .7): the mean over the kind tells.
    """
    usual = (float(similar[has_vector].sum()) + UNRELATED_PRIOR * UNRELATED_COSINE) / (count + UNRELATED_PRIOR)
    return np.where(has_vector, (similar - usual) / max(1 - usual, 1e-6), 0.0)
