"""The impact of a change: dependents of the changed definitions, and earlier commits to their files.

Both come from the relations of the store, not from words. Such a hit ranks with the best of its kind, by how near it is
to the change.
"""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence

from msgspec.structs import replace

from satchel.search import weights
from satchel.search.affected import AffectedCode, affected_by
from satchel.search.change_relations import (
    CHANGED,
    SIGNAL,
    Impact,
    Related,
    faded,
    impact_of_definitions,
    merged,
    with_impact,
)
from satchel.search.chunks import chunk_of, stored_rows, with_former_names
from satchel.search.query import Mention, Query, QueryTerm, Zone, analyse
from satchel.search.relations import Relations
from satchel.search.resolve.code import CodeDefinition
from satchel.search.searcher import SearchResult
from satchel.search.strength import relevance_of
from satchel.search.votes import unfaded
from satchel.sources.change import Change, ChangedFile
from satchel.sources.code.languages import language_of
from satchel.sources.roles import is_secondary
from satchel.store.protocol import Store
from satchel.store.records import StoredChunk
from satchel.types import EdgeType, Hit, Kind, Range, ScoredSpan, Signal

CHANGE_LINES_AROUND = 3
"""Lines before and after the changed lines of a definition."""

NAMED_FILES = 5
"""Most changed files whose names are searched in memories and experiences."""

CHANGE_COMMITS = 40
"""Most commits found by the changed files."""


def blended(query: Query, change: Change) -> Query:
    """Return the question with the names in the change and, at low weight, the words of the changed lines."""
    names = " ".join(f"`{name}`" for name in change.names)
    own_query = analyse(names)
    query_terms = {term.term for term in query.terms}
    lines = analyse("\n".join(["", *(f"    {line}" for line in change.words.split("\n"))]))
    extra: dict[str, float] = {}
    for source in (own_query, lines):
        for term in source.terms:
            extra[term.term] = max(extra.get(term.term, 0.0), term.weight)
    factor = weights.CHANGE_WORDS if query.terms else 1.0
    terms = [QueryTerm(term, weight * factor, 0.0) for term, weight in extra.items() if term not in query_terms]
    symbols = [Mention(symbol.text, symbol.form, Zone.PROSE, symbol.qualifier) for symbol in own_query.symbols]
    return replace(query, terms=(*query.terms, *terms), symbols=(*query.symbols, *symbols))


def impact_of_change(change: Change, store: Store) -> Impact:
    """Return the dependents of the definitions that a change touches or removes, and what it reaches."""
    relations, targets = _targets_of(change, store)
    impact = impact_of_definitions(relations, targets, _changed_rows(change, store, Kind.CODE))
    return replace(impact, affected=affected_by(relations, change, targets))


def affected_by_change(change: Change, store: Store) -> AffectedCode:
    """Return what a change reaches, alone."""
    relations, targets = _targets_of(change, store)
    return affected_by(relations, change, targets)


def _targets_of(change: Change, store: Store) -> tuple[Relations, list[CodeDefinition]]:
    gone = [_removed(file, name) for file in change.files for name in file.removed]
    relations = Relations(store, gone)
    named = [relations.named(file.path, name) for file in change.files for name in file.names]
    targets = sorted(
        [*(definition for definition in named if definition is not None), *gone],
        key=lambda definition: is_secondary(definition.path),
    )
    return relations, list(dict.fromkeys(targets))


def _removed(file: ChangedFile, name: str) -> CodeDefinition:
    owner, _, last = name.rpartition(".")
    return CodeDefinition(file.path, owner, last, 0, -1, language_of(file.path) or "")


