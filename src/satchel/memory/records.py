"""Conversion of memories, experiences, values and exchanges of conversations to stored documents and back.

An experience has one chunk for each axis, so that each axis is searched separately; the name of a chunk is its axis,
and the fields contain the complete experience. The other records have one chunk each.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from satchel import codec
from satchel import text as words
from satchel.codec import Clean, Codec, Data, iso_time
from satchel.errors import LockedError, StoreError, UsageError
from satchel.memory.model import Experience, Memory, Value, dated, without_usual
from satchel.memory.scope import Notebook
from satchel.sources.conversations import Exchange, searched_terms, shown_text, title_of
from satchel.sources.experiences import axis_texts
from satchel.store.extract import extract, extract_record
from satchel.store.protocol import WORDS_VERSION, Store
from satchel.store.records import Document, NewDocument
from satchel.store.segments import SegmentDocument
from satchel.system import telemetry
from satchel.types import EdgeType, Kind, Outline, Part, Reference, Role
from satchel.vocabulary import MEMORY_KINDS, MemoryCategory, Provenance, Visibility, choices

if TYPE_CHECKING:
    from satchel.store.database import DatabaseStore

TITLE_CHARACTERS = 100
"""Length limit of a title, the beginning of the text on one line."""

EXCHANGE_CHARACTERS = 200_000
"""Length limit of an exchange in an import; those of transcripts are far shorter, because they are cut."""

IMPORTED_NAME_CHARACTERS = 300
"""Length limit of an id, a title and a field of an exchange in an import."""

_FIELD_CHARACTERS = 200
_DIGEST_BYTES = 8
_KEY = re.compile(r"[^\s\x00-\x1f]+")

_MEMORY_FIELDS = ("category", "importance", "provenance", "created_at", "supersedes", "superseded_by", "workspace",
                  "visibility", "author")  # fmt: skip
_EXPERIENCE_FIELDS = (
    *("domain", "strategy", "goal", "hypothesis", "action", "prediction", "history", "iteration_count", "notes"),
    *("outcome_status", "outcome_result", "captured_at", "auto_captured"),
    *("surprise", "root_cause", "lesson", "confidence_tier", "session_id", "created_at", "workspace"),
    *("visibility", "author"),
)
_VALUE_FIELDS = (
    *("axis", "cluster_id", "cluster_size", "similarity_to_centroid", "member_ids", "domains", "strategies", "label"),
    *("workspace", "created_at", "visibility", "author"),
)
_VALUE_LINE = ("type", "id", "content", "axis", "cluster_id", "member_ids", "created_at", "workspace")
_EXCHANGE_TEXTS = ("session", "exchange", "created_at", "speaker", "branch")
_EXCHANGE_FLAGS = ("compaction", "sidechain", "asks")


def _select(data: Data, names: tuple[str, ...]) -> dict[str, Any]:
    return without_usual({name: data[name] for name in names})


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
    log: nearly all words are still found.
    """
    try:
        with store.write() as writer:
            if store.meta(WORDS_VERSION) != words.ANALYSIS_VERSION:  # another process may have done it by now
                for kind in MEMORY_KINDS:
                    writer.replace_words(kind, _stored_documents(store, kind))
                writer.set_meta(WORDS_VERSION, words.ANALYSIS_VERSION)
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


def memory_document(memory: Memory) -> NewDocument:
    """Prepare a memory for the store. Its category and tags are searched as path terms."""
    return NewDocument(
        kind=Kind.MEMORY,
        key=memory.id,
        text=memory.content,
        extraction=extract_record(memory.content, Kind.MEMORY),
        path_terms=_path_terms(Kind.MEMORY, {"category": memory.category}, memory.tags),
        title=_title(memory.content),
        tags=memory.tags,
        fields=_select(codec.dump(memory), _MEMORY_FIELDS),
        created=memory.created,
        updated=memory.updated,
        importance=memory.importance,
        origin=memory.origin,
        workspace=memory.workspace,
    )


def memory_of(document: Document, text: str) -> Memory:
    """Return the memory in a stored document; a category that only a newer version knows is read as `fact`."""
    fields = document.fields
    category = fields.get("category")
    return Memory(
        id=document.key,
        content=text,
        category=MemoryCategory(category) if category in choices(MemoryCategory) else MemoryCategory.FACT,
        importance=document.importance if document.importance is not None else 0.0,
        tags=document.tags,
        provenance=Provenance(fields["provenance"]),
        origin=document.origin,
        workspace=document.workspace,
        created=document.created,
        updated=document.updated,
        supersedes=fields.get("supersedes", ""),
        superseded_by=fields.get("superseded_by", ""),
        visibility=Visibility(fields.get("visibility", Visibility.PRIVATE)),
        author=fields.get("author", ""),
    )


