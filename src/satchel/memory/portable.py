"""Export and import of the memory: JSON Lines, one record per line, and transcripts of conversations.

Equal memories give equal bytes. The first line of an export names the format; records are sorted by kind, time and id.
An import reports unusable lines with their numbers, and imports all others. An exchange of a transcript is written
once, and again only when it has grown.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from satchel.codec import Clean, iso_time, json_line, json_object
from satchel.errors import EmbeddingError, MissingExtraError, UsageError
from satchel.memory import model
from satchel.memory.foreign import FileOptions, read_foreign
from satchel.memory.journal import read_active, write_active
from satchel.memory.memories import put_memories
from satchel.memory.records import Kept, document_of, exchange_record, stored
from satchel.memory.scope import EVERYWHERE, Notebook
from satchel.sources.conversations import Exchange, read_transcript
from satchel.store.protocol import Store
from satchel.store.records import Document
from satchel.system import files
from satchel.types import Data, Kind, never

if TYPE_CHECKING:
    from satchel.store.writer import Writer

FORMAT = "satchel-memory"
FORMAT_VERSION = 1

LINE_BYTES = 1_000_000
"""Size limit of a line of an import: a record with all fields at their limits has a tenth of it."""

Admit = Callable[[model.Value], bool]
"""Measures a value against its members and keeps it; returns whether it is new. Raises UsageError to refuse it."""

ReadLine = Callable[[Data, Clean], model.Record | None]
"""Turns the values of one line into a record, None for a line to skip. Raises UsageError."""

_EXPORTED = (Kind.MEMORY, Kind.EXPERIENCE, Kind.VALUE, Kind.CONVERSATION)


def export_lines(store: Store) -> Iterator[str]:
    """Yield all records of the memory file, of all repositories, including replaced and active ones."""
    yield json_line({"format": FORMAT, "version": FORMAT_VERSION})
    yield from (json_line(model.exported(record)) for record in _records(store))


def _records(store: Store) -> Iterator[model.Record]:
    for kind in _EXPORTED:
        yield from _in_order(store, kind)
    yield from sorted(read_active(store), key=lambda entry: (entry.created, entry.id))


def _in_order(store: Store, kind: Kind) -> Iterator[model.Record]:
    """Yield the records of a kind by time and id."""
    documents = store.documents(store.document_ids(kind, store.keys(kind)).values()).values()
    for document in sorted(documents, key=lambda document: (document.created, document.key)):
        yield stored(model.RECORDS[kind], document, store.text(document.id))


def _read_own(data: Data, clean: Clean) -> model.Record | None:
    if "format" not in data:
        return model.imported(data, clean)
    if data["format"] != FORMAT or data.get("version") != FORMAT_VERSION:
        raise UsageError(
            f"format {data['format']!r} version {data.get('version')!r}: this satchel reads {FORMAT!r} "
            f"version {FORMAT_VERSION}"
        )
    return None


def _read_calm(data: Data, clean: Clean) -> model.Record | None:
    experience = model.experience_from(data, clean)
    if experience.outcome is None:
        raise UsageError(f"{experience.id} has no outcome yet: only what was resolved is imported")
    return replace(experience, origin=experience.origin or "calm-ghap")


READERS: Mapping[str, ReadLine] = {"satchel": _read_own, "calm-ghap": _read_calm}
"""Format -> reader of one line."""

_OF_THIS_WORKSPACE = frozenset({"calm-ghap"})
"""Formats without workspaces: their records belong to the importing workspace."""


@dataclass(slots=True)
class _Import:
    """Records of an import by kind and id with the number of their line; of two with the same id the later counts."""

    records: dict[Kind, dict[str, tuple[int, model.Record]]] = field(
        default_factory=lambda: {kind: {} for kind in _EXPORTED}
    )
    problems: list[model.LineProblem] = field(default_factory=list)
    added: int = 0
    updated: int = 0
    unchanged: int = 0

    def add(self, number: int, record: model.Record) -> None:
        """Add the record of a line."""
        self.records[model.KINDS[type(record)]][record.id] = number, record

    def of(self, record: type[Kept]) -> list[tuple[int, Kept]]:
        """Return the records of one type, each with the number of its line."""
        return [
            (number, stored)
            for number, stored in self.records[model.KINDS[record]].values()
            if isinstance(stored, record)
        ]

    def is_new(self, stored: model.Experience | Document | None, record: model.Record) -> bool:
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
) -> model.ImportReport:
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
            work.problems.append(model.LineProblem(number, str(error)))
    if any(records for kind, records in work.records.items() if kind is not Kind.VALUE):
        _store(work, notebook.store)
    _admit_values(work, admit)
    problems = tuple(sorted(work.problems, key=lambda problem: problem.line))
    return model.ImportReport(work.added, work.updated, work.unchanged, problems)


def _take(work: _Import, number: int, line: bytes, form: str, workspace: str | None, notebook: Notebook) -> None:
    """Read one line. Raises UsageError."""
    if len(line) <= LINE_BYTES and not line.strip():
        return
    data = json_object(line, LINE_BYTES)
    record = READERS[form](data, notebook.safe)
    if record is not None:
        work.add(number, record if workspace is None else replace(record, workspace=workspace))


def _store(work: _Import, store: Store) -> None:
    with store.write() as writer:
        _store_memories(work, store, writer)
        _store_experiences(work, store, writer)
        exchanges = sorted((exchange.id, exchange) for _, exchange in work.of(model.ExchangeRecord))
        ids = store.document_ids(Kind.CONVERSATION, [key for key, _ in exchanges]).values()
        present = {document.key: document for document in store.documents(ids).values()}
        writer.put([document_of(exchange) for key, exchange in exchanges if work.is_new(present.get(key), exchange)])
        writer.merge(never)


def import_foreign(
    lines: Iterable[bytes], notebook: Notebook, form: str, options: FileOptions, *, everywhere: bool = False
) -> model.ImportReport:
    """Import a file of another program into this repository, or for every one; problems count its memories from 1.

    What another repository has imported is imported here as well; for every repository, it is moved. A memory without a
    date that is here already stays as it is. A field that cannot be used is left out and named. Raises UsageError for a
    file of another format.
    """
    pieces = [*lines]
    is_split = len(pieces) > 1 and not pieces[0].endswith(b"\n")  # lines of a pipe have no ends
    content = read_foreign(form, (b"\n" if is_split else b"").join(pieces), options)
    notebook = structs.replace(notebook, workspace=EVERYWHERE) if everywhere else notebook
    if content.exchanges:
        return put_exchanges(_apart(content.exchanges, notebook), notebook, origin=form)
    apart = {data["id"]: f"{data['id']}-{_ending(notebook)}" for data in content.memories}
    keys, homes = _keys(apart, Kind.MEMORY, notebook)
    work, now, moved = _Import(), iso_time(notebook.now()), list[str]()
    for number, data in enumerate(content.memories, 1):
        line, problems = _usable({**data, "id": keys[data["id"]]}, now, notebook.safe)
        work.problems += (model.LineProblem(number, problem) for problem in problems)
        home = homes.get(line["id"])
        if home not in (None, notebook.workspace):
            moved += [line["id"]] if everywhere else []
            work.unchanged += not everywhere
        elif home is not None and "created_at" not in line:
            work.unchanged += 1
        elif line.get("content"):
            record = model.imported({"created_at": now, **line}, notebook.safe)
            work.add(number, replace(record, workspace=notebook.workspace))
    _store(work, notebook.store)
    _move(moved, notebook)
    updated = work.updated + len(moved)
    return model.ImportReport(work.added, updated, work.unchanged, tuple(work.problems), content.passed_over)


_FIELDS = ("category", "importance", "tags", "author", "created_at", "updated_at", "valid_from", "valid_to")
"""Fields of a memory of another program without which it is imported if they cannot be used."""


def _usable(line: Data, now: str, clean: Clean) -> tuple[Data, list[str]]:
    """Return the line of a memory without the fields that cannot be used, and what is wrong with each.

    A memory that cannot be imported at all is returned without content.
    """
    try:
        model.imported({"created_at": now, **line}, clean)
    except UsageError:
        plain = {name: value for name, value in line.items() if name not in _FIELDS} | {"created_at": now}
    else:
        return line, []
    problems, wrong = [], set[str]()
    try:
        model.imported(plain, clean)
    except UsageError as error:
        return {**line, "content": ""}, [str(error)]
    for name in filter(line.__contains__, _FIELDS):
        try:
            model.imported({**plain, name: line[name]}, clean)
        except UsageError as error:
            # A reader may take two dates from one field.
            if line[name] not in [line[other] for other in wrong]:
                problems.append(f"{error}: imported without it")
            wrong.add(name)
    return {name: value for name, value in line.items() if name not in wrong}, problems


def _keys(apart: Mapping[str, str], kind: Kind, notebook: Notebook) -> tuple[dict[str, str], dict[str, str]]:
    """Return the key of each record in this repository, and the workspace of each of these keys that is stored.

    `apart` has for each key another one, for a record that another repository has imported. One of every repository is
    here already.
    """
    present = notebook.store.document_ids(kind, [*apart, *apart.values()])
    homes = {row.key: row.workspace for row in notebook.store.documents(present.values()).values()}
    here = {None, notebook.workspace, EVERYWHERE}
    is_everywhere = notebook.workspace == EVERYWHERE
    is_apart = {key: not is_everywhere and (homes.get(key) not in here or apart[key] in homes) for key in apart}
    return {key: other if is_apart[key] else key for key, other in apart.items()}, homes


def _ending(notebook: Notebook) -> str:
    """Return what distinguishes a record of this repository from the same one of another repository."""
    return blake2b(notebook.workspace.encode(), digest_size=4).hexdigest()


def _move(keys: Sequence[str], notebook: Notebook) -> None:
    """Make memories of other repositories memories of the notebook's workspace."""
    if not keys:
        return
    store = notebook.store
    documents = store.documents(store.document_ids(Kind.MEMORY, keys).values()).values()
    memories = [stored(model.Memory, document, store.text(document.id)) for document in documents]
    with store.write() as writer:
        put_memories(store, writer, [replace(memory, workspace=notebook.workspace) for memory in memories])


