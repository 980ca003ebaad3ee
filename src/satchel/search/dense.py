"""Similarity of meaning: an exact scan over the stored vectors, and its values on the scale of relevance.

Exact, because a scan of 100,000 vectors needs 30 ms and every index over them loses some. For a kind without vectors,
or after a failure of the embedder, only this signal is missing: the words still answer.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel.embed import Embedder, fingerprint
from satchel.errors import EmbeddingError, MissingExtraError
from satchel.search import bm25, weights
from satchel.search.bm25 import FloatArray
from satchel.search.chunks import chunks_of
from satchel.search.query import DISTINCTIVE_FORMS, Query, Zone
from satchel.search.shipped import shipped
from satchel.store.protocol import Store
from satchel.store.segments import IntArray, Lexicon
from satchel.system import telemetry
from satchel.types import Chunk, Failure, Kind

if TYPE_CHECKING:
    import numpy.typing as npt

    from satchel.embed import Vectors

MAX_CANDIDATES, CANDIDATE_CHARACTERS = 50, 100
"""Chunks of code that a table of words embeds for a question, and the first characters of each: file, name and
summary. More chunks find no more; signatures and bodies blur the signal."""


class Likeness(Struct, frozen=True):
    """Cosine similarity (-1 to 1) of a question to those chunks of a kind that have a vector, by row number.

    A table of words (`is_table`) has a floor of its own. With `of_candidates` only chunks that match by words were
    compared.
    """

    rows: IntArray
    values: FloatArray
    is_table: bool = False
    of_candidates: bool = False


class Similar(Struct, frozen=True):
    """One value a chunk of a lexicon, 0 where it has no vector.

    `cosine` is -1 to 1; `contrast` is the excess over the mean for this question, as a share of what is possible
    (negative below the mean); `relevance` is 0 to 1, on the scale of the matched share of a question's words. `count`
    live chunks have a vector, `of_table` says that the static table made them.
    """

    cosine: FloatArray
    contrast: FloatArray
    relevance: FloatArray
    count: int
    of_table: bool


def similar_chunks(lexicon: Lexicon, likeness: Likeness) -> Similar:
    """Return the likeness of every live chunk of the lexicon.

    Models differ in the similarity of two unrelated texts (.15 or .7), so it is compared with the mean over the kind.
    """
    rows = lexicon.columns.chunk_row
    cosine, has_vector = np.zeros(len(rows)), np.zeros(len(rows), dtype=bool)
    if len(likeness.rows):
        order = np.argsort(likeness.rows, kind="stable")
        embedded = likeness.rows[order]
        indices = np.minimum(np.searchsorted(embedded, rows), len(embedded) - 1)
        has_vector = (embedded[indices] == rows) & lexicon.live_chunk
        cosine[has_vector] = likeness.values[order][indices][has_vector]
    count = int(has_vector.sum())
    prior, floor = weights.UNRELATED_PRIOR, weights.TABLE_FLOOR if likeness.is_table else weights.VECTOR_FLOOR
    usual = (float(cosine[has_vector].sum()) + prior * weights.UNRELATED_COSINE) / (count + prior)
    contrast = np.where(has_vector, (cosine - usual) / max(1 - usual, 1e-6), 0.0)
    return Similar(cosine, contrast, np.clip((contrast - floor) / (1 - floor), 0.0, 1.0), count, likeness.is_table)


class Meaning:
    """One question's vector, made at the first use. Safe to share between threads.

    `failure` is the reason of a failed try, which is not repeated for this question.
    """

    def __init__(self, embedder: Embedder, question: str) -> None:
        self.fingerprint = fingerprint(embedder)
        self.failure: Failure | None = None
        self.embedder = embedder
        # Most characters of a question to embed: models read a few hundred words, and a log says most at its start.
        self._question = question[:2_000]
        self._guard = threading.Lock()
        self._vector: npt.NDArray[np.float32] | None = None

    def vector(self) -> npt.NDArray[np.float32] | None:
        """Return the vector of length 1, None where it cannot be made."""
        with self._guard:
            if self._vector is None and self.failure is None:
                model = self.embedder.id
                try:
                    with telemetry.span(telemetry.EMBEDDINGS, model, {telemetry.MODEL: model}):
                        self._vector = self.embedder.embed_query(self._question)
                except (EmbeddingError, MissingExtraError) as error:
                    self.failure = Failure("vectors", str(error), "keyword search alone answered")
            return self._vector


def is_in_own_words(query: Query) -> bool:
    """Return whether a question names nothing of the code: no identifier, no path and no frame of a trace.

    Likely names from the caller do not count: they are guesses.
    """
    asked = (mention for mention in query.symbols if mention.zone is not Zone.NAMES)
    return not (query.paths or query.trace.frames or any(mention.form in DISTINCTIVE_FORMS for mention in asked))


def scores(store: Store, kind: Kind, meaning: Meaning | None, query: Query | None = None) -> Likeness | None:
    """Return the likeness of every visible chunk of a kind that has a vector of the question's fingerprint.

    None without a meaning, without vectors, or where the question could not be embedded (see `Meaning.failure`). Code
    is only compared with a `query` in words of its own: names and traces lead to it, and vectors added nothing to them
    (docs/decisions/0012). The model is only asked when there is something to compare.
    """
    if meaning is None or (kind is Kind.CODE and (query is None or not is_in_own_words(query))):
        return None
    if kind is Kind.CODE and query is not None and meaning.embedder.is_table:
        return _of_candidates(store, kind, meaning, query)
    table = store.nearness(kind, meaning.fingerprint)
    vector = meaning.vector() if len(table.rows) else None
    if vector is None:
        return None
    return Likeness(table.rows, table.products(vector), meaning.embedder.is_table)


def _of_candidates(store: Store, kind: Kind, meaning: Meaning, query: Query) -> Likeness | None:
    """Return the likeness of the chunks that match best by words, embedded now; tests and examples are left out.

    Vectors of all chunks would make an index a tenth larger and more, and a process that answers one question would
    read them all. A process that answers many questions keeps them.
    """
    lexicon = store.lexicon(kind)
    columns = lexicon.columns
    is_production = (columns.document_secondary == 0) | shipped(store, lexicon)
    is_embedded = lexicon.live_chunk & is_production[columns.chunk_document]
    matches = np.where(is_embedded, bm25.chunk_scores(lexicon, query.terms, files=True), 0.0)
    best = bm25.largest(matches, MAX_CANDIDATES)
    best = best[matches[best] > 0]
    vector = meaning.vector() if len(best) else None
    if vector is None:
        return None

    def embedded(rows: Sequence[int]) -> dict[int, Vectors]:
        vectors = meaning.embedder.embed_documents([_declared(parts[row][1]) for row in rows])
        return {row: vectors[index] for index, row in enumerate(rows)}

    # Most of them become hits, for which the same parts are read.
    parts = lexicon.stored(chunks_of, best.tolist(), partial(chunks_of, store))
    found = lexicon.stored(meaning.fingerprint, best.tolist(), embedded, lambda vector: vector.nbytes + 200)
    if not found:
        return None
    from satchel.store.vectors import scalar_products  # here, because many indexes have no vectors

    values = scalar_products(np.stack([*found.values()]), vector)
    return Likeness(np.fromiter(found, dtype=np.int64), values.astype(np.float64), is_table=True, of_candidates=True)


def _declared(chunk: Chunk) -> str:
    """Return what a chunk of code is called and said to do: its file with the folder, its name and its summary."""
    path = chunk.location.path if chunk.location is not None else ""
    file = "/".join(path.split("/")[-2:])
    return f"{file}\n{chunk.title}\n{chunk.fields.get('summary', '')}"[:CANDIDATE_CHARACTERS]
