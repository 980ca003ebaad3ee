"""Export and import of the memory as JSON Lines, one record per line. Equal memories give equal bytes.

The first line names the format. Records are sorted by kind, time and id. An import reports unusable lines with their
numbers, and imports all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from satchel.codec import Clean, Data, json_line, json_object
from satchel.errors import EmbeddingError, MissingExtraError, UsageError
from satchel.memory.journal import read_active, write_active
from satchel.memory.memories import put_memories
from satchel.memory.model import (
    Experience,
    ImportReport,
    LineProblem,
    Memory,
    experience_data,
    experience_from,
    memory_data,
    memory_from,
)
from satchel.memory.records import (
    exchange_data,
    exchange_from,
    experience_document,
    experience_of,
    memory_of,
    value_line,
    value_of,
)
from satchel.memory.scope import Notebook, never_stop
from satchel.store.protocol import Store
from satchel.store.records import Document, NewDocument
from satchel.types import Kind

if TYPE_CHECKING:
    from satchel.store.sqlite.writer import Writer

FORMAT = "satchel-memory"
FORMAT_VERSION = 1

LINE_BYTES = 1_000_000
"""Size limit of a line of an import: a record with all fields at their limits has a tenth of it."""

_VALUE = "value"

Record = Memory | Experience | NewDocument
"""A record from a line; an exchange of a conversation is already a NewDocument."""

Admit = Callable[[Data, str | None], bool]
"""Measures a value against its members and keeps it; returns whether it is new. Raises UsageError to refuse it."""

ReadLine = Callable[[Data, Clean], Record | None]
"""Turns the values of one line into a record, None for a line to skip. Raises UsageError."""


def export_lines(store: Store) -> Iterator[str]:
    """Yield all records of the memory file, of all repositories, including replaced and active ones."""
    yield json_line({"format": FORMAT, "version": FORMAT_VERSION})
    for document in _in_order(store, Kind.MEMORY):
        yield json_line(memory_data(memory_of(document, store.text(document.id))))
    for document in _in_order(store, Kind.EXPERIENCE):
        yield json_line(experience_data(experience_of(document)))
    for document in _in_order(store, Kind.VALUE):
        yield json_line(value_line(value_of(document, store.text(document.id))))
    for document in _in_order(store, Kind.CONVERSATION):
        yield json_line(exchange_data(document, store.text(document.id)))
    for experience in sorted(read_active(store), key=lambda entry: (entry.created, entry.id)):
        yield json_line(experience_data(experience))


def _in_order(store: Store, kind: Kind) -> list[Document]:
    stored = store.documents(store.document_ids(kind, store.keys(kind)).values()).values()
    return sorted(stored, key=lambda document: (document.created, document.key))


def _read_own(data: Data, clean: Clean) -> Record | None:
    if "format" in data:
        if data["format"] != FORMAT or data.get("version") != FORMAT_VERSION:
            raise UsageError(
                f"format {data['format']!r} version {data.get('version')!r}: this satchel reads {FORMAT!r} "
                f"version {FORMAT_VERSION}"
            )
        return None
    match data.get("type"):
        case "memory":
            return memory_from(data, clean)
        case "experience":
            return experience_from(data, clean)
        case "conversation":
            return exchange_from(data, clean)
    raise UsageError(f"type is {data.get('type')!r}: it is memory, experience, value or conversation")


def _read_calm(data: Data, clean: Clean) -> Record | None:
    experience = experience_from(data, clean)
    if experience.outcome is None:
        raise UsageError(f"{experience.id} has no outcome yet: only what was resolved is imported")
    return replace(experience, origin=experience.origin or "calm-ghap")


READERS: Mapping[str, ReadLine] = {"satchel": _read_own, "calm-ghap": _read_calm}
"""Format -> reader of one line."""

_OF_THIS_WORKSPACE = frozenset({"calm-ghap"})
"""Formats without workspaces: their records belong to the importing workspace."""


@dataclass(slots=True)
class _Import:
    """Records of an import by id, values and problems by the number of their line."""

    memories: dict[str, Memory] = field(default_factory=dict)
    experiences: dict[str, tuple[int, Experience]] = field(default_factory=dict)
    exchanges: dict[str, NewDocument] = field(default_factory=dict)
    values: list[tuple[int, Data]] = field(default_factory=list)
    problems: list[LineProblem] = field(default_factory=list)
    added: int = 0
    updated: int = 0
    unchanged: int = 0

    def add(self, number: int, record: Record) -> None:
        """Add a record; of two with the same id the later line counts."""
        if isinstance(record, Memory):
            self.memories[record.id] = record
        elif isinstance(record, Experience):
            self.experiences[record.id] = (number, record)
        else:
            self.exchanges[record.key] = record

    def is_new(self, stored: Record | Document | None, record: Record) -> bool:
        """Count a record; returns whether to write it. The stored record wins over an older state of it."""
        if stored is None:
            self.added += 1
        elif record.updated > stored.updated:
            self.updated += 1
        else:
            self.unchanged += 1
            return False
        return True


def import_lines(
    lines: Iterable[bytes],
    notebook: Notebook,
    *,
    form: str = "satchel",
    workspace: str | None = None,
    admit: Admit | None = None,
) -> ImportReport:
    """Import all usable records in one transaction.

    `workspace` is set on all records; None keeps the workspace of each line (a format without workspaces uses the
    notebook's). Values are passed to `admit` after all other records, which are their evidence. Only a later state
    replaces a stored record. Raises UsageError for an unknown format.
    """
    if form not in READERS:
        raise UsageError(f"unknown format {form!r}: choose from {', '.join(READERS)}")
    if workspace is None and form in _OF_THIS_WORKSPACE:
        workspace = notebook.workspace
    work = _Import()
    for number, line in enumerate(lines, 1):
        try:
            _take(work, number, line, form, workspace, notebook)
        except UsageError as error:
            work.problems.append(LineProblem(number, str(error)))
    if work.memories or work.experiences or work.exchanges:
        _store(work, notebook.store)
    _admit_values(work, admit, workspace)
    problems = tuple(sorted(work.problems, key=lambda problem: problem.line))
    return ImportReport(work.added, work.updated, work.unchanged, problems)


def _take(work: _Import, number: int, line: bytes, form: str, workspace: str | None, notebook: Notebook) -> None:
    """Read one line. Raises UsageError."""
    if len(line) <= LINE_BYTES and not line.strip():
        return
    data = json_object(line, LINE_BYTES)
    if form == "satchel" and "format" not in data and data.get("type") == _VALUE:
        work.values.append((number, data))
        return
    record = READERS[form](data, notebook.safe)
    if record is not None:
        work.add(number, record if workspace is None else replace(record, workspace=workspace))


def _store(work: _Import, store: Store) -> None:
    with store.write() as writer:
        _store_memories(work, store, writer)
        _store_experiences(work, store, writer)
        ids = store.document_ids(Kind.CONVERSATION, list(work.exchanges)).values()
        stored = {document.key: document for document in store.documents(ids).values()}
        writer.put([row for key, row in sorted(work.exchanges.items()) if work.is_new(stored.get(key), row)])
        writer.merge(never_stop)


def _admit_values(work: _Import, admit: Admit | None, workspace: str | None) -> None:
    for number, data in work.values:
        try:
            if admit is None:
                raise UsageError("values are measured by `Satchel.import_memory`: import with it")
            is_new = admit(data, workspace)
        except (UsageError, EmbeddingError, MissingExtraError) as error:
            work.problems.append(LineProblem(number, str(error)))
        else:
            work.added += is_new
            work.unchanged += not is_new


def _store_memories(work: _Import, store: Store, writer: Writer) -> None:
    present = store.keys(Kind.MEMORY)
    linked = present | set(work.memories)
    changed = [
        memory if memory.superseded_by in linked else replace(memory, superseded_by="")
        for memory in work.memories.values()
        if work.is_new(store.document(Kind.MEMORY, memory.id) if memory.id in present else None, memory)
    ]
    put_memories(store, writer, changed)


def _store_experiences(work: _Import, store: Store, writer: Writer) -> None:
    active = {experience.id: experience for experience in read_active(store)}
    ended = []
    for number, experience in work.experiences.values():
        document = store.document(Kind.EXPERIENCE, experience.id)
        if experience.outcome is not None:
            if work.is_new(document or active.get(experience.id), experience):
                active.pop(experience.id, None)
                ended.append(experience_document(experience))
        elif document is not None:
            work.unchanged += 1  # it has ended here meanwhile
        elif _is_taken(active, experience):
            message = f"session {experience.session_id!r} has another active experience"
            work.problems.append(LineProblem(number, message))
        elif work.is_new(active.get(experience.id), experience):
            active[experience.id] = experience
    writer.put(ended)
    write_active(writer, list(active.values()))


def _is_taken(active: Mapping[str, Experience], experience: Experience) -> bool:
    """Return whether another experience is active in the same session and workspace."""
    place = (experience.workspace, experience.session_id)
    return any((other.workspace, other.session_id) == place for other in active.values() if other.id != experience.id)
