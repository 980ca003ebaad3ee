"""BM25F over three levels from one posting list: spans, chunks (parts) and documents (files).

A span inherits the name and signature of its chunk and the path of its document, so one posting of a path counts
for every span of the file. Lucene's idf; lengths count the body only. Robertson, Zaragoza, Taylor 2004, "Simple
BM25 extension to multiple weighted fields". The numbers are in `weights.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from satchel import lazy_numpy as np
from satchel.search import weights
from satchel.search.query import QueryTerm
from satchel.store.segments import Field, IntArray, Lexicon
from satchel.text import EXACT_MARK

if TYPE_CHECKING:
    import numpy.typing as npt

FloatArray: TypeAlias = "npt.NDArray[np.float64]"


_Part = tuple["npt.NDArray[np.uint32]", "npt.NDArray[np.float32]"]
"""The units that contain a term, each once, ascending, and its weighted frequency there, which is a sum of halves."""

BLOCK = 32_768
"""Units that are scored at once: what is computed for them stays in the cache of a processor."""


class Occurrences(NamedTuple):
    """The units of a level that contain each term.

    `parts` are those of all segments, each with the number of its term, ascending. `sizes` are the numbers of units of
    each term, `counts` those of live ones, and `idf` is its rarity, 0 for a term that occurs in none.
    """

    level: _Level
    parts: Sequence[tuple[int, _Part]]
    sizes: IntArray
    counts: IntArray
    idf: FloatArray

    @property
    def units(self) -> IntArray:
        """The units of all terms, one term after the other."""
        return _joined_parts(self.parts)[0]

    @property
    def saturated(self) -> FloatArray:
        """The saturated frequency in each of `units`, 0 in dead ones."""
        return self.level.saturated(*_joined_parts(self.parts))

    def sums(self, *weights: Sequence[float]) -> list[FloatArray]:
        """Return BM25 of each unit for each weighting of the terms, added up term by term in their order."""
        factors = [np.asarray(weighting) * self.idf for weighting in weights]
        sums = [np.zeros(self.level.total) for _ in weights]
        for numbers, sizes, units, frequency in self._blocks():
            saturated = self.level.saturated(units, frequency)
            for scores, factor in zip(sums, factors, strict=True):
                weighed = np.repeat(factor[numbers], sizes)
                weighed *= saturated
                np.add.at(scores, units, weighed)
        return sums

    def masses(self, masses: Sequence[float] | FloatArray, share: float = 1.0) -> FloatArray:
        """Return the summed masses of the terms that each unit contains, 0 for dead ones, times `share`."""
        sums, values = np.zeros(self.level.total), np.asarray(masses)
        for numbers, sizes, units, _ in self._blocks():
            np.add.at(sums, units, np.repeat(values[numbers], sizes))
        sums[self.level.dead] = 0.0
        sums *= share
        return sums

    def _blocks(self) -> Iterator[tuple[list[int], list[int], IntArray, FloatArray]]:
        """Yield numbers of terms, the number of units of each, these units and the frequencies there."""
        if len(self.parts) and self.sizes.sum() <= BLOCK:
            yield _block(self.parts)
            return
        block: list[tuple[int, _Part]] = []
        room = BLOCK
        for number, (units, frequency) in self.parts:
            start = 0
            while start < len(units):
                end = min(start + room, len(units))
                block.append((number, (units[start:end], frequency[start:end])))
                room -= end - start
                start = end
                if not room:
                    yield _block(block)
                    block, room = [], BLOCK
        if block:
            yield _block(block)


def _block(parts: Sequence[tuple[int, _Part]]) -> tuple[list[int], list[int], IntArray, FloatArray]:
    return [number for number, _ in parts], [len(units) for _, (units, _) in parts], *_joined_parts(parts)


class Scores(NamedTuple):
    """Sums over the query terms, one value a unit of the lexicon.

    `title` is BM25 of the title's terms alone on chunks. `name` is the idf mass of terms in a path or defined name, by
    document; `stem` is the share (0 to 1) of the title in what a file is called, times the share of the latter that is
    in the title. `matched` is the absolute share (0 to 1) of the question's idf mass that a unit contains, without
    guessed names: the sum of its `masses` times `share`. `term_shares` is that of each term, also of those in dead
    units alone. `title_mass` is the idf mass of the title.
    """

    span: FloatArray
    chunk: FloatArray
    document: FloatArray
    title: FloatArray
    name: FloatArray
    stem: FloatArray
    span_matched: FloatArray
    title_mass: float
    chunk_occurrences: Occurrences
    document_occurrences: Occurrences
    masses: FloatArray
    share: float
    term_shares: FloatArray

    @property
    def chunk_matched(self) -> FloatArray:
        """The matched share of each chunk, computed anew: most questions do without it."""
        return self.chunk_occurrences.masses(self.masses, self.share)

    @property
    def document_matched(self) -> FloatArray:
        """The matched share of each document, computed anew."""
        return self.document_occurrences.masses(self.masses, self.share)


DENSE = 8
"""Adding up in a table with a place for every unit is faster than sorting if there are at most so many places for each
that is added."""


class _Level:
    """The units of one level of a lexicon, with their length normalisation. Immutable."""

    def __init__(self, live: npt.NDArray[np.bool_], lengths: FloatArray, k1: float, b: float) -> None:
        self.total, self._live = len(live), live
        self._count = int(live.sum())
        self.dead = np.flatnonzero(~live)
        average = lengths[live].sum() / max(self._count, 1)
        self._norm = k1 * (1 - b + b * lengths / max(average, 1.0))
        self._norm[self.dead] = np.inf
        self._k1 = k1

    def saturated(self, units: IntArray, frequency: FloatArray) -> FloatArray:
        """Return the saturated frequency in each of these units, 0 in dead ones."""
        norm = self._norm.take(units)
        norm += frequency
        saturated = frequency * (self._k1 + 1)
        saturated /= norm
        return saturated

    def occurrences(self, found: Sequence[tuple[int, _Part]], term_count: int) -> Occurrences:
        """Return the units that contain each term, from its parts in all segments, each with the number of the term."""
        sizes = counts = _sizes(found, term_count)
        if len(self.dead):
            places = np.flatnonzero(~self._live[_joined_parts(found)[0]])
            owners = np.searchsorted(np.cumsum(sizes), places, side="right")
            counts = sizes - np.bincount(owners, minlength=term_count)
        return Occurrences(self, found, sizes, counts, self._rarities(counts))

    def rarities(self, found: Sequence[tuple[int, _Part]], term_count: int) -> FloatArray:
        """Return `Occurrences.idf` alone, for which the units are read only where some are dead."""
        return self.occurrences(found, term_count).idf if len(self.dead) else self._rarities(_sizes(found, term_count))

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
    (in_span,), (in_chunk, in_title) = in_spans.sums(term_weights), in_chunks.sums(term_weights, titles)
    (in_document,) = in_documents.sums(term_weights)
    return Scores(
        in_span,
        in_chunk,
        in_document,
        in_title,
        named.masses(names),
        _stem_shares(stems, terms, len(in_document)),
        in_spans.masses(shares, share),
        title_mass,
        in_chunks,
        in_documents,
        shares,
        share,
        rarities * asked * share,
    )


def _stem_shares(stems: _Stems, terms: Sequence[QueryTerm], total: int) -> FloatArray:
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
    return found.sums([term.weight for term in terms])[0]


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

_Stems = tuple[IntArray, IntArray, FloatArray]
"""Number of a term, a file that is called with it, the number of terms in the stem of that file: parallel columns."""

_PART_LEVELS = (0, 1, 2, 2, 2)
"""Their levels, as those of `FIELD_LEVELS`."""


def _found(lexicon: Lexicon, terms: Sequence[QueryTerm], *, files: bool) -> tuple[list[Occurrences], _Stems]:
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
    make = partial(_hold, lexicon, files)
    held = lexicon.in_segments((_found, files, weights.FIELD_WEIGHTS), [term.term for term in terms], _size, make)
    return levels, [
        (number, parts) for number, row in enumerate(zip(*held, strict=True)) for parts in row if any(parts)
    ]


def _of_level(index: int, every: Sequence[tuple[int, _Parts]]) -> list[tuple[int, _Part]]:
    return [(number, own) for number, parts in every if (own := parts[index])]


def _levels(lexicon: Lexicon, k1: float, b: float, file_k1: float, file_b: float) -> tuple[_Level, ...]:
    spans = _Level(lexicon.live_span, lexicon.span_length, k1, b)
    chunks = _Level(lexicon.live_chunk, lexicon.chunk_length, k1, b)
    documents = _Level(lexicon.live_document, lexicon.document_length, file_k1, file_b)
    return spans, chunks, documents, documents, documents


def _hold(lexicon: Lexicon, files: bool, terms: Sequence[str], segments: Sequence[int]) -> list[list[_Parts]]:
    # Terms are read together as long as they cannot have more spans than this, so that memory stays bounded.
    size = max(4_000_000 // max(sum(lexicon.segment_spans[index] for index in segments), 1), 1)
    firsts = [lexicon.firsts[[*segments], level] for level in _PART_LEVELS]
    held: list[list[_Parts]] = [[] for _ in segments]
    for batch in (terms[start : start + size] for start in range(0, len(terms), size)):
        runs = lexicon.runs(batch, segments)
        ends = [np.searchsorted(run[0], np.arange(len(batch)), side="right").tolist() for run in runs]
        for bounds in zip(*(pairwise([0, *column]) for column in ends), strict=True):
            fields = [
                (run[1][start:end], run[2][start:end]) if start < end else None
                for run, (start, end) in zip(runs, bounds, strict=True)
            ]
            shares = map(_divided, _parts(lexicon, fields, files=files), firsts)
            for held_parts, parts in zip(held, zip(*shares, strict=True), strict=True):
                held_parts.append(parts)
    return held


def _divided(part: _Weighed | None, firsts: IntArray) -> list[_Part | None]:
    """Return the share of each segment in a part, as the numbers that are kept."""
    if part is None:
        return [None] * len(firsts)
    units, frequency = part[0].astype(np.uint32), part[1].astype(np.float32)
    if len(firsts) == 1:
        return [(units, frequency)]
    bounds = pairwise([*np.searchsorted(units, firsts).tolist(), len(units)])
    # Each is a copy, because a part of an array keeps all of it.
    return [(units[start:end].copy(), frequency[start:end].copy()) if start < end else None for start, end in bounds]


def _parts(lexicon: Lexicon, fields: Sequence[Field | None], *, files: bool) -> tuple[_Weighed | None, ...]:
    """Return the parts of a term in a segment; without `files` those in chunks alone."""
    columns = lexicon.columns
    *weighed, called = fields
    body, named, signed, placed = [
        field and (field[0], field[1].astype(np.float32) * np.float32(weight))
        for field, weight in zip(weighed, weights.FIELD_WEIGHTS, strict=True)
    ]
    inside = _by_owner(body, columns.span_chunk)
    chunks = [inside, named, signed, _expanded(placed, lexicon.document_first_chunk, lexicon.document_chunk_count)]
    in_chunks = _joined(chunks, len(lexicon.live_chunk))
    if not files:
        return None, in_chunks, None, None, None
    spans = [body, *(_expanded(part, lexicon.chunk_first_span, lexicon.chunk_span_count) for part in (named, signed))]
    spans.append(_expanded(placed, lexicon.document_first_span, lexicon.document_span_count))
    documents = [*(_by_owner(part, columns.chunk_document) for part in (inside, named, signed)), placed]
    total = len(lexicon.live_document)
    named_files = _joined([documents[1], placed], total)
    return _joined(spans, len(lexicon.live_span)), in_chunks, _joined(documents, total), named_files, called


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


_Weighed = tuple[IntArray, "npt.NDArray[Any]"]
"""A part as it is computed."""


def _joined(parts: Sequence[_Weighed | None], total: int) -> _Weighed | None:
    """Join the parts of several fields of a term at a level of `total` units."""
    present = [part for part in parts if part is not None]
    if len(present) <= 1:
        return present[0] if present else None
    if total <= DENSE * sum([len(units) for units, _ in present]):
        table = np.zeros(total, dtype=np.float32)
        for units, values in present:
            np.add.at(table, units, values)
        distinct = np.flatnonzero(table != 0)  # of booleans, which is faster
        return distinct, table[distinct]
    units, values = (np.concatenate(columns) for columns in zip(*present, strict=True))
    order = np.argsort(units, kind="stable")
    ordered = units[order]
    begins = _begins(ordered[1:] != ordered[:-1])
    return ordered[begins], np.add.reduceat(values[order], begins)


def _by_owner(part: _Weighed | None, owner: IntArray) -> _Weighed | None:
    """Add up the values over the units of each owner, which are neighbours."""
    if part is None:
        return None
    owners = owner[part[0]]
    begins = _begins(owners[1:] != owners[:-1])
    return owners[begins], np.add.reduceat(part[1], begins)


def _begins(differs: npt.NDArray[np.bool_]) -> IntArray:
    """Return where runs of equal values begin; each value but the first one differs from the one before it or not."""
    return np.flatnonzero(np.concatenate(([True], differs)))


def _expanded(part: _Weighed | None, first: IntArray, counts: IntArray) -> _Weighed | None:
    """Return all members of the units of a part, `first`..`first + counts`, each with the value of its unit."""
    if part is None:
        return None
    units, values = part
    sizes = counts[units]
    ends = np.cumsum(sizes)
    members = np.arange(int(ends[-1])) + np.repeat(first[units] - (ends - sizes), sizes)
    return members, np.repeat(values, sizes)
