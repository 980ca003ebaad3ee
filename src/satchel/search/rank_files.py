"""Recipe R: ranking files, and valuing spans inside them.

F, the score of a file, is a sum of signals, each divided by its maximum over the files. The value of a span is a sum
on the log scale, which the packer divides by a power of the cost. The log scale is essential: an additive score per
token loses 20 points of file@4k. The numbers are in `weights.py`.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from operator import mul
from typing import TYPE_CHECKING

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel.search import bm25, weights
from satchel.search.bm25 import FloatArray
from satchel.search.filters import SearchStrategy
from satchel.search.mentions import Mentions, TracedPlace, look_up
from satchel.search.named import NamedDefinition
from satchel.search.query import Query
from satchel.search.shipped import shipped
from satchel.search.strength import Evidence, demoted_documents, is_long, spans_share, title_share
from satchel.search.votes import Votes, neighbours
from satchel.store.protocol import Store
from satchel.store.segments import IntArray, Lexicon
from satchel.types import Kind

if TYPE_CHECKING:
    import numpy.typing as npt

FRAME_REST = 0.15
"""Subtracted from the strength of a frame for the other spans of its function: they follow the lines of the next two
frames."""

VALUE_TRACE = 12.0
"""Value of the span of a frame above the best of all other spans, times the strength of the frame: one step of strength
outweighs any difference in size when spans are packed."""

VALUE_ASKED = 0.1
"""Value of the first lines of a definition that is asked for by an everyday word above the best of all other spans."""

VECTOR_CHUNKS = 50
"""Chunks that get a value for their vector alone, whatever their words."""

TOP_CHUNKS = 200
"""Chunks, the best of all files, that count in the signal "top three parts"."""

RANKED_SPANS = 1500
"""This many spans, the best anywhere, get a value."""

RANKED_FILES = 60
"""All spans of this many files get a value; with `RANKED_SPANS`, no other span was ever shown."""

FRAME_LINES = 60
"""A framed function with fewer lines is lifted as a whole; of a longer one the spans next to the line."""


class Ranking(Struct, frozen=True):
    """One value for each unit of the lexicon; `value` is of spans, on the log scale, -inf where unranked.

    The relevance of documents marked `peripheral` is multiplied by `weights.SECONDARY_FACTOR` too. `evidence` concerns
    the answer of the kind, `best` is the value of the best span before any was demoted.
    """

    scores: bm25.Scores
    file_score: FloatArray
    file_signals: dict[str, FloatArray]
    file_rank: IntArray
    value: FloatArray
    calls: FloatArray
    mentions: Mentions
    peripheral: npt.NDArray[np.bool_]
    evidence: Evidence
    best: float

    def frame_strength(self, chunk: int) -> float:
        """Return how strongly a frame of a pasted trace leads to a chunk, 0 where none does."""
        return next((traced.strength for traced in self.mentions.places if traced.chunk == chunk), 0.0)


def rank(
    query: Query,
    store: Store,
    lexicon: Lexicon,
    kind: Kind,
    votes: Votes,
    silent: AbstractSet[SearchStrategy] = frozenset(),
    similar: FloatArray | None = None,
    *,
    of_table: bool = False,
) -> Ranking:
    """Score all files and spans of the lexicon of one kind of files; `silent` strategies take no part.

    `similar` is the similarity of meaning of each chunk to the question (0 for none), on any scale, `of_table` whether
    it is that of the static table.
    """
    scores = bm25.score(lexicon, query.terms)
    mentions = look_up(query, store, lexicon)
    voted = votes.by_document(kind, lexicon) if SearchStrategy.HISTORY not in silent else np.zeros(len(scores.name))
    peripheral = demoted_documents(query, store, lexicon, kind, scores)
    secondary = lexicon.columns.document_secondary > 0
    if kind is Kind.CODE and not query.asks_for_tests:
        secondary &= ~shipped(store, lexicon)
    primary = _primary(lexicon, peripheral | (secondary & (not query.asks_for_tests)))
    evidence = _evidence(query, lexicon, scores, mentions)
    if silent:
        scores, mentions = _silenced(scores, mentions, silent)
    demoted = primary.demoted
    signals = _file_signals(lexicon, scores, mentions, voted, primary.document)
    # Both are shares already: what is largest is not therefore large.
    signals["file name"] = np.where(lexicon.live_document, scores.stem, 0.0)
    signals["path mention"] = np.minimum(mentions.path / weights.PATH_WEIGHT, 1.0)
    if similar is not None:
        nearest = bm25.best_of_each(similar, lexicon.document_first_chunk, lexicon.document_chunk_count)
        nearest = np.where(lexicon.live_document, nearest, 0.0)
        signals["table" if of_table else "vectors"] = _scaled(nearest, primary.document, slice(None))
    file_score = np.zeros(len(lexicon.columns.document_id))
    for name, values in signals.items():
        file_score += weights.FILE_WEIGHTS[name] * values
    file_score[demoted] *= weights.SECONDARY_FACTOR
    file_score[~lexicon.live_document] = 0.0
    file_score = _by_maximum(file_score)
    order = np.lexsort((lexicon.columns.document_id, -file_score))
    file_rank = np.empty(len(order), dtype=np.int64)
    file_rank[order] = np.arange(len(order))
    follows_calls = kind is Kind.CODE and SearchStrategy.GRAPH not in silent
    support = _calls(store, lexicon, scores.chunk, file_score) if follows_calls else np.zeros_like(scores.title)
    spans = _ranked_spans(lexicon, scores.span, file_score, file_rank, similar)
    value = np.full(len(lexicon.columns.span_chunk), -np.inf)
    value[spans] = _span_values(spans, lexicon, scores, file_score, file_rank, support, mentions, primary)
    if similar is not None:
        nearness = _scaled(similar, primary.chunk, lexicon.columns.span_chunk[spans])
        meant = value[spans] + vector_value(of_table=of_table) * nearness
        value[spans] = _in_order_of(meant, value[spans]) if kind is Kind.CODE else meant
    best = float(value[spans].max(initial=-np.inf))
    named = mentions.symbol[lexicon.columns.span_chunk[spans]] >= weights.NAMED_TEST
    demoted_spans = demoted[lexicon.span_document[spans]] & ~named
    value[spans] += np.where(demoted_spans, math.log(weights.SECONDARY_FACTOR), 0.0)
    _lift_named(value, mentions.asked, lexicon)
    _lift_frames(value, mentions.places, lexicon)
    return Ranking(scores, file_score, signals, file_rank, value, support, mentions, peripheral, evidence, best)


def vector_value(*, of_table: bool) -> float:
    """Return the coefficient of similarity in the log value of a span."""
    return weights.VALUE_TABLE if of_table else weights.VALUE_VECTORS


def shares(ranking: Ranking, lexicon: Lexicon, spans: Sequence[int]) -> FloatArray:
    """Return the share (0 to 1) of these spans in the match of the best one, for their relevance."""
    listed = np.fromiter(spans, dtype=np.int64)
    worth = np.exp(np.minimum(weights.SHARE_EXPONENT * (ranking.value[listed] - ranking.best), 0.0))
    # The value of a peripheral file has the factor with the exponent; its share has the full factor.
    factor = weights.SECONDARY_FACTOR ** (1 - weights.SHARE_EXPONENT)
    demotion = np.where(ranking.peripheral[lexicon.span_document[listed]], factor, 1.0)
    result: FloatArray = worth * demotion
    return result


def _silenced(
    scores: bm25.Scores, mentions: Mentions, silent: AbstractSet[SearchStrategy]
) -> tuple[bm25.Scores, Mentions]:
    """Return both without the results of the silent strategies. Matched shares stay: they define relevance."""
    if SearchStrategy.LEXICAL in silent:
        span, chunk, document = map(np.zeros_like, (scores.span, scores.chunk, scores.document))
        scores = scores._replace(span=span, chunk=chunk, document=document)
    if SearchStrategy.NAMES in silent:
        nowhere = np.zeros_like(scores.name)
        scores = scores._replace(title=np.zeros_like(scores.title), name=nowhere, stem=nowhere)
        path, symbol, trace = map(np.zeros_like, (mentions.path, mentions.symbol, mentions.trace))
        mentions = Mentions(path, symbol, trace)
    return scores, mentions


def _evidence(query: Query, lexicon: Lexicon, scores: bm25.Scores, mentions: Mentions) -> Evidence:
    """Return the evidence for the answer. Tests count as well: they show that the project has the subject."""
    # A short question that names a file with its folder is about it; an issue names some by the way.
    is_short = not is_long(query)
    is_placed = is_short and float(mentions.path.max(initial=0.0)) >= weights.PATH_WEIGHT
    return Evidence(
        title_share(scores.title, scores.title_mass),
        spans_share(scores.span_matched, lexicon.span_count),
        1.0 if is_placed else min(float(mentions.symbol.max(initial=0.0)) / weights.LARGEST_MENTION, 1.0),
        sum(not term.guessed for term in query.terms),
        weights.WEAK_FLOOR if is_short and mentions.is_named else 0.0,
    )


def _by_maximum(values: FloatArray) -> FloatArray:
    largest = values.max() if len(values) else 0.0
    return values / largest if largest > 0 else values


def _file_signals(
    lexicon: Lexicon,
    scores: bm25.Scores,
    mentions: Mentions,
    history_votes: FloatArray,
    primary: npt.NDArray[np.bool_],
) -> dict[str, FloatArray]:
    owner = lexicon.columns.chunk_document
    total = len(lexicon.columns.document_id)
    symbol, trace = np.zeros(total), np.zeros(total)
    for values, named in ((symbol, mentions.symbol), (trace, mentions.trace)):
        places = np.flatnonzero(named)
        np.maximum.at(values, owner[places], named[places])
    raw = {
        "best part": bm25.best_of_each(scores.chunk, lexicon.document_first_chunk, lexicon.document_chunk_count),
        "top three parts": _top_three(scores.chunk, owner, total),
        "history": history_votes,
        "whole file": scores.document,
        "name": scores.name,
        "symbol mention": symbol,
        "trace": trace,
    }
    live = {name: np.where(lexicon.live_document, values, 0.0) for name, values in raw.items()}
    return {name: _scaled(values, primary, slice(None)) for name, values in live.items()}


class _Primary(Struct, frozen=True):
    """Masks of the documents, chunks and spans that set the scale, and of the demoted documents."""

    demoted: npt.NDArray[np.bool_]
    document: npt.NDArray[np.bool_]
    chunk: npt.NDArray[np.bool_]
    span: npt.NDArray[np.bool_]


def _primary(lexicon: Lexicon, demoted: npt.NDArray[np.bool_]) -> _Primary:
    document = lexicon.live_document & ~demoted
    cached = lexicon.cache.get(_Primary)
    if not isinstance(cached, _Primary) or not np.array_equal(cached.demoted, demoted):
        chunk, span = document[lexicon.columns.chunk_document], document[lexicon.span_document]
        cached = lexicon.cache[_Primary] = _Primary(demoted, document, chunk, span)
    return cached


def _scaled(values: FloatArray, primary: npt.NDArray[np.bool_], positions: IntArray | slice) -> FloatArray:
    """Return non-negative values divided by the largest of primary units, at most 1, so that no demoted test scales."""
    largest = float((values * primary).max(initial=0.0))
    if largest > 0:
        return np.minimum(values[positions] / largest, 1.0)
    largest = float(values.max(initial=0.0))
    return values[positions] / largest if largest > 0 else values[positions]


def _top_three(chunk_scores: FloatArray, owner: IntArray, total: int) -> FloatArray:
    """Return for each document the sum of its chunks among the best of all, weighted by their rank in it."""
    sums = np.zeros(total)
    best = bm25.largest(chunk_scores, TOP_CHUNKS)
    scores_of: dict[int, list[float]] = defaultdict(list)
    for document, score in zip(owner[best].tolist(), chunk_scores[best].tolist(), strict=True):
        scores_of[document].append(score)
    for document, scores in scores_of.items():
        sums[document] = sum(map(mul, scores, weights.TOP_PARTS))
    return sums


def _calls(store: Store, lexicon: Lexicon, chunk_scores: FloatArray, file_score: FloatArray) -> FloatArray:
    combined = _by_maximum(chunk_scores) + file_score[lexicon.columns.chunk_document]
    combined[~lexicon.live_chunk] = 0.0
    best = bm25.largest(combined, weights.CALL_SEEDS)
    seeds = [(int(position), float(combined[position])) for position in best if combined[position] > 0]
    return _by_maximum(neighbours(seeds, store, lexicon)) if seeds else np.zeros(len(chunk_scores))


def _ranked_spans(
    lexicon: Lexicon, span_scores: FloatArray, file_score: FloatArray, file_rank: IntArray, similar: FloatArray | None
) -> IntArray:
    """Return live spans that get a value: all of the best files, the best anywhere, and those of the nearest chunks."""
    minimum = 0.0
    if len(span_scores) > RANKED_SPANS:
        minimum = max(bm25.threshold(span_scores, RANKED_SPANS), 1e-9)
    chosen = span_scores >= minimum
    best = np.flatnonzero(file_rank < RANKED_FILES)
    firsts, counts = lexicon.document_first_span[best].tolist(), lexicon.document_span_count[best].tolist()
    for first, count in zip(firsts, counts, strict=True):
        chosen[first : first + count] = True
    if similar is not None:
        for chunk in bm25.largest(similar, VECTOR_CHUNKS).tolist():
            first = lexicon.chunk_first_span[chunk]
            chosen[first : first + lexicon.chunk_span_count[chunk]] = True
    spans = np.flatnonzero(chosen & lexicon.live_span)
    return spans[file_score[lexicon.span_document[spans]] > 0]


def _span_values(
    spans: IntArray,
    lexicon: Lexicon,
    scores: bm25.Scores,
    file_score: FloatArray,
    file_rank: IntArray,
    support: FloatArray,
    mentions: Mentions,
    primary: _Primary,
) -> FloatArray:
    columns = lexicon.columns
    chunk, document = columns.span_chunk[spans], lexicon.span_document[spans]
    largest = weights.LARGEST_MENTION
    mentioned = np.minimum(mentions.symbol[chunk], largest) / largest + mentions.trace[chunk]
    comment_share = columns.span_comment_words[spans] / np.maximum(columns.span_words[spans], 1)
    part_value = (
        weights.VALUE_TITLE * _scaled(scores.title, primary.chunk, chunk)
        + weights.VALUE_CALLS * support[chunk]
        + weights.VALUE_MENTION * mentioned
    )
    file_value = (
        weights.VALUE_FILE * file_score
        - weights.VALUE_FILE_RANK * np.log1p(file_rank)
        - weights.VALUE_PARTS * np.log1p(lexicon.document_chunk_count)
    )
    value: FloatArray = (
        file_value[document]
        + part_value
        + weights.VALUE_SPAN * _scaled(scores.span, primary.span, spans)
        - weights.VALUE_SPAN_RANK * np.log1p(_rank_within(scores.span[spans], document))
        - weights.VALUE_COMMENT * comment_share
    )
    return value


def _lift_named(value: FloatArray, asked: Sequence[NamedDefinition], lexicon: Lexicon) -> None:
    """Put the first lines of these definitions before all other spans. Changes `value`."""
    if not asked:
        return
    ceiling = float(value.max(initial=0.0))
    for definition in asked:
        first = int(lexicon.chunk_first_span[definition.chunk])
        last = first + int(lexicon.chunk_span_count[definition.chunk])
        at = max(first + int((lexicon.columns.span_start[first:last] <= definition.line).sum()) - 1, first)
        value[at] = max(value[at], ceiling) + VALUE_ASKED


def _lift_frames(value: FloatArray, traced_chunks: Sequence[TracedPlace], lexicon: Lexicon) -> None:
    """Put the spans of the frames of a trace before all others, in the order of the frames. Changes `value`."""
    if not traced_chunks:
        return
    columns = lexicon.columns
    ceiling = max(float(value.max(initial=-np.inf)), 0.0)
    for traced in reversed(traced_chunks):
        first = int(lexicon.chunk_first_span[traced.chunk])
        last = first + int(lexicon.chunk_span_count[traced.chunk])
        at = max(first + int((columns.span_start[first:last] <= traced.line).sum()) - 1, first)
        is_small = columns.span_end[last - 1] - columns.span_start[first] < FRAME_LINES
        around = slice(first, last) if is_small else slice(max(at - 1, first), min(at + 2, last))
        value[around] = ceiling + VALUE_TRACE * (traced.strength - FRAME_REST)
        end = max(first + int((columns.span_start[first:last] <= traced.end).sum()), at + 1)
        value[at:end] = ceiling + VALUE_TRACE * traced.strength


def _in_order_of(others: FloatArray, values: FloatArray) -> FloatArray:
    """Return the values in another order: the largest where the largest of the others is, and so on.

    So an answer ends where it would end by its words: with the sums of both it ended a tenth earlier, and the
    deciding lines that vectors brought at 2,000 tokens were lost again at 4,000 (docs/decisions/0012).
    """
    ordered = np.empty(len(values))
    ordered[np.argsort(-others, kind="stable")] = -np.sort(-values)
    return ordered


def _rank_within(scores: FloatArray, owner: IntArray) -> FloatArray:
    """Return the rank (from 0) of each member within its owner, by falling score; ties in order of position."""
    order = np.argsort(-scores, kind="stable")
    narrow = owner.astype(np.min_scalar_type(int(owner.max(initial=0))))  # small integers are sorted in linear time
    order = order[np.argsort(narrow[order], kind="stable")]
    ordered = owner[order]
    first = np.concatenate(([True], ordered[1:] != ordered[:-1])) if len(ordered) else np.zeros(0, dtype=bool)
    starts = np.flatnonzero(first)
    sizes = np.diff(np.append(starts, len(ordered)))
    ranks = np.empty(len(scores))
    ranks[order] = np.arange(len(ordered)) - np.repeat(starts, sizes)
    return ranks
