"""Ranked hits of one kind for a question. Files are ranked by recipe R, records separately, both also by vectors."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel.intent import Intent
from satchel.search import bm25, rank_files, weights
from satchel.search.chunks import chunk_of, chunks_of
from satchel.search.dense import Likeness, Similar, similar_chunks
from satchel.search.filters import NO_FILTERS, Filters, SearchStrategy
from satchel.search.query import Query
from satchel.search.rank_files import VALUE_TRACE
from satchel.search.rank_records import SearchResult, search_records
from satchel.search.strength import lifted, places_of, relevance_of, relevances_of
from satchel.search.votes import Votes
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon, distinct
from satchel.types import RECORD_KINDS, Hit, Kind, ScoredSpan, Signal

FRAME_FILE = 0.9
"""Added, times the strength of the frame, to the score of a file of a trace, which is 1: such files come before all
others (at most 1) and after pinned ones (2)."""

ASKED_STRENGTH = 0.5
"""The strength of a definition that is asked for by an everyday word, beside that of a frame: an answer shows it before
all that words find."""

FAR_LINES, ASKED_LINES = 5, 4
"""A definition so many lines below the first of its chunk, such as a constant or an attribute, is shown by its own line
and so many more."""

SPANS_PER_RECORD = 8
"""Spans of files that count as much as one record among the candidates. A record is one item while a file needs several
spans: 50 records are read for the twenty that are shown, which saves 15 ms."""

LESSON_CANDIDATES = 40
"""Records that bear on a request among which those come first that somebody called important, or that rule something
out."""

CANDIDATE_SPANS = 400
"""Most spans given to the packer. 94 % of the expected functions are among the first 400 chunks."""


__all__ = ["SearchResult", "balanced", "chunk_of", "search_kind"]

TRACE_SIGNAL = "trace"
"""The signal of a chunk that a frame of a pasted trace leads to."""

SHOWN_AS = {TRACE_SIGNAL: "traced file", "table": "vectors"}
"""Signal of a file -> its name where it is shown."""


def search_kind(
    store: Store,
    kind: Kind,
    query: Query,
    *,
    votes: Votes | None = None,
    candidates: int | None = None,
    filters: Filters = NO_FILTERS,
    now: float = 0.0,
    likeness: Likeness | None = None,
    silent: AbstractSet[SearchStrategy] = frozenset(),
    min_share: float = 0.0,
    question_files: Sequence[str] | None = None,
    intent: Intent | None = None,
) -> SearchResult:
    """Rank the chunks of one kind. The result is empty for a question without meaningful terms.

    `votes` are those of the commits for this question; pass the same object for every kind to compute them once.
    `candidates` counts spans of files, by default `CANDIDATE_SPANS`; of records there are fewer
    (`SPANS_PER_RECORD`).
    `filters`, `now` and `question_files` (see `search_records`) concern records only. `silent` strategies
    take no part. Chunks of files with less than `min_share` of the best
    relevance are left out, except where a trace leads to one.
    """
    lexicon = store.lexicon(kind)
    if not lexicon.chunk_count or not (query.terms or (query.commits and kind is Kind.COMMIT)):
        return SearchResult(())
    candidates = CANDIDATE_SPANS if candidates is None else candidates
    if kind in RECORD_KINDS:
        limit = -(-candidates // SPANS_PER_RECORD)
        limit = max(limit, LESSON_CANDIDATES) if question_files is not None else limit
        return search_records(
            store,
            kind,
            query,
            candidates=limit,
            filters=filters,
            now=now,
            likeness=likeness,
            silent=silent,
            question_files=question_files,
            intent=intent,
        )
    if SearchStrategy.DENSE in silent:
        likeness = None
    ranking, similar = _ranked(query, store, lexicon, kind, votes or Votes(query, store), likeness, silent)
    nearest = _nearest(similar)
    strength, matched = max(ranking.evidence.strength, nearest), max(ranking.evidence.spans, nearest)
    hits = tuple(_file_hits(store, kind, ranking, candidates, similar, strength, min_share))
    covered, chunks = None, 0
    if likeness is not None and similar is not None:
        covered = similar.count
        chunks = covered if likeness.of_candidates else _embeddable(lexicon, kind)
    return SearchResult(hits, covered, chunks, strength, matched)


def _ranked(
    query: Query,
    store: Store,
    lexicon: Lexicon,
    kind: Kind,
    votes: Votes,
    likeness: Likeness | None,
    silent: AbstractSet[SearchStrategy],
) -> tuple[rank_files.Ranking, Similar | None]:
    """Return the ranking of a kind of files, and the similarity of its chunks where there are vectors."""
    similar = similar_chunks(lexicon, likeness) if likeness is not None else None
    nearness = np.maximum(similar.contrast, 0.0) if similar is not None else None
    of_table = similar is not None and similar.of_table
    return rank_files.rank(query, store, lexicon, kind, votes, silent, nearness, of_table=of_table), similar


def _embeddable(lexicon: Lexicon, kind: Kind) -> int:
    """Return the number of chunks that may have a vector: of code without tests and examples."""
    columns = lexicon.columns
    is_left_out = (columns.document_secondary[columns.chunk_document] > 0) & (kind is Kind.CODE)
    return int(np.count_nonzero(lexicon.live_chunk & ~is_left_out))


def _nearest(similar: Similar | None) -> float:
    """Return the relevance of the chunk that is nearest in meaning, 0 without vectors."""
    return float(similar.relevance.max(initial=0.0)) if similar is not None else 0.0


def balanced(results: Mapping[Kind, SearchResult]) -> dict[Kind, SearchResult]:
    """Return the results with the relevance of code and prose on one scale.

    The strength of each kind is computed from its own words, where a missing word weighs much. A kind that matches half
    as much as a strong one is at least half as strong.
    """
    files = {kind: result for kind, result in results.items() if kind not in RECORD_KINDS and result.hits}
    best = max(files.values(), key=lambda result: result.strength, default=None)
    if best is None or best.matched <= 0:
        return dict(results)
    raised = {
        kind: _lifted(result, best.strength * min(result.matched / best.matched, 1.0)) for kind, result in files.items()
    }
    return {kind: raised.get(kind, result) for kind, result in results.items()}


def _lifted(result: SearchResult, strength: float) -> SearchResult:
    if strength <= result.strength:
        return result
    factor = strength / result.strength if result.strength else 0.0
    hits = tuple([replace(hit, relevance=lifted(hit.relevance, factor)) for hit in result.hits])
    return replace(result, hits=hits, strength=strength)


def _file_hits(
    store: Store,
    kind: Kind,
    ranking: rank_files.Ranking,
    candidates: int,
    similar: Similar | None,
    strength: float,
    min_share: float,
) -> list[Hit]:
    lexicon = store.lexicon(kind)
    vector_value = rank_files.vector_value(of_table=similar is not None and similar.of_table)
    columns = lexicon.columns
    largest = bm25.largest(ranking.value, candidates)
    best: list[int] = largest[np.isfinite(ranking.value[largest])].tolist()
    owners, starts, ends, values = (
        column[best].tolist() for column in (columns.span_chunk, columns.span_start, columns.span_end, ranking.value)
    )
    members = defaultdict[int, list[int]](list)
    for number, owner in enumerate(owners):
        members[owner].append(number)
    framed = {named_place.chunk: ranking.frame_strength(named_place.chunk) for named_place in ranking.mentions.places}
    asked = {named_place.chunk: named_place.line for named_place in reversed(ranking.mentions.asked)}
    pointed_at = dict.fromkeys(asked, ASKED_STRENGTH) | framed
    shares = rank_files.shares(ranking, lexicon, best).tolist()
    relevances: dict[int, float] = {}
    firsts = [spans[0] for spans in members.values()]
    by_place = relevances_of(
        strength, [shares[first] for first in firsts], places_of([values[first] for first in firsts])
    )
    for chunk, relevance in zip(members, by_place, strict=True):
        relevances[chunk] = max(relevance, relevance_of(pointed_at[chunk])) if chunk in pointed_at else relevance
    minimum = 0.0 if pointed_at else min_share * max(relevances.values(), default=0.0)
    owned = [chunk for chunk, relevance in relevances.items() if relevance >= minimum]
    rows, documents = columns.chunk_row[owned].tolist(), columns.chunk_document[owned].tolist()
    stored = lexicon.stored(chunks_of, owned, partial(chunks_of, store))
    file_signals = _file_signals(ranking, [*dict.fromkeys(documents)])
    file_scores, calls = _file_scores(lexicon, ranking, best), ranking.calls[owned].tolist()
    cosines = similar.cosine[owned].tolist() if similar is not None else [0.0] * len(owned)
    every_span = [*map(ScoredSpan, starts, ends, values)]
    hits = []
    for chunk, row, document, called, cosine in zip(owned, rows, documents, calls, cosines, strict=True):
        spans, pointer_strength = tuple(map(every_span.__getitem__, members[chunk])), pointed_at.get(chunk, 0.0)
        signals = file_signals[document]
        if called > 0 or cosine > 0 or chunk in framed:
            signals += _part_signals(called, framed.get(chunk, 0.0), cosine, vector_value)
        file_score = 1.0 + FRAME_FILE * pointer_strength if pointer_strength else file_scores[document]
        hit = Hit(stored[row][1], relevances[chunk], spans[0].value, spans, signals, file_score)
        hits.append(_at(hit, asked[chunk]) if chunk in asked else hit)
    hits.sort(key=lambda hit: (-hit.score, hit.chunk.id))
    return hits


def _at(hit: Hit, line: int) -> Hit:
    """Return a hit for the definition in a line: that line and a few more where the chunk begins long before it."""
    location = hit.chunk.location
    if location is None or line - location.start_line < FAR_LINES:
        return hit
    span = ScoredSpan(line - 1, min(line + ASKED_LINES, location.end_line), hit.score)
    return replace(hit, spans=(span,), partial=True)


def _file_scores(lexicon: Lexicon, ranking: rank_files.Ranking, spans: Sequence[int]) -> dict[int, float]:
    """Return for each document of these spans how it ranks in a list of files, 1 for the best: by its best span.

    A file counts twice beside its best span, once in the value of the span and once here, and its size does not.
    """
    owners = lexicon.span_document[spans]
    worth = (
        ranking.value[spans]
        + weights.VALUE_PARTS * np.log1p(lexicon.document_chunk_count[owners])
        + weights.VALUE_FILE * ranking.file_score[owners]
    )
    best = np.full(len(ranking.file_score), -np.inf)
    np.maximum.at(best, owners, worth)
    documents = distinct(owners)
    scores = np.exp(best[documents] - best[documents].max(initial=-np.inf))
    return dict(zip(documents.tolist(), scores.tolist(), strict=True))


def _file_signals(ranking: rank_files.Ranking, documents: Sequence[int]) -> dict[int, tuple[Signal, ...]]:
    """Return the signals of these files, shared by all hits of a file."""
    signals_by_hit: list[list[Signal]] = [[] for _ in documents]
    for name, column in ranking.file_signals.items():
        shown, weight = SHOWN_AS.get(name, name), weights.FILE_WEIGHTS[name]
        for signals, value in zip(signals_by_hit, column[documents].tolist(), strict=True):
            if value > 0:
                signals.append(Signal(shown, round(value, 4), weight))
    columns = (column[documents].tolist() for column in (ranking.file_score, ranking.file_rank, ranking.peripheral))
    for signals, score, rank, is_peripheral in zip(signals_by_hit, *columns, strict=True):
        file_rank = Signal("file rank", float(rank + 1), -weights.VALUE_FILE_RANK)
        signals += [*([_peripheral_signal()] if is_peripheral else ()), _score_signal(score), file_rank]
    return dict(zip(documents, map(tuple, signals_by_hit), strict=True))


def _matched_signals(ranking: rank_files.Ranking, document: int) -> list[Signal]:
    values = [(name, row.item(document)) for name, row in ranking.file_signals.items()]
    return [Signal(name, round(value, 4), weights.FILE_WEIGHTS[name]) for name, value in values if value > 0]


def _score_signal(file_score: float) -> Signal:
    return Signal("file score", round(file_score, 4), weights.VALUE_FILE)


def _peripheral_signal() -> Signal:
    return Signal("peripheral", 1.0, round(math.log(weights.SECONDARY_FACTOR), 4))


def _part_signals(calls: float, framed: float, cosine: float, vector_value: float) -> tuple[Signal, ...]:
    """Return the signals of a chunk beside those of its file; `framed` is that of the frame that leads to it."""
    rows = [Signal("calls", round(calls, 4), weights.VALUE_CALLS)] if calls > 0 else []
    if framed > 0:
        rows.append(Signal(TRACE_SIGNAL, round(framed, 4), VALUE_TRACE))
    if cosine > 0:
        rows.append(Signal("likeness", round(cosine, 4), vector_value))
    return tuple(rows)


class FileStanding(Struct, frozen=True):
    """`rank` counts from 1 and is 0 for a file that matches nothing; `of` is how many files match.

    `relevance` is that of its best chunk, as `search_kind` gives it.
    """

    rank: int
    of: int
    relevance: float
    signals: tuple[Signal, ...]


def file_standing(
    query: Query,
    store: Store,
    kind: Kind,
    path: str,
    votes: Votes,
    likeness: Likeness | None = None,
) -> FileStanding:
    """Return the standing of an indexed file of a kind; its rank is 0 for a question without meaningful words.

    `likeness` is as for `search_kind`.
    """
    lexicon = store.lexicon(kind)
    document = store.document(kind, path)
    if document is None or not query.terms or document.id not in lexicon.columns.document_id:
        return FileStanding(0, 0, 0.0, ())
    ranking, similar = _ranked(query, store, lexicon, kind, votes, likeness, frozenset())
    position = int(np.flatnonzero(lexicon.columns.document_id == document.id)[0])
    matching = int(np.count_nonzero(ranking.file_score > 0))
    if ranking.file_score[position] <= 0:
        return FileStanding(0, matching, 0.0, ())
    peripheral = [_peripheral_signal()] if ranking.peripheral[position] else []
    signals = (*_matched_signals(ranking, position), _score_signal(ranking.file_score.item(position)), *peripheral)
    strength = max(ranking.evidence.strength, _nearest(similar))
    first = int(lexicon.document_first_span[position])
    spans = range(first, first + int(lexicon.document_span_count[position]))
    share = float(rank_files.shares(ranking, lexicon, spans).max(initial=0.0))
    better = ranking.value > ranking.value[spans].max(initial=-np.inf)
    index = len(distinct(lexicon.columns.span_chunk[better])) + 1
    is_of_file = lexicon.columns.chunk_document == position
    framed = (relevance_of(frame.strength) for frame in ranking.mentions.places if is_of_file[frame.chunk])
    relevance = max((relevance_of(strength, share, index), *framed))
    return FileStanding(int(ranking.file_rank[position]) + 1, matching, relevance, signals)