def experience_document(experience: Experience) -> NewDocument:
    """Prepare a resolved experience for the store. Its domain and strategy are searched as path terms."""
    fields = _experience_fields(experience)
    texts = axis_texts(fields)
    parts, line = [], 1
    for text in texts.values():
        count = text.count("\n") + 1
        parts.append(Part(Role.RECORD, "", line, line + count - 1))
        line += count
    whole = "\n".join(texts.values())
    # Names are set after the extraction: "root cause" in a question must not match the name of every root cause.
    extraction = extract(whole, Outline(Kind.EXPERIENCE, tuple(parts)))
    extraction.parts = tuple(replace(part, name=axis.value) for part, axis in zip(parts, texts, strict=True))
    return NewDocument(
        kind=Kind.EXPERIENCE,
        key=experience.id,
        text=whole,
        extraction=extraction,
        path_terms=_path_terms(Kind.EXPERIENCE, fields),
        title=_title(experience.goal),
        fields=fields,
        created=experience.created,
        updated=experience.updated,
        origin=experience.origin,
        workspace=experience.workspace,
    )


def _experience_fields(experience: Experience) -> dict[str, Any]:
    """Return the fields of a resolved experience with the outcome flattened; a missing text is empty."""
    data = codec.dump(experience)
    outcome, lesson = data["outcome"], experience.lesson
    data |= {"outcome_status": outcome["status"], "outcome_result": outcome["result"]}
    data |= {"captured_at": outcome["captured_at"], "auto_captured": outcome["auto_captured"]}
    data |= {"surprise": experience.surprise, "confidence_tier": data["confidence_tier"] or ""}
    data["lesson"] = {"what_worked": lesson.what_worked, "takeaway": lesson.takeaway} if lesson else None
    return _select(data, _EXPERIENCE_FIELDS)


def experience_of(document: Document) -> Experience:
    """Return the experience in a stored document."""
    fields = document.fields
    outcome = {
        "status": fields["outcome_status"],
        "result": fields["outcome_result"],
        "captured_at": fields["captured_at"],
        "auto_captured": fields["auto_captured"],
    }
    data = {**fields, "id": document.key, "updated_at": fields["created_at"], "outcome": outcome}
    data |= {"origin": document.origin, "workspace": document.workspace}
    return replace(codec.load(Experience, data, None), created=document.created, updated=document.updated)


def value_document(value: Value) -> NewDocument:
    """Prepare a value for the store, with an edge to each member."""
    fields = _select(_value_data(value), _VALUE_FIELDS)
    return NewDocument(
        kind=Kind.VALUE,
        key=value.id,
        text=value.text,
        extraction=extract_record(value.text, Kind.VALUE),
        path_terms=_path_terms(Kind.VALUE, fields),
        title=value.text[:TITLE_CHARACTERS],
        fields=fields,
        references=tuple(Reference(EdgeType.EVIDENCE, f"{Kind.EXPERIENCE}:{member}") for member in value.member_ids),
        created=value.created,
        updated=value.created,
        origin="values",
        workspace=value.workspace,
    )


def value_line(value: Value) -> dict[str, Any]:
    """Return a value for an export: its text and members; an import measures the rest again."""
    return _select({"type": "value", "content": value.text, **_value_data(value)}, _VALUE_LINE)


def _value_data(value: Value) -> dict[str, Any]:
    return {**codec.plain(value), "created_at": iso_time(value.created)}


def value_of(document: Document, text: str) -> Value:
    """Return the value in a stored document."""
    fields = {name: document.fields[name] for name in _VALUE_FIELDS if name in document.fields}
    del fields["workspace"], fields["created_at"]
    fields["member_ids"] = tuple(fields["member_ids"])
    return Value(id=document.key, text=text, workspace=document.workspace, created=document.created, **fields)


def without_evidence(value: Value, gone: Mapping[str, Experience]) -> Value:
    """Return a value that no longer rests on these experiences."""
    lost = [gone[member] for member in value.member_ids if member in gone]
    return replace(
        value,
        member_ids=tuple(member for member in value.member_ids if member not in gone),
        cluster_size=value.cluster_size - len(lost),
        domains=+(Counter(value.domains) - Counter(str(one.domain) for one in lost)),
        strategies=+(Counter(value.strategies) - Counter(str(one.strategy) for one in lost)),
    )


