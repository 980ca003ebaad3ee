"""BM25F over three levels from one posting list: spans, chunks (parts) and documents (files).

A span inherits the name and signature of its chunk and the path of its document, so one posting of a path counts
for every span of the file. Lucene's idf; lengths count the body only. Robertson, Zaragoza, Taylor 2004, "Simple
BM25 extension to multiple weighted fields". Constants from the retrieval recipe (docs/decisions/0002): the optimum
is flat (any k1 of 0.9 to 2 and b of 0.45 to 0.75 is within 1 to 2 points).
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from satchel.search.query import QueryTerm
from satchel.store.lexicon import Lexicon, TermPostings
from satchel.store.segments import IntArray

FloatArray = npt.NDArray[np.float64]

NAME_WEIGHT = 3.0
SIGNATURE_WEIGHT = 1.5
PATH_WEIGHT = 1.0
"""Field weights against 1 for the body: name and signature gave 3.5 points of r@1, the path 4 more."""

K1, B = 1.2, 0.6
FILE_K1, FILE_B = 1.5, 0.75
"""Saturation and length normalisation for spans and chunks, and for whole files."""

LARGEST_NAME_WEIGHT = 2.0
"""A query term counts at most this much in the name signal."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Sums over the query terms, one value a unit of the lexicon.

    `title` is BM25 of the title's terms alone on chunks. `name` is the idf mass of terms in a path or defined name,
    by document. `matched` is the absolute share (0 to 1) of the query's idf mass that a unit contains, `title_mass` the
    idf mass of the title.
    """

    span: FloatArray
    chunk: FloatArray
    document: FloatArray
    title: FloatArray
    name: FloatArray
    span_matched: FloatArray
    chunk_matched: FloatArray
    document_matched: FloatArray
    title_mass: float
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Weighed:
    """One term at one level: the units that contain it, each once, its saturated frequency there, and its idf."""

    units: npt.NDArray[np.uint32]
    saturated: FloatArray
    idf: float


class _Level:
    """Length normalisation of the units of one level. Immutable."""

    def __init__(self, live: npt.NDArray[np.bool_], lengths: FloatArray, k1: float, b: float) -> None:
        self.total = len(live)
        self._count = int(live.sum())
        average = lengths[live].sum() / max(self._count, 1)
        self._norm = k1 * (1 - b + b * lengths / max(average, 1.0))
        self._k1 = k1

    def weigh(self, parts: Sequence[tuple[IntArray, FloatArray]], scratch: FloatArray) -> _Weighed:
        """Join the fields of one term. `scratch` has a zero for each unit, before and after."""
        if len(parts) == 1:
            units, frequency = parts[0]
        else:
            units = _each_once(parts, scratch)
            for part, values in parts:
                scratch[part] += values
            frequency = scratch[units]
            scratch[units] = 0.0
        saturated = frequency * (self._k1 + 1) / (frequency + self._norm[units])
        return _Weighed(units.astype(np.uint32), saturated, idf(self._count, len(units)))


def _each_once(parts: Sequence[tuple[IntArray, FloatArray]], scratch: FloatArray) -> IntArray:
    """Return the units of all parts; within a part none occurs twice."""
    distinct: list[IntArray] = []
    for units, _ in parts:
        distinct.append(units[scratch[units] == 0.0])
        scratch[units] = 1.0
    joined = np.concatenate(distinct)
    scratch[joined] = 0.0
    return joined


def idf(count: int, holders: int) -> float:
    """Return Lucene's inverse chunk frequency of a term that `holders` of `count` units contain."""
    return float(np.log1p((count - holders + 0.5) / (holders + 0.5)))


def score(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool = True) -> Scores:
    """Score every unit of a lexicon for these terms. `files=False` leaves the span and document levels at 0."""
    chunk_total, document_total = len(lexicon.columns.chunk_row), len(lexicon.columns.document_id)
    weighed_terms = _term_cache(lexicon).weighed(lexicon, [term.term for term in terms], files=files)
    name = np.zeros(document_total)
    mass, title_mass, missing = 0.0, 0.0, []
    for term, weighed in zip(terms, weighed_terms, strict=True):
        if weighed.chunk is None:
            missing.append(term.term)
        rarity = idf(lexicon.chunk_count, 0) if weighed.chunk is None else weighed.chunk.idf
        mass += term.weight * rarity
        title_mass += term.title_weight * rarity
        if weighed.span is not None:
            name[weighed.named] += weighed.document_idf * min(term.weight, LARGEST_NAME_WEIGHT)
    weights = [term.weight for term in terms]
    titles = [term.title_weight for term in terms]
    chunks = [weighed.chunk for weighed in weighed_terms]
    documents = [weighed.document for weighed in weighed_terms]
    share = 1.0 / mass if mass else 0.0
    shares = [0.0 if one is None else weight * one.idf for one, weight in zip(chunks, weights, strict=True)]
    return Scores(
        _sum([weighed.span for weighed in weighed_terms], weights, len(lexicon.columns.span_chunk)),
        _sum(chunks, weights, chunk_total),
        _sum(documents, weights, document_total),
        _sum(chunks, titles, chunk_total),
        name,
        _masses([weighed.span for weighed in weighed_terms], shares, len(lexicon.columns.span_chunk)) * share,
        _masses(chunks, shares, chunk_total) * share,
        _masses(documents, shares, document_total) * share,
        title_mass,
        tuple(missing),
    )


