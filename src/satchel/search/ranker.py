"""A learned value of spans of code: an ensemble of small regression trees over the signals of the search.

It orders the spans that the formula of `rank_files` puts first; the value of the formula is one of its features
(docs/decisions/0037). The trees were trained on the fixes of some fifty public repositories (`benchmarks/ranker`): a
span is relevant if the fix of an issue changed a line of it. They are evaluated together with bit masks instead of one
after the other. Source: Lucchese et al. 2015, "QuickScorer: a fast algorithm to rank documents with additive ensembles
of regression trees".

All thresholds are compared with values rounded to `DIGITS`, and the leaves are integers, so that the value does not
depend on the order of floating-point sums in a build of numpy.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from satchel.search import bm25
from satchel.search.bm25 import FloatArray
from satchel.search.query import QueryTerm
from satchel.search.votes import NO_MATCH, CommitMatch
from satchel.store.segments import IntArray, Lexicon

CANDIDATES = 400
"""Spans, the best by the formula, that the trees value. 95 % of the questions have a changed span among them."""

DIGITS = 4

LEAVES = 8
"""Leaves of a tree: the bits of one byte."""

TABLE = "ranker.bin"
EARLY_LINES = 6
"""Lines of a question after which the early weight of a term is 1/e of its weight."""


class FileSignals(NamedTuple):
    """Signals of files that the features read, one value a document of the lexicon.

    `score` and `rank` are those of the formula, `commits` the matching commits of the documents that have any.
    """

    score: FloatArray
    rank: IntArray
    best_part: FloatArray
    whole: FloatArray
    commits: Mapping[int, CommitMatch]


class Signals(NamedTuple):
    """Everything that the features are made of. `named` has one value a chunk.

    The masks tell which chunks and spans are in primary files (no test, no peripheral file): they set the scales.
    """

    lexicon: Lexicon
    terms: Sequence[QueryTerm]
    scores: bm25.Scores
    file: FileSignals
    named: FloatArray
    primary_chunk: npt.NDArray[np.bool_]
    primary_span: npt.NDArray[np.bool_]
    folders: Callable[[IntArray], IntArray]


def _relative(values: FloatArray) -> FloatArray:
    """Return non-negative values divided by the largest."""
    largest = values.max(initial=0.0)
    return values / largest if largest > 0 else values


def _ranks(values: FloatArray, own: FloatArray) -> FloatArray:
    """Return log(1 + rank) of own values among all values; the rank is the number of larger ones."""
    larger = np.sort(values[values > own.min(initial=np.inf)])
    return np.log1p(len(larger) - np.searchsorted(larger, own, side="right"))


def _shares(values: FloatArray, of_primary: FloatArray, members: IntArray) -> FloatArray:
    """Return the values of the members relative to the largest in a primary file, at most 1.

    `of_primary` are the values with 0 for all other files.
    """
    largest = max(float(of_primary.max(initial=0.0)), 1e-9)
    shares: FloatArray = np.minimum(values[members] / largest, 1.0)
    return shares


RARE_SHARE, RARE_CHUNKS = 0.004, 8.0
"""A rare term is in at most this share of the chunks, or in this many."""


class _TermTable:
    """The saturated frequencies of the terms in the candidate units of one level."""

    def __init__(self, occurrences: bm25.Occurrences, members: IntArray, total: int) -> None:
        position = np.full(total, -1)
        position[members] = np.arange(len(members))
        unit = position[occurrences.units]
        inside = np.flatnonzero(unit >= 0)
        self._count = len(members)
        self.unit, self.term = unit[inside], np.repeat(np.arange(len(occurrences.counts)), occurrences.counts)[inside]
        self._saturated = occurrences.saturated[inside]

    def sums(self, weights: FloatArray) -> FloatArray:
        """Return BM25 of each unit for other weights of the terms; the weights include the idf."""
        return np.bincount(self.unit, self._saturated * weights[self.term], self._count).astype(np.float64)

    def mass(self, weights: FloatArray) -> FloatArray:
        """Return the summed weights of the terms that each unit contains."""
        return np.bincount(self.unit, weights[self.term], self._count).astype(np.float64)


def features(signals: Signals, spans: IntArray, values: FloatArray) -> dict[str, FloatArray]:
    """Return one value a span for each feature, by name; `spans` are ordered by falling `values` of the formula."""
    lexicon, columns, scores, file = signals.lexicon, signals.lexicon.columns, signals.scores, signals.file
    chunks, chunk = np.unique(columns.span_chunk[spans], return_inverse=True)
    documents, owner = np.unique(columns.chunk_document[chunks], return_inverse=True)
    document = owner[chunk]
    count = len(spans)
    commits = [file.commits.get(position, NO_MATCH) for position in documents.tolist()]
    best_files = np.sort(file.score)[::-1]
    log_length, log_spans = (
        np.log1p(lexicon.document_length[documents]),
        np.log1p(lexicon.document_span_count[documents]),
    )
    folder = signals.folders(documents)
    by_folder = np.bincount(folder, file.score[documents])[folder] - file.score[documents]
    primary_spans, primary_chunks = scores.span * signals.primary_span, scores.chunk * signals.primary_chunk
    span_rank = _ranks(primary_spans, scores.span[spans])
    chunk_rank = _ranks(primary_chunks, scores.chunk[chunks])
    length = columns.span_end[spans].astype(np.float64) - columns.span_start[spans] + 1
    lines = columns.span_end[lexicon.document_first_span[documents] + lexicon.document_span_count[documents] - 1]
    of_file: dict[str, npt.NDArray[Any]] = {
        "file": file.score[documents],
        "file over second": file.score[documents] - (best_files[1] if len(best_files) > 1 else 0.0),
        "file over sixth": file.score[documents] - (best_files[5] if len(best_files) > 5 else 0.0),
        "file rank": np.log1p(file.rank[documents]),
        "file best part": file.best_part[documents],
        "file whole": file.whole[documents],
        "file length": log_length,
        "file spans": log_spans,
        "file candidates": np.log1p(np.bincount(document[:100], minlength=len(documents))),
        "file first spans": np.log1p(np.bincount(document[span_rank < np.log(11.0)], minlength=len(documents))),
        "folder mean": by_folder / np.maximum(np.bincount(folder)[folder] - 1, 1),
        "commit best": np.array([commit.best for commit in commits]),
        "commit first": np.log1p(np.array([commit.first for commit in commits])),
    }
    of_chunk: dict[str, npt.NDArray[Any]] = {
        "chunk": _shares(scores.chunk, primary_chunks, chunks),
        "chunk title": _shares(scores.title, scores.title * signals.primary_chunk, chunks),
        "chunk rank": chunk_rank,
        "named": np.minimum(signals.named[chunks], 8.0) / 4.0,
        "chunk length": np.log1p(lexicon.chunk_length[chunks]),
        "chunk spans": np.log1p(lexicon.chunk_span_count[chunks]),
    }
    of_span: dict[str, npt.NDArray[Any]] = {
        "value": values - values[0],
        "value over later": values - values[min(60, count - 1)],
        "lead": np.full(count, values[0] - values[min(20, count - 1)]),
        "rank": np.log1p(np.arange(count)),
        "rank in file": np.log1p(_places(document)),
        "span": _shares(scores.span, primary_spans, spans),
        "span rank": span_rank,
        "span terms": np.log1p(columns.span_terms[spans]),
        "span lines": length / 24,
        "line length": columns.span_characters[spans] / length / 40,
        "comments": columns.span_comment_words[spans] / np.maximum(columns.span_words[spans], 1),
        "place": columns.span_start[spans] / np.maximum(lines, 1)[document],
        "files": np.full(count, np.log1p(lexicon.document_count)),
    }
    made: dict[str, npt.NDArray[Any]] = {name: row[document] for name, row in of_file.items()}
    made |= {name: row[chunk] for name, row in of_chunk.items()} | of_span | _of_terms(signals, spans, chunks, chunk)
    return {name: np.asarray(row, dtype=np.float64).round(DIGITS) for name, row in made.items()}


def _of_terms(signals: Signals, spans: IntArray, chunks: IntArray, chunk: IntArray) -> dict[str, FloatArray]:
    """Return features of the question with other weights of its terms, and of the terms that a span contains."""
    lexicon, scores = signals.lexicon, signals.scores
    weight, title, prose, early = np.array(
        [
            (term.weight, term.title_weight, term.prose_weight, term.weight * math.exp(-term.line / EARLY_LINES))
            for term in signals.terms
        ]
    ).T
    rarity = scores.chunk_occurrences.counts <= max(RARE_CHUNKS, RARE_SHARE * lexicon.chunk_count)
    variants = {"one": np.ones(len(weight)), "prose": prose, "early": early, "rare": weight * rarity}
    table = _TermTable(scores.span_occurrences, spans, len(lexicon.live_span))
    idf = scores.span_occurrences.idf
    made = {f"span {name}": _relative(table.sums(row * idf)) for name, row in variants.items()}
    mass = float((weight * idf).sum())
    covered = table.mass(weight * idf) / max(mass, 1e-9)
    made["covered"] = covered
    made["covered title"] = table.mass((title > 0).astype(np.float64)) / max(int((title > 0).sum()), 1)
    table = _TermTable(scores.chunk_occurrences, chunks, len(lexicon.live_chunk))
    idf = scores.chunk_occurrences.idf
    return made | {f"chunk {name}": _relative(table.sums(variants[name] * idf))[chunk] for name in ("early", "rare")}


def _places(owner: IntArray) -> IntArray:
    """Return for each member the number of earlier members with the same owner."""
    order = np.argsort(owner, kind="stable")
    ordered = owner[order]
    first = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1])))
    places = np.empty(len(owner), dtype=np.int64)
    places[order] = np.arange(len(owner)) - np.repeat(first, np.diff(np.append(first, len(owner))))
    return places


@dataclass(frozen=True, slots=True)
class Trees:
    """The ensemble. `edges` are the thresholds of each feature, ascending; nodes have one row a place in a tree.

    A node is false for a value above its threshold and then clears the bits of the leaves on its left; the lowest bit
    that stays is the leaf of the tree. `recipe` is a digest of the settings of the training.
    """

    features: tuple[str, ...]
    edges: tuple[FloatArray, ...]
    feature: npt.NDArray[np.uint8]
    threshold: npt.NDArray[np.uint8]
    cleared: npt.NDArray[np.uint8]
    leaves: npt.NDArray[np.int16]
    unit: float
    recipe: str
    outcomes: npt.NDArray[np.int16] = field(init=False, repr=False, compare=False)
    """The leaf of each tree for every byte of bits that stay: one look-up instead of two."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcomes", self.leaves[:, _LOWEST_BIT])

    def values(self, rows: Sequence[FloatArray]) -> FloatArray:
        """Return the sum over the trees for each column of the rows, one row a feature."""
        bins = np.stack([np.searchsorted(edges, row) for edges, row in zip(self.edges, rows, strict=True)])
        bins = bins.astype(np.uint8)
        left = np.full((self.feature.shape[1], bins.shape[1]), 255, dtype=np.uint8)
        for feature, threshold, cleared in zip(self.feature, self.threshold, self.cleared, strict=True):
            true = (bins.take(feature, axis=0) <= threshold[:, None]).view(np.uint8)
            np.negative(true, out=true)  # 1 becomes 255: a true node clears nothing
            true |= ~cleared[:, None]
            left &= true
        places = left.astype(np.intp)
        places += np.arange(0, self.outcomes.size, _BYTES)[:, None]
        values: FloatArray = self.outcomes.take(places).sum(axis=0, dtype=np.int64) * self.unit
        return values


