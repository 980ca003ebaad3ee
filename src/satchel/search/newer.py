"""Newer memories that contradict those which a request found, and that it did not find itself.

Who gets the older one alone acts on what is true no longer, so the newer one has to come too, and first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel.search import bm25
from satchel.search.chunks import chunk_of, stored_rows
from satchel.search.contradictions import contradicts, newest_first
from satchel.search.query import QueryTerm
from satchel.store.protocol import Store
from satchel.text import terms_of
from satchel.types import Hit, Kind, ScoredSpan
from satchel.vocabulary import parse_moment

ASKED = 6
"""Memories, the first ones, for which a newer one is looked up: as many as an answer shows unasked."""

COMPARED = 20
"""Memories that share most with an older one and are compared with it."""


def with_newer(store: Store, hits: Sequence[Hit], now: float, *, found: Sequence[Hit] = ()) -> tuple[Hit, ...]:
    """Return hits with the memories that contradict one of the first memories, each newer one before its older one.

    What comes so bears on the request as much as the older one does, except what was `found` elsewhere.
    """
    asked = [hit for hit in hits if hit.chunk.kind is Kind.MEMORY][:ASKED]
    if not asked:
        return tuple(hits)
    texts = store.texts([hit.chunk.document for hit in hits])
    known = {hit.chunk.document for hit in (*hits, *found)}
    added: list[Hit] = []
    for hit in asked:
        for newer in _newer(store, hit, texts.get(hit.chunk.document, ""), known, now):
            texts |= store.texts([newer.chunk.document])
            known.add(newer.chunk.document)
            added.append(newer)
    return newest_first((*hits, *added), lambda document: texts.get(document, ""))


def _newer(store: Store, hit: Hit, text: str, known: set[int], now: float) -> list[Hit]:
    """Return the latest visible memory that contradicts a hit and is not known, as a list of at most one."""
    lexicon = store.lexicon(Kind.MEMORY)
    terms = [QueryTerm(term, 1.0, 0.0) for term in dict.fromkeys(terms_of(text))]
    scores = np.where(lexicon.live_chunk, bm25.score(lexicon, terms, files=False).chunk, 0.0)
    chosen = [index for index in bm25.largest(scores, COMPARED).tolist() if scores[index] > 0]
    rows = stored_rows(store, lexicon.columns.chunk_row[chosen].tolist())
    later = [
        record
        for record in rows.values()
        if record[0].created > hit.chunk.created and record[0].id not in known and not _is_over(record[0].fields, now)
    ]
    said = store.texts([document.id for document, _ in later])
    found = [record for record in later if contradicts(text, said.get(record[0].id, ""))]
    if not found:
        return []
    document, part = max(found, key=lambda record: (record[0].created, record[0].key))
    return [replace(hit, chunk=chunk_of(document, part), spans=(ScoredSpan(part.start, part.end, hit.score),))]


def _is_over(fields: Mapping[str, Any], now: float) -> bool:
    until = fields.get("valid_to")
    return bool(until) and parse_moment(until) <= now
