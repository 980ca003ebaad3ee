"""How relevant the chunks of a walk are to its query, by words and, where all of them have one, by vectors.

The scale of relevance is chosen once for a request: by words and meaning where every chunk that can have a vector has
one, else by words alone. A scale for each node would order nodes by whether they have a vector, not by their text.

Notes with a rare name (`Lake Geneva`, or the title of one) are related without a link. The fewer of the
`n` notes contain it, the more it says: its share is log(n / holders) / log(n), 1 for a name that one note has.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import accumulate, chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from satchel import lazy_numpy as np
from satchel import text as words
from satchel.search import bm25
from satchel.search.bm25 import FloatArray
from satchel.search.dense import Likeness, Meaning, scores, similar_chunks
from satchel.search.query import Query, QueryTerm
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon
from satchel.types import Kind

if TYPE_CHECKING:
    import numpy.typing as npt

TOGETHER_SHARE = 0.8
"""The part of a node's word relevance that comes from its words together with those of a neighbour; the rest is from
its own words. An answer over two steps is a pair that covers the question where neither does alone. On the multi-hop
passages .5 measures one point less."""

MEANING_SHARE = 0.5
"""The part of relevance from vectors where there are any; the rest is words. On the multi-hop passages .3 to .7 measure
the same."""

_PAIRS_AT_ONCE = 10_000


class Vectors(NamedTuple):
    """The number of walked chunks with a vector and of all that can have one. Vectors count once all have one."""

    embedded: int
    chunks: int

    @property
    def is_ready(self) -> bool:
        """Whether every chunk has a vector."""
        return 0 < self.chunks <= self.embedded


class Relevance:
    """The relevance of every chunk of some kinds to one query, 0 to 1."""

    def __init__(self, store: Store, kinds: Sequence[Kind], query: Query, meaning: Meaning | None) -> None:
        self.has_words = bool(query.terms)
        self._query = query
        self._columns: list[_Column] = []
        likenesses = {kind: scores(store, kind, meaning) for kind in kinds}
        lexicons = {kind: lexicon for kind in kinds if (lexicon := store.lexicon(kind)).chunk_count}
        self.vectors = _coverage(lexicons, likenesses)
        for kind, lexicon in lexicons.items():
            likeness = likenesses[kind]
            nearness = None
            if self.vectors.is_ready and likeness is not None:
                # Similarity above the mean, because models differ in the similarity of two unrelated texts.
                nearness = np.maximum(similar_chunks(lexicon, likeness).contrast, 0.0)
            self._columns.append(_Column(lexicon, _masks(lexicon, query), nearness))

    def of(self, rows: Sequence[int]) -> FloatArray:
        """Return the relevance of each of these chunks alone, by row number, in their order; 0 for other kinds."""
        occurrences, shares = self._said(rows)
        return self._joined(rows, occurrences @ shares)

    def together(self, rows: Sequence[int], pairs: Sequence[tuple[int, int]]) -> FloatArray:
        """Return the relevance of these chunks, with the words that each of the related `pairs` covers together."""
        occurrences, shares = self._said(rows)
        own: FloatArray = occurrences @ shares
        if not pairs or not self.has_words:
            return self._joined(rows, own)
        places = {row: index for index, row in enumerate(rows)}
        ends = np.array([(places[first], places[other]) for first, other in pairs])
        best = own.copy()
        for begin in range(0, len(ends), _PAIRS_AT_ONCE):
            first, other = ends[begin : begin + _PAIRS_AT_ONCE].T
            both = occurrences[first] | occurrences[other]
            for kind in self._slices():  # a term counts once, though two kinds know it
                covered = both[:, kind] @ shares[kind]
                np.maximum.at(best, first, covered)
                np.maximum.at(best, other, covered)
        return self._joined(rows, (1 - TOGETHER_SHARE) * own + TOGETHER_SHARE * best)

    def _slices(self) -> list[slice]:
        """Return the positions of the terms of each kind among all columns."""
        ends = list(accumulate(len(column.terms) for column in self._columns))
        return [slice(begin, end) for begin, end in zip([0, *ends], ends, strict=False)]

    def _joined(self, rows: Sequence[int], words: FloatArray) -> FloatArray:
        """Return the relevance by words, joined with that by vectors where they count."""
        if not self.vectors.is_ready:
            return np.clip(words, 0.0, 1.0)
        nearness = np.zeros(len(rows))
        for column in self._columns:
            positions = column.lexicon.chunk_positions(rows)
            if column.nearness is not None:
                nearness[positions >= 0] = column.nearness[positions[positions >= 0]]
        return np.clip((1 - MEANING_SHARE) * words + MEANING_SHARE * nearness, 0.0, 1.0)

    def _said(self, rows: Sequence[int]) -> tuple[npt.NDArray[np.bool_], FloatArray]:
        """Return which of the query's terms each chunk contains, by kind of chunk, and the share of each term."""
        columns = []
        for column in self._columns:
            positions = column.lexicon.chunk_positions(rows)
            columns += [(positions >= 0) & holds[positions] for _, holds in column.terms]
        shares = np.array([share for column in self._columns for share, _ in column.terms])
        occurrences = np.array(columns, dtype=bool).T if columns else np.zeros((len(rows), 0), dtype=bool)
        return occurrences, shares


