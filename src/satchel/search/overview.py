"""A map of the indexed files: what a folder contains by size, what changed often, and questions that fit.

Families of definitions or files of one kind, and where their members are named together, show how to add one more.

Only the index is read. Sizes are bytes of indexed files; commits are those of the year before the newest one, because
a repository that has rested for two years has hot files too.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import islice
from posixpath import basename, commonpath, dirname

import numpy as np

from satchel import text as words
from satchel.safety import sanitize
from satchel.search.change_relations import CHANGED, HEIR, TEST, UNSURE, faded, merged
from satchel.search.chunks import chunks_of, stored_rows
from satchel.search.relations import last_of
from satchel.search.searcher import SearchResult
from satchel.search.strength import relevance_of
from satchel.sources.roles import file_role, peripheral_role
from satchel.store.protocol import Store
from satchel.store.segments import IntArray, Lexicon
from satchel.types import EdgeType, Hit, Kind, Range, Role, ScoredSpan

HOT_DAYS = 365
"""Days before the newest commit in which a change counts."""

MOST_ENTRIES = 40
"""Entries of a map: more cannot be told apart. The smallest ones are counted together."""

FILES_READ, NAMES_READ = 4, 100
"""Most changed source files, and definitions of each, among which the example questions look for a subject."""

MOST_QUESTIONS = 3

_FRONTS = frozenset({"__init__", "index", "mod", "lib", "main"})
"""Names of files that stand for their folder."""

_REFERENCE = re.compile(r"^\w+(?:\([\w./ -]*\))?!?: |\s*\(?#\d+\)?$")  # `fix(cli): ` and ` (#2429)`


@dataclass(frozen=True, slots=True)
class MapEntry:
    """A folder or a file of a map, with the largest entries inside a folder. `path` is empty for the rest together."""

    name: str
    path: str
    is_folder: bool
    files: int
    size: int
    commits: int
    inside: tuple[MapEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Overview:
    """The map of one folder, largest entries first. `since` is in seconds, 0 without commits; `hot` is (path, commits).

    `questions` are examples that this folder answers, at most three.
    """

    path: str
    files: int
    size: int
    since: float
    commits: int
    entries: tuple[MapEntry, ...]
    hot: tuple[tuple[str, int], ...]
    questions: tuple[str, ...]


def overview(
    store: Store, path: str, since: float, recent: Sequence[tuple[str, Sequence[str]]], allow: Sequence[str]
) -> Overview:
    """Return the map of a folder. `recent` has the subject (empty if it is only routine) and the paths of each commit.

    Names are cleaned and redacted; `allow` are secrets that may be shown.
    """
    stamps = {kind: store.stamps(kind) for kind in (Kind.CODE, Kind.DOC, Kind.NOTE)}
    kinds = {name: kind for kind in stamps for name in store.iterate_keys(kind) if not name.endswith("/")}
    sizes = {name: stamps[kind][name].size for name, kind in kinds.items()}
    # A commit counts once for a folder, however many of its files it changed.
    commits = Counter(place for _, paths in recent for place in {one for name in paths for one in _upward(name)})
    inside = {name: size for name, size in sizes.items() if not path or name == path or name.startswith(f"{path}/")}
    sources = sorted(
        (name for name in inside if _is_source(name, kinds[name])),
        key=lambda name: (-commits[name], -sizes[name], name),
    )
    entries = _entries(path, inside, commits, allow)
    if len(entries) > MOST_ENTRIES:
        rest = entries[MOST_ENTRIES:]
        files, size = sum(one.files for one in rest), sum(one.size for one in rest)
        smaller = MapEntry(f"{len(rest)} smaller ones", "", is_folder=True, files=files, size=size, commits=0)
        entries = [*entries[:MOST_ENTRIES], smaller]
    questions = _questions(store, sources, recent)
    return Overview(
        path=path,
        files=len(inside),
        size=sum(inside.values()),
        since=since,
        commits=len(recent),
        entries=tuple(entries),
        # Files named as changed most often.
        hot=tuple((sanitize.line(name, allow=allow), commits[name]) for name in sources[:6] if commits[name]),
        questions=tuple(sanitize.line(one, allow=allow) for one in questions),
    )


def _upward(name: str) -> Iterator[str]:
    """Yield a path and the folders that contain it."""
    while name:
        yield name
        name = dirname(name)


def _is_source(name: str, kind: Kind) -> bool:
    return file_role(name) == "source" and peripheral_role(name, is_prose=kind is not Kind.CODE) is None


def _entries(
    path: str, sizes: Mapping[str, int], commits: Mapping[str, int], allow: Sequence[str], depth: int = 2
) -> list[MapEntry]:
    """Return the folders and files directly inside a folder, largest first. A chain of single folders is one entry."""
    start = len(path) + 1 if path else 0
    groups: dict[str, list[str]] = defaultdict(list)
    for name in sizes:
        groups[name[start:].partition("/")[0] or name].append(name)
    entries = []
    for names in groups.values():
        is_folder = len(names) > 1 or "/" in names[0][start:]
        whole = commonpath([dirname(min(names)), dirname(max(names))]) if is_folder else names[0]
        inside: list[MapEntry] = []
        if is_folder and depth > 1:
            inside = _entries(whole, {name: sizes[name] for name in names}, commits, allow, depth - 1)
        entry = MapEntry(
            name=sanitize.line(whole[start:] if whole != path else basename(whole), allow=allow),
            path=whole,
            is_folder=is_folder,
            files=len(names),
            size=sum(sizes[name] for name in names),
            commits=commits[whole],
            inside=tuple(inside[:12]),  # entries shown inside a folder of the map
        )
        entries.append(entry)
    return sorted(entries, key=lambda one: (-one.size, one.path))


def _questions(store: Store, sources: Sequence[str], recent: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a question about how something works, one about what depends on something, and one about a change.

    Where there are fewer, questions about the files that changed most follow. `sources` are these files first.
    """
    ids = store.document_ids(Kind.CODE, sources[: 10 * FILES_READ])
    documents = store.documents([ids[name] for name in sources if name in ids][:FILES_READ])
    rows = [one.rows[:NAMES_READ] for one in documents.values()]
    lines = {
        part.name: part.end - part.start + 1
        for part in store.chunks(row for one in rows for row in one).values()
        if part.role in {"function", "method"} and _is_telling(part.name)
    }
    last = {name: name.rpartition(".")[2] for name in lines}
    edges = store.edges_to(sorted(set(last.values())), [EdgeType.CALLS])
    places = store.places({row for row, _, _ in edges})
    calls = Counter(target for row, _, target in edges if row in places and not places[row].secondary)
    defined = Counter(row.name for row in store.definitions(sorted(set(last.values()))))
    # A definition of a hundred lines is worth asking about as much as a longer one, one with four callers as with more.
    works = max(
        (name for name in lines if lines[name] >= 8 and calls[last[name]]),
        key=lambda name: (min(lines[name], 100) * min(calls[last[name]], 4), name),
        default="",
    )
    breaks = max(
        (name for name in lines if name != works and defined[last[name]] == 1 and calls[last[name]]),
        key=lambda name: (calls[last[name]], name),
        default="",
    )
    shown = set(sources)
    why = next((one for one, paths in recent if len(one.split()) >= 4 and shown.intersection(paths)), "")
    questions = [
        f"How does {works} work?" if works else "",
        f"What would break if I change {breaks}?" if breaks else "",
        f"Why was this changed: {_REFERENCE.sub('', why)}" if why else "",
        *(f"What is in {name}?" for name in sources[:MOST_QUESTIONS]),
    ]
    return [one for one in questions if one][:MOST_QUESTIONS]


