"""Models: the protocol of embedders, two that run here, one behind an endpoint, and a model that answers in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from satchel.types import IN_STEPS

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Vectors = npt.NDArray[np.float32]
    """One row per text, in their order; every row has length 1."""

TEXT_RECIPE = "body/1"
"""The version of `satchel.store.extract.chunk_texts`: part of the fingerprint."""


class Embedder(Protocol):
    """Turns texts into vectors of one length. Methods may be called from several threads."""

    @property
    def id(self) -> str:
        """Model and revision: equal ids mean equal vectors for equal texts. Known without loading anything."""

    @property
    def dimension(self) -> int:
        """Numbers of a vector."""

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that are used; the rest of a longer one has no influence."""

    @property
    def is_quick(self) -> bool:
        """Whether one text takes milliseconds and needs no network, so that it can be embedded as it is written."""

    @property
    def is_table(self) -> bool:
        """Whether it only adds up vectors of words, in microseconds.

        Then every chunk has its vector at the first question, no cache keeps it, notes, which are long passages, go
        without, and similarity counts as relevance from a higher floor.
        """

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 per text. Raises EmbeddingError."""

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of a question, of one dimension. Raises EmbeddingError."""


def fingerprint(embedder: Embedder) -> str:
    """Return the conditions for comparable vectors: model, revision, dimension, text recipe. Stored with each."""
    if embedder.is_table:
        return f"{embedder.id}/{TEXT_RECIPE}{IN_STEPS}"
    return f"{embedder.id}/{embedder.dimension}/{TEXT_RECIPE}"


def normalised(vectors: Vectors) -> Vectors:
    """Return each row scaled to length 1; a row of zeros stays as it is."""
    import numpy as np

    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    result: Vectors = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return result
