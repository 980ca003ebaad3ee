"""The values of the learning memory: what was remembered, and what was tried and came of it.

Times are seconds since the epoch (UTC). `workspace` is the identity of the repository that a record belongs to, empty
for what belongs to all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from satchel.learn.times import iso_time
from satchel.vocabulary import (
    ACTIVE,
    DEFAULT_IMPORTANCE,
    ConfidenceTier,
    Domain,
    MemoryCategory,
    OutcomeStatus,
    Provenance,
    RootCauseCategory,
    Strategy,
)


@dataclass(frozen=True, slots=True)
class Memory:
    """One thing to remember. `importance` is 0 to 1; `origin` names where it came from, to forget it as one.

    `supersedes` is the id of the memory that this one replaces, `superseded_by` of the one that replaces it; a
    memory that was replaced is kept, and found only by its id.
    """

    id: str
    content: str
    category: MemoryCategory = MemoryCategory.FACT
    importance: float = DEFAULT_IMPORTANCE
    tags: tuple[str, ...] = ()
    provenance: Provenance = Provenance.USER
    origin: str = ""
    workspace: str = ""
    created: float = 0.0
    updated: float = 0.0
    supersedes: str = ""
    superseded_by: str = ""


@dataclass(frozen=True, slots=True)
class Remark:
    """An exchange of a conversation in short: its id, the beginning of what was said, when, and where it came from."""

    id: str
    title: str
    created: float
    origin: str


@dataclass(frozen=True, slots=True)
class FoundMemory:
    """A memory that resembles something: `score` is 0 to 1, of a search its relevance, of a duplicate its likeness."""

    memory: Memory
    score: float


@dataclass(frozen=True, slots=True)
class Remembered:
    """What was stored, and the memories in sight that already say nearly the same."""

    memory: Memory
    similar: tuple[FoundMemory, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """What was believed and tried before the present attempt."""

    timestamp: float
    hypothesis: str
    action: str
    prediction: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """How it ended. `auto_captured`: a command that was run said so."""

    status: OutcomeStatus
    result: str
    captured_at: float
    auto_captured: bool = False


@dataclass(frozen=True, slots=True)
class RootCause:
    """Why the hypothesis was wrong."""

    category: RootCauseCategory
    description: str = ""


@dataclass(frozen=True, slots=True)
class Lesson:
    """What to keep of it."""

    what_worked: str
    takeaway: str = ""


@dataclass(frozen=True, slots=True)
class Experience:
    """A goal, a hypothesis, an action and a prediction, and what came of them; active while `outcome` is None.

    `history` holds the earlier attempts, oldest first; `iteration_count` counts attempts from 1.
    """

    id: str
    domain: Domain
    strategy: Strategy
    goal: str
    hypothesis: str
    action: str
    prediction: str
    session_id: str = ""
    workspace: str = ""
    created: float = 0.0
    updated: float = 0.0
    history: tuple[Attempt, ...] = ()
    iteration_count: int = 1
    notes: tuple[str, ...] = ()
    outcome: Outcome | None = None
    surprise: str = ""
    root_cause: RootCause | None = None
    lesson: Lesson | None = None
    confidence_tier: ConfidenceTier | None = None
    origin: str = ""

    @property
    def status(self) -> str:
        """`active`, or how it ended."""
        return ACTIVE if self.outcome is None else self.outcome.status.value


@dataclass(frozen=True, slots=True)
class Started:
    """An experience that was begun, and those of other sessions here that were never resolved."""

    experience: Experience
    orphans: tuple[Experience, ...] = ()


@dataclass(frozen=True, slots=True)
class LineProblem:
    """A line of an import that was left out: its number from 1, and why."""

    line: int
    message: str


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did: records new, changed to a newer state, already there, and lines left out.

    `passed_over` counts what was not meant to be imported, by reason.
    """

    added: int = 0
    updated: int = 0
    unchanged: int = 0
    problems: tuple[LineProblem, ...] = ()
    passed_over: Mapping[str, int] = field(default_factory=dict)


def memory_data(memory: Memory) -> dict[str, Any]:
    """A memory as plain values, in a fixed order."""
    return {
        "type": "memory",
        "id": memory.id,
        "content": memory.content,
        "category": memory.category.value,
        "importance": memory.importance,
        "tags": list(memory.tags),
        "provenance": memory.provenance.value,
        "origin": memory.origin,
        "workspace": memory.workspace,
        "created_at": iso_time(memory.created),
        "updated_at": iso_time(memory.updated),
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
    }


def experience_data(experience: Experience) -> dict[str, Any]:
    """An experience as plain values, in a fixed order; what it lacks is None."""
    outcome, cause, lesson = experience.outcome, experience.root_cause, experience.lesson
    tier = experience.confidence_tier
    return {
        "type": "experience",
        "id": experience.id,
        "session_id": experience.session_id,
        "workspace": experience.workspace,
        "created_at": iso_time(experience.created),
        "updated_at": iso_time(experience.updated),
        "domain": experience.domain.value,
        "strategy": experience.strategy.value,
        "goal": experience.goal,
        "hypothesis": experience.hypothesis,
        "action": experience.action,
        "prediction": experience.prediction,
        "history": [attempt_data(attempt) for attempt in experience.history],
        "iteration_count": experience.iteration_count,
        "notes": list(experience.notes),
        "outcome": {
            "status": outcome.status.value,
            "result": outcome.result,
            "captured_at": iso_time(outcome.captured_at),
            "auto_captured": outcome.auto_captured,
        }
        if outcome
        else None,
        "surprise": experience.surprise or None,
        "root_cause": {"category": cause.category.value, "description": cause.description} if cause else None,
        "lesson": {"what_worked": lesson.what_worked, "takeaway": lesson.takeaway or None} if lesson else None,
        "confidence_tier": tier.value if tier is not None else None,
        "origin": experience.origin,
    }


def attempt_data(attempt: Attempt) -> dict[str, str]:
    """An earlier attempt as plain values."""
    return {
        "timestamp": iso_time(attempt.timestamp),
        "hypothesis": attempt.hypothesis,
        "action": attempt.action,
        "prediction": attempt.prediction,
    }
