"""The history of the files of a situation: the commits that touched them, and the records that name them.

A record names a file by its path, or by its name, with as many folders as tell it apart from other indexed files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from satchel.search.change_impact import with_former_names
from satchel.search.chunks import chunk_of, stored_rows
from satchel.search.filters import Filters
from satchel.search.query import analyse
from satchel.search.searcher import CANDIDATE_SPANS, search_kind
from satchel.search.votes import MOST_FILES
from satchel.store.protocol import Store
from satchel.types import EdgeType, Hit, Kind, ScoredSpan, Signal
from satchel.vocabulary import OutcomeStatus

BESIDE_WORDS = 3
"""Records of each kind from the history of the files if the situation also has words to search for."""

MOST_COMPARED = 20
"""Files of a situation whose history is searched."""

SIGNAL = Signal("file", 1.0, 1.0)


def commits_of(store: Store, files: Sequence[str], most: int) -> list[Hit]:
    """Return the newest visible commits that touched these files; those of many files come last."""
    if not files:
        return []
    touching = store.edges_to(with_former_names(files, store), [EdgeType.TOUCHES])
    rows = stored_rows(store, sorted({row for row, *_ in touching}))
    visible = frozenset(store.iterate_keys(Kind.COMMIT)) if rows else frozenset()
    listed = [row for row in rows.values() if row[0].kind is Kind.COMMIT and row[0].key in visible]
    listed.sort(key=lambda row: (row[0].fields.get("file_count", 0) > MOST_FILES, -row[0].created, row[0].id))
    first = {document.id: (document, part) for document, part in reversed(listed)}
    hits = [Hit(chunk_of(*row), 1.0, 0.0, (ScoredSpan(row[1].start, row[1].end, 0.0),), (SIGNAL,))
            for row in reversed(first.values())]  # fmt: skip
    return hits[:most]


def records_naming(
    store: Store, kind: Kind, files: Sequence[str], named: re.Pattern[str], most: int, now: float
) -> list[Hit]:
    """Return the records of a kind that name one of these files (`naming`); failed experiences come first."""
    query = analyse(" ".join(dict.fromkeys(path.rpartition("/")[2] for path in files)))
    hits = search_kind(store, kind, query, candidates=CANDIDATE_SPANS, filters=Filters(), now=now).hits
    texts = store.texts(hit.chunk.document for hit in hits)
    chosen = [hit for hit in hits if named.search(texts[hit.chunk.document])]
    chosen.sort(key=lambda hit: hit.chunk.fields.get("outcome_status") != OutcomeStatus.FALSIFIED)
    return [hit._replace(signals=(*hit.signals, SIGNAL)) for hit in chosen[:most]]


def naming(store: Store, files: Sequence[str]) -> re.Pattern[str]:
    """Return the pattern of texts that name one of these files."""
    return re.compile("|".join(_name_pattern(store, path) for path in files))


def _name_pattern(store: Store, path: str) -> str:
    """Return the pattern of the path, or of the end of it that no other indexed file has, with more of its folders."""
    others = [f"/{key}" for _, key in store.paths_named([path.rpartition("/")[2]], []) if key != path]
    steps = path.split("/")
    count = next((n for n in range(1, len(steps)) if not _has_end(others, steps[-n:])), len(steps))
    folders = ""
    for step in steps[:-count]:
        folders = f"(?:{folders}{re.escape(step)}/)?"
    own = re.escape("/".join(steps[-count:]))
    return rf"(?:(?<![\w.-]){re.escape(path)}|(?<![\w./-]){folders}{own})(?![\w/-]|\.\w)"


def _has_end(paths: Sequence[str], steps: Sequence[str]) -> bool:
    return any(path.endswith(f"/{'/'.join(steps)}") for path in paths)
