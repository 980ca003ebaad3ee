"""What stands around a shown definition: what contains it, what it calls, what calls it, and which tests do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from satchel.assemble.read import FileLines, Unreadable
from satchel.search.searcher import document_id
from satchel.sources.roles import file_role
from satchel.store.protocol import Store
from satchel.store.records import Bundle, StoredPart
from satchel.types import ContextItem, Document, EdgeType

MOST_RELATED = 5
"""Of each relation: enough to see the neighbourhood, few enough to be read."""

MOST_DEFINITIONS = 4
"""A name defined more often could be any of them: its calls are followed inside their own file only."""

FindLine = Callable[[Bundle, str, int], int]
"""The line on which a file defines a qualified name now, from the line on which it did when it was indexed; 0 where
that cannot be told."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A definition by name and place. `line` is 0 where the file has changed too much to tell.

    What calls from outside any definition has the path of its file as its name.
    """

    name: str
    path: str
    line: int

    def data(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"name": self.name, "path": self.path, "line": self.line}


@dataclass(frozen=True, slots=True)
class Related:
    """The neighbours of one definition, the nearest first: those of its file, then of the folders around it."""

    container: tuple[Neighbour, ...] = ()
    callees: tuple[Neighbour, ...] = ()
    callers: tuple[Neighbour, ...] = ()
    tests: tuple[Neighbour, ...] = ()

    def data(self) -> dict[str, list[dict[str, Any]]]:
        """As plain JSON values, every relation named."""
        return {name: [one.data() for one in getattr(self, name)] for name in self.__slots__}


def with_related(
    items: Sequence[ContextItem], documents: Iterable[Document], store: Store, find_line: FindLine
) -> tuple[ContextItem, ...]:
    """The items with `metadata["related"]`: the neighbours of each shown definition by its qualified name."""
    shown = {document.id: document for document in documents if document.location is not None}
    found = related(store, list(shown.values()), find_line)
    told = []
    for item in items:
        rows = {shown[one].title: found[one].data() for one in item.origins if one in found}
        told.append(replace(item, metadata={**item.metadata, "related": rows}) if rows else item)
    return tuple(told)


def related(
    store: Store, documents: Sequence[Document], find_line: FindLine, most: int = MOST_RELATED
) -> dict[str, Related]:
    """The neighbours of these documents by id; a document without a name has none. At most `most` of each relation."""
    graph = _Graph(store, documents, find_line)
    return {identity: graph.around(row, most) for identity, row in graph.rows.items()}


class _Graph:
    """The stored relations of some documents, read in a few queries for all of them."""

    def __init__(self, store: Store, documents: Sequence[Document], find_line: FindLine) -> None:
        self._find_line = find_line
        self._bundles = store.bundles({int(document.fields["bundle"]) for document in documents})
        spans = [(bundle.first_document, bundle.last_document + 1) for bundle in self._bundles.values()]
        self._parts = store.parts(row for first, after in spans for row in range(first, after))
        known = {self._identity(part): row for row, part in self._parts.items() if part.name}
        self.rows = {document.id: known[document.id] for document in documents if document.id in known}
        self._owners: dict[int, str] = {}
        self._calls: dict[int, list[str]] = defaultdict(list)
        for row, kind, target in store.edges_from(sorted(self.rows.values()), [EdgeType.CONTAINS, EdgeType.CALLS]):
            if kind is EdgeType.CONTAINS:
                self._owners[row] = target
            else:
                self._calls[row].append(target)
        own = {_last(self._parts[row].name) for row in self.rows.values()}
        self._callers: dict[str, list[int]] = defaultdict(list)
        for row, _, target in store.edges_to(sorted(own), [EdgeType.CALLS]):
            self._callers[target].append(row)
        self._load(store, {name for names in self._calls.values() for name in names} | own)

    def _load(self, store: Store, names: set[str]) -> None:
        """Where the names are defined, and the parts and files that are at the other end."""
        self._defined: dict[str, list[int]] = defaultdict(list)
        self._lines: dict[tuple[int, str], int] = {}
        for one in store.definitions(sorted(names), most=MOST_DEFINITIONS):
            if one.row not in self._defined[one.name]:
                self._defined[one.name].append(one.row)
            self._lines.setdefault((one.row, one.name), one.line)
        others = {row for rows in (*self._defined.values(), *self._callers.values()) for row in rows}
        self._parts |= store.parts(others - self._parts.keys())
        wanted = {self._parts[row].bundle for row in others if row in self._parts}
        self._bundles |= store.bundles(wanted - self._bundles.keys())
        ends = {_last(self._parts[row].name) for rows in self._callers.values() for row in rows if row in self._parts}
        ends |= {_last(owner) for owner in self._owners.values()}
        for one in store.definitions(sorted(ends - names - {""})):
            if one.row in self._parts:
                self._lines.setdefault((one.row, one.name), one.line)

    def around(self, row: int, most: int) -> Related:
        """The neighbours of one document."""
        part = self._parts[row]
        name = _last(part.name)
        called = {other for target in self._calls[row] for other in self._defined.get(target, ()) if other != row}
        is_clear = name in self._defined
        calling = {
            other
            for other in self._callers.get(name, ())
            if other != row and (is_clear or self._parts[other].bundle == part.bundle)
        }
        tests = {other for other in calling if self._is_test(other)}
        return Related(
            self._nearest(part, self._containers(part), 1),
            self._nearest(part, called if self._is_test(row) else {o for o in called if not self._is_test(o)}, most),
            self._nearest(part, calling - tests, most),
            self._nearest(part, tests, most),
        )

    def _containers(self, part: StoredPart) -> set[int]:
        owner = self._owners.get(part.row, "")
        bundle = self._bundles[part.bundle]
        rows = range(bundle.first_document, bundle.last_document + 1)
        return {row for row in rows if owner and self._parts[row].name == owner}

    def _nearest(self, part: StoredPart, rows: Iterable[int], most: int) -> tuple[Neighbour, ...]:
        home = self._bundles[part.bundle].key
        found = {self._neighbour(row) for row in rows}
        return tuple(sorted(found, key=lambda one: (_distance(home, one.path), one.path, one.line, one.name))[:most])

    def _neighbour(self, row: int) -> Neighbour:
        part = self._parts[row]
        bundle = self._bundles[part.bundle]
        line = self._lines.get((row, _last(part.name)), part.start)
        return Neighbour(part.name or bundle.key, bundle.key, self._find_line(bundle, part.name, line))

    def _is_test(self, row: int) -> bool:
        return file_role(self._bundles[self._parts[row].bundle].key) == "test"

    def _identity(self, part: StoredPart) -> str:
        bundle = self._bundles[part.bundle]
        return document_id(bundle.kind, bundle.key, part.name, part.twin, part.start, part.end)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _distance(home: str, path: str) -> int:
    """Folders to go up and down from one file to the other, 0 for the file itself."""
    if home == path:
        return 0
    here, there = home.split("/"), path.split("/")
    shared = next((i for i, (one, other) in enumerate(zip(here, there, strict=False)) if one != other), 0)
    return len(here) + len(there) - 2 * shared - 1


def present_lines(lines: FileLines) -> FindLine:
    """Finds lines in files as they are now; a file that still has its stamp is not opened."""
    stamped: dict[int, bool] = {}

    def find_line(bundle: Bundle, name: str, line: int) -> int:
        if bundle.id not in stamped:
            stamped[bundle.id] = lines.is_stamped(bundle.key, bundle.size, bundle.mtime_ns, bundle.changed_ns)
        if stamped[bundle.id]:
            return line
        found = lines.read(bundle.key)
        if isinstance(found, Unreadable):
            return 0
        defined = [one for part in lines.outline(found).parts for one in part.definitions]
        places = [one.line for one in defined if name == (f"{one.owner}.{one.name}" if one.owner else one.name)]
        return places[0] if len(places) == 1 else 0

    return find_line
