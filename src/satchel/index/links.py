"""Resolve the links of a vault into relations between its notes.

The target of a link depends on every other name in the vault, so all notes are read whenever one changed, and only the
relations that differ are written. It runs in the transaction that publishes the notes.
"""

from __future__ import annotations

import json
import posixpath
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from satchel import text as words
from satchel.sources.docs import PATH_SEPARATOR
from satchel.sources.notes import LinkTarget, NoteNames, folded
from satchel.sources.vault import stored_links
from satchel.store.extract import extract_record
from satchel.store.protocol import Store, Writer
from satchel.store.records import Document, NewDocument, StoredChunk, natural_key
from satchel.types import EdgeType, Kind

FOLDER_ORIGIN = "folder"
"""The origin of notes that represent a folder; their keys end with a slash."""

BROKEN_EXAMPLES = 20
"""Broken links that are stored with their text; the others are only counted."""

Relation = tuple[EdgeType, str]


@dataclass(slots=True)
class _File:
    document: Document
    parts: list[StoredChunk]

    def key(self, part: StoredChunk) -> str:
        return natural_key(self.document.key, part.name, part.twin)


def relink(store: Store, writer: Writer, broken_links: str) -> None:
    """Update folders and relations from the notes of the store, and list broken links under the key `broken_links`."""
    files = _files(store)
    _update_folders(store, writer, files)
    broken: list[tuple[str, str]] = []
    relations_by_row = dict(_relations(files, broken))
    relations_by_row |= dict(_folder_relations(store, files))
    stored: dict[int, set[Relation]] = {row: set() for row in relations_by_row}
    for row, kind, target in store.edges_from(list(relations_by_row), list(EdgeType)):
        stored[row].add((kind, target))
    writer.relate({row: sorted(relations) for row, relations in relations_by_row.items() if relations != stored[row]})
    broken.sort()
    writer.set_meta(broken_links, json.dumps({"count": len(broken), "examples": broken[:BROKEN_EXAMPLES]}))


def _files(store: Store) -> dict[str, _File]:
    """Return the notes that are files, by path, with their parts in order."""
    documents = store.documents(store.document_ids(Kind.NOTE, store.keys(Kind.NOTE)).values())
    notes = {one.key: one for one in documents.values() if one.origin != FOLDER_ORIGIN}
    rows = [row for one in notes.values() for row in range(one.first_chunk, one.last_chunk + 1)]
    parts = store.parts(rows)
    return {
        key: _File(one, [parts[row] for row in range(one.first_chunk, one.last_chunk + 1)])
        for key, one in sorted(notes.items())
    }


def _update_folders(store: Store, writer: Writer, files: Mapping[str, _File]) -> None:
    needed = {folder for path in files for folder in _folders_above(path)}
    stored = {key for key in store.keys(Kind.NOTE) if key.endswith("/")}
    writer.remove(Kind.NOTE, sorted(stored - needed))
    writer.put([_folder_document(key) for key in sorted(needed - stored)])


def _folders_above(path: str) -> Iterator[str]:
    folder = posixpath.dirname(path.rstrip("/"))
    while folder:
        yield f"{folder}/"
        folder = posixpath.dirname(folder)


def _folder_document(key: str) -> NewDocument:
    name = key.rstrip("/")
    return NewDocument(
        kind=Kind.NOTE,
        key=key,
        text=name,
        extraction=extract_record(name, FOLDER_ORIGIN),
        path_terms=words.count_terms(words.words(name)),
        title=name.rpartition("/")[2],
        fields={"note_type": FOLDER_ORIGIN},
        origin=FOLDER_ORIGIN,
    )


def _relations(files: Mapping[str, _File], broken: list[tuple[str, str]]) -> Iterator[tuple[int, set[Relation]]]:
    """Yield the relations of every part of every file; broken links are added to `broken`."""
    names = NoteNames({path: file.document.fields.get("aliases", ()) for path, file in files.items()})
    for path, file in files.items():
        relations: list[set[Relation]] = [set() for _ in file.parts]
        _add_tree(file, relations)
        for link in stored_links(file.document.fields):
            target = names.resolve(link.target, path, is_path=link.is_path)
            if target is None:
                continue
            if not target.path:
                broken.append((path, link.target))
            relations[link.part].add((link.type, _key_of(target, files) if target.path else link.target))
        yield from zip((part.row for part in file.parts), relations, strict=True)


def _add_tree(file: _File, relations: Sequence[set[Relation]]) -> None:
    """Relate a file to its folder, and sections to the ones above, whose names are prefixes of theirs."""
    for folder in list(_folders_above(file.document.key))[:1]:
        relations[0].add((EdgeType.PARENT, folder))
    path: list[int] = [0]
    for number, part in enumerate(file.parts[1:], 1):
        while len(path) > 1 and not part.name.startswith(f"{file.parts[path[-1]].name}{PATH_SEPARATOR}"):
            path.pop()
        above = path[-1]
        relations[above].add((EdgeType.CHILD, file.key(part)))
        relations[number].add((EdgeType.PARENT, file.key(file.parts[above])))
        path.append(number)


def _key_of(target: LinkTarget, files: Mapping[str, _File]) -> str:
    """Return the key of the target of a link: an existing section, else the file."""
    file = files[target.path]
    if not target.fragment:
        return target.path
    last = target.fragment.rpartition("#")[2].strip()
    if last.startswith("^"):
        number = file.document.fields.get("blocks", {}).get(last[1:], 0)
        return file.key(file.parts[number])
    heading = _heading_name(last)
    section = next((part for part in file.parts[1:] if _heading_name(part.signature) == heading), file.parts[0])
    return file.key(section)


def _heading_name(title: str) -> str:
    """Return a heading for comparison: programs leave out marks, and Markdown links have dashes for blanks."""
    return " ".join(words.words(folded(title))) or folded(title)


def _folder_relations(store: Store, files: Mapping[str, _File]) -> Iterator[tuple[int, set[Relation]]]:
    documents = store.documents(
        store.document_ids(Kind.NOTE, (k for k in store.keys(Kind.NOTE) if k.endswith("/"))).values()
    )
    relations: dict[str, set[Relation]] = {one.key: set() for one in documents.values()}
    for key in [*files, *relations]:
        for above in list(_folders_above(key))[:1]:
            relations[above].add((EdgeType.CHILD, key))
            if key in relations:
                relations[key].add((EdgeType.PARENT, above))
    for one in documents.values():
        yield one.first_chunk, relations[one.key]