def _apart(exchanges: Sequence[Exchange], notebook: Notebook) -> list[Exchange]:
    """Return exchanges, with sessions of their own where another repository has imported them."""
    others = [replace(exchange, session=f"{exchange.session}-{_ending(notebook)}") for exchange in exchanges]
    apart = {exchange.key: other.key for exchange, other in zip(exchanges, others, strict=True)}
    keys, _ = _keys(apart, Kind.CONVERSATION, notebook)
    return [
        exchange if keys[exchange.key] == exchange.key else other
        for exchange, other in zip(exchanges, others, strict=True)
    ]


def copy_records(source: Store, target: Store, workspaces: Mapping[str, str]) -> dict[Kind, tuple[int, int]]:
    """Copy all records of a memory to another one with their ids; of two with one id the later state stays.

    `workspaces` gets another name for some. Returns the number of records in the source, and how many of them are in
    the target now, by kind. Raises UsageError if one is missing there.
    """
    work = _Import()
    for record in _records(source):
        here = replace(record, workspace=workspaces.get(record.workspace, record.workspace))
        work.add(
            0, here if isinstance(here, model.ExchangeRecord) else replace(here, author=here.author or target.user)
        )
    _store(work, target)
    known = target.keys(Kind.VALUE)
    with target.write() as writer:
        writer.put([document_of(value) for _, value in work.of(model.Value) if value.id not in known])
        writer.merge(never)
    counts = {kind: (len(ids := _ids(source, kind)), len(ids & _ids(target, kind))) for kind in _EXPORTED}
    if any(count != kept for count, kept in counts.values()):
        raise UsageError(f"not all records were copied: {'; '.join(problem.message for problem in work.problems)}")
    return counts


