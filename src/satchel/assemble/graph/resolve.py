"""Where a walk begins: the node that a query names, else the best matches of a topic, in their order."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from satchel.search.documents import document_id
from satchel.search.named import clear, definitions_named, files_named
from satchel.search.resolve.code import Code
from satchel.search.searcher import SearchResult
from satchel.store.protocol import Store
from satchel.types import Hit, Kind

MOST_SOURCES = 5
"""Matches of a topic from which a walk starts, as the specification has it."""

MOST_MATCHES = 20
"""Matches of a topic that are nodes of the answer. The walk starts from the best five; the others only stand there."""

FACTOR_POWER, MEANT_FACTOR_POWER = 2.0, 2.5
"""The factor of a source is its score in parts of the best one, to this power: the best one is right so much more often
than the fifth. Scores by words and meaning lie closer together than those by words. On the multi-hop passages 1 and 3
measure one point less by words, and 2 one point less with vectors."""

LEAST_RELEVANCE = 0.14
"""A topic of which nothing here contains this share is not known here: the floor of every other context."""

NODE_KINDS = (Kind.NOTE, Kind.CODE, Kind.DOC, Kind.COMMIT)
"""Kinds that have relations in an index, in the order in which an id without its kind is looked for."""

Ask = Callable[[Kind], SearchResult]


@dataclass(frozen=True, slots=True)
class Source:
    """A node at distance 0. `factor` is its worth in parts of that of the best one; 1 for a node that was named.

    What is not `walked` is a match beyond the best ones: the walk may come to it, and does not start there.
    """

    row: int
    factor: float
    walked: bool = True


def named_node(store: Store, query: str) -> int | None:
    """The row of the node that a query names: an id (`note:abc`), or a bare key (`abc`) that one kind has.

    None for what is no id, however much it looks like one: then it is a topic.
    """
    kind_name, colon, rest = query.partition(":")
    if colon and kind_name in {str(kind) for kind in NODE_KINDS}:
        found = _row(store, Kind(kind_name), rest)
        if found is not None:
            return found
    matches = [row for kind in NODE_KINDS if (row := _row(store, kind, query)) is not None]
    return matches[0] if len(matches) == 1 else None


def _row(store: Store, kind: Kind, rest: str) -> int | None:
    """The document of a kind whose id ends with `rest`."""
    for key in dict.fromkeys((rest, rest.partition("::")[0], rest.partition("#L")[0])):
        bundle = store.bundle(kind, key) if key else None
        if bundle is not None:
            if key == rest:
                return bundle.first_document
            return _part(store, range(bundle.first_document, bundle.last_document + 1), f"{kind}:{rest}", kind, key)
    return None


def _part(store: Store, rows: range, identity: str, kind: Kind, key: str) -> int | None:
    parts = store.parts(rows).values()
    return next(
        (one.row for one in parts if document_id(kind, key, one.name, one.twin, one.start, one.end) == identity), None
    )


def code_named(store: Store, query: str) -> list[int]:
    """Rows of the definitions or of the one file that a name means (`Client.send`, `client.py`); none if unclear."""
    named = clear(definitions_named(Code(store), query), MOST_SOURCES)
    if named:
        return list(dict.fromkeys(one.row for one in named))
    files = files_named(store, query) if "." in query else []
    return [files[0].first_document] if len(files) == 1 else []


def topic_sources(store: Store, ask: Ask, kinds: Sequence[Kind]) -> list[Source]:
    """The best matches of a topic over these kinds, best first; empty where nothing matches."""
    found = [ask(kind) for kind in kinds]
    best = max((hit.relevance for result in found for hit in result.hits), default=0.0)
    if best < LEAST_RELEVANCE:
        return []
    rated = [(factor, hit) for result in found for hit, factor in _factors(result, best)]
    rated.sort(key=lambda row: (-row[0], row[1].document.id))
    return [
        Source(_row_of(store, hit), factor, walked=place < MOST_SOURCES)
        for place, (factor, hit) in enumerate(rated[:MOST_MATCHES])
    ]


def _factors(result: SearchResult, best: float) -> Iterator[tuple[Hit, float]]:
    """What each match of one kind is worth, in parts of the best match of all kinds (relevance `best`).

    Scores of records are logarithms of what ranks them; scores of files rank windows, so there relevance counts.
    """
    hits = result.hits[:MOST_MATCHES]
    power = FACTOR_POWER if result.with_vectors is None else MEANT_FACTOR_POWER
    top = max((hit.relevance for hit in hits), default=0.0) / best
    first = max((hit.score for hit in hits), default=0.0)
    for hit in hits:
        is_record = hit.document.location is None or hit.document.kind is Kind.NOTE
        share = top * math.exp(hit.score - first) if is_record else hit.relevance / best
        if hit.relevance > 0:
            yield hit, min(share, 1.0) ** power


def _row_of(store: Store, hit: Hit) -> int:
    bundle = store.bundles([int(hit.document.fields["bundle"])])[int(hit.document.fields["bundle"])]
    rows = range(bundle.first_document, bundle.last_document + 1)
    found = _part(store, rows, hit.document.id, bundle.kind, bundle.key)
    return bundle.first_document if found is None else found