_BYTES = 256
_LOWEST_BIT = np.array([(byte & -byte).bit_length() - 1 if byte else 0 for byte in range(_BYTES)])


def write_trees(trees: Trees) -> bytes:
    """Return an ensemble as bytes: one line of JSON, then its arrays."""
    head = {
        "features": trees.features,
        "edges": [len(edges) for edges in trees.edges],
        "trees": len(trees.leaves),
        "unit": trees.unit,
        "recipe": trees.recipe,
    }
    arrays = [*(edges.astype("<f8") for edges in trees.edges), trees.feature, trees.threshold, trees.cleared]
    body = b"".join(array.tobytes() for array in (*arrays, trees.leaves.astype("<i2")))
    return json.dumps(head, separators=(",", ":")).encode() + b"\n" + body


def read_trees(blob: bytes) -> Trees:
    """Return the ensemble of `write_trees`."""
    line, _, body = blob.partition(b"\n")
    head = json.loads(line)
    counts, trees = head["edges"], head["trees"]
    edges = np.split(np.frombuffer(body, "<f8", sum(counts)), np.cumsum(counts)[:-1])
    offset, size = sum(counts) * 8, (LEAVES - 1) * trees
    feature, threshold, cleared = np.frombuffer(body, np.uint8, 3 * size, offset).reshape(3, LEAVES - 1, trees)
    leaves = np.frombuffer(body, "<i2", trees * LEAVES, offset + 3 * size).reshape(trees, LEAVES)
    return Trees(
        tuple(head["features"]), tuple(edges), feature, threshold, cleared, leaves, head["unit"], head["recipe"]
    )


@cache
def package_trees() -> Trees:
    """Return the ensemble of the package."""
    return read_trees(Path(__file__).with_name(TABLE).read_bytes())


def revalued(
    signals: Signals, spans: IntArray, values: FloatArray, share: float, ensemble: Trees | None = None
) -> FloatArray:
    """Return the values of the formula in the order of the trees, in the order of `spans`; `share` is their weight.

    Only the best `CANDIDATES` spans change places. Relevance, the end of an answer, and the balance of value and cost
    keep their scale, because the values stay the same.
    """
    ensemble = ensemble or package_trees()
    order = np.argsort(-values, kind="stable")[:CANDIDATES]
    made = features(signals, spans[order], values[order])
    changed = values.copy()
    changed[order] = reordered(values[order], ensemble.values([made[name] for name in ensemble.features]), share)
    return changed


def reordered(values: FloatArray, learned: FloatArray, share: float) -> FloatArray:
    """Return falling values in the order of their mean with the learned ones: the best span gets the largest value."""
    mixed = (share * learned + (1 - share) * values).round(DIGITS)
    changed = np.empty(len(values))
    changed[np.argsort(-mixed, kind="stable")] = values
    return changed
