"""A map of the indexed files: what a folder contains by size, what changed often, and questions that fit.

Only the index is read. Sizes are bytes of indexed files; commits are those of the year before the newest one, because
a repository that has rested for two years has hot files too.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from posixpath import basename, commonpath, dirname

from satchel.safety import sanitize
from satchel.search.resolve.modules import imports_between
from satchel.sources.roles import file_role, is_secondary, peripheral_role
from satchel.store.protocol import Store
from satchel.text import is_compound
from satchel.types import FILE_KINDS, EdgeType, Kind

HOT_DAYS = 365
"""Days before the newest commit in which a change counts."""

MAX_ENTRIES = 40
"""Entries of a map: more cannot be told apart. The smallest ones are counted together."""

FILES_READ, NAMES_READ = 4, 100
"""Most changed source files, and definitions of each, among which the example questions look for a subject."""

MAX_QUESTIONS = 3

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
    stamps = {kind: store.stamps(kind) for kind in FILE_KINDS}
    kinds = {name: kind for kind in stamps for name in store.iterate_keys(kind) if not name.endswith("/")}
    sizes = {name: stamps[kind][name].size for name, kind in kinds.items()}
    # A commit counts once for a folder, however many of its files it changed.
    commits = Counter(
        folder_path for _, paths in recent for folder_path in {folder for name in paths for folder in _upward(name)}
    )
    inside = {name: size for name, size in sizes.items() if not path or name == path or name.startswith(f"{path}/")}
    sources = sorted(
        (name for name in inside if _is_source(name, kinds[name])),
        key=lambda name: (-commits[name], -sizes[name], name),
    )
    entries = _entries(path, inside, commits, allow)
    if len(entries) > MAX_ENTRIES:
        rest = entries[MAX_ENTRIES:]
        files, size = sum(entry.files for entry in rest), sum(entry.size for entry in rest)
        smaller = MapEntry(f"{len(rest)} smaller ones", "", is_folder=True, files=files, size=size, commits=0)
        entries = [*entries[:MAX_ENTRIES], smaller]
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
        questions=tuple(sanitize.line(question, allow=allow) for question in questions),
    )


def imports_map(store: Store, allow: Sequence[str]) -> Mapping[str, Sequence[object]]:
    """Return at most 3,000 `files` of code, and `links`: pairs of a file and what it imports, in Go a folder."""
    names = sorted(store.iterate_keys(Kind.CODE), key=lambda name: (is_secondary(name), name))[:3_000]
    safe = {name: sanitize.line(name, allow=allow) for name in names}
    pairs = sorted(
        {(safe[importer], sanitize.line(other, allow=allow)) for importer, other in imports_between(store, names)}
    )
    return {"files": [{"path": safe[name], "secondary": is_secondary(name)} for name in names], "links": [*pairs]}


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
            inside = _inside(whole, {name: sizes[name] for name in names}, commits, allow, depth - 1)
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
    return sorted(entries, key=lambda map_entry: (-map_entry.size, map_entry.path))


def _inside(
    path: str, sizes: Mapping[str, int], commits: Mapping[str, int], allow: Sequence[str], depth: int
) -> list[MapEntry]:
    """Return what is inside a folder; of a folder in it that is nearly all of it, as in `lib/`, what is inside that."""
    inside = _entries(path, sizes, commits, allow, depth)
    main = inside[0]
    if not main.is_folder or 5 * main.size < 4 * sum(sizes.values()):
        return inside
    within = {name: size for name, size in sizes.items() if name.startswith(f"{main.path}/")}
    named = [
        replace(entry, name=f"{main.name}/{entry.name}") for entry in _entries(main.path, within, commits, allow, depth)
    ]
    return sorted([*named, *inside[1:]], key=lambda map_entry: (-map_entry.size, map_entry.path))


def _questions(store: Store, sources: Sequence[str], recent: Sequence[tuple[str, Sequence[str]]]) -> list[str]:
    """Return a question about how something works, one about what depends on something, and one about a change.

    Where there are fewer, questions about the files that changed most follow. `sources` are these files first.
    """
    ids = store.document_ids(Kind.CODE, sources[: 10 * FILES_READ])
    documents = store.documents([ids[name] for name in sources if name in ids][:FILES_READ])
    rows = [document.rows[:NAMES_READ] for document in documents.values()]
    lines = {
        part.name: part.end - part.start + 1
        for part in store.chunks(row for span in rows for row in span).values()
        if part.role in {"function", "method"} and _is_specific(part.name)
    }
    last = {name: name.rpartition(".")[2] for name in lines}
    edges = store.edges_to(sorted(set(last.values())), [EdgeType.CALLS])
    places = store.places({row for row, _, _ in edges})
    calls = Counter(target for row, _, target in edges if row in places and not places[row].secondary)
    defined = Counter(row.name for row in store.definitions(sorted(set(last.values()))))
    # `add_url_rule` says more than `matches`. A hundred lines are as good as more, and so are four callers.
    works = max(
        (name for name in lines if lines[name] >= 8 and calls[last[name]]),
        key=lambda name: (is_compound(last[name]), min(lines[name], 100) * min(calls[last[name]], 4), name),
        default="",
    )
    breaks = max(
        (name for name in lines if name != works and defined[last[name]] == 1 and calls[last[name]]),
        key=lambda name: (calls[last[name]], name),
        default="",
    )
    why = next(
        (subject for subject, paths in recent if len(subject.split()) >= 4 and not {*sources}.isdisjoint(paths)), ""
    )
    questions = [
        f"How does {works} work?" if works else "",
        f"What would break if I change {breaks}?" if breaks else "",
        f"Why was this changed: {_REFERENCE.sub('', why)}" if why else "",
        *(f"What is in {name}?" for name in sources[:MAX_QUESTIONS]),
    ]
    return [question for question in questions if question][:MAX_QUESTIONS]


def _is_specific(name: str) -> bool:
    last = name.rpartition(".")[2]
    return len(last) >= 4 and last[0].isalpha() and last not in {"main", "init", "setup", "test"}
