"""The calls of what a search found first, for an answer that somebody edits from: what changes with a function."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from satchel.search.documents import document_of
from satchel.search.impact import Related, around, spans_of
from satchel.types import Hit, Role, Signal

if TYPE_CHECKING:
    from satchel.search.relations import CallSite
    from satchel.search.searcher import SearchResult
    from satchel.store.protocol import Store

SIGNAL = "calls"

MOST_SUBJECTS, NEAR = 3, 1.0
"""Functions whose calls are looked for: the first ones of the ranking, as far as they are worth nearly as much as the
best one (log scale)."""

MOST_FILES = 10
"""Files that are parsed for the calls of one function: some thirty in all, less than a tenth of a second."""

MOST_CALLS = 12
"""Documents that call one function, those of production code first."""

MOST_SITES = 3
"""Calls of one document that are shown: the others of a test file say the same again."""

CALL_DROP, TEST_DROP = 0.7, 1.4
"""How much less (log scale) a call in production code and in a test is worth than the function that is called."""

_CALLED = frozenset({Role.FUNCTION, Role.METHOD})


def with_callers(result: SearchResult, store: Store) -> SearchResult:
    """The hits of a search for code, and the calls of the functions that come first in it."""
    subjects = _subjects(result.hits)
    if not subjects:
        return result
    from satchel.search.relations import Relations  # here, because parsing is only for those who edit

    relations = Relations(store)
    calls: dict[int, Hit] = {}
    for subject in subjects:
        assert subject.document.location is not None
        target = relations.named(subject.document.location.path, subject.document.title)
        if target is None:
            continue
        sites: dict[int, list[CallSite]] = defaultdict(list)
        for site in relations.callers(target, MOST_FILES).sites:
            if site.row != target.row and (site.row in sites or len(sites) < MOST_CALLS):
                sites[site.row].append(site)
        for hit_row, hit in _hits(subject, sites, store):
            calls.setdefault(hit_row, hit)
    hits = sorted((*result.hits, *calls.values()), key=lambda hit: (-hit.score, hit.document.id))
    return replace(result, hits=tuple(hits))


def _subjects(hits: Sequence[Hit]) -> list[Hit]:
    least = hits[0].score - NEAR if hits else 0.0
    return [hit for hit in hits if hit.document.role in _CALLED and hit.score >= least][:MOST_SUBJECTS]


def _hits(subject: Hit, sites: dict[int, list[CallSite]], store: Store) -> list[tuple[int, Hit]]:
    """One hit for each document that calls the subject, with the lines of its calls."""
    parts = store.parts(sites)
    bundles = store.bundles({part.bundle for part in parts.values()})
    hits = []
    for row, own in sites.items():
        value = subject.score - (TEST_DROP if own[0].secondary else CALL_DROP)
        spans = spans_of(parts[row], Related(1.0, tuple(around(site, 1) for site in own[:MOST_SITES])), value)
        document = document_of(bundles[parts[row].bundle], parts[row])
        signals = (Signal(SIGNAL, 1.0, 0.0),)
        hits.append((row, Hit(document, subject.relevance, value, spans, signals, partial=True)))
    return hits
