"""The records of the memory: memories, experiences, the values derived from them, and exchanges of conversations.

The annotation of a field declares its name in JSON, its schema, and its checks on import.
Times are seconds since the epoch (UTC). `workspace` is the identity of the repository that a record belongs to, empty
for a record that belongs to all of them. `author` is who made it on a server, empty in a file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, NamedTuple

from msgspec import Struct

from satchel import codec, vocabulary
from satchel import text as words
from satchel.codec import Clean
from satchel.errors import UsageError
from satchel.system.globs import LONGEST_GLOB
from satchel.text import pattern
from satchel.types import Data, Json, Kind

NAME_CHARACTERS = 100
"""Longest id, session, workspace and origin."""

MAX_NOTES = 1_000
"""Limit of the notes, and of the earlier attempts, of one experience."""

IMPORTED_NAME_CHARACTERS = 300
"""Length limit of an id, a title and a field of an exchange in an import."""

_KEY = pattern(r"[^\s\x00-\x1f]+")
_EXCHANGE_TEXTS = ("session", "exchange", "created_at", "speaker", "branch")
_EXCHANGE_FLAGS = ("compaction", "sidechain", "asks")

Identity = Annotated[str, codec.identifier(NAME_CHARACTERS)]
RequiredIdentity = Annotated[str, codec.identifier(NAME_CHARACTERS, required=True)]
Name = Annotated[str, codec.text(NAME_CHARACTERS)]
Statement = Annotated[str, codec.text(vocabulary.STATEMENT_CHARACTERS)]
RequiredStatement = Annotated[str, codec.text(vocabulary.STATEMENT_CHARACTERS, required=True)]
Report = Annotated[str, codec.text(vocabulary.REPORT_CHARACTERS)]
OptionalReport = Annotated[str, codec.text(vocabulary.REPORT_CHARACTERS, nullable=True)]
Seen = Annotated[vocabulary.Visibility, codec.choice(vocabulary.Visibility, required=False)]
Counts = Annotated[Mapping[str, int], codec.counts()]
Files = Annotated[tuple[str, ...], codec.texts(vocabulary.MAX_BOUND_FILES, LONGEST_GLOB, unique=True)]
Created = Annotated[float, codec.moment("created_at")]
Updated = Annotated[float, codec.moment("updated_at")]
When = Annotated[str, codec.Field({"type": "string"}, load=lambda name, value, clean: (
    codec.iso_time(vocabulary.parse_moment(value, name)) if clean and value else value
))]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory. `importance` is 0 to 1; memories of one `origin` can be forgotten together.

    It is true from `valid_from` (by default from when it was made) until `valid_to`, or until it is replaced.
    `supersedes` is the id of the memory that this one replaces, `superseded_by` of the one that replaces it. A replaced
    memory is kept, but is not searched. `files` are globs of the files that it is about.
    """

    id: RequiredIdentity
    content: Annotated[str, codec.text(vocabulary.MEMORY_CHARACTERS, required=True, label="a memory")]
    category: Annotated[
        vocabulary.MemoryCategory,
        codec.choice(vocabulary.MemoryCategory, required=False, newer=vocabulary.MemoryCategory.FACT),
    ] = vocabulary.MemoryCategory.FACT
    importance: Annotated[float, codec.share()] = vocabulary.DEFAULT_IMPORTANCE
    tags: Annotated[tuple[str, ...], codec.texts(vocabulary.MAX_TAGS, vocabulary.TAG_CHARACTERS, unique=True)] = ()
    provenance: Annotated[vocabulary.Provenance, codec.choice(vocabulary.Provenance, required=False)] = (
        vocabulary.Provenance.USER
    )
    origin: Name = ""
    workspace: Name = ""
    created: Created = 0.0
    updated: Updated = 0.0
    supersedes: Identity = ""
    superseded_by: Identity = ""
    valid_from: When = ""
    valid_to: When = ""
    files: Files = ()
    visibility: Seen = vocabulary.Visibility.PRIVATE
    author: Name = ""

    @property
    def begins(self) -> float:
        """Seconds since the epoch from which it is true."""
        return vocabulary.parse_moment(self.valid_from) if self.valid_from else self.created


class Remark(Struct, frozen=True):
    """The summary of an exchange of a conversation: id, beginning, time and source."""

    id: str
    title: str
    created: float
    origin: str


class Chosen(Struct, frozen=True):
    """Records of several kinds that go together, how many more were `left`, and whether these are forgotten by now."""

    memories: Sequence[Memory] = ()
    conversations: Sequence[Remark] = ()
    experiences: Sequence[Experience] = ()
    values: Sequence[Value] = ()
    left: int = 0
    is_forgotten: bool = False

    @property
    def ids(self) -> list[str]:
        """The ids of all records."""
        chosen: Sequence[Record | Remark] = (*self.memories, *self.conversations, *self.experiences, *self.values)
        return [record.id for record in chosen]


