"""The ranking that both BM25 baselines use."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
from localization.words import words


class Ranking:
    """Texts that are indexed once."""

    def __init__(self, chunks: Sequence[str]) -> None:
        self._count = len(chunks)
        self._index = bm25s.BM25()
        if chunks:
            self._index.index([words(text) or [""] for text in chunks], show_progress=False)

    def best(self, question: str, count: int) -> list[int]:
        """Numbers of the texts that match best, best first, only those with a score above 0."""
        known = self._index.vocab_dict if self._count else {}
        asked = [word for word in words(question) if word in known]
        if not asked:
            return []
        found, scores = self._index.retrieve([asked], k=min(count, self._count), show_progress=False)
        return [int(n) for n, score in zip(found[0], scores[0], strict=True) if score > 0]