Mask: TypeAlias = "npt.NDArray[np.bool_]"


def _masks(lexicon: Lexicon, query: Query) -> tuple[tuple[float, Mask], ...]:
    """Return for each term its share of the query's idf mass, and which chunks contain it."""
    masks = []
    for share, units in bm25.holders(lexicon, query.terms):
        holds = np.zeros(len(lexicon.columns.chunk_row), dtype=bool)
        holds[units] = True
        masks.append((share, holds))
    return tuple(masks)


class _Column(NamedTuple):
    """One kind: which of the query's terms its chunks contain, and how near each chunk is in meaning."""

    lexicon: Lexicon
    terms: tuple[tuple[float, Mask], ...]
    nearness: FloatArray | None


def _coverage(lexicons: dict[Kind, Lexicon], likenesses: dict[Kind, Likeness | None]) -> Vectors:
    """Count chunks and vectors of those kinds that have any vector. Code has none by design and is ranked by words."""
    with_vectors = [(kind, likeness) for kind in lexicons if (likeness := likenesses[kind]) is not None]
    embedded = sum(similar_chunks(lexicons[kind], likeness).count for kind, likeness in with_vectors)
    return Vectors(embedded, sum(lexicons[kind].chunk_count for kind in lexicons))


_NAME = re.compile(r"[A-Z][\w'-]*(?:\s+(?:(?:of|the|de|van|von)\s+)?[A-Z][\w'-]*)*")


def names_in(title: str, text: str) -> list[str]:
    """Return the names in a note, its title first, each once."""
    return list(dict.fromkeys((title, *(match[0] for match in _NAME.finditer(text)))))


def sharing(store: Store, rows: Sequence[int]) -> Iterator[tuple[int, int, float]]:
    """Yield each of these notes with every other that shares a rare name with it, and the share of their rarest one."""
    lexicon = store.lexicon(Kind.NOTE)
    if lexicon.chunk_count < 2:
        return
    parts = store.chunks(rows)
    documents = store.documents({part.document for part in parts.values()})
    texts = store.texts(documents)
    for row, part in sorted(parts.items()):
        body = "\n".join(texts[part.document].split("\n")[part.start - 1 : part.end])
        named = map(_terms, names_in(part.name or documents[part.document].title, body))
        best = _sharers(lexicon, [*filter(None, named)])
        yield from ((row, other, share) for other, share in best.items() if other != row)


def _sharers(lexicon: Lexicon, names: Sequence[Sequence[str]]) -> dict[int, float]:
    """Return the notes that have one of these names (each as its terms), with the share of the rarest one."""
    terms = sorted({*chain.from_iterable(names)})
    found = bm25.holders(lexicon, [QueryTerm(term, 1.0, 0.0) for term in terms])
    holders = {term: units for term, (_, units) in zip(terms, found, strict=True)}
    best: dict[int, float] = {}
    for name in names:
        shared = reduce(np.intersect1d, [holders[term] for term in name])
        share = math.log(lexicon.chunk_count / max(len(shared), 1)) / math.log(lexicon.chunk_count)
        # A name in more notes than this is a topic of the whole workspace and joins nothing; in a small workspace
        # one in more than the root of the number of notes.
        if 1 < len(shared) <= 30 and share >= 0.5:
            for other in lexicon.columns.chunk_row[shared].tolist():
                best[other] = max(best.get(other, 0.0), share)
    return best


def _terms(name: str) -> list[str]:
    """Return the search terms of a name without those of the compound as a whole; none for a stop word."""
    found = [term for word in words.words(name) if words.is_meaningful(word) for term in words.terms_of(word)]
    return list(dict.fromkeys(term for term in found if not term.startswith(words.EXACT_MARK)))