def _sum(level: Sequence[_Weighed | None], weights: Sequence[float], total: int) -> FloatArray:
    """Return the weighted sum over the terms, term by term in their order, for each unit."""
    used = [(one, weight) for one, weight in zip(level, weights, strict=True) if one is not None and weight]
    if not used:
        return np.zeros(total)
    units = np.concatenate([one.units for one, _ in used], dtype=np.int64)
    values = np.concatenate([one.saturated * (weight * one.idf) for one, weight in used])
    return np.bincount(units, values, total).astype(np.float64, copy=False)


def _masses(level: Sequence[_Weighed | None], masses: Sequence[float], total: int) -> FloatArray:
    """Return the summed masses of the terms that each unit contains."""
    used = [(one, mass) for one, mass in zip(level, masses, strict=True) if one is not None]
    if not used:
        return np.zeros(total)
    units = np.concatenate([one.units for one, _ in used], dtype=np.int64)
    return np.bincount(units, np.repeat([mass for _, mass in used], [len(one.units) for one, _ in used]), total).astype(
        np.float64, copy=False
    )


def holders(lexicon: Lexicon, terms: Sequence[QueryTerm]) -> list[tuple[float, npt.NDArray[np.uint32]]]:
    """Return for each term its share (0 to 1) of the idf mass of all, and the chunks that contain it."""
    weighed_terms = _term_cache(lexicon).weighed(lexicon, [term.term for term in terms], files=False)
    no_chunks: npt.NDArray[np.uint32] = np.zeros(0, dtype=np.uint32)
    rows = [
        (term.weight * idf(lexicon.chunk_count, 0), no_chunks)
        if one.chunk is None
        else (term.weight * one.chunk.idf, one.chunk.units)
        for term, one in zip(terms, weighed_terms, strict=True)
    ]
    mass = sum(share for share, _ in rows) or 1.0
    return [(share / mass, units) for share, units in rows]


LEAST_KEPT_UNITS = 1_000_000
KEPT_UNITS_PER_SPAN = 8
"""Weighed units of terms kept between questions, 12 bytes each, and more for a large lexicon: every other question
contains common terms, which cost most."""


@dataclass(frozen=True, slots=True)
class _Term:
    """One term at each level, None where no unit contains it, and the documents that are named with it.

    `size` counts the units over all levels.
    """

    span: _Weighed | None
    chunk: _Weighed | None
    document: _Weighed | None
    named: IntArray
    size: int

    @property
    def document_idf(self) -> float:
        return self.document.idf if self.document is not None else 0.0


class _TermCache:
    """Weighed terms of a lexicon, kept for later questions. Threads may share it.

    Two threads may weigh the same term at the same time; their results are equal.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self._levels = (
            _Level(lexicon.live_span, lexicon.span_length, K1, B),
            _Level(lexicon.live_chunk, lexicon.chunk_length, K1, B),
            _Level(lexicon.live_document, lexicon.document_length, FILE_K1, FILE_B),
        )
        self._most_units = max(LEAST_KEPT_UNITS, KEPT_UNITS_PER_SPAN * len(lexicon.live_span))
        self._terms: dict[tuple[str, bool], _Term] = {}
        self._kept_units = 0
        self._guard = threading.Lock()

    def weighed(self, lexicon: Lexicon, terms: Sequence[str], *, files: bool) -> list[_Term]:
        """Return each term, weighed now or taken from the cache."""
        kept = {term: self._taken((term, files)) for term in terms}
        missing = [term for term, weighed in kept.items() if weighed is None]
        if missing:
            scratch = [np.zeros(level.total) for level in self._levels]
            for term, postings in zip(missing, lexicon.postings(missing), strict=True):
                kept[term] = self._weigh(_spread(lexicon, postings, files=files), scratch)
        weighed_terms = {term: weighed for term, weighed in kept.items() if weighed is not None}
        self._keep({(term, files): weighed for term, weighed in weighed_terms.items()})
        return [weighed_terms[term] for term in terms]

    def _taken(self, key: tuple[str, bool]) -> _Term | None:
        """Remove and return the term under this key, so that it can be put back as the newest."""
        with self._guard:
            term = self._terms.pop(key, None)
            self._kept_units -= term.size if term is not None else 0
            return term

    def _weigh(self, spread: _Spread, scratch: Sequence[FloatArray]) -> _Term:
        span, chunk, document = (
            level.weigh(parts, column) if parts else None
            for level, parts, column in zip(
                self._levels, (spread.span, spread.chunk, spread.document), scratch, strict=True
            )
        )
        size = sum(len(level.units) for level in (span, chunk, document) if level is not None)
        return _Term(span, chunk, document, spread.named, size)

    def _keep(self, used: Mapping[tuple[str, bool], _Term]) -> None:
        """Keep these terms as the newest; the least recently used ones make room for them."""
        with self._guard:
            for key, term in used.items():
                if key not in self._terms:
                    self._kept_units += term.size
                self._terms[key] = term
            while self._kept_units > self._most_units:
                oldest = next(iter(self._terms))
                self._kept_units -= self._terms.pop(oldest).size


def _term_cache(lexicon: Lexicon) -> _TermCache:
    return lexicon.derived(_TermCache, lambda: _TermCache(lexicon))


@dataclass(slots=True)
class _Spread:
    """One term's weighted frequencies at each level, as (units, frequency) pairs, and the documents named with it."""

    span: list[tuple[IntArray, FloatArray]]
    chunk: list[tuple[IntArray, FloatArray]]
    document: list[tuple[IntArray, FloatArray]]
    named: IntArray


