"""Records as stored documents and back: one form for memories, experiences, values and exchanges of conversations.

An experience has one chunk for each axis, so that each axis is searched separately; the name of a chunk is its axis,
and the fields contain the complete experience. The other records have one chunk each.

The trash has the records that were forgotten, until they are brought back, removed for good, or too old. Each is a
`meta` value of the memory file, so that nothing finds, lists or counts it. Secrets were removed before it was stored.
Only an id leads to it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msgspec import structs

from satchel import codec
from satchel import text as words
from satchel.codec import iso_time
from satchel.errors import LockedError, ReadOnlyStoreError, StoreError, UsageError
from satchel.memory.model import (
    KINDS,
    RECORDS,
    Chosen,
    ExchangeRecord,
    Experience,
    Memory,
    Record,
    Remark,
    Value,
    imported,
    record_data,
    without_usual,
)
from satchel.memory.scope import Notebook, near_ids, without_none
from satchel.safety import sanitize
from satchel.search.filters import NO_FILTERS, Filters
from satchel.sources.conversations import Exchange, searched_terms, shown_text, title_of
from satchel.sources.experiences import axis_texts
from satchel.store.extract import extract, extract_record
from satchel.store.protocol import WORDS_VERSION, Store
from satchel.store.records import Document, Extraction, NewDocument
from satchel.store.segments import SegmentDocument
from satchel.system import telemetry
from satchel.types import MEMORY_KINDS, Data, EdgeType, Json, Kind, Outline, Part, Reference, Role, never
from satchel.vocabulary import TRASH_DAYS, Moment, parse_choice, parse_moment

if TYPE_CHECKING:
    from satchel.store.database import DatabaseStore
    from satchel.store.writer import Writer

Kept = TypeVar("Kept", bound=Record)

TITLE_CHARACTERS = 100
"""Length limit of a title, the beginning of the text on one line."""

IDENTITY_CHARACTERS = 100
"""Length limit of an unknown id in a message."""

_FIELD_CHARACTERS = 200
_STORED: Mapping[Kind, str] = {
    Kind.MEMORY: """
        category importance provenance created_at supersedes superseded_by valid_from valid_to files
        workspace visibility author
    """,
    Kind.EXPERIENCE: """
        domain strategy goal hypothesis action prediction history iteration_count notes outcome_status outcome_result
        captured_at auto_captured surprise root_cause lesson confidence_tier session_id created_at files workspace
        visibility author
    """,
    Kind.VALUE: """
        axis cluster_id cluster_size similarity_to_centroid member_ids domains strategies label workspace created_at
        visibility author
    """,
}
"""Kind -> the fields of its documents, in the order of the files in the world; all others are columns."""

_OUTCOME = {"outcome_status": "status", "outcome_result": "result", "captured_at": "captured_at",
            "auto_captured": "auto_captured"}  # fmt: skip
"""Field of a document -> the part of an outcome."""


def _title(text: str) -> str:
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= TITLE_CHARACTERS else first[: TITLE_CHARACTERS - 1].rstrip() + "…"


def _path_terms(kind: Kind, fields: Data, tags: Iterable[str] = (), created: float = 0.0) -> dict[str, int]:
    """Return the words by which a record is found besides its text: its tags and kind of work, or date and branch."""
    if kind is Kind.CONVERSATION:
        return searched_terms(created, fields.get("branch", ""), asks=fields.get("asks", False))
    names: Mapping[Kind, tuple[Any, ...]] = {
        Kind.MEMORY: (fields.get("category"), *tags),
        Kind.EXPERIENCE: (fields.get("domain"), fields.get("strategy")),
        Kind.VALUE: (*fields.get("domains", ()), *fields.get("strategies", ())),
    }
    return words.count_terms(words.words(" ".join(map(str, names[kind]))))


def renew_words(store: DatabaseStore) -> None:
    """Make the search terms of all records anew, because another version of the analysis made them.

    Texts, fields, ids and vectors stay as they are. A file that cannot be written keeps its terms, with a line in the
    log: nearly all words are still found. Somebody who may only read leaves it to the others without a word.
    """
    try:
        with store.write() as writer:
            if store.meta(WORDS_VERSION) != words.ANALYSIS_VERSION:  # another process may have done it by now
                for kind in MEMORY_KINDS:
                    writer.replace_words(kind, _stored_documents(store, kind))
                writer.set_meta(WORDS_VERSION, words.ANALYSIS_VERSION)
    except ReadOnlyStoreError:
        return
    except (LockedError, StoreError) as error:
        telemetry.warning("memory_words_not_renewed", reason=str(error))


def _stored_documents(store: Store, kind: Kind) -> list[SegmentDocument]:
    """Return all records of a kind with new extractions, hidden ones and those of other workspaces too."""
    ids = store.document_ids(kind, store.keys(kind)).values()
    texts, entries = store.texts(ids), []
    for number, document in store.documents(ids).items():
        chunks = store.chunks(document.rows)
        parts = [Part(Role(chunk.role), "", chunk.start, chunk.end, chunk.signature) for chunk in chunks.values()]
        text, terms = texts[number], _path_terms(kind, document.fields, document.tags, document.created)
        new = NewDocument(kind, document.key, text, extract(text, Outline(kind, tuple(parts))), terms)
        entries.append(SegmentDocument(new, number, document.first_chunk))
    return entries


def document_of(record: Record) -> NewDocument:
    """Prepare a record for the store. The kind of its work, its category and its tags are searched as path terms."""
    kind = KINDS[type(record)]
    fields = record.fields if isinstance(record, ExchangeRecord) else _stored_fields(kind, record)
    tags = record.tags if isinstance(record, Memory) else ()
    return NewDocument(
        kind=kind,
        key=record.id,
        path_terms=_path_terms(kind, fields, tags, record.created),
        tags=tags,
        fields=fields,
        created=record.created,
        updated=record.updated,
        origin="values" if isinstance(record, Value) else record.origin,
        workspace=record.workspace,
        references=_references(record),
        **_searched(record, fields),
    )


def _stored_fields(kind: Kind, record: Record) -> Json:
    """Return the fields of a document: an outcome is flattened, and a missing text of an experience is empty."""
    data = codec.dump(record)
    if isinstance(record, Experience):
        data |= {name: data["outcome"][part] for name, part in _OUTCOME.items()}
        data |= {"surprise": record.surprise, "confidence_tier": data["confidence_tier"] or ""}
        if record.lesson is not None:
            data["lesson"]["takeaway"] = record.lesson.takeaway
    return without_usual({name: data[name] for name in _STORED[kind].split()})


def _searched(record: Record, fields: Data) -> Json:
    """Return the text of a record, the extraction of its words, its title, and what only its kind has."""
    if isinstance(record, Experience):
        text, extraction = _axes(fields)
        return {"text": text, "extraction": extraction, "title": _title(record.goal)}
    if isinstance(record, ExchangeRecord):
        speaker = record.fields.get("speaker", "")  # searched as a signature
        part = Part(Role.RECORD, "", 1, record.text.count("\n") + 1, speaker)
        outline = Outline(Kind.CONVERSATION, (part,))
        extraction = extract(record.text, outline) if speaker else extract_record(record.text, Kind.CONVERSATION)
        digest = hashlib.blake2b(record.text.encode(), digest_size=8).hexdigest()
        return {"text": record.text, "extraction": extraction, "title": record.title, "content_hash": digest}
    if isinstance(record, Value):
        extraction = extract_record(record.text, Kind.VALUE)
        title = record.text[:TITLE_CHARACTERS]
        return {"text": record.text, "extraction": extraction, "title": title}
    extraction = extract_record(record.content, Kind.MEMORY)
    title, importance = _title(record.content), record.importance
    return {"text": record.content, "extraction": extraction, "title": title, "importance": importance}


def _references(record: Record) -> tuple[Reference, ...]:
    """Return the experiences on which a value rests, or the files that a memory or an experience is about."""
    if isinstance(record, Value):
        return tuple(Reference(EdgeType.EVIDENCE, f"{Kind.EXPERIENCE}:{member}") for member in record.member_ids)
    if isinstance(record, Memory | Experience):
        return tuple(Reference(EdgeType.BOUND, glob) for glob in record.files)
    return ()


def _axes(fields: Data) -> tuple[str, Extraction]:
    """Return the text of an experience and its words, with a part for each axis."""
    texts = axis_texts(fields)
    parts, line = [], 1
    for text in texts.values():
        count = text.count("\n") + 1
        parts.append(Part(Role.RECORD, "", line, line + count - 1))
        line += count
    whole = "\n".join(texts.values())
    # Names are set after the extraction: "root cause" in a question must not match the name of every root cause.
    extraction = extract(whole, Outline(Kind.EXPERIENCE, tuple(parts)))
    extraction.parts = tuple(structs.replace(part, name=axis.value) for part, axis in zip(parts, texts, strict=True))
    return whole, extraction


def stored(record: type[Kept], document: Document, text: str = "") -> Kept:
    """Return the record in a stored document. The text of an experience is in its fields."""
    fields = document.fields
    data: Json = {
        "id": document.key,
        "title": document.title,
        "text": text,
        "fields": fields,
        **fields,
        "content": text,
        "tags": list(document.tags),
        "importance": document.importance or 0.0,
        "origin": document.origin,
        "workspace": document.workspace,
        "created_at": document.created,
        "updated_at": document.updated,
    }
    if record is Experience:
        data["outcome"] = {part: fields[name] for name, part in _OUTCOME.items()}
    return codec.load(record, data, None)


def records_in(store: Store, record: type[Kept], keys: Iterable[str] | None = None) -> list[Kept]:
    """Return the records of one type with these keys, by default all, of any workspace, replaced ones too."""
    kind = KINDS[record]
    documents = store.documents(store.document_ids(kind, store.keys(kind) if keys is None else keys).values())
    return [stored(record, document, store.text(number)) for number, document in documents.items()]


def checked_limit(limit: int) -> int:
    """Return a usable limit. Raises UsageError below 1."""
    if limit < 1:
        raise UsageError(f"limit is {limit}: give at least 1", "limit")
    return limit


class Records(Generic[Kept]):
    """The records of one type that a workspace sees. Every method reads the store anew."""

    record: type[Kept]

    def __init__(self, notebook: Notebook) -> None:
        self._notebook = notebook
        self._store = notebook.store

    def _find(self, identity: str, others: Iterable[str] = ()) -> Kept:
        """Return the record with this id. Raises UsageError with similar ids, also of `others`, if there is none."""
        kind = KINDS[self.record]
        key = identity.removeprefix(f"{kind}:")
        with self._store.snapshot() as store:
            document = store.document(kind, key)
            if document is not None:
                return self._shown(document, store.text(document.id))
            near = near_ids(key, {*store.iterate_keys(kind), *others})
        raise UsageError(f"there is no {kind} {self._notebook.safe_field(key, IDENTITY_CHARACTERS)!r}: {near}")

    def _holds(self, identity: str) -> bool:
        return self._store.document(KINDS[self.record], identity) is not None

    def _visible(self, *, hidden: bool = False, filters: Filters = NO_FILTERS) -> list[Kept]:
        """Return the records in sight that fit; with `hidden` also those of all workspaces that were replaced."""
        kind = KINDS[self.record]
        with self._store.snapshot() as store:
            keys = {*store.iterate_keys(kind), *(store.hidden_keys(kind) if hidden else ())}
            return self._read(store, store.document_ids(kind, keys).values(), filters)

    def _listed(
        self, records: Iterable[Kept], since: Moment | None, limit: int | None, **wanted: str | None
    ) -> list[Kept]:
        """Return the records whose fields have these values, newest first; None leaves a field open."""
        declared = codec.fields_of(self.record)
        only = without_none(**wanted)
        for name, value in only.items():
            kind = declared[name].choice
            only[name] = value if kind is None else parse_choice(kind, value, declared[name].label or name)
        earliest = parse_moment(since, "since") if since is not None else 0.0
        most = None if limit is None else checked_limit(limit)
        chosen = [
            record
            for record in records
            if record.created >= earliest and all(getattr(record, name) == value for name, value in only.items())
        ]
        return sorted(chosen, key=lambda record: (-record.created, record.id))[:most]

    def _read(self, store: Store, documents: Iterable[int], filters: Filters = NO_FILTERS) -> list[Kept]:
        """Return the records of these documents that fit in one state of the store, in this order."""
        ids = list(documents)
        present, texts = store.documents(ids), store.texts(ids)
        fitting = [number for number in ids if number in present and filters.fits(present[number])]
        return [self._shown(present[number], texts.get(number, "")) for number in fitting]

    def _shown(self, document: Document, text: str) -> Kept:
        return stored(self.record, self._notebook.shown(document), sanitize.text(text, self._notebook.allow))


def without_evidence(value: Value, gone: Mapping[str, Experience]) -> Value:
    """Return a value that no longer rests on these experiences."""
    lost = [gone[member] for member in value.member_ids if member in gone]
    return replace(
        value,
        member_ids=tuple(member for member in value.member_ids if member not in gone),
        cluster_size=value.cluster_size - len(lost),
        domains=+(Counter(value.domains) - Counter(str(experience.domain) for experience in lost)),
        strategies=+(Counter(value.strategies) - Counter(str(experience.strategy) for experience in lost)),
    )


def exchange_record(exchange: Exchange, notebook: Notebook, origin: str) -> ExchangeRecord:
    """Return an exchange as it is kept, cleaned and redacted."""
    exchange = replace(
        exchange, said=notebook.safe(exchange.said), replies=tuple(notebook.safe(reply) for reply in exchange.replies)
    )  # redacted before it is cut: half of a secret is not recognised
    return ExchangeRecord(
        id=exchange.key,
        title=notebook.safe_field(title_of(exchange), _FIELD_CHARACTERS),
        text=notebook.safe(shown_text(exchange)) or "(empty)",
        fields=_exchange_fields(exchange, notebook),
        origin=origin,
        workspace=notebook.workspace,
        created=exchange.time,
        updated=exchange.time,
    )


def _exchange_fields(exchange: Exchange, notebook: Notebook) -> Json:
    """Return the non-empty fields of an exchange besides its text."""
    tools = Counter(notebook.safe_field(action.tool, _FIELD_CHARACTERS) for action in exchange.actions)
    fields = {
        "session": exchange.session,
        "exchange": exchange.id,
        "created_at": iso_time(exchange.time) if exchange.time else "",
        "speaker": notebook.safe_field(exchange.speaker, _FIELD_CHARACTERS),
        "branch": notebook.safe_field(exchange.branch, _FIELD_CHARACTERS),
        "tools": dict(sorted(tools.items())),
        "failed_tools": sum(action.failed for action in exchange.actions),
        "compaction": exchange.compaction,
        "sidechain": exchange.sidechain,
        "asks": exchange.asks,
    }
    return {name: value for name, value in fields.items() if value}


_TRASH = "trash:"


def discard(
    store: Store, writer: Writer, records: Iterable[Record], moment: float, resting: Sequence[Value] = ()
) -> None:
    """Keep records that this transaction removes in the trash. `resting` are values that lose them as evidence."""
    for record in records:
        evidence_of = [value.id for value in resting if record.id in value.member_ids]
        entry = {"forgotten_at": moment, "evidence_of": evidence_of, **record_data(record)}
        writer.set_meta(_TRASH + record.id, json.dumps(entry, ensure_ascii=False))
    empty_old(store, writer, moment)


def take_out(writer: Writer, identities: Iterable[str]) -> None:
    """Remove records from the trash that are stored again."""
    for identity in identities:
        writer.unset_meta(_TRASH + identity)


def empty_old(store: Store, writer: Writer, moment: float) -> None:
    """Remove what has been in the trash for too long."""
    earliest = moment - TRASH_DAYS * 86_400  # day seconds
    old = [key for key, entry in _discarded(store).items() if entry["forgotten_at"] < earliest]
    writer.merge(never)
    if old:
        _purge(writer, [key.removeprefix(_TRASH) for key in old])


def purge(store: Store, identities: Iterable[str]) -> None:
    """Remove records in the trash for good, from the file and its backups."""
    with store.write() as writer:
        _purge(writer, identities)


def _purge(writer: Writer, identities: Iterable[str]) -> None:
    take_out(writer, identities)
    writer.purge()


def trash_of(store: Store, workspaces: Iterable[str] | None = None) -> dict[str, Record]:
    """Return the records in the trash by id, the last forgotten first, without what an import stored anew."""
    entries = sorted(_discarded(store).values(), key=lambda entry: (-entry["forgotten_at"], entry["id"]))
    ids = [entry["id"] for entry in entries]
    here = {key for kind in RECORDS for key in store.document_ids(kind, ids)}
    return {
        entry["id"]: imported(entry)
        for entry in entries
        if entry["id"] not in here and (workspaces is None or entry["workspace"] in workspaces)
    }


def move_discarded(store: Store, writer: Writer, others: Iterable[str], workspace: str) -> None:
    """Give the records of some workspaces in the trash, and those to be reviewed, to another one."""
    waiting = {key: json.loads(value) for key, value in store.metas("candidate:").items()}
    for key, entry in {**_discarded(store), **waiting}.items():
        if entry["workspace"] in others:
            writer.set_meta(key, json.dumps({**entry, "workspace": workspace}, ensure_ascii=False))


def _discarded(store: Store) -> dict[str, dict[str, Any]]:
    return {key: json.loads(value) for key, value in store.metas(_TRASH).items()}


def chosen_of(records: Iterable[Record]) -> Chosen:
    """Return records by their kind."""
    kinds: dict[type, list[Any]] = {Memory: [], ExchangeRecord: [], Experience: [], Value: []}
    for record in records:
        kinds[type(record)].append(record)
    remarks = [Remark(kind.id, kind.title, kind.created, kind.origin) for kind in kinds[ExchangeRecord]]
    return Chosen(kinds[Memory], remarks, kinds[Experience], kinds[Value])


def chosen_from(store: Store, identities: Sequence[str]) -> dict[str, Record]:
    """Return records in the trash with the older memories that they replaced. Raises UsageError for an unknown id."""
    trash, chosen = trash_of(store), dict[str, Record]()
    ids = [identity.removeprefix(f"{Kind.CONVERSATION}:") for identity in reversed(identities)]
    while ids:
        record = trash.get(identity := ids.pop())
        if record is None:
            raise UsageError(f"{identity!r} is not in the trash: what is forgotten stays there for {TRASH_DAYS} days")
        chosen[identity] = record
        # Links in the trash are of several times, so that two records may each have replaced the other one.
        if isinstance(record, Memory) and record.supersedes in trash and record.supersedes not in chosen:
            ids.append(record.supersedes)
    return chosen


def linked(store: Store, memories: Sequence[Memory]) -> list[Memory]:
    """Return memories with their links to those that exist, and these with their links back."""
    back = {memory.id: memory for memory in memories}
    present = store.keys(Kind.MEMORY) | back.keys()
    newer = records_in(store, Memory, [memory.superseded_by for memory in memories])
    linked = [
        replace(current, supersedes=memory.id)
        for current in newer
        for memory in memories
        if memory.superseded_by == current.id and not current.supersedes
    ]
    return linked + [
        replace(
            memory,
            supersedes=memory.supersedes if memory.supersedes in present else "",
            superseded_by=memory.superseded_by if memory.superseded_by in present else "",
        )
        for memory in memories
    ]


def supported(store: Store, experiences: Sequence[Experience]) -> list[Value]:
    """Return the values that rest on these experiences again."""
    entries: Mapping[str, dict[str, Any]] = _discarded(store)
    values: dict[str, Value] = {}
    for experience in experiences:
        evidence_of = entries[_TRASH + experience.id]["evidence_of"]
        for present in records_in(store, Value, evidence_of):
            value = values.get(present.id, present)
            values[value.id] = replace(
                value,
                member_ids=(*value.member_ids, experience.id),
                cluster_size=value.cluster_size + 1,
                domains=Counter(value.domains) + Counter([str(experience.domain)]),
                strategies=Counter(value.strategies) + Counter([str(experience.strategy)]),
            )
    return list(values.values())