def exchange_document(exchange: Exchange, notebook: Notebook, origin: str) -> NewDocument:
    """Prepare an exchange for the store, cleaned and redacted."""
    exchange = replace(
        exchange, said=notebook.safe(exchange.said), replies=tuple(notebook.safe(reply) for reply in exchange.replies)
    )  # redacted before it is cut: half of a secret is not recognised
    line = ExchangeLine(
        id=exchange.key,
        title=notebook.safe_field(title_of(exchange), _FIELD_CHARACTERS),
        text=notebook.safe(shown_text(exchange)) or "(empty)",
        fields=_exchange_fields(exchange, notebook),
        origin=origin,
        workspace=notebook.workspace,
        created=exchange.time,
        updated=exchange.time,
    )
    return _line_document(line, exchange.time)


def _exchange_fields(exchange: Exchange, notebook: Notebook) -> dict[str, Any]:
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


def _load_key(name: str, value: Any, clean: Clean | None) -> str:
    key: str = codec.text(IMPORTED_NAME_CHARACTERS).load(name, value, clean and str)
    if _KEY.fullmatch(key) is None:
        raise UsageError(f"{name} is {key!r}: it has no blanks")
    return key


def _load_fields(name: str, value: Any, clean: Clean | None) -> dict[str, Any]:
    """Read the fields of an exchange in the order of the line, so that its export is the same line."""
    text, times = codec.text(IMPORTED_NAME_CHARACTERS), codec.count(0, "it is a number of times")
    clean = clean or str
    fields: dict[str, Any] = {}
    for key, inner in _mapping(name, value).items():
        if key in _EXCHANGE_TEXTS:
            fields[key] = text.load(key, inner, clean)
        elif key == "tools":
            tools = _mapping(key, inner)
            fields[key] = {clean(tool): times.load(tool, tools[tool], clean) for tool in tools}
        elif key == "failed_tools":
            fields[key] = times.load(key, inner, clean)
        elif key in _EXCHANGE_FLAGS:
            fields[key] = inner is True
    return fields


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if value and not isinstance(value, Mapping):
        raise UsageError(f"{name} is {type(value).__name__}: it is an object")
    return value or {}


_ExchangeName = Annotated[str, codec.text(IMPORTED_NAME_CHARACTERS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeLine:
    """An exchange on a line of an export, with its text as shown, independent of the transcript."""

    id: Annotated[str, Codec(_load_key)]
    title: _ExchangeName = ""
    text: Annotated[str, codec.text(EXCHANGE_CHARACTERS, required=True)]
    fields: Annotated[Mapping[str, Any], Codec(_load_fields, dict)]
    origin: _ExchangeName = ""
    workspace: _ExchangeName = ""
    created: Annotated[float, codec.moment("created_at")]
    updated: Annotated[float, codec.moment("updated_at")]


def exchange_data(document: Document, text: str) -> dict[str, Any]:
    """Return a stored exchange as plain values, in a fixed order."""
    line = ExchangeLine(
        id=document.key,
        title=document.title,
        text=text,
        fields=document.fields,
        origin=document.origin,
        workspace=document.workspace,
        created=document.created,
        updated=document.updated,
    )
    return {"type": "conversation", **codec.dump(line)}


def exchange_from(data: Data, clean: Clean) -> NewDocument:
    """Read an exchange from the plain values of an export. Raises UsageError."""
    line = codec.load(ExchangeLine, {**data, **dated(data, data.get("created_at"))}, clean)
    return _line_document(line, line.created)


def _line_document(line: ExchangeLine, time: float) -> NewDocument:
    """Prepare an exchange for the store. The speaker is searched as a signature."""
    speaker = line.fields.get("speaker", "")
    part = Part(Role.RECORD, "", 1, line.text.count("\n") + 1, speaker)
    return NewDocument(
        kind=Kind.CONVERSATION,
        key=line.id,
        text=line.text,
        extraction=extract(line.text, Outline(Kind.CONVERSATION, (part,)))
        if speaker
        else extract_record(line.text, Kind.CONVERSATION),
        path_terms=_path_terms(Kind.CONVERSATION, line.fields, (), time),
        content_hash=hashlib.blake2b(line.text.encode(), digest_size=_DIGEST_BYTES).hexdigest(),
        title=line.title,
        fields=line.fields,
        created=line.created,
        updated=line.updated,
        origin=line.origin,
        workspace=line.workspace,
    )