class Waiting(NamedTuple):
    """A candidate that waits. `created` is the time of its proposal; `quote` is what it rests on."""

    id: str
    kind: str
    text: str
    quote: str
    source: str
    created: float
    fields: Data


class FoundMemory(Struct, frozen=True):
    """A memory with its `score`, 0 to 1: relevance or similarity.

    `newer` is the id of a newer one that differs from it, and `against` that of an older decision or prohibition that
    it contradicts; nobody has linked them.
    """

    memory: Memory
    score: float
    newer: str = ""
    against: str = ""


class Remembered(Struct, frozen=True):
    """A new memory, its visible near-duplicates, and the older memories that it contradicts, newest first."""

    memory: Memory
    similar: tuple[FoundMemory, ...] = ()
    contradicts: tuple[Memory, ...] = ()


class Attempt(Struct, frozen=True):
    """The hypothesis, action and prediction of an earlier attempt, until `timestamp`."""

    timestamp: Annotated[float, codec.moment("timestamp")]
    hypothesis: Statement
    action: Statement
    prediction: Statement


class Outcome(Struct, frozen=True):
    """How an experience ended; `auto_captured` if satchel ran the command that showed it."""

    status: Annotated[vocabulary.OutcomeStatus, codec.choice(vocabulary.OutcomeStatus)]
    result: Report
    captured_at: Annotated[float, codec.moment("captured_at")]
    auto_captured: Annotated[bool, codec.flag()] = False


class RootCause(Struct, frozen=True):
    """Why the hypothesis was wrong."""

    category: Annotated[vocabulary.RootCauseCategory, codec.choice(vocabulary.RootCauseCategory, label="root cause")]
    description: Annotated[str, codec.text(vocabulary.REPORT_CHARACTERS, label="the description of the root cause")] = (
        ""
    )


