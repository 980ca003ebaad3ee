"""How to add one more of a kind: families of classes or files, and where their members are named together."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import islice
from operator import attrgetter
from typing import NamedTuple

from msgspec import structs

from satchel import lazy_numpy as np
from satchel import text as words
from satchel.search import weights
from satchel.search.change_relations import CHANGED, faded, merged
from satchel.search.chunks import chunks_of, stored_rows
from satchel.search.relations import last_of
from satchel.search.searcher import SearchResult
from satchel.search.strength import relevance_of
from satchel.store.protocol import Store
from satchel.store.segments import IntArray, Lexicon
from satchel.types import EdgeType, Hit, Kind, Role, ScoredSpan

REGISTER_LINES = 40
"""Lines of a register, or of a test, that are shown after its first one."""

BASE_LINES = 15
"""Lines of the base class that are shown after its first one."""

EXAMPLE_LEAST = 5
"""Fewest lines of a member that is more than a name."""

EXAMPLE_LINES = 60
"""Lines of a member that is shown in full; of others the first."""

_FRONTS = frozenset({"__init__", "index", "mod", "lib", "main"})
"""Names of files that stand for their folder."""


class _Family(NamedTuple):
    """Heirs of a class by its row, or files of a folder (-1): rows by name, spans that name each, those of tests.

    `register` are the spans of production code that name most of them, and most closely; none below the least score.
    """

    members: Mapping[str, int]
    base: int
    spans: Mapping[str, IntArray]
    tests: Mapping[str, IntArray]
    register: Sequence[int]
    score: float


def with_siblings(result: SearchResult, nouns: Sequence[str], store: Store) -> SearchResult:
    """Return the hits of a search and what shows how to add one more of a kind, which the nouns of a question name.

    That is the place that names most siblings, their base class, the smallest sibling named there, and a test of it.
    The first noun counts that has a family.
    """
    lexicon = store.lexicon(Kind.CODE)
    best = next(filter(None, (_best_family(noun, store, lexicon) for noun in nouns)), None)
    if best is None:
        return result
    found, hits = _shown(best, store, lexicon), []
    ceiling = max((hit.score for hit in result.hits), default=0.0)
    for row, (_, chunk) in chunks_of(store, found).items():
        weight, start, end = found[row]
        location = chunk.location and chunk.location._replace(end_line=max(chunk.location.end_line, end))
        span = ScoredSpan(start, end, ceiling + math.log(weight))
        hits.append(Hit(replace(chunk, location=location), relevance_of(weight), span.value, (span,), partial=True))
    return structs.replace(result, hits=merged([faded(hit, weights.IMPACT_UNSURE) for hit in result.hits], hits))


def _best_family(noun: str, store: Store, lexicon: Lexicon) -> _Family | None:
    families = [
        _family(lexicon, *members) for members in (*_heirs(noun, store, lexicon), *_files(noun, store, lexicon))
    ]
    return max(
        families,
        key=lambda family: (len(family.register) > 0, family.base >= 0, family.score, len(family.members)),
        default=None,
    )


def _shown(family: _Family, store: Store, lexicon: Lexicon) -> dict[int, tuple[float, int, int]]:
    """Return the nearness, first and last line of each chunk to show."""
    columns, parts = lexicon.columns, store.chunks([family.base])
    limit = BASE_LINES
    found = {row: (weights.NEAR_HEIR, part.start, min(part.start + limit, part.end)) for row, part in parts.items()}
    spans = [(CHANGED, line, family.register[-1]) for line in family.register[:1]]
    names = [
        name
        for name, member_spans in family.spans.items()
        if np.isin(family.register or member_spans, member_spans).any()
    ]
    for _, _, _, size, row, start, tests in sorted(_examples(family, names, store))[:1]:
        found[row] = weights.NEAR_HEIR, start, start + min(size, EXAMPLE_LINES)
        spans += [(weights.NEAR_TEST, test, test) for test in tests[-1:]]  # the first one may be an import
    for weight, first, last in spans:
        start, end = int(columns.span_start[first]), int(columns.span_end[last])
        row = int(columns.chunk_row[columns.span_chunk[first]])
        found[row] = weight, start, min(end, start + REGISTER_LINES)
    return found


def _examples(
    family: _Family, names: Sequence[str], store: Store
) -> Iterator[tuple[bool, bool, bool, int, int, int, list[int]]]:
    """Yield what makes a member a good example (least is best), its lines, row, first line, and spans of tests."""
    stored = stored_rows(store, [family.members[name] for name in names])
    parts = store.chunks(row for document, _ in stored.values() for row in document.rows)
    for name, (document, part) in zip(names, stored.values(), strict=True):
        prefix = f"{part.name}." if family.base >= 0 else ""
        chunks = [parts[row] for row in document.rows if f"{parts[row].name}.".startswith(prefix)]
        first, tests = next(filter(attrgetter("name"), chunks), part), family.tests[name].tolist()
        size = chunks[-1].end - first.start
        is_name, is_cut = size < EXAMPLE_LEAST, size > EXAMPLE_LINES
        yield is_name, is_cut, not tests, size, first.row, first.start, tests


def _family(lexicon: Lexicon, members: Mapping[str, int], base: int) -> _Family:
    """Return a family with its register: it counts how many members a span names, and in how many words."""
    columns = lexicon.columns
    spans, files = _units(lexicon, members, 0), _units(lexicon, members, 3)
    is_test = columns.document_secondary[lexicon.span_document] > 0
    named = spans if base >= 0 else {name: lexicon.document_first_span[positions] for name, positions in files.items()}
    tests = {name: positions[is_test[positions]] for name, positions in named.items()}
    counts = np.bincount(np.concatenate([*spans.values()]), minlength=len(columns.span_chunk)).astype(float)
    is_own = np.isin(lexicon.span_document, columns.chunk_document[lexicon.chunk_positions(members.values())])
    length = np.maximum(columns.span_words, 1)
    scores = counts * np.sqrt(counts / length) * (1 - columns.span_comment_words / length)
    scores[is_test | (counts < weights.SIBLINGS) | (is_own & (base < 0))] = 0
    last = int(np.argmax(scores))
    near = (columns.span_chunk == columns.span_chunk[last]) & (counts > weights.REGISTER_SHARE * counts[last])
    first = last - int(np.argmin([*near[last::-1], False])) + 1
    register = range(first, last + 1) if scores[last] >= weights.REGISTER_SCORE else ()
    return _Family(members, base, spans, tests, register, scores[last])


def _units(lexicon: Lexicon, names: Iterable[str], field: int) -> dict[str, IntArray]:
    """Return the spans whose text has all words of each name, or (field 3) the files whose path has them."""
    terms = {name: [words.term_of(word) for word in words.words(name)] for name in names}
    needed = sorted(set().union(*terms.values()) - words.STOP_WORDS)
    units = {term: posting[field][0] for term, posting in zip(needed, lexicon.postings(needed), strict=True)}
    known = {name: [units[term] for term in terms_of_name if term in units] for name, terms_of_name in terms.items()}
    return {
        name: reduce(np.intersect1d, terms_of_name or [np.zeros(0, np.int64)]) for name, terms_of_name in known.items()
    }


def _heirs(noun: str, store: Store, lexicon: Lexicon) -> Iterator[tuple[dict[str, int], int]]:
    """Yield the heirs of each class with a noun in its name: rows by name, and the row of the class."""
    (posting,) = lexicon.postings([noun])
    parts = store.chunks(lexicon.columns.chunk_row[posting.name[0]].tolist())
    bases = {last_of(part.name): row for row, part in parts.items() if part.role == Role.CLASS}
    heirs = {row: bases[base] for row, _, base in store.edges_to(sorted(bases), [EdgeType.INHERITS])}
    places = [place for place in store.places(heirs).values() if not place.secondary]
    for base in dict.fromkeys(heirs.values()):
        rows_by_name = {last_of(place.name): place.row for place in places if heirs[place.row] == base}
        yield from [(dict(islice(rows_by_name.items(), 200)), base)] if len(rows_by_name) >= weights.SIBLINGS else ()


def _files(noun: str, store: Store, lexicon: Lexicon) -> Iterator[tuple[dict[str, int], int]]:
    """Yield the files and folders in each folder with a noun in its name: rows by name, and -1."""
    (posting,) = lexicon.postings([noun])
    found: dict[str, dict[str, int]] = defaultdict(dict)
    for document in store.documents(lexicon.columns.document_id[posting.path[0]].tolist()).values():
        names = re.split(r"[/.]", "" if document.secondary else document.key)
        for depth in range(1, len(names) - 1):
            if noun in words.count_terms(words.words(names[depth - 1])) and names[depth] not in _FRONTS:
                found["/".join(names[:depth])].setdefault(names[depth], document.first_chunk)
    yield from (
        (dict(islice(siblings.items(), 200)), -1) for siblings in found.values() if len(siblings) >= weights.SIBLINGS
    )
