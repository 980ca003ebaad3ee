"""BM25F over three levels from one posting list: windows, documents (parts) and bundles (files).

A window inherits the name and signature of its document and the path of its bundle, so one posting of a path counts
for every window of the file. Lucene's idf; lengths count the body only. Robertson, Zaragoza, Taylor 2004, "Simple
BM25 extension to multiple weighted fields". Constants from the retrieval recipe (docs/decisions/0002): the optimum
is flat (any k1 of 0.9 to 2 and b of 0.45 to 0.75 is within 1 to 2 points).
"""

from __future__ import annotations

from collections.abc import Sequence
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
"""Saturation and length normalisation for windows and documents, and for whole files."""

LARGEST_NAME_WEIGHT = 2.0
"""A query term counts at most this much in the name signal."""


@dataclass(frozen=True, slots=True)
class Scores:
    """Sums over the query terms, one value a unit of the lexicon.

    `title` is BM25 of the title's terms alone on documents. `name` is the idf mass of terms in a path or defined name,
    by bundle. `matched` is the absolute share (0 to 1) of the query's idf mass that a document or bundle contains.
    """

    window: FloatArray
    document: FloatArray
    bundle: FloatArray
    title: FloatArray
    name: FloatArray
    document_matched: FloatArray
    bundle_matched: FloatArray
    missing: tuple[str, ...]


class _Level:
    """Accumulates one level. The scratch column is zero between terms."""

    def __init__(self, live: npt.NDArray[np.bool_], lengths: FloatArray, k1: float, b: float) -> None:
        total = len(live)
        self.score = np.zeros(total)
        self._count = int(live.sum())
        self._scratch = np.zeros(total)
        self._marks = np.zeros(total, dtype=np.int64)
        average = lengths[live].sum() / max(self._count, 1)
        self._norm = k1 * (1 - b + b * lengths / max(average, 1.0))
        self._k1 = k1

    def add(self, parts: Sequence[tuple[IntArray, FloatArray]]) -> tuple[IntArray, FloatArray, float]:
        """Touched units (with repeats), their saturated frequency, and the term's idf at this level."""
        scratch = self._scratch
        for units, frequency in parts:
            scratch[units] += frequency
        touched = parts[0][0] if len(parts) == 1 else np.concatenate([units for units, _ in parts])
        frequency = scratch[touched]
        scratch[touched] = 0.0
        saturated = frequency * (self._k1 + 1) / (frequency + self._norm[touched])
        holders = len(touched)
        if len(parts) > 1:
            order = np.arange(holders)
            self._marks[touched] = order
            holders = int((self._marks[touched] == order).sum())
        return touched, saturated, idf(self._count, holders)


def idf(count: int, holders: int) -> float:
    """Lucene's inverse document frequency of a term that `holders` of `count` units contain."""
    return float(np.log1p((count - holders + 0.5) / (holders + 0.5)))


def score(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool = True) -> Scores:
    """Score every unit of a lexicon for these terms. `files=False` leaves the window and bundle levels at 0."""
    columns = lexicon.columns
    document_total, bundle_total = len(columns.document_row), len(columns.bundle_id)
    window = _Level(lexicon.live_window, lexicon.window_length, K1, B)
    document = _Level(lexicon.live_document, lexicon.document_length, K1, B)
    bundle = _Level(lexicon.live_bundle, lexicon.bundle_length, FILE_K1, FILE_B)
    title, name = np.zeros(document_total), np.zeros(bundle_total)
    document_matched, bundle_matched = np.zeros(document_total), np.zeros(bundle_total)
    mass, missing = 0.0, []
    for term, spread in zip(terms, _spreads(lexicon, terms, files=files), strict=True):
        if not spread.document:
            missing.append(term.term)
            mass += term.weight * idf(lexicon.document_count, 0)
            continue
        units, saturated, weight = document.add(spread.document)
        document.score[units] += term.weight * weight * saturated
        title[units] += term.title_weight * weight * saturated
        document_matched[units] += term.weight * weight
        mass += term.weight * weight
        bundle_matched[columns.document_bundle[units]] += term.weight * weight
        if files:
            units, saturated, weight = window.add(spread.window)
            window.score[units] += term.weight * weight * saturated
            units, saturated, weight = bundle.add(spread.bundle)
            bundle.score[units] += term.weight * weight * saturated
            name[spread.named] += weight * min(term.weight, LARGEST_NAME_WEIGHT)
    share = 1.0 / mass if mass else 0.0
    return Scores(
        window.score, document.score, bundle.score, title, name, document_matched * share, bundle_matched * share,
        tuple(missing),
    )  # fmt: skip