class Lesson(Struct, frozen=True):
    """The part of an experience that is worth keeping."""

    what_worked: Annotated[str, codec.text(vocabulary.REPORT_CHARACTERS, label="the lesson")]
    takeaway: OptionalReport = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A goal, a hypothesis, an action and a prediction with their outcome; active while `outcome` is None.

    `history` has the earlier attempts, oldest first; `iteration_count` counts attempts from 1. `files` are globs of the
    files that it is about, with the paths of those that its session changed.
    """

    id: RequiredIdentity
    session_id: Name = ""
    workspace: Name = ""
    created: Created = 0.0
    updated: Updated = 0.0
    domain: Annotated[vocabulary.Domain, codec.choice(vocabulary.Domain)]
    strategy: Annotated[vocabulary.Strategy, codec.choice(vocabulary.Strategy)]
    goal: RequiredStatement
    hypothesis: RequiredStatement
    action: RequiredStatement
    prediction: RequiredStatement
    history: Annotated[tuple[Attempt, ...], codec.many(codec.record_of(Attempt), MAX_NOTES)] = ()
    iteration_count: Annotated[int, codec.count(1, "it counts from 1")] = 1
    notes: Annotated[tuple[str, ...], codec.texts(MAX_NOTES, vocabulary.REPORT_CHARACTERS)] = ()
    outcome: Annotated[Outcome | None, codec.maybe(codec.record_of(Outcome))] = None
    surprise: OptionalReport = ""
    root_cause: Annotated[RootCause | None, codec.maybe(codec.record_of(RootCause))] = None
    lesson: Annotated[Lesson | None, codec.maybe(codec.record_of(Lesson))] = None
    confidence_tier: Annotated[
        vocabulary.ConfidenceTier | None,
        codec.choice(vocabulary.ConfidenceTier, required=False, nullable=True, label="tier"),
    ] = None
    origin: Name = ""
    files: Files = ()
    visibility: Seen = vocabulary.Visibility.PRIVATE
    author: Name = ""

    @property
    def status(self) -> str:
        """`active`, or the status of the outcome."""
        return vocabulary.ACTIVE if self.outcome is None else self.outcome.status.value


def _load_key(name: str, value: Any, clean: Clean | None) -> str:
    key: str = codec.text(IMPORTED_NAME_CHARACTERS).load(name, value, clean and str)
    if _KEY.fullmatch(key) is None:
        raise UsageError(f"{name} is {key!r}: it must not contain blanks")
    return key


def _load_fields(name: str, value: Any, clean: Clean | None) -> Json:
    """Read the fields of an exchange in the order of the line, so that its export is the same line."""
    text, times = codec.text(IMPORTED_NAME_CHARACTERS), codec.count(0, "it is a number of times")
    fields: Json = {}
    if clean is None:
        return dict(value)
    for key, inner in _mapping(name, value).items():
        if key in _EXCHANGE_TEXTS:
            fields[key] = text.load(key, inner, clean)
        elif key == "tools":
            fields[key] = {clean(tool): times.load(tool, uses, clean) for tool, uses in _mapping(key, inner).items()}
        elif key == "failed_tools":
            fields[key] = times.load(key, inner, clean)
        elif key in _EXCHANGE_FLAGS:
            fields[key] = inner is True
    return fields


def _mapping(name: str, value: Any) -> Data:
    if value and not isinstance(value, Mapping):
        raise UsageError(f"{name} is {type(value).__name__}: it must be an object")
    return value or {}


_ExchangeName = Annotated[str, codec.text(IMPORTED_NAME_CHARACTERS)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExchangeRecord:
    """An exchange of a conversation with its text as shown, independent of the transcript."""

    id: Annotated[str, codec.Field({"type": "string"}, load=_load_key)]
    title: _ExchangeName = ""
    # Length limit of an exchange in an import; those of transcripts are far shorter, because they are cut.
    text: Annotated[str, codec.text(200_000, required=True)]
    fields: Annotated[Data, codec.Field({"type": "object"}, dict, load=_load_fields)]
    origin: _ExchangeName = ""
    workspace: _ExchangeName = ""
    created: Created
    updated: Updated


class Started(Struct, frozen=True):
    """A new experience, and the active ones of other sessions in the same workspace."""

    experience: Experience
    orphans: tuple[Experience, ...] = ()


class LineProblem(Struct, frozen=True):
    """Why a line of an import was left out; lines count from 1."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """Counts of records that an import added, replaced by a newer state or left unchanged, and the unusable lines.

    `passed_over` counts records that do not belong to the import, by reason.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    problems: tuple[LineProblem, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Cluster:
    """A group of experiences. `members` are their ids, the most central first."""

    id: str
    axis: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Validation:
    """Cosine distance (0 to 2) of a text to a group; `threshold` is the largest distance inside the group."""

    distance: float
    mean: float
    deviation: float
    threshold: float

    @property
    def is_inside(self) -> bool:
        """True if the text belongs to the group."""
        return self.distance <= self.threshold

    @property
    def similarity(self) -> float:
        """Cosine of the text and the centre, -1 to 1."""
        return 1.0 - self.distance


@dataclass(frozen=True, slots=True)
class Grouping:
    """The groups of one axis. `label` names the space; `reason` explains why there are none, else empty."""

    axis: str
    label: str
    entries: int
    clusters: tuple[Cluster, ...]
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Member:
    """One experience of a group: its text on the axis, and its cosine to the centre."""

    id: str
    text: str
    similarity: float
    tier: str


@dataclass(frozen=True, slots=True)
class Value:
    """One accepted value. `similarity_to_centroid` is a cosine; `cluster_size` is the size at acceptance."""

    id: RequiredIdentity
    text: Annotated[str, codec.text(vocabulary.VALUE_CHARACTERS, key="content", label="the value")]
    axis: Annotated[str, codec.choice(vocabulary.Axis)]
    cluster_id: RequiredIdentity
    cluster_size: Annotated[int, codec.Field({"type": "integer"})] = 0
    similarity_to_centroid: Annotated[float, codec.Field({"type": "number"})] = 0.0
    member_ids: Annotated[tuple[str, ...], codec.texts(vocabulary.LARGEST_LIMIT, NAME_CHARACTERS)] = ()
    domains: Counts = field(default_factory=dict)
    strategies: Counts = field(default_factory=dict)
    label: Name = ""
    workspace: Name = ""
    created: Created = 0.0
    visibility: Seen = vocabulary.Visibility.PRIVATE
    author: Name = ""

    @property
    def updated(self) -> float:
        """The time of the acceptance: a value that is corrected keeps it."""
        return self.created


class ValueProposal(Struct, frozen=True):
    """A suggested value for a group, and its validation; `support` counts the members that say it.

    It is the lesson of a `member`, as an example, or without one the sentence of a model. `note` says why a model that
    is configured gave none.
    """

    cluster: Cluster
    text: str
    member: str
    validation: Validation | None
    support: int = 0
    note: str = ""

    @property
    def shown(self) -> str:
        """The text; that of a member is an example of what the others say."""
        return f"example: {self.text}" if self.member else self.text


Record = Memory | Experience | Value | ExchangeRecord

RECORDS: Mapping[Kind, type[Record]] = {
    Kind.MEMORY: Memory, Kind.EXPERIENCE: Experience, Kind.VALUE: Value, Kind.CONVERSATION: ExchangeRecord,
}  # fmt: skip
"""Kind -> the record whose annotations declare its fields, their names in JSON, and their checks."""

KINDS: Mapping[type[Any], Kind] = {record: kind for kind, record in RECORDS.items()}

_USUAL = {
    "visibility": vocabulary.Visibility.PRIVATE, "author": "", "valid_from": "", "valid_to": "", "files": [],
}  # fmt: skip
_LINE_OF_VALUE = ("type", "id", "content", "axis", "cluster_id", "member_ids", "created_at", "workspace")


def without_usual(data: Data) -> Json:
    """Return a record without the fields that came later and are as usual: files in the world have such ones."""
    return {name: value for name, value in data.items() if name not in _USUAL or value != _USUAL[name]}


def record_data(record: Record) -> Json:
    """Return a record as plain values with its type, in a fixed order; a missing part is None."""
    return {"type": str(KINDS[type(record)]), **codec.dump(record)}


def exported(record: Record) -> Json:
    """Return a record as a line of an export; of a value only its text and members, because the rest is measured."""
    data = record_data(record)
    return {name: data[name] for name in _LINE_OF_VALUE} if isinstance(record, Value) else without_usual(data)


def imported(data: Data, clean: Clean = str) -> Record:
    """Read a record from a line of an export. Raises UsageError."""
    name = data.get("type")
    if not isinstance(name, str) or name not in RECORDS:
        raise UsageError(f"type is {name!r}: choose from memory, experience, value, conversation")
    kind = Kind(name)
    if kind is Kind.EXPERIENCE:
        return experience_from(data, clean)
    is_unnamed = kind is Kind.MEMORY and data.get("provenance") in (None, "")
    filled = {**data, **_dated(data, data.get("created_at"))} | ({"provenance": "import"} if is_unnamed else {})
    return codec.load(RECORDS[kind], filled, clean)


def experience_from(data: Data, clean: Clean = str) -> Experience:
    """Read an experience from the plain values of an export; without an outcome it is active. Raises UsageError.

    The lines of CALM and CLAMS are read as well. Surprise, root cause and lesson may be missing; a missing or unknown
    tier is derived.
    """
    ended, history, outcome = map(data.get, ("created_at", "history", "outcome"))
    if isinstance(outcome, Mapping):
        ended = ended if outcome.get("captured_at") is None else outcome["captured_at"]
        outcome = {**outcome, "captured_at": ended}
    attempts = len(history) if isinstance(history, list) else 0
    tier = data.get("confidence_tier")
    filled = {"iteration_count": attempts + 1, **data, "outcome": outcome, **_dated(data, ended)}
    if outcome is None or (isinstance(tier, str) and tier not in vocabulary.choices(vocabulary.ConfidenceTier)):
        filled["confidence_tier"] = None
    experience = codec.load(Experience, filled, clean)
    ended_as, rank = experience.outcome, experience.confidence_tier
    if ended_as is not None and rank is None:
        rank = tier_of(ended_as.status, experience.hypothesis, experience.goal, auto_captured=ended_as.auto_captured)
    lesson = None if experience.lesson == Lesson("") else experience.lesson
    return replace(experience, lesson=lesson, confidence_tier=rank)


def _dated(data: Data, default: Any) -> Json:
    """Return the time of the last change, by default another one."""
    return {"updated_at": default if data.get("updated_at") is None else data["updated_at"]}


VAGUE_STEMS = frozenset(words.stem(word) for word in words.ENGLISH["vague"])
"""Stems of words that fit any problem."""


def tier_of(
    status: vocabulary.OutcomeStatus, hypothesis: str, goal: str, *, auto_captured: bool
) -> vocabulary.ConfidenceTier:
    """Return the confidence tier of a finished experience.

    gold       the outcome was captured from a command
    silver     the outcome was reported
    bronze     the outcome was reported, and the hypothesis is poor
    abandoned  there is no outcome
    """
    if status is vocabulary.OutcomeStatus.ABANDONED:
        return vocabulary.ConfidenceTier.ABANDONED
    if auto_captured:
        return vocabulary.ConfidenceTier.GOLD
    return vocabulary.ConfidenceTier.BRONZE if is_poor(hypothesis, goal) else vocabulary.ConfidenceTier.SILVER


def is_poor(hypothesis: str, goal: str) -> bool:
    """Return whether a hypothesis names neither a cause nor a place.

    A poor hypothesis has fewer than two words besides everyday words, words that fit any problem (`bug`, `wrong`), and
    words of the goal. "There is a bug in the code" is poor, "The fixture closes the session twice" is not. The rule is
    deterministic, made for English, and errs towards silver.
    """
    vague = VAGUE_STEMS | {words.stem(word.lower()) for word in words.words(goal)}
    meaningful = {word.lower() for word in words.words(hypothesis) if words.is_meaningful(word)}
    # One word for the cause and one for the place. Three would exclude good short hypotheses ("the timeout is too
    # short").
    return sum(words.stem(word) not in vague for word in meaningful) < 2
