"""From a question to ranked hits of one kind. Code is ranked by recipe R, every other kind by its words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from satchel.search import bm25, code
from satchel.search.history import Votes
from satchel.search.query import Query
from satchel.store.lexicon import Lexicon
from satchel.store.protocol import Store
from satchel.store.records import Bundle, StoredPart
from satchel.types import Document, Hit, Kind, Location, Role, Signal, Span

CANDIDATE_WINDOWS = 400
"""Windows that go on to the packer. 94 % of the wanted functions are among the first 400 parts."""

RECORD_KINDS = frozenset({Kind.COMMIT, Kind.MEMORY, Kind.EXPERIENCE, Kind.VALUE, Kind.CONVERSATION})
"""Kinds whose documents are whole records rather than parts of files."""


@dataclass(frozen=True, slots=True)
class SearchResult:
    """Hits of one kind, best first, and the query terms that no document of the kind contains."""

    hits: tuple[Hit, ...]
    missing_terms: tuple[str, ...] = ()


def search_kind(
    store: Store,
    kind: Kind,
    query: Query,
    *,
    votes: Votes | None = None,
    candidates: int = CANDIDATE_WINDOWS,
) -> SearchResult:
    """Rank the documents of one kind. A question without meaningful terms finds nothing.

    `votes` are those of the commits for this question; give the same object for every kind to compute them once.
    """
    lexicon = store.lexicon(kind)
    if not lexicon.document_count or not query.terms:
        return SearchResult(())
    if kind in RECORD_KINDS:
        return _search_records(store, lexicon, query, candidates)
    ranking = code.rank(query, store, lexicon, kind, votes or Votes(query, store))
    return SearchResult(tuple(_file_hits(store, kind, lexicon, ranking, candidates)), ranking.scores.missing)


def _file_hits(store: Store, kind: Kind, lexicon: Lexicon, ranking: code.Ranking, candidates: int) -> list[Hit]:
    columns = lexicon.columns
    best = _largest(ranking.value, candidates)
    owners, starts, ends, values = (
        column[best].tolist()
        for column in (columns.window_document, columns.window_start, columns.window_end, ranking.value)
    )
    documents: dict[int, list[Span]] = {}
    for owner, start, end, value in zip(owners, starts, ends, values, strict=True):
        documents.setdefault(owner, []).append(Span(start, end, value))
    parts = store.parts(int(columns.document_row[document]) for document in documents)
    bundles = store.bundles({part.bundle for part in parts.values()})
    is_code = kind is Kind.CODE
    matched = ranking.scores.bundle_matched if is_code else ranking.scores.document_matched
    file_signals: dict[int, tuple[Signal, ...]] = {}
    hits = []
    for document, spans in documents.items():
        part = parts[int(columns.document_row[document])]
        bundle_position = int(columns.document_bundle[document])
        if bundle_position not in file_signals:
            file_signals[bundle_position] = _file_signals(ranking, bundle_position)
        hits.append(
            Hit(
                document=document_of(bundles[part.bundle], part),
                relevance=float(matched[bundle_position if is_code else document]),
                score=spans[0].value,
                spans=tuple(spans),
                signals=file_signals[bundle_position] + _part_signals(ranking, document),
                file_score=float(ranking.file_score[bundle_position]),
            )
        )
    hits.sort(key=lambda hit: (-hit.score, hit.document.id))
    return hits


def _largest(values: bm25.FloatArray, count: int) -> list[int]:
    """Positions of the largest finite values, falling; equal values in order of position."""
    finite = np.flatnonzero(np.isfinite(values))
    return [int(position) for position in finite[bm25.largest(values[finite], count)]]


def _file_signals(ranking: code.Ranking, bundle: int) -> tuple[Signal, ...]:
    """What speaks for a file, shared by all of its hits."""
    found = [(name, float(values[bundle])) for name, values in ranking.file_signals.items()]
    rows = [Signal(name, round(value, 4), code.FILE_WEIGHTS[name]) for name, value in found if value > 0]
    rows.append(Signal("file score", round(float(ranking.file_score[bundle]), 4), code.VALUE_FILE))
    rows.append(Signal("file rank", float(ranking.file_rank[bundle] + 1), -code.VALUE_FILE_RANK))
    return tuple(rows)


def _part_signals(ranking: code.Ranking, document: int) -> tuple[Signal, ...]:
    """What speaks for one part beyond its file."""
    calls = float(ranking.calls[document])
    return (Signal("calls", round(calls, 4), code.VALUE_CALLS),) if calls > 0 else ()


def _search_records(store: Store, lexicon: Lexicon, query: Query, candidates: int) -> SearchResult:
    scores = bm25.score(lexicon, query.terms, files=False)
    ranked = np.where(lexicon.live_document & (scores.document > 0), scores.document, -np.inf)
    best = _largest(ranked, candidates)
    largest = float(scores.document[best[0]]) if best else 1.0
    columns = lexicon.columns
    parts = store.parts(int(columns.document_row[position]) for position in best)
    bundles = store.bundles({part.bundle for part in parts.values()})
    hits = []
    for position in best:
        part = parts[int(columns.document_row[position])]
        value = math.log(float(scores.document[position]) / largest)
        hits.append(
            Hit(
                document=document_of(bundles[part.bundle], part),
                relevance=float(scores.document_matched[position]),
                score=value,
                spans=(Span(part.start, part.end, value),),
                signals=(Signal("words", round(float(scores.document[position]), 4), 1.0),),
            )
        )
    hits.sort(key=lambda hit: (-hit.score, hit.document.id))
    return SearchResult(tuple(hits), scores.missing)


def document_of(bundle: Bundle, part: StoredPart) -> Document:
    """The document that a stored part is; its body is read later, from the file or the store."""
    is_record = bundle.kind in RECORD_KINDS
    location = None if is_record else Location(bundle.key, part.start, part.end, bundle.content_hash)
    return Document(
        id=document_id(bundle.kind, bundle.key, part.name, part.twin, part.start, part.end),
        kind=bundle.kind,
        title=part.name or bundle.title,
        body="",
        location=location,
        role=Role(part.role),
        signature=part.signature,
        tags=bundle.tags,
        fields={**bundle.fields, "language": bundle.language, "bundle": bundle.id, "summary": part.summary},
        created=bundle.created,
        updated=bundle.updated,
        importance=bundle.importance,
        origin=bundle.origin,
    )


def document_id(kind: Kind, key: str, name: str, twin: int, start: int, end: int) -> str:
    """`kind:key`, with `::name` for a named part, `~2` for its twins, and `#La-b` for a part without a name."""
    if kind in RECORD_KINDS:
        return f"{kind}:{key}"
    if not name:
        return f"{kind}:{key}#L{start}-{end}"
    return f"{kind}:{key}::{name}" + (f"~{twin}" if twin > 1 else "")


def by_file(hits: Sequence[Hit]) -> list[str]:
    """Paths of the hits, each once, in rank order."""
    return list(dict.fromkeys(hit.document.location.path for hit in hits if hit.document.location is not None))