MOST_CACHED_TERMS = 4_000
"""Terms of a lexicon whose weighted frequencies are kept between questions: the common ones, which cost most."""

MOST_CACHED_UNITS = 20_000
"""A term in more units than this is not kept: a few of them would hold more memory than all others."""


def _spreads(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool) -> list[_Spread]:
    """The spread of each term, from the lexicon's cache where it is known."""
    cache = lexicon.cache
    missing = [term.term for term in terms if (term.term, files) not in cache]
    fresh = {
        term: _spread(lexicon, found, files=files)
        for term, found in zip(missing, lexicon.postings(missing), strict=True)
    }
    spreads = [fresh[term.term] if term.term in fresh else cache[(term.term, files)] for term in terms]
    if len(cache) + len(fresh) > MOST_CACHED_TERMS:
        cache.clear()
    cache.update(((term, files), spread) for term, spread in fresh.items() if spread.size <= MOST_CACHED_UNITS)
    return spreads


@dataclass(slots=True)
class _Spread:
    """One term's weighted frequencies at each level, as (units, frequency) pairs, and the bundles named with it."""

    window: list[tuple[IntArray, FloatArray]]
    document: list[tuple[IntArray, FloatArray]]
    bundle: list[tuple[IntArray, FloatArray]]
    named: IntArray

    @property
    def size(self) -> int:
        """Units held, over all levels."""
        return sum(len(units) for level in (self.window, self.document, self.bundle) for units, _ in level)


def _spread(lexicon: Lexicon, found: TermPostings, *, files: bool) -> _Spread:
    spread = _Spread([], [], [], np.zeros(0, dtype=np.int64))
    columns = lexicon.columns
    units, counts = found.body
    if len(units):
        frequency = counts.astype(np.float64)
        owners, sums = _sum_runs(columns.window_document[units], frequency)
        spread.document.append((owners, sums))
        if files:
            spread.window.append((units, frequency))
            spread.bundle.append(_sum_runs(columns.document_bundle[owners], sums))
    named: list[IntArray] = []
    for (rows, amounts), weight in ((found.name, NAME_WEIGHT), (found.signature, SIGNATURE_WEIGHT)):
        if not len(rows):
            continue
        frequency = amounts.astype(np.float64) * weight
        spread.document.append((rows, frequency))
        if files:
            spread.window.append(
                _expand(lexicon.document_first_window[rows], lexicon.document_window_count[rows], frequency)
            )
            spread.bundle.append(_sum_runs(columns.document_bundle[rows], frequency))
            if weight == NAME_WEIGHT:
                named.append(spread.bundle[-1][0])
    bundles, amounts = found.path
    if len(bundles):
        frequency = amounts.astype(np.float64) * PATH_WEIGHT
        spread.document.append(
            _expand(lexicon.bundle_first_document[bundles], lexicon.bundle_document_count[bundles], frequency)
        )
        if files:
            spread.window.append(
                _expand(lexicon.bundle_first_window[bundles], lexicon.bundle_window_count[bundles], frequency)
            )
            spread.bundle.append((bundles, frequency))
            named.append(bundles)
    if named:
        spread.named = np.concatenate(named)
    return spread


def largest(values: FloatArray, count: int) -> IntArray:
    """Positions of the `count` largest values, falling; equal values in order of position."""
    if len(values) <= count:
        return np.argsort(-values, kind="stable")
    threshold = np.partition(values, -count)[-count]
    chosen = np.flatnonzero(values >= threshold)
    return chosen[np.argsort(-values[chosen], kind="stable")[:count]]


def _sum_runs(owners: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """Sum the values of neighbours with the same owner; owners ascend."""
    first = np.empty(len(owners), dtype=bool)
    first[0] = True
    np.not_equal(owners[1:], owners[:-1], out=first[1:])
    begins = first.nonzero()[0]
    return owners[begins], np.add.reduceat(values, begins)


def _expand(first: IntArray, counts: IntArray, values: FloatArray) -> tuple[IntArray, FloatArray]:
    """All members of ranges `first`..`first + counts`, each with the value of its range."""
    ends = np.cumsum(counts)
    members = np.arange(int(ends[-1])) + np.repeat(first - (ends - counts), counts)
    return members, np.repeat(values, counts)
