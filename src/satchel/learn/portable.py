"""What is remembered as JSON Lines: one record a line, readable, and equal byte for byte when exported again.

The first line names the format. Records stand in the order of kind, time and id. What another program wrote is read
line by line: a line that cannot be used is reported with its number, and all the others are imported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from satchel.errors import EmbeddingError, MissingExtraError, UsageError
from satchel.learn.bundles import experience_bundle, experience_of, memory_of
from satchel.learn.entries import Experience, ImportReport, LineProblem, Memory, experience_data, memory_data
from satchel.learn.exchange_lines import exchange_data, exchange_from
from satchel.learn.journal import read_active, write_active
from satchel.learn.lessons import value_line, value_of
from satchel.learn.lines import Data, experience_from, memory_from
from satchel.learn.memories import put_memories
from satchel.learn.scope import Notebook, never_stop
from satchel.store.protocol import Store, Writer
from satchel.store.records import Bundle, NewBundle
from satchel.types import Kind

FORMAT = "satchel-memory"
FORMAT_VERSION = 1

LINE_BYTES = 1_000_000
"""Of one line of an import: a record at all its limits has a tenth of that."""


@dataclass(frozen=True, slots=True)
class ValueLine:
    """A line that holds a value: it is measured when all of its members are stored."""

    data: Data


Record = Memory | Experience | NewBundle
"""A record that is read; an exchange of a conversation comes as the bundle that is written."""

Admit = Callable[[Data, str | None], bool]
"""Measures a value against its members and keeps it; whether it is new. Raises UsageError where it is refused."""

ReadLine = Callable[[Data, Callable[[str], str]], Record | ValueLine | None]
"""Turns the values of one line into a record, None for one that is to be skipped. Raises UsageError."""


def export_lines(store: Store) -> Iterator[str]:
    """Everything in the memory file, of all repositories, replaced and active records too."""
    yield _line({"format": FORMAT, "version": FORMAT_VERSION})
    for bundle in _in_order(store, Kind.MEMORY):
        yield _line(memory_data(memory_of(bundle, store.text(bundle.id))))
    for bundle in _in_order(store, Kind.EXPERIENCE):
        yield _line(experience_data(experience_of(bundle)))
    for bundle in _in_order(store, Kind.VALUE):
        yield _line(value_line(value_of(bundle, store.text(bundle.id))))
    for bundle in _in_order(store, Kind.CONVERSATION):
        yield _line(exchange_data(bundle, store.text(bundle.id)))
    for experience in sorted(read_active(store), key=lambda entry: (entry.created, entry.id)):
        yield _line(experience_data(experience))


def _in_order(store: Store, kind: Kind) -> list[Bundle]:
    stored = store.bundles(store.bundle_ids(kind, store.keys(kind)).values()).values()
    return sorted(stored, key=lambda bundle: (bundle.created, bundle.key))


def _line(data: Mapping[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False, separators=(",", ":"))


def _read_own(data: Data, clean: Callable[[str], str]) -> Record | ValueLine | None:
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
        case "value":
            return ValueLine(data)
        case "conversation":
            return exchange_from(data, clean)
    raise UsageError(f"type is {data.get('type')!r}: it is memory, experience, value or conversation")


def _read_calm(data: Data, clean: Callable[[str], str]) -> Record | None:
    experience = experience_from(data, clean)
    if experience.outcome is None:
        raise UsageError(f"{experience.id} has no outcome yet: only what was resolved is imported")
    return replace(experience, origin=experience.origin or "calm-ghap")


READERS: Mapping[str, ReadLine] = {"satchel": _read_own, "calm-ghap": _read_calm}
"""Formats that come as one record a line."""

_OF_THIS_WORKSPACE = frozenset({"calm-ghap"})
"""Formats that know nothing of workspaces: their records belong to the one that they are imported into."""


@dataclass(slots=True)
class _Import:
    """What is being imported, by id, with the number of its line."""

    memories: dict[str, tuple[int, Memory]] = field(default_factory=dict)
    experiences: dict[str, tuple[int, Experience]] = field(default_factory=dict)
    exchanges: dict[str, NewBundle] = field(default_factory=dict)
    values: list[tuple[int, Data]] = field(default_factory=list)
    problems: list[LineProblem] = field(default_factory=list)
    added: int = 0
    updated: int = 0
    unchanged: int = 0

    def add(self, number: int, record: Record) -> None:
        """Note a record; of two with the same id the later line counts."""
        if isinstance(record, Memory):
            self.memories[record.id] = (number, record)
        elif isinstance(record, Experience):
            self.experiences[record.id] = (number, record)
        else:
            self.exchanges[record.key] = record

    def is_news(self, known: Record | Bundle | None, record: Record) -> bool:
        """Whether a record has to be written; counts it. What is here wins over an older state of it."""
        if known is None:
            self.added += 1
        elif record.updated > known.updated:
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
    """Import records, all that can be used in one transaction.

    `workspace` makes all of them belong to one; None keeps what each line says (what a format without workspaces
    brings belongs to the notebook's). Values go through `admit`, after everything that they may rest on. A record that
    is known already is replaced only by a later state of it. Raises UsageError for an unknown format.
    """
    if form not in READERS:
        raise UsageError(f"unknown format {form!r}: choose from {', '.join(READERS)}")
    if workspace is None and form in _OF_THIS_WORKSPACE:
        workspace = notebook.workspace
    collected = _Import()
    for number, line in enumerate(lines, 1):
        try:
            record = _read(line, READERS[form], notebook)
        except UsageError as error:
            collected.problems.append(LineProblem(number, str(error)))
            continue
        if record is None:
            continue
        if isinstance(record, ValueLine):
            collected.values.append((number, record.data))
            continue
        collected.add(number, record if workspace is None else replace(record, workspace=workspace))
    if collected.memories or collected.experiences or collected.exchanges:
        _store(collected, notebook.store)
    _admit_values(collected, admit, workspace)
    problems = tuple(sorted(collected.problems, key=lambda problem: problem.line))
    return ImportReport(collected.added, collected.updated, collected.unchanged, problems)


def _read(line: bytes, reader: ReadLine, notebook: Notebook) -> Record | ValueLine | None:
    """The record on a line, None where there is none. Raises UsageError."""
    if len(line) > LINE_BYTES:
        raise UsageError(f"the line has {len(line):,} bytes: at most {LINE_BYTES:,}")
    if not line.strip():
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"not JSON: {error}") from None
    if not isinstance(data, dict):
        raise UsageError(f"not a JSON object but {type(data).__name__}")
    return reader(data, notebook.safe)


def _store(collected: _Import, store: Store) -> None:
    with store.write() as writer:
        _store_memories(collected, store, writer)
        _store_experiences(collected, store, writer)
        known = _known_exchanges(collected, store)
        writer.put([row for key, row in sorted(collected.exchanges.items()) if collected.is_news(known.get(key), row)])
        writer.merge(never_stop)


def _known_exchanges(collected: _Import, store: Store) -> dict[str, Bundle]:
    ids = store.bundle_ids(Kind.CONVERSATION, list(collected.exchanges)).values()
    return {bundle.key: bundle for bundle in store.bundles(ids).values()}


def _admit_values(collected: _Import, admit: Admit | None, workspace: str | None) -> None:
    for number, data in collected.values:
        try:
            if admit is None:
                raise UsageError("values are measured by `Satchel.import_memory`: import with it")
            is_new = admit(data, workspace)
        except (UsageError, EmbeddingError, MissingExtraError) as error:
            collected.problems.append(LineProblem(number, str(error)))
        else:
            collected.added += is_new
            collected.unchanged += not is_new


def _store_memories(collected: _Import, store: Store, writer: Writer) -> None:
    known = store.keys(Kind.MEMORY)
    linked = known | set(collected.memories)
    news = [
        memory if memory.superseded_by in linked else replace(memory, superseded_by="")
        for _, memory in collected.memories.values()
        if collected.is_news(_known_memory(store, memory.id) if memory.id in known else None, memory)
    ]
    put_memories(store, writer, news)


def _store_experiences(collected: _Import, store: Store, writer: Writer) -> None:
    active = {experience.id: experience for experience in read_active(store)}
    ended = []
    for number, experience in collected.experiences.values():
        bundle = store.bundle(Kind.EXPERIENCE, experience.id)
        known = experience_of(bundle) if bundle is not None else active.get(experience.id)
        if experience.outcome is not None:
            if collected.is_news(known, experience):
                active.pop(experience.id, None)
                ended.append(experience_bundle(experience))
        elif bundle is not None:
            collected.unchanged += 1  # it has ended here meanwhile
        elif _is_taken(active, experience):
            message = f"session {experience.session_id!r} has another active experience"
            collected.problems.append(LineProblem(number, message))
        elif collected.is_news(known, experience):
            active[experience.id] = experience
    writer.put(ended)
    write_active(writer, list(active.values()))


def _known_memory(store: Store, identity: str) -> Memory | None:
    bundle = store.bundle(Kind.MEMORY, identity)
    return memory_of(bundle, store.text(bundle.id)) if bundle is not None else None


def _is_taken(active: Mapping[str, Experience], experience: Experience) -> bool:
    """Whether another experience is active where this one would be."""
    place = (experience.workspace, experience.session_id)
    return any((other.workspace, other.session_id) == place for other in active.values() if other.id != experience.id)