def _spread(lexicon: Lexicon, postings: TermPostings, *, files: bool) -> _Spread:
    spread = _Spread([], [], [], np.zeros(0, dtype=np.int64))
    columns = lexicon.columns
    units, counts = postings.body
    if len(units):
        frequency = counts.astype(np.float64)
        owners, sums = _sum_runs(columns.span_chunk[units], frequency)
        spread.chunk.append((owners, sums))
        if files:
            spread.span.append((units, frequency))
            spread.document.append(_sum_runs(columns.chunk_document[owners], sums))
    named: list[IntArray] = []
    for (rows, amounts), weight in ((postings.name, NAME_WEIGHT), (postings.signature, SIGNATURE_WEIGHT)):
        if not len(rows):
            continue
        frequency = amounts.astype(np.float64) * weight
        spread.chunk.append((rows, frequency))
        if files:
            spread.span.append(_expand(lexicon.chunk_first_span[rows], lexicon.chunk_span_count[rows], frequency))
            spread.document.append(_sum_runs(columns.chunk_document[rows], frequency))
            if weight == NAME_WEIGHT:
                named.append(spread.document[-1][0])
    documents, amounts = postings.path
    if len(documents):
        frequency = amounts.astype(np.float64) * PATH_WEIGHT
        spread.chunk.append(
            _expand(lexicon.document_first_chunk[documents], lexicon.document_chunk_count[documents], frequency)
        )
        if files:
            spread.span.append(
                _expand(lexicon.document_first_span[documents], lexicon.document_span_count[documents], frequency)
            )
            spread.document.append((documents, frequency))
            named.append(documents)
    if named:
        spread.named = np.concatenate(named)
    return spread


def largest(values: FloatArray, count: int) -> IntArray:
    """Return the positions of the `count` largest values, falling; equal values in order of position."""
    if len(values) <= count:
        return np.argsort(-values, kind="stable")
    chosen = np.flatnonzero(values >= threshold(values, count))
    return chosen[np.argsort(-values[chosen], kind="stable")[:count]]


_LONG = 8
"""Least number of values in a block for which comparing maxima first is faster."""


def threshold(values: FloatArray, count: int) -> float:
    """Return the `count`-th largest of more than `count` values.

    The `count`-th largest among the maxima of that many blocks or more is a lower bound, which few values reach.
    """
    length = len(values) // (4 * count)
    if length >= _LONG:
        blocks = len(values) // length
        maxima = values[: blocks * length].reshape(blocks, length).max(axis=1)
        values = values[values >= np.partition(maxima, -count)[-count]]
    return float(np.partition(values, -count)[-count])


def _sum_runs(owners: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sum the values of neighbours with the same owner; owners ascend."""
    first = np.empty(len(owners), dtype=bool)
    first[0] = True
    np.not_equal(owners[1:], owners[:-1], out=first[1:])
    begins = first.nonzero()[0]
    return owners[begins], np.add.reduceat(values, begins)


def _expand(first: IntArray, counts: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return all members of ranges `first`..`first + counts`, each with the value of its range."""
    ends = np.cumsum(counts)
    members = np.arange(int(ends[-1])) + np.repeat(first - (ends - counts), counts)
    return members, np.repeat(values, counts)
