"""Two signals beside the words of a file: commits that match the question, and one step over calls.

History is the best single addition to the recipe (4 points of r@5; alone as good as three rankings fused). Only commits
that HEAD reaches are visible in the lexicon, so nothing after HEAD can leak into an answer.

Callees and callers of the best candidates gain a little value: 1.5 points of span@4k; spreading scores over the graph
before ranking loses (docs/decisions/0002). Every search does this, so calls are matched by their bare names in the
index; `relations` resolves them.
"""

from __future__ import annotations

import json
import math
import threading
from collections import defaultdict
from collections.abc import Sequence
from functools import partial

from satchel import lazy_numpy as np
from satchel.search import weights
from satchel.search.bm25 import FloatArray, chunk_scores, largest
from satchel.search.chunks import definitions_of, stored_rows
from satchel.search.query import Query
from satchel.store.protocol import Store
from satchel.store.segments import Lexicon
from satchel.types import EdgeType, Kind
from satchel.vocabulary import DAY_SECONDS

VOTING_COMMITS = 60
"""Best commits that vote for the files that they touched; measured to matter little."""


class Votes:
    """The votes of the commits for one question: computed when first asked for, then shared by all kinds of files."""

    def __init__(self, query: Query, store: Store) -> None:
        self._query, self._store = query, store
        self._guard = threading.Lock()
        self._by_path: dict[str, float] | None = None

    def by_document(self, kind: Kind, lexicon: Lexicon) -> FloatArray:
        """Return for each document the sum of the scores of commits that touched it, each over sqrt(files)."""
        votes = np.zeros(len(lexicon.columns.document_id))
        with self._guard:
            if self._by_path is None:
                self._by_path = _votes_by_path(self._query, self._store)
        by_path = self._by_path
        positions = lexicon.fetched(Votes, by_path, partial(_positions, self._store, kind, lexicon)) if by_path else {}
        # A file that was renamed has the votes of several paths.
        voted = [(positions[path], vote) for path, vote in by_path.items() if positions[path] >= 0]
        if voted:
            places, values = zip(*voted, strict=True)
            np.add.at(votes, [*places], values)
        votes[~lexicon.live_document] = 0.0
        return votes


def _votes_by_path(query: Query, store: Store) -> dict[str, float]:
    commits = store.lexicon(Kind.COMMIT)
    if not commits.chunk_count or not query.terms:
        return {}
    scores = chunk_scores(commits, query.terms)
    scores[~commits.live_chunk] = 0.0
    best = largest(scores, VOTING_COMMITS)
    best = best[scores[best] > 0]
    if not len(best):
        return {}
    touched = commits.stored(_touched, best.tolist(), partial(_touched, store))
    newest = max(created for created, _ in touched.values())
    by_path: dict[str, float] = defaultdict(float)
    for value, (created, files) in zip(scores[best].tolist(), touched.values(), strict=True):
        if not files or len(files) > weights.SWEEP_FILES:
            continue
        vote = value * unfaded(newest - created) / math.sqrt(len(files))
        for path in files:
            by_path[path] += vote
    return by_path


def unfaded(seconds: float) -> float:
    """Return what age leaves of the weight of a commit that is so much older than the newest one."""
    halves = max(seconds, 0.0) / (weights.COMMIT_HALF_LIFE_DAYS * DAY_SECONDS)
    return 1 - weights.COMMIT_FADING + weights.COMMIT_FADING * math.pow(0.5, halves)


def _positions(store: Store, kind: Kind, lexicon: Lexicon, paths: Sequence[str]) -> dict[str, int]:
    """Return the positions of files by the path that a commit has, which may be a former one; -1 for other files."""
    renames = json.loads(store.meta("renames") or "{}")
    ids = store.document_ids(kind, [*paths, *(renames[path] for path in paths if path in renames)])
    documents = [ids.get(path, ids.get(renames.get(path, ""), -1)) for path in paths]
    return dict(zip(paths, lexicon.document_positions(documents).tolist(), strict=True))


def _touched(store: Store, rows: Sequence[int]) -> dict[int, tuple[float, list[str]]]:
    """Return the time of each commit and the files that it touched."""
    files: dict[int, list[str]] = defaultdict(list)
    for row, _, path in store.edges_from(rows, [EdgeType.TOUCHES]):
        files[row].append(path)
    return {row: (document.created, files[row]) for row, (document, _) in stored_rows(store, rows).items()}


def neighbours(seeds: Sequence[tuple[int, float]], store: Store, lexicon: Lexicon) -> FloatArray:
    """Return one value a chunk: weighted support from `seeds` (chunk positions with their scores, best first)."""
    support = np.zeros(len(lexicon.columns.chunk_row))
    rows = lexicon.columns.chunk_row
    score_of = {int(rows[position]): value for position, value in seeds}
    callables = lexicon.stored(_callables, [position for position, _ in seeds], partial(_callables, store))
    limit = weights.CALL_DEFINITIONS
    names = dict.fromkeys(name for caller, called in callables.values() for name in (caller, *called))
    defined = lexicon.fetched(limit, names, partial(definitions_of, store, limit))
    rows_of = {name: [definition.row for definition in rows] for name, rows in defined.items()}
    callers = lexicon.fetched(
        _callers, dict.fromkeys(caller for caller, _ in callables.values() if rows_of[caller]), partial(_callers, store)
    )
    gained: dict[int, float] = defaultdict(float)
    for row, (caller, called) in callables.items():
        value = score_of[row]
        _spread(gained, row, value, {r: 1 / len(rows_of[name]) for name in called for r in rows_of[name]})
        if rows_of[caller]:
            _spread(gained, row, value, dict.fromkeys(callers[caller], weights.CALLER_WEIGHT / len(rows_of[caller])))
    places = lexicon.chunk_positions(gained)
    support[places[places >= 0]] = np.array(list(gained.values()))[places >= 0]
    support[~lexicon.live_chunk] = 0.0
    return support


def _callables(store: Store, rows: Sequence[int]) -> dict[int, tuple[str, list[str]]]:
    """Return the last name of each chunk, empty for one without, and the names that it calls."""
    called: dict[int, list[str]] = defaultdict(list)
    for row, _, target in store.edges_from(sorted(rows), [EdgeType.CALLS]):
        called[row].append(target)
    parts = store.chunks(rows)
    return {row: (parts[row].name.rpartition(".")[2] if row in parts else "", called[row]) for row in rows}


def _callers(store: Store, names: Sequence[str]) -> dict[str, list[int]]:
    """Return the rows of the chunks that call each name."""
    rows: dict[str, list[int]] = {name: [] for name in names}
    for row, _, target in store.edges_to(sorted(names), [EdgeType.CALLS]):
        rows[target].append(row)
    return rows


def _spread(gained: dict[int, float], source: int, value: float, reached: dict[int, float]) -> None:
    """Add to each reached chunk its part of the source's value, divided by a root of their number plus one."""
    degree = len(reached)
    for row, weight in reached.items():
        if row != source:
            gained[row] += value * weight / (degree + 1) ** weights.CALL_DEGREE
