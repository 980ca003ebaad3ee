"""BM25F over three levels from one posting list: spans, chunks (parts) and documents (files).

A span inherits the name and signature of its chunk and the path of its document, so one posting of a path counts
for every span of the file. Lucene's idf; lengths count the body only. Robertson, Zaragoza, Taylor 2004, "Simple
BM25 extension to multiple weighted fields". Constants from the retrieval recipe (docs/decisions/0002): the optimum
is flat (any k1 of 0.9 to 2 and b of 0.45 to 0.75 is within 1 to 2 points).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from satchel import lazy_numpy as np
from satchel.search.query import QueryTerm
from satchel.store.segments import IntArray, Lexicon, Run
from satchel.system.kept import Cache

if TYPE_CHECKING:
    import numpy.typing as npt

FloatArray: TypeAlias = "npt.NDArray[np.float64]"

FIELD_WEIGHTS = (1.0, 3.0, 1.5, 1.0)
"""Weights of body, name, signature and path: name and signature gave 3.5 points of r@1, the path 4 more."""

K1, B = 1.2, 0.6
FILE_K1, FILE_B = 1.5, 0.75
"""Saturation and length normalisation for spans and chunks, and for whole files."""


class Occurrences(NamedTuple):
    """The units that contain each term, one term after the other, with its saturated frequency there.

    `counts` are the numbers of units and `idf` the rarity of each term, 0 for one that occurs nowhere.
    """

    units: IntArray
    saturated: FloatArray
    counts: IntArray
    idf: FloatArray

    def sum(self, weights: Sequence[float], total: int) -> FloatArray:
        """Return BM25 of each of `total` units, term by term in their order."""
        factors = np.repeat(np.asarray(weights) * self.idf, self.counts)
        return np.bincount(self.units, self.saturated * factors, total).astype(np.float64, copy=False)

    def masses(self, masses: Sequence[float], total: int) -> FloatArray:
        """Return the summed masses of the terms that each of `total` units contains."""
        return np.bincount(self.units, np.repeat(masses, self.counts), total).astype(np.float64, copy=False)


class Scores(NamedTuple):
    """Sums over the query terms, one value a unit of the lexicon.

    `title` is BM25 of the title's terms alone on chunks. `name` is the idf mass of terms in a path or defined name,
    by document. `matched` is the absolute share (0 to 1) of the question's idf mass that a unit contains, without
    guessed names; `title_mass` is the idf mass of the title.
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
    chunk_occurrences: Occurrences


_Run = tuple[IntArray, IntArray, FloatArray]
"""Number of a term, unit, weighted frequency there: parallel columns, ascending by term, then by unit."""

DENSE = 8
"""Adding up in a table with a place for every key is faster than sorting if there are at most so many places a key."""


class _Weighed(NamedTuple):
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

    def weigh(self, parts: Sequence[_Run], term_count: int) -> list[_Weighed | None]:
        """Join the fields of several terms."""
        terms, units, frequency = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        if sum(len(part[0]) > 0 for part in parts) > 1:
            keys, frequency = _summed(terms * self.total + units, frequency, term_count * self.total)
            terms, units = np.divmod(keys, self.total)
        saturated = frequency * (self._k1 + 1) / (frequency + self._norm[units])
        units = units.astype(np.uint32)
        ends = np.cumsum(np.bincount(terms, minlength=term_count)).tolist()
        return [
            _Weighed(units[start:end].copy(), saturated[start:end].copy(), idf(self._count, end - start))
            if end > start
            else None
            for start, end in pairwise([0, *ends])
        ]


def _summed(keys: IntArray, values: FloatArray, key_count: int) -> tuple[IntArray, FloatArray]:
    """Return the distinct keys, ascending, and the sum of the positive values of each."""
    if key_count <= DENSE * len(keys):
        table = np.bincount(keys, values, key_count)
        distinct: IntArray = np.flatnonzero(table)
        return distinct, table[distinct].astype(np.float64, copy=False)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    begins = _begins(ordered[1:] != ordered[:-1])
    sums: FloatArray = np.add.reduceat(values[order], begins)
    return ordered[begins], sums


def idf(count: int, holders: int) -> float:
    """Return Lucene's inverse chunk frequency of a term that `holders` of `count` units contain."""
    return float(np.log1p((count - holders + 0.5) / (holders + 0.5)))


