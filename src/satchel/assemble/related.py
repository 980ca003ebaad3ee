"""The neighbours of a shown definition: its container, callees, callers, and the tests that call it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from satchel.assemble.source_lines import FileLines, Lines, Unreadable
from satchel.search.chunks import identity_of
from satchel.search.relations import CallSite, Relations
from satchel.search.resolve.code import CodeDefinition
from satchel.sources.roles import is_secondary
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.types import Chunk, ContextItem

MOST_RELATED = 5
"""Neighbours listed for each relation: enough for an overview, few enough to be read."""

MOST_FILES = 30
"""Files that are parsed for the callers of one shown definition: those of production code and the nearest first."""

Neighbour = dict[str, Any]
"""A definition by `name` and `path`, with the `line` that defines it, for a caller the line of its first call.

The line is 0 where the file has changed too much to tell. A caller outside any definition is named by its path.
"""

Neighbours = dict[str, list[Neighbour]]
"""`container`, `callees` in the order of their calls, `callers` and `tests`, the nearest first."""


def with_related(
    items: Sequence[ContextItem], chunks: Iterable[Chunk], store: Store, lines: FileLines
) -> tuple[ContextItem, ...]:
    """Return the items with `metadata["related"]`: the neighbours of each shown definition by its qualified name."""
    shown = {chunk.id: chunk for chunk in chunks if chunk.location is not None}
    neighbours = _Surroundings(store, lines).around(list(shown.values()))
    rows = [{shown[one].title: neighbours[one] for one in item.origins if one in neighbours} for item in items]
    return tuple(
        replace(item, metadata={**item.metadata, "related": row}) if row else item
        for item, row in zip(items, rows, strict=True)
    )


class _Surroundings:
    """The relations of some chunks, with present lines; a file with its indexed stamp is not read."""

    def __init__(self, store: Store, lines: FileLines) -> None:
        self._relations, self._store, self._lines = Relations(store), store, lines
        self._code = self._relations.code
        self._current: dict[int, Lines | None] = {}
        self._stamped: set[int] = set()

    def around(self, chunks: Sequence[Chunk]) -> dict[str, Neighbours]:
        """Return the neighbours of these chunks by id; a chunk without a name has none."""
        documents = self._store.documents({int(chunk.fields["bundle"]) for chunk in chunks})
        rows = sorted({row for one in documents.values() for row in range(one.first_chunk, one.last_chunk + 1)})
        self._code.load(rows)
        named = {
            identity_of(self._code.document_of(row), self._code.part(row)): row
            for row in rows
            if self._code.part(row).name
        }
        return {one.id: self._around(named[one.id]) for one in chunks if one.id in named}

    def _around(self, row: int) -> Neighbours:
        own = self._relations.definition(row)
        called = [call.definition for call in self._relations.callees(row)]
        if not self._code.document_of(row).secondary:
            called = [one for one in called if not is_secondary(one.path)]
        owner = self._relations.owner(own) if own is not None else None
        every = self._relations.callers(own, MOST_FILES).sites if own is not None else ()
        sites = {(site.row, site.secondary): site for site in reversed(every) if site.row != row}
        calling = list(sites.values())[::-1]
        return {
            "container": self._defined([owner] if owner is not None else []),
            "callees": self._defined(called),
            "callers": [self._caller(site) for site in calling if not site.secondary][:MOST_RELATED],
            "tests": [self._caller(site) for site in calling if site.secondary][:MOST_RELATED],
        }

    def _defined(self, definitions: Sequence[CodeDefinition]) -> list[Neighbour]:
        return [
            {"name": one.qualified, "path": one.path, "line": self._line_of(one)} for one in definitions[:MOST_RELATED]
        ]

    def _caller(self, site: CallSite) -> Neighbour:
        return {"name": site.name or site.path, "path": site.path, "line": self._call_line(site)}

    def _line_of(self, one: CodeDefinition) -> int:
        """Return the present line of a definition; 0 if it is unknown."""
        document = self._code.document_of(one.row)
        if self._is_stamped(document):
            return one.line
        current = self._current[document.id]
        parts = self._lines.outline(current).parts if current is not None else ()
        defined = [other for part in parts for other in part.definitions if other.name == one.name]
        lines = [other.line for other in defined if other.owner == one.owner]
        return lines[0] if len(lines) == 1 else 0

    def _call_line(self, site: CallSite) -> int:
        """Return the present line of a call; 0 if it is gone or occurs several times."""
        document = self._code.document_of(site.row)
        if self._is_stamped(document):
            return site.line
        file, current = self._code.file(site.path), self._current[document.id]
        text = file.lines(site.line, site.line).rstrip("\n") if file is not None else ""
        lines = [number for number, line in enumerate(current.lines if current else (), 1) if line == text]
        return lines[0] if len(lines) == 1 else 0

    def _is_stamped(self, document: Document) -> bool:
        if document.id in self._current or document.id in self._stamped:
            return document.id in self._stamped
        if self._lines.is_stamped(document.key, document.size, document.mtime_ns, document.changed_ns):
            self._stamped.add(document.id)
            return True
        read = self._lines.read(document.key)
        self._current[document.id] = None if isinstance(read, Unreadable) else read
        return False
