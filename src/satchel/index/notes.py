"""Notes in an index: those of a Tana export, and the links between those of a vault.

An unchanged export is not opened. A changed one is read completely, and only the notes that differ, by a keyed hash of
their stored values, are written.

The target of a link in a vault depends on every other name in it, so all notes are read whenever one changed, and only
the relations that differ are written. It runs in the transaction that publishes the notes.
"""

from __future__ import annotations

import json
import posixpath
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from satchel import text as words
from satchel.errors import NoIndexError, UsageError
from satchel.index.run import EXPORT_STATE, NOTES_VERSION, BuildOptions, IndexReport, Progress
from satchel.safety import sanitize
from satchel.sources.docs import PATH_SEPARATOR
from satchel.sources.notes import LinkTarget, Note, NoteNames, value_text
from satchel.sources.vault import stored_links
from satchel.store.extract import extract_record, extract_records
from satchel.store.protocol import Store
from satchel.store.records import Document, NewDocument, StoredChunk, natural_key
from satchel.system import files
from satchel.types import EdgeType, Failure, Kind, Reference

if TYPE_CHECKING:
    from satchel.store.writer import Writer

NOTE_LANGUAGE = "tana"
"""The language of the notes of an export."""

NOTES_AT_ONCE = 1_000
"""Notes cleaned and counted together."""

PUBLISH_NOTES = 20_000
"""Notes published at once: about two seconds of work, the longest time that Ctrl-C waits."""


def build_export(
    store: Store, path: Path, options: BuildOptions, progress: Progress, should_stop: Callable[[], bool]
) -> IndexReport:
    """Update the store from an export, under the index lock. Raises NoIndexError and UsageError."""
    started = time.monotonic()
    state = _state(path, options)  # before the file is read
    stored = {key: stamp.content_hash for key, stamp in store.stamps(Kind.NOTE).items()}
    if store.meta(EXPORT_STATE) == state:
        return IndexReport(files=len(stored), unchanged=len(stored), seconds=time.monotonic() - started)
    run = _Run(store, options, stored, should_stop)
    progress.phase("notes", 0)
    report = run.update(_read(path, options.export_bytes), path, progress)  # the only reference to the bytes
    if not report.interrupted:
        with store.write() as writer:
            writer.set_meta(EXPORT_STATE, state)
            writer.merge(should_stop)
    return report


def is_current(store: Store, path: Path, options: BuildOptions) -> bool:
    """Return whether the store has the notes of the export as it is."""
    return store.meta(EXPORT_STATE) == _state(path, options)


def _state(path: Path, options: BuildOptions) -> str:
    """Return the stamp of the file, and the versions that read it."""
    stamp = files.stamp(path.parent, path.name)
    if stamp is None:
        raise NoIndexError(f"{path} is not a file any more: export it again, or `satchel workspace remove` its name")
    return json.dumps([stamp, NOTES_VERSION, options.reading.version])


def _read(path: Path, limit: int) -> bytes:
    try:
        return files.read_bytes(path.parent, path.name, limit=limit).raw
    except files.Skipped as skipped:
        hint = f": at most {limit:,} bytes are read" if skipped.reason is files.SkipReason.TOO_LARGE else ""
        raise NoIndexError(f"{path} cannot be read: {skipped}{hint}") from skipped


class _Run:
    """One update: the stored hashes, and the counts so far."""

    def __init__(
        self, store: Store, options: BuildOptions, stored: dict[str, str], should_stop: Callable[[], bool]
    ) -> None:
        self._store, self._options, self._stored, self._should_stop = store, options, stored, should_stop
        self._added = self._changed = self._redacted = self._cleaned = 0

    def update(self, raw: bytes, path: Path, progress: Progress) -> IndexReport:
        from satchel.sources.tana import TanaWorkspace, read_nodes

        started = time.monotonic()
        try:
            workspace = TanaWorkspace(read_nodes(raw))
        except UsageError as error:
            raise UsageError(f"{path}: {error}") from error
        del raw
        progress.phase("notes", len(workspace.keys))
        gone = sorted(self._stored.keys() - workspace.keys)
        if gone:
            with self._store.write() as writer:
                writer.remove(Kind.NOTE, gone)
        completed = self._put_all(workspace.notes(), progress)
        total = len(self._stored) - len(gone) + self._added
        return IndexReport(
            files=total,
            added=self._added,
            changed=self._changed,
            removed=len(gone),
            unchanged=total - self._added - self._changed,
            redacted=self._redacted,
            cleaned=self._cleaned,
            interrupted=not completed,
            notes=() if workspace.keys else (Failure("notes", f"{path} contains no notes"),),
            seconds=time.monotonic() - started,
        )

    def _put_all(self, notes: Iterator[Note], progress: Progress) -> bool:
        """Write the notes that differ, in transactions of `PUBLISH_NOTES`. Returns whether all were written."""
        while not self._should_stop():
            lot = list(islice(notes, PUBLISH_NOTES))
            if not lot:
                return True
            with self._store.write() as writer:
                for begin in range(0, len(lot), NOTES_AT_ONCE):
                    writer.put(self._documents(lot[begin : begin + NOTES_AT_ONCE]))
                    progress.advance(min(NOTES_AT_ONCE, len(lot) - begin))
        return False

    def _documents(self, notes: Sequence[Note]) -> list[NewDocument]:
        """Return the documents of the notes that differ from the store."""
        reading = self._options.reading
        fresh = []
        for note, removed in _fit(notes, reading.allow):
            digest = blake2b(repr(_identity(note)).encode("utf-8", "surrogatepass"), key=reading.key,
                             digest_size=16).hexdigest()  # fmt: skip
            if self._stored.get(note.key) != digest:
                fresh.append((note, digest, removed))
        extractions = extract_records([note.body for note, _, _ in fresh], NOTE_LANGUAGE)
        for note, _, removed in fresh:
            self._added += note.key not in self._stored
            self._changed += note.key in self._stored
            self._redacted += removed.get("redacted", 0)
            self._cleaned += removed.get("cleaned", 0)
        return [
            NewDocument(
                kind=Kind.NOTE,
                key=note.key,
                text=note.body,
                extraction=extraction,
                path_terms=words.count_terms(words.words(_searched(note))),
                content_hash=digest,
                title=note.title,
                tags=note.tags,
                fields=note_fields(note) | removed,
                references=tuple(Reference(kind, target) for kind, target in note.links),
                created=note.created,
                updated=note.updated,
                origin="tana",
            )
            for (note, digest, removed), extraction in zip(fresh, extractions, strict=True)
        ]


