"""BM25F over three levels from one posting list: spans, chunks (parts) and documents (files).

A span inherits the name and signature of its chunk and the path of its document, so one posting of a path counts
for every span of the file. Lucene's idf; lengths count the body only. Robertson, Zaragoza, Taylor 2004, "Simple
BM25 extension to multiple weighted fields". The numbers are in `weights.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from satchel import lazy_numpy as np
from satchel.search import weights
from satchel.search.query import QueryTerm
from satchel.store.segments import IntArray, Lexicon, Run
from satchel.text import EXACT_MARK

if TYPE_CHECKING:
    import numpy.typing as npt

FloatArray: TypeAlias = "npt.NDArray[np.float64]"


class Occurrences(NamedTuple):
    """The units that contain each term, one term after the other, with its saturated frequency there, 0 in dead ones.

    `sizes` are the numbers of units of each term, `counts` those of live ones, and `idf` is its rarity, 0 for a term
    that occurs in none. `dead` are the dead units of the level.
    """

    units: IntArray
    saturated: FloatArray
    sizes: IntArray
    counts: IntArray
    idf: FloatArray
    dead: IntArray

    def sum(self, weights: Sequence[float], total: int) -> FloatArray:
        """Return BM25 of each of `total` units, term by term in their order."""
        factors = np.repeat(np.asarray(weights) * self.idf, self.sizes)
        return np.bincount(self.units, self.saturated * factors, total).astype(np.float64, copy=False)

    def masses(self, masses: Sequence[float] | FloatArray, total: int) -> FloatArray:
        """Return the summed masses of the terms that each of `total` units contains, 0 for dead ones."""
        sums = np.bincount(self.units, np.repeat(masses, self.sizes), total).astype(np.float64, copy=False)
        sums[self.dead] = 0.0
        return sums


class Scores(NamedTuple):
    """Sums over the query terms, one value a unit of the lexicon.

    `title` is BM25 of the title's terms alone on chunks. `name` is the idf mass of terms in a path or defined name, by
    document; `stem` is the share (0 to 1) of the title in what a file is called, times the share of the latter that is
    in the title. `matched` is the absolute share (0 to 1) of the question's idf mass that a unit contains, without
    guessed names; `term_shares` is that of each term, also of those in dead units alone. `title_mass` is the idf mass
    of the title.
    """

    span: FloatArray
    chunk: FloatArray
    document: FloatArray
    title: FloatArray
    name: FloatArray
    stem: FloatArray
    span_matched: FloatArray
    chunk_matched: FloatArray
    document_matched: FloatArray
    title_mass: float
    chunk_occurrences: Occurrences
    term_shares: FloatArray


_Run = tuple[IntArray, IntArray, FloatArray]
"""Number of a term, unit, weighted frequency there: parallel columns, ascending by term, then by unit."""

DENSE = 8
"""Adding up in a table with a place for every key is faster than sorting if there are at most so many places a key."""


_Part = tuple["npt.NDArray[np.uint32]", "npt.NDArray[np.float32]"]
"""The units of a segment that contain a term, each once, and its weighted frequency there, which is a sum of halves."""


class _Level:
    """The units of one level of a lexicon, with their length normalisation. Immutable."""

    def __init__(self, number: int, live: npt.NDArray[np.bool_], lengths: FloatArray, k1: float, b: float) -> None:
        self.number, self.total = number, len(live)
        self._count = int(live.sum())
        self._dead = np.flatnonzero(~live)
        average = lengths[live].sum() / max(self._count, 1)
        self._norm = k1 * (1 - b + b * lengths / max(average, 1.0))
        self._norm[self._dead] = np.inf
        self._k1 = k1

    def joined(self, parts: Sequence[_Run], term_count: int) -> _Run:
        """Join the fields of several terms, at least one: each unit of a term comes once."""
        terms, units, frequency = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        if sum(len(part[0]) > 0 for part in parts) <= 1:
            return terms, units, frequency
        keys, frequency = _summed(terms * self.total + units, frequency, term_count * self.total)
        return *np.divmod(keys, self.total), frequency

    def occurrences(self, found: Sequence[tuple[int, _Part]], term_count: int) -> Occurrences:
        """Return the units that contain each term, from its parts in all segments, each with the number of the term."""
        units, frequency = _joined_parts(found)
        sizes = counts = _sizes(found, term_count)
        norm = self._norm.take(units)
        if len(self._dead):
            owners = np.searchsorted(np.cumsum(sizes), np.flatnonzero(np.isinf(norm)), side="right")
            counts = sizes - np.bincount(owners, minlength=term_count)
        norm += frequency
        frequency *= self._k1 + 1
        frequency /= norm
        return Occurrences(units, frequency, sizes, counts, self._rarities(counts), self._dead)

    def rarities(self, found: Sequence[tuple[int, _Part]], term_count: int) -> FloatArray:
        """Return `Occurrences.idf` alone, for which the units are read only where some are dead."""
        return self.occurrences(found, term_count).idf if len(self._dead) else self._rarities(_sizes(found, term_count))

    def _rarities(self, counts: IntArray) -> FloatArray:
        return np.where(counts > 0, _rarity(self._count, counts), 0.0)


def _sizes(found: Sequence[tuple[int, _Part]], term_count: int) -> IntArray:
    """Return the number of units in the parts of each term."""
    sizes = [0] * term_count
    for term, (units, _) in found:
        sizes[term] += len(units)
    return np.array(sizes, dtype=np.int64)


def _joined_parts(found: Sequence[tuple[int, _Part]]) -> tuple[IntArray, FloatArray]:
    nothing = np.zeros((1, 0), dtype=np.uint32)
    units = np.concatenate([part[0] for _, part in found] or nothing, dtype=np.int64)
    return units, np.concatenate([part[1] for _, part in found] or nothing, dtype=np.float64)


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
    return float(_rarity(count, np.array(holders)))


def _rarity(count: int, holders: IntArray) -> FloatArray:
    rarity: FloatArray = np.log1p((count - holders + 0.5) / (holders + 0.5))
    return rarity


def score(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool = True) -> Scores:
    """Score every unit of a lexicon for these terms. `files=False` leaves the span and document levels at 0."""
    (in_spans, in_chunks, in_documents, named), stems = _found(lexicon, terms, files=files)
    is_absent = in_chunks.counts == 0
    rarities = np.where(is_absent, idf(lexicon.chunk_count, 0), in_chunks.idf)
    term_weights, titles = [term.weight for term in terms], [term.title_weight for term in terms]
    asked = [
        0.0 if term.guessed and (absent or not term.is_form) else term.weight
        for term, absent in zip(terms, is_absent.tolist(), strict=True)
    ]
    mass, title_mass = 0.0, 0.0
    for weight, title, rarity in zip(asked, titles, rarities.tolist(), strict=True):
        mass += weight * rarity
        title_mass += title * rarity
    in_names = np.minimum(term_weights, weights.LARGEST_NAME_TERM)
    names = np.where(in_spans.counts > 0, in_documents.idf * in_names, 0.0).tolist()
    share = 1.0 / mass if mass else 0.0
    shares = in_chunks.idf * asked
    spans, chunks, documents = map(len, (lexicon.live_span, lexicon.live_chunk, lexicon.live_document))
    return Scores(
        in_spans.sum(term_weights, spans),
        in_chunks.sum(term_weights, chunks),
        in_documents.sum(term_weights, documents),
        in_chunks.sum(titles, chunks),
        named.masses(names, documents),
        _stem_shares(stems, terms, documents),
        in_spans.masses(shares, spans) * share,
        in_chunks.masses(shares, chunks) * share,
        in_documents.masses(shares, documents) * share,
        title_mass,
        in_chunks,
        rarities * asked * share,
    )


def _stem_shares(stems: _Run, terms: Sequence[QueryTerm], total: int) -> FloatArray:
    """Return `Scores.stem`: `json reader` says all of `JsonReader.java`, two of three terms of `JsonTokenReader.java`.

    In a long title each word is a small share, so what a file is called decides little there.
    """
    asked = np.array([0.0 if term.term.startswith(EXACT_MARK) else term.title_weight for term in terms])
    numbers, files, sizes = stems
    counts = asked[numbers] > 0
    said = np.bincount(files, asked[numbers], total)
    named = np.bincount(files, counts / sizes, total)
    shares: FloatArray = said * named / max(float(asked.sum()), 1e-9)
    return shares


def chunk_scores(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool = False) -> FloatArray:
    """Return `score(...).chunk` alone; with the same `files` both read the words once."""
    found = _in_chunks(lexicon, terms, files=files)
    return found.sum([term.weight for term in terms], len(lexicon.columns.chunk_row))


def rarities(lexicon: Lexicon, terms: Sequence[QueryTerm]) -> dict[str, float]:
    """Return the weight of each term times its rarity in the chunks, 0 for one that occurs in none."""
    level, parts = _chunk_parts(lexicon, terms, files=True)
    found = level.rarities(parts, len(terms)).tolist()
    return {term.term: term.weight * rarity for term, rarity in zip(terms, found, strict=True)}


def holders(lexicon: Lexicon, terms: Sequence[QueryTerm], *, hidden: bool = False) -> list[tuple[float, IntArray]]:
    """Return for each term its share (0 to 1) of the idf mass of all, and the chunks that contain it.

    With `hidden` also dead chunks.
    """
    found = _in_chunks(lexicon, terms, files=False)
    rarities = np.where(found.counts == 0, idf(lexicon.chunk_count, 0), found.idf).tolist()
    shares = [term.weight * rarity for term, rarity in zip(terms, rarities, strict=True)]
    mass = sum(shares) or 1.0
    every = np.split(found.units, np.cumsum(found.sizes)[:-1])
    visible = (units if hidden else units[lexicon.live_chunk[units]] for units in every)
    return [(share / mass, units) for share, units in zip(shares, visible, strict=False)]


_Parts = tuple[_Part | None, ...]
"""The parts of a term in a segment: spans, chunks, documents, documents that are named with it, and called with it."""


def _found(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool) -> tuple[list[Occurrences], _Run]:
    """Return the occurrences of the terms at the levels of `_Parts`, at that of chunks alone without `files`.

    The second value are the files that are called with a term, with the number of terms in their stem.
    """
    levels, every = _parts_of(lexicon, terms, files=files)
    *found, called = (_of_level(index, every) for index in range(len(levels)))
    occurrences = [level.occurrences(own, len(terms)) for level, own in zip(levels, found, strict=False)]
    numbers = np.repeat([number for number, _ in called], [len(part[0]) for _, part in called]).astype(np.int64)
    return occurrences, (numbers, *_joined_parts(called))


def _in_chunks(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool) -> Occurrences:
    """Return the occurrences of the terms in chunks, which are the same with `files`: both are kept apart."""
    level, parts = _chunk_parts(lexicon, terms, files=files)
    return level.occurrences(parts, len(terms))


def _chunk_parts(
    lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool
) -> tuple[_Level, list[tuple[int, _Part]]]:
    levels, every = _parts_of(lexicon, terms, files=files)
    return levels[1], _of_level(1, every)


def _parts_of(
    lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool
) -> tuple[tuple[_Level, ...], list[tuple[int, _Parts]]]:
    """Return the levels, and the parts of each term with its number, one segment after the other."""
    bends = weights.K1, weights.B, weights.FILE_K1, weights.FILE_B
    levels: tuple[_Level, ...] = lexicon.derived((_Level, bends), lambda: _levels(lexicon, *bends))
    make = partial(_hold, lexicon, levels, files)
    held = lexicon.in_segments((_found, files, weights.FIELD_WEIGHTS), [term.term for term in terms], _size, make)
    return levels, [
        (number, parts) for number, row in enumerate(zip(*held, strict=True)) for parts in row if any(parts)
    ]


def _of_level(index: int, every: Sequence[tuple[int, _Parts]]) -> list[tuple[int, _Part]]:
    return [(number, own) for number, parts in every if (own := parts[index])]


def _levels(lexicon: Lexicon, k1: float, b: float, file_k1: float, file_b: float) -> tuple[_Level, ...]:
    spans = _Level(0, lexicon.live_span, lexicon.span_length, k1, b)
    chunks = _Level(1, lexicon.live_chunk, lexicon.chunk_length, k1, b)
    documents = _Level(2, lexicon.live_document, lexicon.document_length, file_k1, file_b)
    return spans, chunks, documents, documents, documents


def _hold(
    lexicon: Lexicon, levels: Sequence[_Level], files: bool, terms: Sequence[str], segments: Sequence[int]
) -> list[list[_Parts]]:
    # Terms are read together as long as they cannot have more spans than this, so that memory stays bounded.
    size = max(1_000_000 // max(sum(lexicon.segment_spans[index] for index in segments), 1), 1)
    held: list[list[_Parts]] = [[] for _ in segments]
    for batch in (terms[at : at + size] for at in range(0, len(terms), size)):
        spread = _spread(lexicon, lexicon.runs(batch, segments), files=files)
        by_level = [_parts(lexicon, *level, len(batch), segments) for level in zip(levels, spread, strict=True)]
        for held_parts, parts in zip(held, zip(*by_level, strict=True), strict=True):
            held_parts += zip(*parts, strict=True)
    return held


def _parts(
    lexicon: Lexicon, level: _Level, runs: Sequence[_Run], term_count: int, segments: Sequence[int]
) -> list[list[_Part | None]]:
    """Return for each of these segments the part of each term at a level."""
    if not runs:
        return [[None] * term_count for _ in segments]
    terms, units, frequency = level.joined(runs, term_count)
    shares = divided(lexicon, level.number, terms, units, term_count, segments)
    # Each is a copy, because a part of an array keeps all of it.
    kept = units.astype(np.uint32), frequency.astype(np.float32)
    return [
        [(kept[0][own].copy(), kept[1][own].copy()) if own.start < own.stop else None for own in row] for row in shares
    ]


def divided(
    lexicon: Lexicon, level: int, terms: IntArray, units: IntArray, term_count: int, segments: Sequence[int]
) -> list[list[slice]]:
    """Return for each of these segments where the units of each term are; they ascend by term, then by unit.

    Levels are those of `FIELD_LEVELS`.
    """
    total = (len(lexicon.live_span), len(lexicon.live_chunk), len(lexicon.live_document))[level]
    firsts = np.add.outer(np.arange(term_count) * total, lexicon.firsts[[*segments], level])
    bounds = [*np.searchsorted(terms * total + units, firsts.ravel()).tolist(), len(units)]
    every = [slice(*pair) for pair in pairwise(bounds)]
    return [every[index :: len(segments)] for index in range(len(segments))]


def _size(parts: _Parts) -> int:
    # A unit and its frequency take 8 bytes, and each of the arrays a hundred besides.
    return 200 + sum(300 + 8 * len(part[0]) for part in parts if part is not None)


def _spread(lexicon: Lexicon, fields: Sequence[Run], *, files: bool) -> tuple[list[_Run], ...]:
    """Return the weighted frequencies of terms at each level by field, the documents named and called with them."""
    columns = lexicon.columns
    *weighed, called = fields
    body, named, signed, placed = [
        (terms, units, counts.astype(np.float64) * weight)
        for (terms, units, counts), weight in zip(weighed, weights.FIELD_WEIGHTS, strict=True)
    ]
    inside = _sum_runs(body, columns.span_chunk)
    chunk = [inside, named, signed, _expand(placed, lexicon.document_first_chunk, lexicon.document_chunk_count)]
    if not files:
        return [], chunk, [], [], []
    in_chunks = [_expand(run, lexicon.chunk_first_span, lexicon.chunk_span_count) for run in (named, signed)]
    in_files = _expand(placed, lexicon.document_first_span, lexicon.document_span_count)
    inside, named, signed = (_sum_runs(run, columns.chunk_document) for run in (inside, named, signed))
    stems = (*called[:2], called[2].astype(np.float64))
    return [body, *in_chunks, in_files], chunk, [inside, named, signed, placed], [named, placed], [stems]


def best_of_each(values: FloatArray, first: IntArray, counts: IntArray) -> FloatArray:
    """Return the largest value among the members of each owner, 0 without any; members of an owner are neighbours."""
    best = np.zeros(len(first))
    owners = np.flatnonzero(counts)
    if len(owners):
        best[owners] = np.maximum.reduceat(values, first[owners])
    return best


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
