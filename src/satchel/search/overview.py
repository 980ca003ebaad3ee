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
from typing import NamedTuple

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
from satchel.store.segments import Lexicon, TermPostings
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


class _Family:
    """Definitions or files of one kind, and the span of production code that names most of them, most closely.

    `members` are rows of chunks by name: of files, their first ones. `weight` is that of the word for the kind.
    """

    def __init__(self, lexicon: Lexicon, weight: float, members: Mapping[str, int], *, of_files: bool) -> None:
        columns = lexicon.columns
        self.lexicon, self.weight, self.members, self.of_files = lexicon, weight, members, of_files
        asked = {name: [word for word in words.words(name) if words.is_meaningful(word)] for name in members}
        terms = {name: [words.terms_of(word)[0] for word in own] for name, own in asked.items() if own}
        needed = sorted({term for own in terms.values() for term in own})
        postings = dict(zip(needed, lexicon.postings(needed), strict=True))
        # The spans whose text has all words of a name, and the files whose path has them.
        self._spans, self._files = (
            {name: reduce(np.intersect1d, [postings[term][field][0] for term in own]) for name, own in terms.items()}
            for field in (0, 3)
        )
        counts = np.bincount(np.concatenate([*self._spans.values()]), minlength=len(columns.span_chunk)).astype(float)
        rows = lexicon.chunk_positions(members.values())
        is_own = (
            np.isin(lexicon.span_document, columns.chunk_document[rows])
            if of_files
            else np.isin(columns.span_chunk, rows)
        )
        counts[is_own | (columns.document_secondary[lexicon.span_document] > 0) | (counts < 3)] = 0
        length = np.maximum(columns.span_words, 1)
        scores = counts * np.sqrt(counts / length) * (1 - columns.span_comment_words / length)
        first = last = int(np.argmax(scores))
        self.score, least = weight * float(scores[last]), float(scores[last]) / 3
        while first and scores[first - 1] > least and columns.span_chunk[first - 1] == columns.span_chunk[last]:
            first -= 1
        # Least score of lines that are a register: four names among nineteen words have 1.8.
        self.register = [*range(first, last + 1)] if self.score >= 1.5 else []

    def shown(self, store: Store) -> list[Sibling]:
        """Return the place that names most members: the lines where it begins, and those that name most.

        Then comes the smallest member named there that is more than a name, rather one with a test, and its test.
        """
        places = [self._place(CHANGED, *dict.fromkeys((self.register[0], self.register[-1])))] if self.register else []
        is_secondary = self.lexicon.columns.document_secondary
        named = [name for name, spans in self._spans.items() if not places or np.isin(self.register, spans).any()]
        stored = stored_rows(store, [self.members[name] for name in named])
        parts = store.chunks(row for document, _ in stored.values() for row in document.rows)
        sizes = []
        for name in named:
            document, part = stored[self.members[name]]
            own = [
                parts[row]
                for row in document.rows
                if self.of_files or f"{parts[row].name}.".startswith(f"{part.name}.")
            ]
            lines = (own[0].start, own[-1].end)
            tests = [one for one in self._files[name].tolist() if is_secondary[one]]
            spans = [int(self.lexicon.document_first_span[one]) for one in tests]
            spans += [one for one in self._spans[name].tolist() if is_secondary[self.lexicon.span_document[one]]]
            size = lines[1] - lines[0]
            if size >= 5:  # lines of a member that is more than a name; one of at most 60 is shown in full
                sizes.append((size > 60, not spans, size, name, lines, spans[:1]))
        for is_long, _, _, name, lines, spans in sorted(sizes)[:1]:
            places.append(Sibling(self.members[name], HEIR, () if is_long else (lines,)))
            places += (self._place(TEST, span) for span in spans)
        return places

    def _place(self, weight: float, *spans: int) -> Sibling:
        columns = self.lexicon.columns
        lines = tuple((int(columns.span_start[span]), int(columns.span_end[span])) for span in spans)
        return Sibling(int(columns.chunk_row[columns.span_chunk[spans[0]]]), weight, lines)


class Sibling(NamedTuple):
    """A chunk that shows how to add one more of a kind: its row, its weight (0 to 1), and lines; none for its own."""

    row: int
    weight: float
    lines: tuple[Range, ...]