def _ids(store: Store, kind: Kind) -> set[str]:
    active = read_active(store) if kind is Kind.EXPERIENCE else ()
    return {*store.keys(kind), *(experience.id for experience in active)}


def _admit_values(work: _Import, admit: Admit | None) -> None:
    for number, value in work.of(model.Value):
        try:
            if admit is None:
                raise UsageError("values are measured by `Satchel.import_memory`: import with it")
            is_new = admit(value)
        except (UsageError, EmbeddingError, MissingExtraError) as error:
            work.problems.append(model.LineProblem(number, str(error)))
        else:
            work.added += is_new
            work.unchanged += not is_new


def _store_memories(work: _Import, store: Store, writer: Writer) -> None:
    present = store.keys(Kind.MEMORY)
    linked = present | set(work.records[Kind.MEMORY])
    changed = [
        memory if memory.superseded_by in linked else replace(memory, superseded_by="")
        for _, memory in work.of(model.Memory)
        if work.is_new(store.document(Kind.MEMORY, memory.id) if memory.id in present else None, memory)
    ]
    put_memories(store, writer, changed)


def _store_experiences(work: _Import, store: Store, writer: Writer) -> None:
    active = {experience.id: experience for experience in read_active(store)}
    ended = []
    for number, experience in work.of(model.Experience):
        document = store.document(Kind.EXPERIENCE, experience.id)
        if experience.outcome is not None:
            if work.is_new(document or active.get(experience.id), experience):
                active.pop(experience.id, None)
                ended.append(document_of(experience))
        elif document is not None:
            work.unchanged += 1  # it has ended here meanwhile
        elif _is_taken(active, experience):
            message = f"session {experience.session_id!r} has another active experience"
            work.problems.append(model.LineProblem(number, message))
        elif work.is_new(active.get(experience.id), experience):
            active[experience.id] = experience
    writer.put(ended)
    write_active(writer, list(active.values()))


