"""The ranking that both BM25 baselines use."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
from localization.words import words


def ranked(chunks: Sequence[str], question: str, count: int) -> list[int]:
    """Indexes of the chunks that match best, best first, only those with a score above 0."""
    if not chunks:
        return []
    index = bm25s.BM25()
    index.index([words(text) or [""] for text in chunks], show_progress=False)
    known = index.vocab_dict
    asked = [word for word in words(question) if word in known]
    if not asked:
        return []
    found, scores = index.retrieve([asked], k=min(count, len(chunks)), show_progress=False)
    return [int(n) for n, score in zip(found[0], scores[0], strict=True) if score > 0]