def _is_telling(name: str) -> bool:
    last = name.rpartition(".")[2]
    return len(last) >= 4 and last[0].isalpha() and last not in {"main", "init", "setup", "test"}


def with_siblings(result: SearchResult, noun: str, store: Store) -> SearchResult:
    """Return the hits of a search and what shows how to add one more of a kind, which the noun of a question names.

    That is the place that names most siblings, the class that they inherit from, the smallest sibling named there, and
    a test of it. Of files that only their folder has in common, one is shown.
    """
    lexicon = store.lexicon(Kind.CODE)
    families = sorted((_Family(lexicon, *family) for family in _families(noun, store, lexicon)), key=_Family.rank)
    found = families[-1].shown(store) if families and families[-1].rank() > (0, 0.0) else {}
    ceiling, hits = max((hit.score for hit in result.hits), default=0.0), []
    for row, (part, chunk) in chunks_of(store, found).items():
        weight, lines = found[row]
        lines = lines or ((part.start, min(part.end, part.start + 9)),)  # of a long definition the first lines
        value, location = ceiling + math.log(weight), chunk.location
        if location is not None:
            location = location._replace(end_line=max(location.end_line, lines[-1][1]))
        spans = tuple(ScoredSpan(*span, value) for span in lines)
        hits.append(Hit(replace(chunk, location=location), relevance_of(weight), value, spans, partial=True))
    return result._replace(hits=merged((faded(hit, UNSURE) for hit in result.hits), hits)) if hits else result


_Shown = dict[int, tuple[float, Sequence[Range]]]
"""Row of a chunk -> its nearness, and the lines to show; none for the first ones."""