def _is_taken(active: Mapping[str, model.Experience], experience: model.Experience) -> bool:
    """Return whether another experience is active in the same session and workspace."""
    place = (experience.workspace, experience.session_id)
    return any((other.workspace, other.session_id) == place for other in active.values() if other.id != experience.id)


CLAUDE_CODE = "claude-code"
"""The name of the format, and the origin of its exchanges."""

TRANSCRIPT_BYTES = 512_000_000
"""Size limit of a transcript: weeks of work in one session have a tenth of it."""

ELSEWHERE = "of another folder"
"""Reason under which skipped exchanges are counted; a file without any exchange of this root counts as one."""

_FOLDER = re.compile(rb'"cwd"\s*:\s*("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")')


def put_exchanges(exchanges: Iterable[Exchange], notebook: Notebook, *, origin: str) -> model.ImportReport:
    """Write exchanges in one transaction. Those that are stored already with the same text are not written.

    An exchange of another workspace is moved to that of the notebook.
    """
    records = (exchange_record(exchange, notebook, origin) for exchange in exchanges)
    documents = {record.id: document_of(record) for record in records}
    store = notebook.store
    stored = store.documents(store.document_ids(Kind.CONVERSATION, list(documents)).values())
    same = {
        row.key
        for row in stored.values()
        if (row.content_hash, row.workspace) == (documents[row.key].content_hash, documents[row.key].workspace)
    }
    news = [document for key, document in sorted(documents.items()) if key not in same]
    if news:
        with store.write() as writer:
            writer.put(news)
            writer.merge(never)
    updated = len(stored) - len(same)
    return model.ImportReport(len(news) - updated, updated, len(same))


