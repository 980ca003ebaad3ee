"""Records without a question: those that the filters admit, ranked by their signals.

Before anything has failed there are no words to search with, only a domain of work and a strategy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel.search import bm25, weights
from satchel.search.chunks import chunk_of
from satchel.search.filters import NO_FILTERS, Filters
from satchel.search.query import analyse
from satchel.search.rank_records import SearchResult, demotion_of, recency, tier_share
from satchel.store.protocol import Store
from satchel.store.records import Document, StoredChunk
from satchel.store.segments import Lexicon
from satchel.types import Hit, Kind, ScoredSpan, Signal
from satchel.vocabulary import Axis, OutcomeStatus

ORDER_LEAST = 0.01
"""Least relevance of one of the newest records, before its place counts."""

ORDER_FACTOR = 0.9
"""Factor of each of the newest records on the one before it: they are in order even if all are old."""

PORTION = 64
"""Records whose chunks are read at once to find those with the requested side."""

_RANKED_FIELDS = frozenset({
    "domain", "strategy", "domains", "strategies", "axis", "outcome_status", "confidence_tier", "category",
    "cluster_size", "superseded_by", "root_cause", "author", "provenance", "visibility",
})  # fmt: skip
"""Fields used by filters and ranking. The other fields are read again for the few chosen records."""


class FieldRanking(NamedTuple):
    """How to rank: the signals that count, each with its weight, and the words that `match` looks for.

    Signals are shares, 0 to 1: `tier` (experiences), `importance` (memories), `support` (values: how many experiences
    they rest on), `recency`, `failed` (experiences that were falsified), `match` (of the words, in parts of the best
    match), `domain` and `strategy` (values: the share of their experiences that is of the named one). With `last` only
    the newest records are looked at, and their times order them: of a long history the rest is not even read. Routine
    commits and failures without a cause come after all others.
    """

    weights: Mapping[str, float]
    words: str = ""
    domain: str = ""
    strategy: str = ""
    last: bool = False

    def relevance(self, shares: Mapping[str, float]) -> float:
        """Return the weighted mean of the signals, 0 to 1."""
        return sum(self.weights[name] * share for name, share in shares.items()) / sum(self.weights.values())


def known_records(
    store: Store, kind: Kind, ranking: FieldRanking, *, limit: int, filters: Filters = NO_FILTERS, now: float = 0.0
) -> SearchResult:
    """Return the `limit` best records of a kind that the filters admit, each once, best first; ties by id.

    With an axis in the filters only experiences with that side are returned, shown by it. Recency is relative to `now`
    (seconds, 0 for unknown).
    """
    lexicon = store.lexicon(kind)
    matches = _matches(lexicon, ranking.words) if ranking.weights.get("match") else {}
    side = filters.axis if kind is Kind.EXPERIENCE else None
    admitted = replace(filters, axis=None) if side else filters
    ranked: list[tuple[float, str, Document, dict[str, float]]] = []
    every = _newest(store, kind, limit) if ranking.last else _shelf(store, lexicon, kind).candidates(filters)
    for position, document in enumerate(every):
        if admitted.admits(document, "") and _is_of_kind(document, ranking):
            shares = _shares(document, ranking, matches.get(document.id, 0.0), now)
            relevance = ranking.relevance(shares)
            if ranking.last:
                relevance = max(relevance, ORDER_LEAST) * ORDER_FACTOR**position
            demotion = demotion_of(document)
            if demotion is not None:
                relevance *= demotion[1]
            ranked.append((-relevance, document.key, document, shares))
    if not ranking.last:
        ranked.sort(key=lambda ranked_record: ranked_record[:2])
    hits: list[Hit] = []
    for start in range(0, len(ranked), PORTION):
        portion = ranked[start : start + PORTION]
        whole = store.documents(document.id for _, _, document, _ in portion)
        for (low, _, document, shares), part in zip(portion, _sides(store, portion, side or Axis.FULL), strict=True):
            if part is not None and (side is None or part.name == side) and len(hits) < limit:
                hits.append(_hit(whole[document.id], part, -low, ranking, shares))
        if len(hits) == limit:
            break
    return SearchResult(tuple(hits), chunks=lexicon.chunk_count)


class _Shelf(NamedTuple):
    """Every visible record of a kind with the fields that rank it, and experiences by domain and strategy."""

    every: Sequence[Document]
    by_domain: Mapping[str, Sequence[Document]]
    by_strategy: Mapping[str, Sequence[Document]]

    def candidates(self, filters: Filters) -> Sequence[Document]:
        """Return those that these filters may admit."""
        if filters.domain and self.by_domain:
            return self.by_domain.get(filters.domain, ())
        if filters.strategy and self.by_strategy:
            return self.by_strategy.get(filters.strategy, ())
        return self.every


def _shelf(store: Store, lexicon: Lexicon, kind: Kind) -> _Shelf:
    """Return the records of a kind, read once for each state of the store."""
    return lexicon.derived(_Shelf, lambda: _read_shelf(store, lexicon, kind))


def _read_shelf(store: Store, lexicon: Lexicon, kind: Kind) -> _Shelf:
    ids = lexicon.columns.document_id[lexicon.live_document].tolist()
    every = [_light(document) for document in store.documents(ids).values()]
    listed = every if kind is Kind.EXPERIENCE else ()
    return _Shelf(every, _grouped(listed, "domain"), _grouped(listed, "strategy"))


def _newest(store: Store, kind: Kind, limit: int) -> list[Document]:
    """Return the newest records of a kind, newest first, without commits by bots and those that only move versions."""
    # Commits that are read for each one returned: bots make runs of routine ones.
    ids = store.newest(kind, limit * 8 if kind is Kind.COMMIT else limit)
    documents = store.documents(ids)
    newest = [documents[identity] for identity in ids if identity in documents]
    if kind is Kind.COMMIT:
        return [document for document in newest if demotion_of(document) is None][:limit]
    return sorted(newest, key=lambda document: demotion_of(document) is not None)[:limit]


def _grouped(documents: Sequence[Document], name: str) -> dict[str, list[Document]]:
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(str(document.fields.get(name)), []).append(document)
    return groups


def _light(document: Document) -> Document:
    return replace(document, fields={name: value for name, value in document.fields.items() if name in _RANKED_FIELDS})


def _matches(lexicon: Lexicon, words: str) -> dict[int, float]:
    """Return how well each record matches the words through its best chunk, by id, in parts of the best of all."""
    terms = analyse(words).terms
    if not terms or not lexicon.chunk_count:
        return {}
    values = bm25.score(lexicon, terms, files=False).chunk
    best = np.zeros(len(lexicon.columns.document_id))
    np.maximum.at(best, lexicon.columns.chunk_document, values)
    share = best / max(float(best.max(initial=0.0)), 1e-12)
    return dict(zip(lexicon.columns.document_id.tolist(), share.tolist(), strict=True))


def _shares(document: Document, ranking: FieldRanking, match: float, now: float) -> dict[str, float]:
    """Return the signals of a record that count here and that its kind has."""
    fields = document.fields
    signals: dict[str, float] = {"match": match, "recency": recency(document.updated or document.created, now)}
    if document.kind is Kind.EXPERIENCE:
        signals["tier"] = tier_share(document)
        signals["failed"] = float(fields.get("outcome_status") == OutcomeStatus.FALSIFIED)
    elif document.kind is Kind.MEMORY:
        signals["importance"] = document.importance or 0.0
    elif document.kind is Kind.VALUE:
        signals["support"] = min(float(fields.get("cluster_size", 0)) / weights.FULL_SUPPORT, 1.0)
        signals["domain"] = _share(fields.get("domains", {}), ranking.domain)
        signals["strategy"] = _share(fields.get("strategies", {}), ranking.strategy)
    return {name: share for name, share in signals.items() if ranking.weights.get(name)}


def _is_of_kind(document: Document, ranking: FieldRanking) -> bool:
    """Return whether a value rests on enough experiences of the named domain; true for all other records."""
    is_asked = document.kind is Kind.VALUE and ranking.domain
    minimum = weights.VALUE_DOMAIN_SHARE
    return not is_asked or _share(document.fields.get("domains", {}), ranking.domain) >= minimum


def _share(counts: Mapping[str, Any], name: str) -> float:
    total: float = sum(counts.values())
    return float(counts.get(name, 0)) / max(total, 1.0)


def _sides(store: Store, portion: Sequence[tuple[Any, Any, Document, Any]], side: str) -> Iterator[StoredChunk | None]:
    """Yield for each record the chunk of this name, else its first one; None if it has none any more."""
    parts = store.chunks(row for _, _, document, _ in portion for row in document.rows)
    for _, _, document, _ in portion:
        chunks = [parts[row] for row in document.rows if row in parts]
        yield next((part for part in chunks if part.name == side), chunks[0] if chunks else None)


def _hit(
    document: Document, part: StoredChunk, relevance: float, ranking: FieldRanking, shares: Mapping[str, float]
) -> Hit:
    value = math.log(max(relevance, 1e-6))
    return Hit(
        chunk=chunk_of(document, part),
        relevance=relevance,
        score=value,
        spans=(ScoredSpan(part.start, part.end, value),),
        signals=tuple(Signal(name, round(share, 4), ranking.weights[name]) for name, share in shares.items()),
    )