def with_change(
    result: SearchResult, change: Change, store: Store, kind: Kind, impact: Impact, *, is_asked: bool
) -> SearchResult:
    """Return the hits of a search and those that the change concerns, best first.

    Where only the change is the question (not `is_asked`), what merely shares its words is left out.
    """
    if kind is Kind.CODE:
        if not is_asked:
            kept = [hit for hit in result.hits if _file_of(change, hit)] if impact.related else []
            return with_impact(replace(result, hits=tuple(kept)), impact, store)
        beside, other = weights.CHANGED_FILE_FACTOR, weights.OTHER_FILE_FACTOR
        rest = tuple(faded(hit, beside if _file_of(change, hit) else other) for hit in result.hits)
        return with_impact(replace(result, hits=rest), impact, store)
    if kind is Kind.COMMIT:
        return replace(result, hits=merged(result.hits if is_asked else (), _commit_hits(result.hits, change, store)))
    if not kind.traits.is_prose:
        return result
    named = replace(result, hits=_naming(result.hits, change, store))
    return with_impact(named, Impact(_changed_rows(change, store, kind)), store)


def _naming(hits: Sequence[Hit], change: Change, store: Store) -> tuple[Hit, ...]:
    """Return the passages of documents that name a changed definition or file, best first."""
    names = {*(name.rpartition(".")[2] for name in change.names), *(file.path for file in change.files)}
    words = "|".join(re.escape(name) for name in sorted(names) if len(name) > 3)
    texts = store.texts({hit.chunk.document for hit in hits})
    best = max((hit.score for hit in hits), default=0.0) + math.log(weights.NEAR_RECORD)
    naming = [
        replace(hit, relevance=max(hit.relevance, relevance_of(weights.NEAR_RECORD)), score=max(hit.score, best))
        for hit in hits
        if words and re.search(rf"(?<!\w)(?:{words})(?!\w)", _passage(hit, texts))
    ]
    return tuple(sorted(naming, key=lambda hit: (-hit.score, hit.chunk.id)))


def _passage(hit: Hit, texts: Mapping[int, str]) -> str:
    location, lines = hit.chunk.location, texts.get(hit.chunk.document, "").split("\n")
    if location is not None and location.path.endswith((".json", ".xml", ".toml", ".yaml", ".yml", ".lock")):
        return ""  # a list of files names them all
    return "\n".join(lines[location.start_line - 1 : location.end_line]) if location is not None else ""


def with_past(
    result: SearchResult, question: Query, change: Change, store: Store, ask: Callable[[Query], SearchResult]
) -> SearchResult:
    """Return the memories or experiences of a question, of the change, and those that name one of its files.

    The latter rank with the best that the question finds, not above, so that these are not left out as far weaker.
    """
    best: dict[str, Hit] = {hit.chunk.id: hit for hit in result.hits}
    answers = ask(question).hits if question.terms else ()
    past = min(relevance_of(weights.NEAR_RECORD), max((hit.relevance for hit in answers), default=1.0))
    for hit in answers:
        before = best.get(hit.chunk.id)
        best[hit.chunk.id] = hit if before is None or hit.relevance > before.relevance else before
    ceiling = max((hit.score for hit in best.values()), default=0.0)
    for file in change.files[:NAMED_FILES]:
        name = file.path.rpartition("/")[2]
        for hit in ask(analyse(name)).hits:
            if name in store.text(hit.chunk.document):
                # The name alone asks for little, so what it finds has no relevance of its own.
                hit = best.get(hit.chunk.id, replace(hit, relevance=0.0))
                score = max(hit.score, ceiling + math.log(weights.NEAR_RECORD))
                signal = Signal(SIGNAL, weights.NEAR_RECORD, 1.0)
                signals = (*(other for other in hit.signals if other.name != SIGNAL), signal)
                best[hit.chunk.id] = replace(hit, relevance=max(hit.relevance, past), score=score, signals=signals)
    return replace(result, hits=merged(best.values(), ()))


def _file_of(change: Change, hit: Hit) -> ChangedFile | None:
    """Return the changed file that a hit is in."""
    return change.file(hit.chunk.location.path) if hit.chunk.location is not None else None