def with_siblings(result: SearchResult, subject: Sequence[str], store: Store) -> SearchResult:
    """Return the hits of a search and what shows how to add one more of a kind; `subject` ends with its noun.

    That is the place that names its siblings together, the smallest one named there, and a test of it. Of siblings
    that nothing names together, as files that are found by their folder, only one is shown.
    """
    lexicon = store.lexicon(Kind.CODE)
    families = sorted(_families(subject, store, lexicon), key=lambda one: -one.score)
    named = [one for one in families if one.register][:1]
    folders = [one for one in families if one.of_files and one.weight == 1.0]
    families = named or sorted(folders, key=lambda one: -len(one.members))[:1]
    found = [sibling for family in families for sibling in family.shown(store)]
    ceiling = max((hit.score for hit in result.hits), default=0.0)
    hits = []
    chunks = chunks_of(store, [one.row for one in found])
    for row, weight, lines in found:
        part, chunk = chunks[row]
        value, location = ceiling + math.log(weight), chunk.location
        shown = lines or ((part.start, min(part.end, part.start + 9)),)  # of a long one its first lines
        if location is not None:
            location = location._replace(end_line=max(location.end_line, shown[-1][1]))
        spans = tuple(ScoredSpan(*span, value) for span in shown)
        hits.append(Hit(replace(chunk, location=location), relevance_of(weight), value, spans, partial=True))
    return result._replace(hits=merged((faded(hit, UNSURE) for hit in result.hits), hits)) if hits else result


def _families(subject: Sequence[str], store: Store, lexicon: Lexicon) -> Iterator[_Family]:
    """Yield the families that the subject names."""
    for term, posting in zip(subject, lexicon.postings(subject), strict=True):
        weight = 1.0 if term == subject[-1] else 0.5  # the noun tells most
        for of_files, find in enumerate((_alike, _beside)):
            for members in find(term, posting, store, lexicon).values():
                if len(members) > 2:
                    yield _Family(lexicon, weight, dict(islice(members.items(), 200)), of_files=bool(of_files))


def _alike(
    term: str, posting: TermPostings, store: Store, lexicon: Lexicon
) -> dict[tuple[object, ...], dict[str, int]]:
    """Return the heirs of each class with a term in its name, and definitions whose names begin or end with it."""
    found: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
    columns, chunks = lexicon.columns, posting.name[0]
    chunks = chunks[columns.document_secondary[columns.chunk_document[chunks]] == 0]
    classes = set()
    for row, part in store.chunks(columns.chunk_row[chunks].tolist()).items():
        name = last_of(part.name)
        parts = _name_terms(name)
        if part.role == Role.CLASS:
            classes.add(name)
        if name == part.name and len(parts) > 1 and term in (parts[0], parts[-1]):
            found[part.role, term == parts[0]][name] = row
    heirs = store.edges_to(sorted(classes), [EdgeType.INHERITS])
    places = store.places([row for row, *_ in heirs])
    for row, _, base in heirs:
        if row in places and not places[row].secondary:
            found["heir", base][last_of(places[row].name)] = row
    return found


def _beside(
    term: str, posting: TermPostings, store: Store, lexicon: Lexicon
) -> dict[tuple[object, ...], dict[str, int]]:
    """Return the files and folders in each folder with a term in its name; of a folder its largest file."""
    found: dict[tuple[object, ...], dict[str, int]] = defaultdict(dict)
    columns, positions = lexicon.columns, posting.path[0]
    documents = store.documents(columns.document_id[positions[columns.document_secondary[positions] == 0]].tolist())
    for document in sorted(documents.values(), key=lambda one: (-one.size, one.key)):
        folders = document.key.split("/")
        for depth, folder in enumerate(folders[:-1], 1):
            child = folders[depth].partition(".")[0]
            if term in _name_terms(folder) and child not in _FRONTS:
                found[(*folders[:depth],)].setdefault(child, document.first_chunk)
    return found


def _name_terms(name: str) -> list[str]:
    """Return the terms of the parts of a name, in order."""
    terms = (term for word in words.words(name) for term in words.terms_of(word))
    return [term for term in terms if not term.startswith(words.EXACT_MARK)]