def score(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool = True) -> Scores:
    """Score every unit of a lexicon for these terms. `files=False` leaves the span and document levels at 0."""
    chunk_total, document_total = len(lexicon.columns.chunk_row), len(lexicon.columns.document_id)
    weighed_terms = _term_cache(lexicon).weighed(lexicon, [term.term for term in terms], files=files)
    name = np.zeros(document_total)
    mass, title_mass = 0.0, 0.0
    asked = [
        0.0 if term.guessed and (weighed.chunk is None or not term.is_form) else term.weight
        for term, weighed in zip(terms, weighed_terms, strict=True)
    ]
    for term, weight, weighed in zip(terms, asked, weighed_terms, strict=True):
        rarity = idf(lexicon.chunk_count, 0) if weighed.chunk is None else weighed.chunk.idf
        mass += weight * rarity
        title_mass += term.title_weight * rarity
        if weighed.span is not None:
            # A query term counts at most this much in the name signal.
            name[weighed.named] += weighed.document_idf * min(term.weight, 2.0)
    weights = [term.weight for term in terms]
    titles = [term.title_weight for term in terms]
    chunks = [weighed.chunk for weighed in weighed_terms]
    share = 1.0 / mass if mass else 0.0
    shares = [0.0 if one is None else weight * one.idf for one, weight in zip(chunks, asked, strict=True)]
    in_spans, in_chunks, in_documents = map(
        _occurrences, ([weighed.span for weighed in weighed_terms], chunks, [one.document for one in weighed_terms])
    )
    return Scores(
        in_spans.sum(weights, len(lexicon.columns.span_chunk)),
        in_chunks.sum(weights, chunk_total),
        in_documents.sum(weights, document_total),
        in_chunks.sum(titles, chunk_total),
        name,
        in_spans.masses(shares, len(lexicon.columns.span_chunk)) * share,
        in_chunks.masses(shares, chunk_total) * share,
        in_documents.masses(shares, document_total) * share,
        title_mass,
        in_chunks,
    )


def chunk_scores(lexicon: Lexicon, terms: Sequence[QueryTerm]) -> FloatArray:
    """Return `score(...).chunk` alone."""
    weighed = _term_cache(lexicon).weighed(lexicon, [term.term for term in terms], files=False)
    found = _occurrences([one.chunk for one in weighed])
    return found.sum([term.weight for term in terms], len(lexicon.columns.chunk_row))


