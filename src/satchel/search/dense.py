"""How near each document is to a question in meaning: an exact scan over the stored vectors.

Exact, because a scan of 100,000 vectors takes 30 ms and every index over them loses some. A kind without vectors, and
an embedder that fails, cost nothing but this signal: the words still answer.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from satchel import telemetry
from satchel.embed.protocol import Embedder, fingerprint
from satchel.errors import EmbeddingError, MissingExtraError
from satchel.store.protocol import Store
from satchel.types import Failure, Kind

if TYPE_CHECKING:
    from satchel.search.likeness import Likeness

QUERY_CHARACTERS = 2_000
"""Of a question: models look at a few hundred words, and a pasted log says most at its beginning."""


class Meaning:
    """One question's vector, made when the first kind asks for it. Safe to share between threads.

    `failure` says why there is none, after a failed try; it is not tried again for this question.
    """

    def __init__(self, embedder: Embedder, question: str) -> None:
        self.fingerprint = fingerprint(embedder)
        self.failure: Failure | None = None
        self._embedder = embedder
        self._question = question[:QUERY_CHARACTERS]
        self._guard = threading.Lock()
        self._vector: npt.NDArray[np.float32] | None = None

    def vector(self) -> npt.NDArray[np.float32] | None:
        """The vector of length 1, None where it cannot be made."""
        with self._guard:
            if self._vector is None and self.failure is None:
                model = self._embedder.id
                try:
                    with telemetry.span(telemetry.EMBEDDINGS, model, {telemetry.MODEL: model}):
                        self._vector = self._embedder.embed_query(self._question)
                except (EmbeddingError, MissingExtraError) as error:
                    self.failure = Failure("vectors", str(error), "the words of the question answered alone")
            return self._vector


def scores(store: Store, kind: Kind, meaning: Meaning | None) -> Likeness | None:
    """The likeness of every visible document of a kind that has a vector of the question's fingerprint.

    None without a meaning, without vectors, or where the question could not be embedded (see `Meaning.failure`), and
    for code, where vectors added nothing (docs/decisions/0012). The model is only asked when there is something to
    compare.
    """
    if meaning is None or kind is Kind.CODE:
        return None
    table = store.vectors(kind, meaning.fingerprint)
    vector = meaning.vector() if len(table.rows) else None
    if vector is None:
        return None
    from satchel.search.likeness import Likeness

    return Likeness(table.rows, table.products(vector))