def note_fields(note: Note) -> dict[str, Any]:
    """Return the stored fields of a note; those of the user are below `fields`."""
    values = {"fields": note.fields, "inherited_tags": list(note.inherited), "note_type": note.type}
    return {name: value for name, value in values.items() if value}


def _searched(note: Note) -> str:
    """Return the searched text outside the body: the tags, and the names and values of the fields."""
    texts = [text for name, values in note.fields.items() for text in (name, *map(value_text, values))]
    return "\n".join([*note.tags, *texts])


def _identity(note: Note) -> tuple[Any, ...]:
    return (
        note.title, note.body, note.tags, note.inherited, list(note.fields.items()), [*map(str, note.links)], note.type,
        note.created, note.updated,
    )  # fmt: skip


def _fit(notes: Sequence[Note], allow: Sequence[str]) -> Iterable[tuple[Note, dict[str, int]]]:
    """Return the notes without hidden characters and secrets, of which few have any, and the number in each."""
    joined = "\n".join(text for note in notes for text in _texts(note))
    if sanitize.text(joined, allow) == joined:
        return [(note, {}) for note in notes]
    return [_fit_note(note, allow) for note in notes]


def _texts(note: Note) -> Iterator[str]:
    yield from (note.key, note.title, note.body, *note.tags, _searched(note))


def _fit_note(note: Note, allow: Sequence[str]) -> tuple[Note, dict[str, int]]:
    removed = sanitize.counted_text("\n".join(_texts(note)), allow)[1]
    body = sanitize.text(note.body, allow)
    return (
        Note(
            key=note.key,
            title=sanitize.line(note.title, allow=allow),
            body=body,
            tags=tuple(sanitize.line(tag, allow=allow) for tag in note.tags),
            inherited=tuple(sanitize.line(tag, allow=allow) for tag in note.inherited),
            fields=sanitize.value(note.fields, allow),
            links=note.links,
            type=note.type,
            created=note.created,
            updated=note.updated,
        ),
        removed,
    )


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
    """Update folders and relations from the notes; faults of links and front matter go to `broken_links`."""
    files = _files(store)
    _update_folders(store, writer, files)
    broken: list[tuple[str, str]] = []
    relations_by_row = dict(_relations(files, broken))
    relations_by_row |= dict(_folder_relations(store, files))
    stored: dict[int, set[Relation]] = {row: set() for row in relations_by_row}
    for row, kind, target in store.edges_from(list(relations_by_row), list(EdgeType)):
        stored[row].add((EdgeType(kind), target))
    writer.relate({row: sorted(relations) for row, relations in relations_by_row.items() if relations != stored[row]})
    broken.sort()
    problems = [
        (key, file.document.fields["problem"]) for key, file in files.items() if "problem" in file.document.fields
    ]
    state = {"count": len(broken), "examples": broken[:BROKEN_EXAMPLES]}
    writer.set_meta(broken_links, json.dumps(state | ({"problems": problems[:BROKEN_EXAMPLES]} if problems else {})))


def _files(store: Store) -> dict[str, _File]:
    """Return the notes that are files, by path, with their parts in order."""
    documents = store.documents(store.document_ids(Kind.NOTE, store.keys(Kind.NOTE)).values())
    notes = {document.key: document for document in documents.values() if document.origin != FOLDER_ORIGIN}
    parts = store.chunks(row for note in notes.values() for row in note.rows)
    return {key: _File(document, [parts[row] for row in document.rows]) for key, document in sorted(notes.items())}


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
    return " ".join(words.words(words.folded(title))) or words.folded(title)


def _folder_relations(store: Store, files: Mapping[str, _File]) -> Iterator[tuple[int, set[Relation]]]:
    documents = store.documents(
        store.document_ids(Kind.NOTE, (k for k in store.keys(Kind.NOTE) if k.endswith("/"))).values()
    )
    relations: dict[str, set[Relation]] = {document.key: set() for document in documents.values()}
    for key in [*files, *relations]:
        for above in list(_folders_above(key))[:1]:
            relations[above].add((EdgeType.CHILD, key))
            if key in relations:
                relations[key].add((EdgeType.PARENT, above))
    for document in documents.values():
        yield document.first_chunk, relations[document.key]
