"""Plain methods on the same questions, to compare with: BM25 over whole files, and grep for the rarest word.

Both rank the indexed files of code. Grep takes the word of the question that is in the fewest files, and reads the file
with most of them first.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from satchel.store.protocol import Store
from satchel.text import count_terms, is_meaningful, words
from satchel.types import Kind

K1, B = 1.5, 0.75  # the usual ones for whole files


class Baselines:
    """Ranks files of one root at several states; the words of a text are counted once."""

    def __init__(self) -> None:
        self._counted: dict[str, Counter[str]] = {}

    def ranks(self, question: str, store: Store, gold: Collection[str]) -> tuple[int, int]:
        """Return the rank (from 1) of the first right file by BM25 and by grep, 0 where it does not match."""
        files = self._files(store)
        asked = count_terms(word for word in words(question) if is_meaningful(word))
        every = {term: [path for path, counts in files.items() if counts[term]] for term in asked}
        holders = {term: paths for term, paths in every.items() if paths}
        if not holders:
            return 0, 0
        scores = _bm25(files, holders)
        rarest = min(holders, key=lambda term: (len(holders[term]), term))
        by_grep = _rank(holders[rarest], lambda path: files[path][rarest], gold)
        return _rank(scores, scores.__getitem__, gold), by_grep

    def _files(self, store: Store) -> Mapping[str, Counter[str]]:
        stamps = store.stamps(Kind.CODE)
        fresh = {one.document: one.content_hash for one in stamps.values() if one.content_hash not in self._counted}
        for document, text in store.texts(fresh).items():
            self._counted[fresh[document]] = Counter(count_terms(words(text)))
        return {path: self._counted[one.content_hash] for path, one in stamps.items()}


def _bm25(files: Mapping[str, Counter[str]], holders: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Return the score of each file that holds a term."""
    lengths = {path: counts.total() for path, counts in files.items()}
    average = sum(lengths.values()) / len(files)
    scores: dict[str, float] = defaultdict(float)
    for term, paths in holders.items():
        rarity = math.log(1 + len(files) / len(paths))
        for path in paths:
            count = files[path][term]
            scores[path] += rarity * count * (K1 + 1) / (count + K1 * (1 - B + B * lengths[path] / average))
    return scores


def _rank(paths: Collection[str], score: Callable[[str], float], gold: Collection[str]) -> int:
    """Return the rank of the first path that is right, 0 if none is."""
    ordered = sorted(paths, key=lambda path: (-score(path), path))
    return next((rank for rank, path in enumerate(ordered, 1) if path in gold), 0)