def _occurrences(level: Sequence[_Weighed | None]) -> Occurrences:
    used = [one for one in level if one is not None]
    return Occurrences(
        np.concatenate([one.units for one in used], dtype=np.int64) if used else np.zeros(0, dtype=np.int64),
        np.concatenate([one.saturated for one in used]) if used else np.zeros(0),
        np.array([0 if one is None else len(one.units) for one in level], dtype=np.int64),
        np.array([0.0 if one is None else one.idf for one in level]),
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


KEPT_BYTES_PER_SPAN = 96
"""Memory of weighed terms of a large lexicon: every other question contains common terms, which cost most."""


class _Term(NamedTuple):
    """One term at each level, None where no unit contains it, and the documents that are named with it."""

    span: _Weighed | None
    chunk: _Weighed | None
    document: _Weighed | None
    named: IntArray
    size: int
    """The bytes of all levels, by estimate."""

    @property
    def document_idf(self) -> float:
        return self.document.idf if self.document is not None else 0.0


def _size(*levels: _Weighed | None) -> int:
    # A unit and its frequency take 12 bytes, and each of the arrays a hundred besides.
    return 12 * sum(len(level.units) for level in levels if level is not None) + 1_000


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
        many = max(len(lexicon.live_span) - 100_000, 0)  # spans beyond those for which the common budget is enough
        self._terms: Cache[tuple[str, bool], _Term] = Cache(attrgetter("size"), KEPT_BYTES_PER_SPAN * many)

    def weighed(self, lexicon: Lexicon, terms: Sequence[str], *, files: bool) -> list[_Term]:
        """Return each term, weighed now or taken from the cache."""
        # Terms are weighed together as long as they cannot have more spans than this, so that memory stays bounded.
        size = max(1_000_000 // max(len(lexicon.live_span), 1), 1)

        def weigh(missing: Sequence[tuple[str, bool]]) -> dict[tuple[str, bool], _Term]:
            batches = ([term for term, _ in missing[at : at + size]] for at in range(0, len(missing), size))
            made = (term for batch in batches for term in self._weigh(lexicon, batch, files=files))
            return dict(zip(missing, made, strict=True))

        found = self._terms.through([*dict.fromkeys((term, files) for term in terms)], weigh)
        return [found[term, files] for term in terms]

    def _weigh(self, lexicon: Lexicon, words: Sequence[str], *, files: bool) -> list[_Term]:
        spread = _spread(lexicon, lexicon.runs(words), files=files)
        levels = [
            level.weigh(runs, len(words)) if runs else [None] * len(words)
            for level, runs in zip(self._levels, (spread.span, spread.chunk, spread.document), strict=True)
        ]
        terms, documents = spread.named
        ends = np.cumsum(np.bincount(terms, minlength=len(words))).tolist()
        return [
            _Term(span, chunk, document, documents[start:end].copy(), _size(span, chunk, document))
            for span, chunk, document, (start, end) in zip(*levels, pairwise([0, *ends]), strict=True)
        ]


def _term_cache(lexicon: Lexicon) -> _TermCache:
    return lexicon.derived(_TermCache, lambda: _TermCache(lexicon))


@dataclass(slots=True)
class _Spread:
    """The weighted frequencies of terms at each level, by field, and the documents named with them."""

    span: list[_Run]
    chunk: list[_Run]
    document: list[_Run]
    named: tuple[IntArray, IntArray]


def _spread(lexicon: Lexicon, fields: Sequence[Run], *, files: bool) -> _Spread:
    columns = lexicon.columns
    body, named, signed, placed = [
        (terms, units, counts.astype(np.float64) * weight)
        for (terms, units, counts), weight in zip(fields, FIELD_WEIGHTS, strict=True)
    ]
    inside = _sum_runs(body, columns.span_chunk)
    chunk = [inside, named, signed, _expand(placed, lexicon.document_first_chunk, lexicon.document_chunk_count)]
    if not files:
        return _Spread([], chunk, [], (named[0][:0], named[1][:0]))
    in_chunks = [_expand(run, lexicon.chunk_first_span, lexicon.chunk_span_count) for run in (named, signed)]
    in_files = _expand(placed, lexicon.document_first_span, lexicon.document_span_count)
    inside, named, signed = (_sum_runs(run, columns.chunk_document) for run in (inside, named, signed))
    return _Spread([body, *in_chunks, in_files], chunk, [inside, named, signed, placed], _both(named, placed))


def largest(values: FloatArray, count: int) -> IntArray:
    """Return the positions of the `count` largest values, falling; equal values in order of position."""
    if len(values) <= count:
        return np.argsort(-values, kind="stable")
    chosen = np.flatnonzero(values >= threshold(values, count))
    return chosen[np.argsort(-values[chosen], kind="stable")[:count]]


def threshold(values: FloatArray, count: int) -> float:
    """Return the `count`-th largest of more than `count` values.

    The `count`-th largest among the maxima of that many blocks or more is a lower bound, which few values reach.
    """
    positive = values[values > 0]
    if len(positive) >= count:  # most chunks and spans match nothing
        values = positive
    length = len(values) // (4 * count)
    if length >= 8:  # least number of values in a block for which comparing maxima first is faster
        blocks = len(values) // length
        maxima = values[: blocks * length].reshape(blocks, length).max(axis=1)
        values = values[values >= np.partition(maxima, -count)[-count]]
    return float(np.partition(values, -count)[-count])


def _both(one: _Run, other: _Run) -> tuple[IntArray, IntArray]:
    """Return the terms and units of two runs, by term."""
    terms = np.concatenate([one[0], other[0]])
    order = np.argsort(terms, kind="stable")
    return terms[order], np.concatenate([one[1], other[1]])[order]


def _sum_runs(run: _Run, owner: IntArray) -> _Run:
    """Sum the values of each term over the units of one owner, which are neighbours."""
    terms, units, values = run
    if not len(units):
        return run
    owners = owner[units]
    begins = _begins((owners[1:] != owners[:-1]) | (terms[1:] != terms[:-1]))
    return terms[begins], owners[begins], np.add.reduceat(values, begins)


def _begins(differs: npt.NDArray[np.bool_]) -> IntArray:
    """Return where runs of equal values begin; each value but the first one differs from the one before it or not."""
    return np.flatnonzero(np.concatenate(([True], differs)))


def _expand(run: _Run, first: IntArray, counts: IntArray) -> _Run:
    """Return all members of the units of a run, `first`..`first + counts`, each with the value of its unit."""
    terms, units, values = run
    sizes = counts[units]
    ends = np.cumsum(sizes)
    members = np.arange(len(units) and int(ends[-1])) + np.repeat(first[units] - (ends - sizes), sizes)
    return np.repeat(terms, sizes), members, np.repeat(values, sizes)