def import_transcript(
    lines: Iterable[bytes], notebook: Notebook, *, name: str = "transcript", root: Path | None = None
) -> model.ImportReport:
    """Import one transcript, line by line. Broken lines are reported, the rest is imported.

    `name` is the session of lines that name none. With a `root`, only exchanges in it are imported.
    """
    # Size limit of a line of a transcript: images are embedded as text; a line without one has a thousandth of it.
    transcript = read_transcript(lines, name, clean=notebook.safe, line_bytes=8_000_000)
    mine = [row for row in transcript.exchanges if root is None or _is_below(row.folder, root)]
    done = put_exchanges(mine, notebook, origin=CLAUDE_CODE)
    problems = tuple(model.LineProblem(number, message) for number, message in transcript.broken)
    others = len(transcript.exchanges) - len(mine)
    passed_over = {**transcript.passed_over, **({ELSEWHERE: others} if others else {})}
    return model.ImportReport(done.added, done.updated, done.unchanged, problems, passed_over)


def exchanges_of(paths: Sequence[Path], notebook: Notebook, root: Path) -> list[Exchange]:
    """Return the exchanges of transcripts, of folders only those in `root`. Raises UsageError where there are none."""
    found: list[Exchange] = []
    for path in transcript_files(paths):
        try:
            raw = files.read_bytes(path.parent, path.name, limit=TRANSCRIPT_BYTES).raw
        except files.Skipped as skipped:
            raise UsageError(f"{path} cannot be read: {skipped}") from skipped
        transcript = read_transcript(io.BytesIO(raw), path.stem, clean=notebook.safe, line_bytes=8_000_000)
        found += [exchange for exchange in transcript.exchanges if path in paths or _is_below(exchange.folder, root)]
    return found


def import_transcripts(paths: Sequence[Path], notebook: Notebook, root: Path) -> model.ImportReport:
    """Import transcripts from files, and from all files below folders, one transaction per file.

    All exchanges of a file in `paths` are imported; of a folder (Claude Code keeps all projects in one) only those in
    `root`. An unreadable file is reported as line 0. Raises UsageError for a path without transcripts.
    """
    reports = [_import_file(path, notebook, None if path in paths else root) for path in transcript_files(paths)]
    names = ("added", "updated", "unchanged")
    added, updated, unchanged = (sum(getattr(report, name) for report in reports) for name in names)
    problems = tuple(problem for report in reports for problem in report.problems)
    passed_over = sum((Counter(report.passed_over) for report in reports), Counter[str]())
    return model.ImportReport(added, updated, unchanged, problems, dict(sorted(passed_over.items())))


def transcript_files(paths: Sequence[Path]) -> list[Path]:
    """Return the files, and every `*.jsonl` below the folders, in order. Raises UsageError where there is none."""
    files_below: list[Path] = []
    for path in paths:
        below = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path] if path.exists() else []
        if not below:
            what = "contains no *.jsonl file" if path.is_dir() else "does not exist"
            raise UsageError(f"{path} {what}: Claude Code keeps its transcripts below ~/.claude/projects")
        files_below += below
    return list(dict.fromkeys(files_below))


def _import_file(path: Path, notebook: Notebook, root: Path | None) -> model.ImportReport:
    try:
        raw = files.read_bytes(path.parent, path.name, limit=TRANSCRIPT_BYTES).raw
    except files.Skipped as skipped:
        return model.ImportReport(problems=(model.LineProblem(0, f"{path.name}: {skipped}"),))
    if root is not None and not any(
        _is_below(json.loads(folder.decode("utf-8", "replace")), root) for folder in set(_FOLDER.findall(raw))
    ):
        return model.ImportReport(passed_over={ELSEWHERE: 1})  # most files: their lines need not be read
    lines = (line.removesuffix(b"\n") for line in io.BytesIO(raw))  # one at a time: a list would double the memory
    report = import_transcript(lines, notebook, name=path.stem, root=root)
    named = tuple(structs.replace(problem, message=f"{path.name}: {problem.message}") for problem in report.problems)
    return replace(report, problems=named)


def _is_below(folder: str, root: Path) -> bool:
    """Return whether a folder, which may be deleted by now, is a root or in it."""
    if not folder:
        return False
    try:
        real = Path(folder).resolve()
    except (OSError, RuntimeError, ValueError):  # a loop of links, or a name that no file system takes
        return False
    return Path(folder).is_relative_to(root) or real.is_relative_to(root.resolve())
