"""One step over the relations: what the documents at hand are related to, and how.

Notes refer to each other by key, so one query in each direction answers. Calls and inheritance of code are resolved
(`satchel.search.relations`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from satchel.assemble.graph.lenses import NOTE_EDGES, Direction, Move
from satchel.search.relations import MOST_FILES, Relations
from satchel.search.resolve.imports import import_targets, importers
from satchel.store.protocol import Store
from satchel.store.records import Place, StoredPart
from satchel.types import EdgeType, Kind

FEW_PLACES = 5
"""Up to so many documents each has all of its callers looked for."""

FILES_IN_ALL = 100
"""Files that are parsed for the callers of more documents together, so that a step takes half a second at most."""

_NAMED = (EdgeType.CALLS, EdgeType.INHERITS)


class Related(NamedTuple):
    """A step from the document `source` to the document `target`, both by row number.

    `line` is that of the call, 0 for all other relations.
    """

    source: int
    move: Move
    target: int
    line: int = 0


def related(relations: Relations, places: Mapping[int, Place], moves: Sequence[Move]) -> list[Related]:
    """Every step from these documents that the moves allow, each document's best moves first; targets may be hidden.

    A document is not related to itself, whatever its text says. Of several calls the first counts.
    """
    by_type = {(move.type, move.direction): move for move in moves}
    store = relations.code.store
    found = [
        Related(source, by_type[type_, side], target)
        for group in (_notes, _members, _imports, _touches)
        for source, type_, side, target in group(store, places, by_type.keys())
        if source != target
    ]
    found += [
        Related(source, by_type[type_, side], target, line)
        for source, type_, side, target, line in _names(relations, places, by_type.keys())
        if source != target
    ]
    found.sort(key=lambda step: (step.source, step.move.rank, step.move.direction is Direction.IN, *step[2:]))
    return list({step[:3]: step for step in reversed(found)}.values())[::-1]


_Wanted = Collection[tuple[EdgeType, Direction]]
_Step = tuple[int, EdgeType, Direction, int]


def _types(wanted: _Wanted, among: Collection[EdgeType], side: Direction) -> list[EdgeType]:
    return sorted(type_ for type_, direction in wanted if direction is side and type_ in among)


def _notes(store: Store, places: Mapping[int, Place], wanted: _Wanted) -> Iterator[_Step]:
    """Relations between notes: the target is the key of a note. One that names nothing leads nowhere."""
    notes = [place for place in places.values() if place.kind is Kind.NOTE]
    outgoing = _types(wanted, NOTE_EDGES, Direction.OUT)
    if notes and outgoing:
        edges = store.edges_from([note.row for note in notes], outgoing)
        rows = _note_rows(store, {target for _, _, target in edges})
        for source, type_, target in edges:
            if target in rows:
                yield source, type_, Direction.OUT, rows[target]
    incoming = _types(wanted, NOTE_EDGES, Direction.IN)
    if notes and incoming:
        own = {note.natural_key: note.row for note in notes}
        for source, type_, target in store.edges_to(sorted(own), incoming):
            yield own[target], type_, Direction.IN, source


def _note_rows(store: Store, keys: Collection[str]) -> dict[str, int]:
    """Rows of the notes with these natural keys: `a.md` is a file of a vault, `a.md::Plan` a section of it."""
    rows = store.first_rows(Kind.NOTE, keys)
    sections = {key: key.partition("::")[0] for key in keys if "::" in key and key not in rows}
    if sections:
        bundles = store.bundles(store.bundle_ids(Kind.NOTE, set(sections.values())).values())
        inside = store.places(
            row for one in bundles.values() for row in range(one.first_document, one.last_document + 1)
        )
        found = {place.natural_key: row for row, place in inside.items()}
        rows |= {key: found[key] for key in sections if key in found}
    return rows


def _members(store: Store, places: Mapping[int, Place], wanted: _Wanted) -> Iterator[_Step]:
    """What contains what in one file, by qualified names; the first document stands for the file."""
    sides = [side for side in Direction if (EdgeType.CONTAINS, side) in wanted]
    files = [place for place in places.values() if place.kind in (Kind.CODE, Kind.DOC)]
    if not sides or not files:
        return
    bundles = store.bundles({place.bundle for place in files})
    ranges = {one.id: range(one.first_document, one.last_document + 1) for one in bundles.values()}
    parts = store.parts(row for rows in ranges.values() for row in rows)
    for place in files:
        inside = [parts[row] for row in ranges[place.bundle] if row in parts]
        if Direction.OUT in sides:
            for part in inside:
                if _owner(part, inside) == place.row:
                    yield place.row, EdgeType.CONTAINS, Direction.OUT, part.row
        if Direction.IN in sides and (owner := _owner(parts[place.row], inside)):
            yield place.row, EdgeType.CONTAINS, Direction.IN, owner


def _owner(part: StoredPart, inside: Sequence[StoredPart]) -> int:
    """The row of what contains a part: by its name, else the first document of its file; 0 for that one."""
    above = part.name.rpartition(".")[0]
    by_name = next((one.row for one in inside if one.name == above), 0) if above else 0
    return by_name or (inside[0].row if part.row != inside[0].row else 0)


def _names(
    relations: Relations, places: Mapping[int, Place], wanted: _Wanted
) -> Iterator[tuple[int, EdgeType, Direction, int, int]]:
    """Calls and inheritance, each with the line of the call."""
    code = sorted(place.row for place in places.values() if place.kind is Kind.CODE)
    if not code or not any(type_ in _NAMED for type_, _ in wanted):
        return
    most = MOST_FILES if len(code) <= FEW_PLACES else max(FILES_IN_ALL // len(code), 1)
    relations.code.load(code)
    relations.code.load_files(relations.code.bundle_of(row).key for row in code)
    for row in code:
        own = relations.definition(row)
        if (EdgeType.CALLS, Direction.OUT) in wanted:
            for call in relations.callees(row):
                yield row, EdgeType.CALLS, Direction.OUT, call.definition.row, call.line
        if (EdgeType.CALLS, Direction.IN) in wanted and own is not None:
            for site in relations.callers(own, most).sites:
                yield row, EdgeType.CALLS, Direction.IN, site.row, site.line
        for side, classes in ((Direction.OUT, relations.bases), (Direction.IN, relations.heirs)):
            if (EdgeType.INHERITS, side) in wanted and own is not None:
                yield from ((row, EdgeType.INHERITS, side, other.row, 0) for other in classes(own))


def _imports(store: Store, places: Mapping[int, Place], wanted: _Wanted) -> Iterator[_Step]:
    """Files that import each other; each stands there with its first document.

    Who imports a file concerns the file as a whole, not every function in it.
    """
    code = [place for place in places.values() if place.kind is Kind.CODE]
    if code and (EdgeType.IMPORTS, Direction.OUT) in wanted:
        for source, target in import_targets(store, code):
            yield source, EdgeType.IMPORTS, Direction.OUT, target
    whole = [place for place in code if place.is_first]
    if whole and (EdgeType.IMPORTS, Direction.IN) in wanted:
        for source, target in importers(store, whole):
            yield source, EdgeType.IMPORTS, Direction.IN, target


def _touches(store: Store, places: Mapping[int, Place], wanted: _Wanted) -> Iterator[_Step]:
    """Commits and the files that they changed."""
    commits = [place.row for place in places.values() if place.kind is Kind.COMMIT]
    if commits and (EdgeType.TOUCHES, Direction.OUT) in wanted:
        edges = store.edges_from(commits, [EdgeType.TOUCHES])
        paths = {path for _, _, path in edges}
        rows = store.first_rows(Kind.DOC, paths) | store.first_rows(Kind.CODE, paths)
        for source, _, path in edges:
            if path in rows:
                yield source, EdgeType.TOUCHES, Direction.OUT, rows[path]
    files: dict[str, list[int]] = defaultdict(list)
    for place in places.values():
        if place.kind in (Kind.CODE, Kind.DOC):
            files[place.key].append(place.row)
    if files and (EdgeType.TOUCHES, Direction.IN) in wanted:
        for commit, _, path in store.edges_to(sorted(files), [EdgeType.TOUCHES]):
            for row in files[path]:
                yield row, EdgeType.TOUCHES, Direction.IN, commit
