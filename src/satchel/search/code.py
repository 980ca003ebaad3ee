"""Recipe R: ranking files, and valuing windows inside them.

F, the score of a file, is a sum of signals, each divided by its maximum over the files. The value of a window is a sum
on the log scale: it is what the packer divides by a power of the cost. The log scale is what matters: an additive score
per token loses 20 points of file@4k. All constants: docs/decisions/0002, from 296 real issues of 14 repositories.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from satchel.search import bm25, calls, history, mentions
from satchel.search.bm25 import FloatArray
from satchel.search.query import Query
from satchel.store.lexicon import Lexicon
from satchel.store.protocol import Store
from satchel.store.segments import IntArray
from satchel.types import Kind

FILE_WEIGHTS = {
    "best part": 1.0,
    "top three parts": 0.5,
    "history": 1.0,
    "whole file": 0.5,
    "name": 0.5,
    "path mention": 0.5,
    "symbol mention": 0.5,
    "trace": 1.0,
}
"""Weight of each normalised signal in F."""

RANKED_FILES = 60
RANKED_WINDOWS = 1500
"""All windows of this many files, and this many windows anywhere, get a value; no other was ever shown."""

BEST_PARTS = 200
"""Parts that take part in the top-three sum."""

NAME_DILUTION = 0.075
"""The name signal of a file is divided by sqrt(1 + parts * this): big files define every word."""

SECONDARY_FACTOR = 0.3
"""Tests and examples, unless the question asks for tests. Measured: as good as leaving them out."""

VALUE_FILE = 1.6
VALUE_FILE_RANK = 0.32
VALUE_WINDOW_RANK = 0.27
VALUE_PARTS = 0.2
VALUE_WINDOW = 1.2
VALUE_TITLE = 0.7
VALUE_CALLS = 0.4
VALUE_COMMENT = 0.8
VALUE_MENTION = 0.5
MENTION_CEILING = 4.0
"""Coefficients of the log value of a window."""


@dataclass(frozen=True, slots=True)
class Ranking:
    """One value a unit of the lexicon; `value` is of windows, on the log scale, -inf where unranked."""

    scores: bm25.Scores
    file_score: FloatArray
    file_signals: dict[str, FloatArray]
    file_rank: IntArray
    value: FloatArray
    calls: FloatArray
    mentions: mentions.Mentions


def rank(query: Query, store: Store, lexicon: Lexicon, kind: Kind, votes: history.Votes) -> Ranking:
    """Score all files and windows of the lexicon of one kind of files."""
    scores = bm25.score(lexicon, query.terms)
    found = mentions.look_up(query, store, lexicon)
    demoted = (lexicon.columns.bundle_secondary > 0) & (not query.asks_for_tests)
    primary = lexicon.live_bundle & ~demoted
    signals = _file_signals(lexicon, scores, found, votes.by_bundle(kind, lexicon), primary)
    file_score = np.zeros(len(lexicon.columns.bundle_id))
    for name, weight in FILE_WEIGHTS.items():
        file_score += weight * signals[name]
    file_score[demoted] *= SECONDARY_FACTOR
    file_score[~lexicon.live_bundle] = 0.0
    file_score = _by_maximum(file_score)
    order = np.lexsort((lexicon.columns.bundle_id, -file_score))
    file_rank = np.empty(len(order), dtype=np.int64)
    file_rank[order] = np.arange(len(order))
    support = _calls(store, lexicon, scores.document, file_score) if kind is Kind.CODE else np.zeros_like(scores.title)
    windows = _ranked_windows(lexicon, scores.window, file_score, file_rank)
    value = np.full(len(lexicon.columns.window_document), -np.inf)
    value[windows] = _window_values(windows, lexicon, scores, file_score, file_rank, support, found, primary)
    value[windows] += np.where(demoted[lexicon.window_bundle[windows]], math.log(SECONDARY_FACTOR), 0.0)
    return Ranking(scores, file_score, signals, file_rank, value, support, found)


def _by_maximum(values: FloatArray) -> FloatArray:
    largest = values.max() if len(values) else 0.0
    return values / largest if largest > 0 else values


def _file_signals(
    lexicon: Lexicon,
    scores: bm25.Scores,
    found: mentions.Mentions,
    history_votes: FloatArray,
    primary: npt.NDArray[np.bool_],
) -> dict[str, FloatArray]:
    owner = lexicon.columns.document_bundle
    total = len(lexicon.columns.bundle_id)
    best, symbol, trace = np.zeros(total), np.zeros(total), np.zeros(total)
    np.maximum.at(best, owner, scores.document)
    np.maximum.at(symbol, owner, found.symbol)
    np.maximum.at(trace, owner, found.trace)
    raw = {
        "best part": best,
        "top three parts": _top_three(scores.document, owner, total),
        "history": history_votes,
        "whole file": scores.bundle,
        "name": scores.name / np.sqrt(1 + lexicon.bundle_document_count * NAME_DILUTION),
        "path mention": found.path,
        "symbol mention": symbol,
        "trace": trace,
    }
    return {name: _by_primary(np.where(lexicon.live_bundle, values, 0.0), primary) for name, values in raw.items()}


def _by_primary(values: FloatArray, primary: npt.NDArray[np.bool_]) -> FloatArray:
    """Values divided by the largest among primary files, at most 1: a demoted test must not set the scale."""
    largest = float(values[primary].max(initial=0.0))
    return np.minimum(values / largest, 1.0) if largest > 0 else _by_maximum(values)


def _top_three(document_scores: FloatArray, owner: IntArray, total: int) -> FloatArray:
    """Per bundle: its best parts among the best of all, weighted 1, 1/2, 1/4."""
    sums = np.zeros(total)
    seen = np.zeros(total, dtype=np.int64)
    best = bm25.largest(document_scores, BEST_PARTS)
    for position in best.tolist():
        bundle = owner[position]
        if seen[bundle] < 3:
            sums[bundle] += document_scores[position] / (1 << int(seen[bundle]))
            seen[bundle] += 1
    return sums


def _calls(store: Store, lexicon: Lexicon, document_scores: FloatArray, file_score: FloatArray) -> FloatArray:
    combined = _by_maximum(document_scores) + file_score[lexicon.columns.document_bundle]
    combined[~lexicon.live_document] = 0.0
    best = bm25.largest(combined, calls.SEEDS)
    seeds = [(int(position), float(combined[position])) for position in best if combined[position] > 0]
    return _by_maximum(calls.neighbours(seeds, store, lexicon)) if seeds else np.zeros(len(document_scores))


def _ranked_windows(
    lexicon: Lexicon, window_scores: FloatArray, file_score: FloatArray, file_rank: IntArray
) -> IntArray:
    """Live windows that get a value: all of the best files, and the best windows anywhere."""
    threshold = 0.0
    if len(window_scores) > RANKED_WINDOWS:
        threshold = max(float(np.partition(window_scores, -RANKED_WINDOWS)[-RANKED_WINDOWS]), 1e-9)
    in_best_file = (file_rank < RANKED_FILES)[lexicon.window_bundle]
    wanted = lexicon.live_window & (in_best_file | (window_scores >= threshold))
    return np.flatnonzero(wanted & (file_score > 0)[lexicon.window_bundle])


def _window_values(
    windows: IntArray,
    lexicon: Lexicon,
    scores: bm25.Scores,
    file_score: FloatArray,
    file_rank: IntArray,
    support: FloatArray,
    found: mentions.Mentions,
    primary: npt.NDArray[np.bool_],
) -> FloatArray:
    columns = lexicon.columns
    document, bundle = columns.window_document[windows], lexicon.window_bundle[windows]
    mentioned = np.minimum(found.symbol, MENTION_CEILING) / MENTION_CEILING + np.minimum(found.trace, 1.0)
    comment_share = columns.window_comment_words[windows] / np.maximum(columns.window_words[windows], 1)
    part_value = (
        VALUE_TITLE * _by_primary(scores.title, primary[columns.document_bundle])
        + VALUE_CALLS * support
        + VALUE_MENTION * mentioned
    )
    file_value = (
        VALUE_FILE * file_score
        - VALUE_FILE_RANK * np.log1p(file_rank)
        - VALUE_PARTS * np.log1p(lexicon.bundle_document_count)
    )
    value: FloatArray = (
        file_value[bundle]
        + part_value[document]
        + VALUE_WINDOW * _by_primary(scores.window, primary[lexicon.window_bundle])[windows]
        - VALUE_WINDOW_RANK * np.log1p(_rank_within(scores.window[windows], bundle))
        - VALUE_COMMENT * comment_share
    )
    return value


def _rank_within(scores: FloatArray, owner: IntArray) -> FloatArray:
    """Rank (from 0) of each member among the members of its owner, by falling score; ties in order of position."""
    order = np.lexsort((np.arange(len(scores)), -scores, owner))
    ordered = owner[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, dtype=bool)
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(ordered)))
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return ranks
