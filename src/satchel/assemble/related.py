"""What stands around a shown definition: what contains it, what it calls, what calls it, and which tests do."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from satchel.assemble.source_lines import FileLines, Lines, Unreadable
from satchel.search.documents import document_id
from satchel.search.relations import CallSite, Relations
from satchel.search.resolve.code import Definition
from satchel.sources.roles import is_secondary
from satchel.store.protocol import Store
from satchel.store.records import Bundle
from satchel.types import ContextItem, Document

MOST_RELATED = 5
"""Of each relation: enough to see the neighbourhood, few enough to be read."""

MOST_FILES = 30
"""Files that are parsed for the callers of one shown definition: those of production code and the nearest first."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A definition by name and place: the line that defines it, for a caller the line of its first call.

    `line` is 0 where the file has changed too much to tell. What calls from outside any definition has the path of its
    file as its name.
    """

    name: str
    path: str
    line: int

    def data(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"name": self.name, "path": self.path, "line": self.line}


@dataclass(frozen=True, slots=True)
class Related:
    """The neighbours of one definition; callers and tests the nearest first, callees in the order of their calls."""

    container: tuple[Neighbour, ...] = ()
    callees: tuple[Neighbour, ...] = ()
    callers: tuple[Neighbour, ...] = ()
    tests: tuple[Neighbour, ...] = ()

    def data(self) -> dict[str, list[dict[str, Any]]]:
        """As plain JSON values, every relation named."""
        return {name: [one.data() for one in getattr(self, name)] for name in self.__slots__}


def with_related(
    items: Sequence[ContextItem], documents: Iterable[Document], store: Store, lines: FileLines
) -> tuple[ContextItem, ...]:
    """The items with `metadata["related"]`: the neighbours of each shown definition by its qualified name."""
    shown = {document.id: document for document in documents if document.location is not None}
    surroundings = _Surroundings(store, lines)
    found = surroundings.around(list(shown.values()))
    told = []
    for item in items:
        rows = {shown[one].title: found[one].data() for one in item.origins if one in found}
        told.append(replace(item, metadata={**item.metadata, "related": rows}) if rows else item)
    return tuple(told)


class _Surroundings:
    """The relations of some documents, with places that are true now."""

    def __init__(self, store: Store, lines: FileLines) -> None:
        self._relations, self._store, self._present = Relations(store), store, _PresentLines(lines)

    def around(self, documents: Sequence[Document]) -> dict[str, Related]:
        """The neighbours of these documents by id; a document without a name has none."""
        bundles = self._store.bundles({int(document.fields["bundle"]) for document in documents})
        rows = {row for one in bundles.values() for row in range(one.first_document, one.last_document + 1)}
        self._relations.code.load(rows)
        known = {self._identity(row): row for row in sorted(rows) if self._relations.code.part(row).name}
        return {one.id: self._around(known[one.id]) for one in documents if one.id in known}

    def _identity(self, row: int) -> str:
        part, bundle = self._relations.code.part(row), self._relations.code.bundle_of(row)
        return document_id(bundle.kind, bundle.key, part.name, part.twin, part.start, part.end)

    def _around(self, row: int) -> Related:
        own = self._relations.definition(row)
        called = [call.definition for call in self._relations.callees(row)]
        if not self._relations.code.bundle_of(row).secondary:
            called = [one for one in called if not is_secondary(one.path)]
        if own is None:
            return Related(callees=self._defined(called))
        owner = self._relations.owner(own)
        sites = {
            (site.row, site.secondary): site
            for site in reversed(self._relations.callers(own, MOST_FILES).sites)
            if site.row != row
        }
        calling = list(sites.values())[::-1]
        return Related(
            self._defined([owner] if owner is not None else []),
            self._defined(called),
            tuple(self._caller(site) for site in calling if not site.secondary)[:MOST_RELATED],
            tuple(self._caller(site) for site in calling if site.secondary)[:MOST_RELATED],
        )

    def _defined(self, definitions: Sequence[Definition]) -> tuple[Neighbour, ...]:
        return tuple(
            Neighbour(one.qualified, one.path, self._present.definition(self._relations.code.bundle_of(one.row), one))
            for one in definitions[:MOST_RELATED]
        )

    def _caller(self, site: CallSite) -> Neighbour:
        file = self._relations.code.file(site.path)
        text = file.lines(site.line, site.line).rstrip("\n") if file is not None else ""
        line = self._present.line(self._relations.code.bundle_of(site.row), site.line, text)
        return Neighbour(site.name or site.path, site.path, line)


class _PresentLines:
    """Finds lines in files as they are now; a file that still has its stamp is not opened."""

    def __init__(self, lines: FileLines) -> None:
        self._lines = lines
        self._changed: dict[int, Lines | None] = {}
        self._stamped: set[int] = set()

    def definition(self, bundle: Bundle, one: Definition) -> int:
        """Where a file defines something now; 0 where that cannot be told."""
        if self._is_stamped(bundle):
            return one.line
        found = self._changed[bundle.id]
        parts = self._lines.outline(found).parts if found is not None else ()
        defined = [other for part in parts for other in part.definitions if other.name == one.name]
        places = [other.line for other in defined if other.owner == one.owner]
        return places[0] if len(places) == 1 else 0

    def line(self, bundle: Bundle, line: int, text: str) -> int:
        """Where a line stands now; 0 where it is gone or stands several times."""
        if self._is_stamped(bundle):
            return line
        found = self._changed[bundle.id]
        places = [number for number, other in enumerate(found.lines, 1) if other == text] if found is not None else []
        return places[0] if len(places) == 1 else 0

    def _is_stamped(self, bundle: Bundle) -> bool:
        if bundle.id in self._changed or bundle.id in self._stamped:
            return bundle.id in self._stamped
        if self._lines.is_stamped(bundle.key, bundle.size, bundle.mtime_ns, bundle.changed_ns):
            self._stamped.add(bundle.id)
            return True
        found = self._lines.read(bundle.key)
        self._changed[bundle.id] = None if isinstance(found, Unreadable) else found
        return False