def _changed_rows(change: Change, store: Store, kind: Kind) -> dict[int, Related]:
    """Return the chunks of the changed definitions, or of the lines of a file without any.

    Each comes with its changed lines and a few around them.
    """
    related_by_row: dict[int, Related] = {}
    for file in change.files:
        document = store.document(kind, file.path)
        if document is not None:
            parts = store.chunks(document.rows)
            if file.names:
                chunks = {row: part for row, part in parts.items() if part.name in file.names}
            else:
                chunks = {row: part for row, part in parts.items() if _touched(file, part)}
            weight = weights.NEAR_CHANGED_TEST if document.secondary else CHANGED
            related_by_row |= {row: Related(weight, _within(file, part)) for row, part in chunks.items()}
    return related_by_row


def _touched(file: ChangedFile, part: StoredChunk) -> bool:
    return any(first <= part.end and last >= part.start for first, last in file.ranges)


def _within(file: ChangedFile, part: StoredChunk) -> tuple[Range, ...]:
    more = CHANGE_LINES_AROUND
    return tuple((first - more, last + more) for first, last in file.ranges if first <= part.end and last >= part.start)


def _commit_hits(searched: Sequence[Hit], change: Change, store: Store) -> list[Hit]:
    """Return commits that touched the changed files: the more of them and the later, the nearer."""
    paths = [file.path for file in change.files]
    touched: dict[int, set[str]] = defaultdict(set)
    for row, _, path in store.edges_to(with_former_names(paths, store), [EdgeType.TOUCHES]):
        touched[row].add(path)
    written = store.first_rows(Kind.COMMIT, [commit for file in change.files for commit in file.commits])
    for row in written.values():
        touched[row] |= {*paths}
    stored = stored_rows(store, touched)
    visible = set(store.iterate_keys(Kind.COMMIT)) if stored else set()
    by_id = {hit.chunk.id: hit for hit in searched}
    ceiling = max((hit.score for hit in searched), default=0.0)
    path_weights = _path_weights(paths, touched, store)
    newest = max((document.created for document, _ in stored.values()), default=0.0)
    rated = []
    for row, (document, part) in stored.items():
        size = int(document.fields.get("file_count", 0)) or len(touched[row])
        if document.key in visible and size <= weights.SWEEP_FILES:
            share = _share(touched[row], paths, path_weights)
            is_written = document.key in written
            rated.append((is_written + min(share, 1.0) * unfaded(newest - document.created), document, part))
    rated.sort(key=lambda row: (-row[0], row[1].key))
    hits = []
    unasked = 0
    for share, document, part in rated[:CHANGE_COMMITS]:
        chunk = chunk_of(document, part)
        hit = by_id.get(chunk.id)
        if hit is None:
            unasked += share < 1.0
            if unasked > weights.UNASKED_COMMITS:
                continue
        weight = weights.NEAR_RECORD * min(share, 1.0)
        value = hit.score + math.log1p(share) if hit is not None else ceiling + math.log(weight)
        if share >= 1.0:
            value = ceiling + math.log(share)  # it wrote the lines that were changed
        signal = Signal(SIGNAL, round(weight, 4), 1.0)
        base = hit or Hit(chunk, 0.0, value, (ScoredSpan(part.start, part.end, value),))
        score = max(base.score, value)
        relevance = max(base.relevance, relevance_of(weight))
        hits.append(replace(base, relevance=relevance, score=score, signals=(*base.signals, signal)))
    return hits


def _share(touched: Collection[str], paths: Collection[str], weight_of: Mapping[str, float]) -> float:
    """Return the weight of the touched paths by that of all changed ones; sets have no order, so the sums are exact."""
    return math.fsum(map(weight_of.__getitem__, touched)) / math.fsum(map(weight_of.__getitem__, paths))


def _path_weights(paths: Sequence[str], touched: Mapping[int, set[str]], store: Store) -> dict[str, float]:
    """Return weights of touched paths: low for one that every third commit touches, such as a change log."""
    former = json.loads(store.meta("renames") or "{}")
    total = max(store.kinds().get(Kind.COMMIT, 0), 1)
    counts = Counter(path for files in touched.values() for path in files)
    known = {path: math.log1p(total / (1 + count)) for path, count in counts.items()}
    return {path: known.get(path, math.log1p(total)) for path in {*paths, *former, *known}}
