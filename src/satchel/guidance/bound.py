"""Records that are bound to files: by their globs, or because their text names one. Renames in git are followed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from satchel import lazy_numpy as np
from satchel.search import bm25
from satchel.search.chunks import chunk_of, stored_rows, with_former_names
from satchel.search.query import Query, analyse
from satchel.search.searcher import CANDIDATE_SPANS, search_kind
from satchel.search.successors import successors
from satchel.store.protocol import Store
from satchel.store.records import Document, StoredChunk
from satchel.system.globs import Globs
from satchel.types import EdgeType, Hit, Kind, ScoredSpan, Signal
from satchel.vocabulary import OutcomeStatus, parse_moment

SIGNAL = Signal("file", 1.0, 1.0)

NAMING_SPANS = 4 * CANDIDATE_SPANS
"""Spans of records with the name of a file that are read: `__init__.py` is in many, and few name the right one."""


def bound_records(
    store: Store, kind: Kind, files: Sequence[str], index: Store, now: float, *, naming: bool = True
) -> list[Hit]:
    """Return the records of a kind that are bound to one of these files, each once; failed experiences come first.

    Those whose globs match come before those whose text names a file, which are left out without `naming`; what
    replaced a record that names one follows, and what contradicts one comes before it. `index` knows the files of the
    root and their former names. What has expired by `now` is left out.
    """
    names = with_former_names(files, index)
    hits: dict[int, Hit] = {}
    named = _naming(store, kind, names, index, now) if naming else []
    for hit in (*_matching(store, kind, names), *named):
        hits.setdefault(hit.chunk.document, hit)
    chosen = [hit for hit in hits.values() if not _is_over(hit, now)]
    if kind is Kind.MEMORY and chosen:
        from satchel.search.newer import with_newer  # here, because few files have a memory

        return [*with_newer(store, chosen, now)]
    return sorted(chosen, key=lambda hit: hit.chunk.fields.get("outcome_status") != OutcomeStatus.FALSIFIED)


def ruling_records(store: Store, kind: Kind, files: Sequence[str], index: Store, now: float) -> list[Hit]:
    """Return the records that count for one of these files whatever is done with it.

    They are bound to exactly this file, not to a folder, and are a decision, a prohibition or a failure.
    """
    from satchel.search.contradictions import is_binding  # here, because few edits leave the behaviour as it is

    names = frozenset(with_former_names(files, index))
    hits = bound_records(store, kind, files, index, now, naming=False)
    exact = [hit for hit in hits if not names.isdisjoint(hit.chunk.fields.get("files") or ())]
    texts = store.texts([hit.chunk.document for hit in exact])
    return [
        hit
        for hit in exact
        if hit.chunk.fields.get("outcome_status") == OutcomeStatus.FALSIFIED
        or (kind is Kind.MEMORY and is_binding(hit.chunk.fields.get("category"), texts.get(hit.chunk.document, "")))
    ]


def _matching(store: Store, kind: Kind, paths: Sequence[str]) -> list[Hit]:
    """Return the visible records one of whose globs matches a path, newest first."""
    globs = [glob for glob in store.edge_targets([EdgeType.BOUND]) if Globs((glob,)).first(paths) is not None]
    rows = stored_rows(store, sorted({row for row, *_ in store.edges_to(globs, [EdgeType.BOUND])}))
    visible = frozenset(store.iterate_keys(kind)) if rows else frozenset()
    return _whole(row for row in rows.values() if row[0].kind is kind and row[0].key in visible)


def _naming(store: Store, kind: Kind, paths: Sequence[str], index: Store, now: float) -> list[Hit]:
    """Return the visible records whose text names one of these paths, best first."""
    query = analyse(" ".join(dict.fromkeys(path.rpartition("/")[2] for path in paths)))
    hits = search_kind(store, kind, query, candidates=NAMING_SPANS, now=now).hits
    named = re.compile("|".join(_name_pattern(index, path) for path in paths))
    texts = store.texts(hit.chunk.document for hit in hits)
    chosen = [hit for hit in hits if named.search(texts[hit.chunk.document])]
    return [
        *(replace(hit, signals=(*hit.signals, SIGNAL)) for hit in chosen),
        *_replacing(store, kind, query, named),
    ]


def _replacing(store: Store, kind: Kind, query: Query, named: re.Pattern[str]) -> list[Hit]:
    """Return what replaced the records whose text names a file, the newest first."""
    lexicon = store.lexicon(kind)
    held = [units for _, units in bm25.holders(lexicon, query.terms, hidden=True)] if query.terms else []
    evidence = np.zeros(len(lexicon.live_chunk))
    for units in held:
        evidence[units] += 1
    heirs = successors(store, lexicon, kind, evidence)
    owners = lexicon.columns.document_id[lexicon.columns.chunk_document[[*heirs]]].tolist() if heirs else []
    texts = store.texts(owners)
    rows = {heir for heir, owner in zip(heirs.values(), owners, strict=True) if named.search(texts.get(owner, ""))}
    return _whole(stored_rows(store, lexicon.columns.chunk_row[sorted(rows)].tolist()).values() if rows else ())


def _whole(rows: Iterable[tuple[Document, StoredChunk]]) -> list[Hit]:
    """Return whole records as hits, the newest first."""
    ordered = sorted(rows, key=lambda row: (-row[0].created, row[0].key))
    return [Hit(chunk_of(*row), 1.0, 0.0, (ScoredSpan(row[1].start, row[1].end, 0.0),), (SIGNAL,)) for row in ordered]


def _name_pattern(index: Store, path: str) -> str:
    """Return the pattern of the path, or of the end of it that no other indexed file has, with more of its folders."""
    others = [f"/{key}" for _, key in index.paths_named([path.rpartition("/")[2]], []) if key != path]
    steps = path.split("/")
    ends = ("/".join(["", *steps[-count:]]) for count in range(1, len(steps)))
    count = next((end.count("/") for end in ends if not any(path.endswith(end) for path in others)), len(steps))
    folders = ""
    for step in steps[:-count]:
        folders = f"(?:{folders}{re.escape(step)}/)?"
    own = re.escape("/".join(steps[-count:]))
    return rf"(?:(?<![\w.-]){re.escape(path)}|(?<![\w./-]){folders}{own})(?![\w/-]|\.\w)"


def _is_over(hit: Hit, now: float) -> bool:
    until = hit.chunk.fields.get("valid_to")
    return bool(until) and parse_moment(until) <= now