class _Family:
    """Heirs of a class, by its row, or files of a folder (-1), and the spans of code that name most of them."""

    def __init__(self, lexicon: Lexicon, members: Mapping[str, int], base: int) -> None:
        self._members, self._base, self._lexicon = members, base, lexicon
        columns, rows = lexicon.columns, lexicon.chunk_positions(members.values())
        terms = {name: [words.terms_of(word)[0] for word in words.words(name)] for name in members}
        needed = sorted({term for own in terms.values() for term in own} - words.STOP_WORDS)
        postings = dict(zip(needed, lexicon.postings(needed), strict=True))
        named = {name: [postings[term] for term in own if term in postings] for name, own in terms.items()}
        self._named = {name: own for name, own in named.items() if own}
        spans = [self._units(name, 0) for name in self._named]
        counts = np.bincount(np.concatenate(spans), minlength=len(columns.span_chunk)).astype(float)
        self._is_test = columns.document_secondary[lexicon.span_document] > 0
        apart = (counts > 2) & ~self._is_test
        if base < 0:
            apart &= ~np.isin(lexicon.span_document, columns.chunk_document[rows])
        length = np.maximum(columns.span_words, 1)
        scores = apart * counts * np.sqrt(counts / length) * (1 - columns.span_comment_words / length)
        first = last = int(np.argmax(scores))
        same = columns.span_chunk == columns.span_chunk[last]
        while first and same[first - 1] and 2 * counts[first - 1] > counts[last]:
            first -= 1
        # Least score of lines that are a register: four names among nineteen words have 1.8.
        self._score = float(scores[last])
        self._register = [*range(first, last + 1)] if self._score >= 1.5 else []

    def _units(self, name: str, field: int) -> IntArray:
        """Return the spans whose text has all words of a name, or (field 3) the files whose path has them."""
        return reduce(np.intersect1d, [posting[field][0] for posting in self._named[name]])

    def rank(self) -> tuple[int, float]:
        """Return how well it tells what to do: heirs that are named together, then files, then files of a folder."""
        if self._register:
            return 2 + (self._base >= 0), self._score
        return int(self._base < 0), float(len(self._members))

    def shown(self, store: Store) -> _Shown:
        """Return the register, the base, the smallest member that is more than a name, and a test of it."""
        found: _Shown = {self._base: (TEST, ())} if self._base >= 0 else {}
        if self._register:  # the lines where it begins, and those that name most
            found |= self._place(CHANGED, *dict.fromkeys((self._register[0], self._register[-1])))
        sizes = sorted(self._sizes(store))
        for size, _, _, row, lines, tests in sizes[:1]:
            found |= {row: (HEIR, () if size else lines)} | (self._place(TEST, *tests) if tests else {})
        return found

    def _sizes(self, store: Store) -> Iterator[tuple[bool, bool, int, int, list[Range], list[int]]]:
        """Yield what makes a member a good example, then its row, its lines, and a test; least is best."""
        names = [
            name for name in self._named if not self._register or np.isin(self._register, self._units(name, 0)).any()
        ]
        stored = stored_rows(store, [self._members[name] for name in names])
        parts = store.chunks(row for document, _ in stored.values() for row in document.rows)
        for name, (document, part) in zip(names, stored.values(), strict=True):
            prefix = f"{part.name}." if self._base >= 0 else ""
            own = [parts[row] for row in document.rows if f"{parts[row].name}.".startswith(prefix) and parts[row].name]
            own = own or [part]
            size, tests = own[-1].end - own[0].start, self._tests(name)[:1]
            if size >= 5:  # lines of a member that is more than a name; one of at most 60 is shown in full
                yield size > 60, not tests, size, own[0].row, [(own[0].start, own[-1].end)], tests

    def _tests(self, name: str) -> list[int]:
        """Return spans of tests with the name of a file in their path, or the name of a class in their text."""
        spans = self._units(name, 0) if self._base >= 0 else self._lexicon.document_first_span[self._units(name, 3)]
        return spans[self._is_test[spans]].tolist()

    def _place(self, weight: float, *spans: int) -> _Shown:
        columns = self._lexicon.columns
        lines = [(int(columns.span_start[span]), int(columns.span_end[span])) for span in spans]
        return {int(columns.chunk_row[columns.span_chunk[spans[0]]]): (weight, lines)}


def _families(noun: str, store: Store, lexicon: Lexicon) -> Iterator[tuple[dict[str, int], int]]:
    """Yield the heirs of each class, and the files in each folder, with a noun in its name: rows by name; its row."""
    columns, (posting,) = lexicon.columns, lexicon.postings([noun])
    parts = store.chunks(columns.chunk_row[posting.name[0]].tolist())
    bases = {last_of(part.name): row for row, part in parts.items() if part.role == Role.CLASS}
    heirs = store.edges_to(sorted(bases), [EdgeType.INHERITS])
    places = store.places([row for row, *_ in heirs])
    found: dict[tuple[str, int], dict[str, int]] = defaultdict(dict)
    for row, _, base in heirs:
        if row in places and not places[row].secondary:
            found[base, bases[base]][last_of(places[row].name)] = row
    documents = store.documents(columns.document_id[posting.path[0]].tolist()).values()
    for document in sorted(documents, key=lambda one: (-one.size, one.key)):
        folders = [] if document.secondary else document.key.split("/")
        for depth, folder in enumerate(folders[:-1], 1):
            child = folders[depth].partition(".")[0]
            if child not in _FRONTS and noun in words.count_terms(words.words(folder)):
                found["/".join(folders[:depth]), -1].setdefault(child, document.first_chunk)
    return ((dict(islice(own.items(), 200)), row) for (_, row), own in found.items() if len(own) > 2)
