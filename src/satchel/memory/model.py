"""The records of the memory: memories, experiences, and the values derived from experiences.

Times are seconds since the epoch (UTC). `workspace` is the identity of the repository that a record belongs to, empty
for a record that belongs to all of them. `author` is who made it on a server, empty in a file.
The annotation of a field defines its export and its checks on import.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

from satchel import codec
from satchel import text as words
from satchel.codec import Clean, Data
from satchel.vocabulary import (
    ACTIVE,
    DEFAULT_IMPORTANCE,
    MEMORY_CHARACTERS,
    MOST_TAGS,
    REPORT_CHARACTERS,
    STATEMENT_CHARACTERS,
    TAG_CHARACTERS,
    ConfidenceTier,
    Domain,
    MemoryCategory,
    OutcomeStatus,
    Provenance,
    RootCauseCategory,
    Strategy,
    Visibility,
    choices,
)

NAME_CHARACTERS = 100
"""Longest id, session, workspace and origin."""

MOST_NOTES = 1_000
"""Limit of the notes, and of the earlier attempts, of one experience."""

Identity = Annotated[str, codec.identifier(NAME_CHARACTERS)]
RequiredIdentity = Annotated[str, codec.identifier(NAME_CHARACTERS, required=True)]
Name = Annotated[str, codec.text(NAME_CHARACTERS)]
Statement = Annotated[str, codec.text(STATEMENT_CHARACTERS)]
RequiredStatement = Annotated[str, codec.text(STATEMENT_CHARACTERS, required=True)]
Report = Annotated[str, codec.text(REPORT_CHARACTERS)]
OptionalReport = Annotated[str, codec.text(REPORT_CHARACTERS, nullable=True)]
Seen = Annotated[Visibility, codec.choice(Visibility, required=False)]
Created = Annotated[float, codec.moment("created_at")]
Updated = Annotated[float, codec.moment("updated_at")]


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory. `importance` is 0 to 1; memories of one `origin` can be forgotten together.

    `supersedes` is the id of the memory that this one replaces, `superseded_by` of the one that replaces it. A replaced
    memory is kept, but is not searched.
    """

    id: RequiredIdentity
    content: Annotated[str, codec.text(MEMORY_CHARACTERS, required=True)]
    category: Annotated[MemoryCategory, codec.choice(MemoryCategory, required=False)] = MemoryCategory.FACT
    importance: Annotated[float, codec.share()] = DEFAULT_IMPORTANCE
    tags: Annotated[tuple[str, ...], codec.texts(MOST_TAGS, TAG_CHARACTERS, unique=True)] = ()
    provenance: Annotated[Provenance, codec.choice(Provenance, required=False)] = Provenance.USER
    origin: Name = ""
    workspace: Name = ""
    created: Created = 0.0
    updated: Updated = 0.0
    supersedes: Identity = ""
    superseded_by: Identity = ""
    visibility: Seen = Visibility.PRIVATE
    author: Name = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """The summary of an exchange of a conversation: id, beginning, time and source."""

    id: str
    title: str
    created: float
    origin: str


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory with its `score` from 0 to 1: its relevance to a question, or its similarity to another memory."""

    memory: Memory
    score: float


@dataclass(frozen=True, slots=True)
class Remembered:
    """A new memory, and its visible near-duplicates."""

    memory: Memory
    similar: tuple[FoundMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """The hypothesis, action and prediction of an earlier attempt, until `timestamp`."""

    timestamp: Annotated[float, codec.moment("timestamp")]
    hypothesis: Statement
    action: Statement
    prediction: Statement


@dataclass(frozen=True, slots=True)
class Outcome:
    """How an experience ended; `auto_captured` if satchel ran the command that showed it."""

    status: Annotated[OutcomeStatus, codec.choice(OutcomeStatus)]
    result: Report
    captured_at: Annotated[float, codec.moment("captured_at")]
    auto_captured: Annotated[bool, codec.flag()] = False


@dataclass(frozen=True, slots=True)
class RootCause:
    """Why the hypothesis was wrong."""

    category: Annotated[RootCauseCategory, codec.choice(RootCauseCategory, label="root cause")]
    description: Report = ""


@dataclass(frozen=True, slots=True)
class Lesson:
    """The part of an experience that is worth keeping."""

    what_worked: Report
    takeaway: OptionalReport = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Experience:
    """A goal, a hypothesis, an action and a prediction with their outcome; active while `outcome` is None.

    `history` has the earlier attempts, oldest first; `iteration_count` counts attempts from 1.
    """

    id: RequiredIdentity
    session_id: Name = ""
    workspace: Name = ""
    created: Created = 0.0
    updated: Updated = 0.0
    domain: Annotated[Domain, codec.choice(Domain)]
    strategy: Annotated[Strategy, codec.choice(Strategy)]
    goal: RequiredStatement
    hypothesis: RequiredStatement
    action: RequiredStatement
    prediction: RequiredStatement
    history: Annotated[tuple[Attempt, ...], codec.nested_list(Attempt, MOST_NOTES)] = ()
    iteration_count: Annotated[int, codec.count(1, "it counts from 1")] = 1
    notes: Annotated[tuple[str, ...], codec.texts(MOST_NOTES, REPORT_CHARACTERS)] = ()
    outcome: Annotated[Outcome | None, codec.nested(Outcome)] = None
    surprise: OptionalReport = ""
    root_cause: Annotated[RootCause | None, codec.nested(RootCause)] = None
    lesson: Annotated[Lesson | None, codec.nested(Lesson)] = None
    confidence_tier: Annotated[ConfidenceTier | None, codec.choice(ConfidenceTier, required=False)] = None
    origin: Name = ""
    visibility: Seen = Visibility.PRIVATE
    author: Name = ""

    @property
    def status(self) -> str:
        """`active`, or the status of the outcome."""
        return ACTIVE if self.outcome is None else self.outcome.status.value


@dataclass(frozen=True, slots=True)
class Started:
    """A new experience, and the active ones of other sessions in the same workspace."""

    experience: Experience
    orphans: tuple[Experience, ...] = ()


@dataclass(frozen=True, slots=True)
class LineProblem:
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

    id: str
    text: str
    axis: str
    cluster_id: str
    cluster_size: int
    similarity_to_centroid: float
    member_ids: tuple[str, ...]
    domains: Mapping[str, int]
    strategies: Mapping[str, int]
    label: str
    workspace: str
    created: float
    visibility: str = Visibility.PRIVATE
    author: str = ""


@dataclass(frozen=True, slots=True)
class ValueProposal:
    """A suggested value for a group: the lesson of a central member, and its validation."""

    cluster: Cluster
    text: str
    member: str
    validation: Validation | None


def memory_data(memory: Memory) -> dict[str, Any]:
    """Return a memory as plain values, in a fixed order."""
    return {"type": "memory", **codec.dump(memory)}


def experience_data(experience: Experience) -> dict[str, Any]:
    """Return an experience as plain values, in a fixed order; a missing part is None."""
    return {"type": "experience", **codec.dump(experience)}


_USUAL = {"visibility": Visibility.PRIVATE, "author": ""}


def without_usual(data: Data) -> dict[str, Any]:
    """Return a record that nobody shares as it was before records were shared: files in the world have such ones."""
    return {name: value for name, value in data.items() if name not in _USUAL or value != _USUAL[name]}


def memory_from(data: Data, clean: Clean = str) -> Memory:
    """Read a memory from the plain values of an export. Raises UsageError."""
    is_unnamed = data.get("provenance") in (None, "")
    filled = {**data, **dated(data, data.get("created_at"))} | ({"provenance": "import"} if is_unnamed else {})
    return codec.load(Memory, filled, clean)


def experience_from(data: Data, clean: Clean = str) -> Experience:
    """Read an experience from the plain values of an export; without an outcome it is active. Raises UsageError.

    The lines of CALM and CLAMS are read as well. Surprise, root cause and lesson may be missing; a missing or unknown
    tier is derived.
    """
    created, history, outcome = (data.get(name) for name in ("created_at", "history", "outcome"))
    if isinstance(outcome, Mapping) and outcome.get("captured_at") is None:
        outcome = {**outcome, "captured_at": created}
    ended = outcome["captured_at"] if isinstance(outcome, Mapping) else created
    attempts = len(history) if isinstance(history, list) else 0
    tier = data.get("confidence_tier")
    filled = {"iteration_count": attempts + 1, **data, "outcome": outcome, **dated(data, ended)}
    if outcome is None or (isinstance(tier, str) and tier not in choices(ConfidenceTier)):
        filled["confidence_tier"] = None
    experience = codec.load(Experience, filled, clean)
    lesson, ended_as, rank = experience.lesson, experience.outcome, experience.confidence_tier
    has_lesson = lesson is not None and bool(lesson.what_worked or lesson.takeaway)
    if ended_as is not None and rank is None:
        rank = tier_of(ended_as.status, experience.hypothesis, experience.goal, auto_captured=ended_as.auto_captured)
    return replace(experience, lesson=lesson if has_lesson else None, confidence_tier=rank)


def dated(data: Data, default: Any) -> dict[str, Any]:
    """Return the time of the last change, by default another one."""
    return {"updated_at": default if data.get("updated_at") is None else data["updated_at"]}


FEWEST_TELLING_WORDS = 2
"""One word for the cause and one for the place. Three would exclude good short hypotheses ("the timeout is too
short")."""

_VAGUE_WORDS = """
    able approach bad better break broken bug bugs case cause causes change changes code correct correctly easy error
    errors expect expected expects fail failed failing fails failure fine fix fixed fixes fixing good happen happens
    help helps implement implementation incorrect issue issues maybe need needed needs ok okay pass passes perhaps
    possibly probably problem problems proper properly quick result results right solution solve something somehow
    somewhere stuff successfully test tests thing things think try using well will without work worked working works
    wrong
"""

VAGUE_STEMS = frozenset(words.stem(word) for word in _VAGUE_WORDS.split())
"""Stems of words that fit any problem."""


def tier_of(status: OutcomeStatus, hypothesis: str, goal: str, *, auto_captured: bool) -> ConfidenceTier:
    """Return the confidence tier of a finished experience.

    gold       the outcome was captured from a command
    silver     the outcome was reported
    bronze     the outcome was reported, and the hypothesis is poor
    abandoned  there is no outcome
    """
    if status is OutcomeStatus.ABANDONED:
        return ConfidenceTier.ABANDONED
    if auto_captured:
        return ConfidenceTier.GOLD
    return ConfidenceTier.BRONZE if is_poor(hypothesis, goal) else ConfidenceTier.SILVER


def is_poor(hypothesis: str, goal: str) -> bool:
    """Return whether a hypothesis names neither a cause nor a place.

    A poor hypothesis has fewer than two words besides everyday words, words that fit any problem (`bug`, `wrong`), and
    words of the goal. "There is a bug in the code" is poor, "The fixture closes the session twice" is not. The rule is
    deterministic, made for English, and errs towards silver.
    """
    vague = VAGUE_STEMS | {words.stem(word.lower()) for word in words.words(goal)}
    meaningful = {word.lower() for word in words.words(hypothesis) if words.is_meaningful(word)}
    return sum(words.stem(word) not in vague for word in meaningful) < FEWEST_TELLING_WORDS
