"""Memories and experiences as the store keeps them, and back: writer and reader of each kind stand side by side.

A memory is a bundle of one document. An experience is a bundle with one document for each of its axes, so that each
is found by itself; the name of a document is its axis, and the fields of the bundle hold the whole experience.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from satchel import text as words
from satchel.learn.entries import Attempt, Experience, Lesson, Memory, Outcome, RootCause, attempt_data
from satchel.learn.times import iso_time, read_time
from satchel.sources.experiences import axis_texts
from satchel.store.extract import extract, extract_record
from satchel.store.records import Bundle, NewBundle
from satchel.types import Kind, Outline, Part, Role
from satchel.vocabulary import (
    ConfidenceTier,
    Domain,
    MemoryCategory,
    OutcomeStatus,
    Provenance,
    RootCauseCategory,
    Strategy,
)

TITLE_CHARACTERS = 100
"""A record is listed on one line by the beginning of what it says."""


def title_of(text: str) -> str:
    """The first line of a text, cut to the length of a title."""
    first = text.strip().split("\n", 1)[0]
    return first if len(first) <= TITLE_CHARACTERS else first[: TITLE_CHARACTERS - 1].rstrip() + "…"


def memory_bundle(memory: Memory) -> NewBundle:
    """A memory to be written. Its category and tags are searched like the path of a file."""
    return NewBundle(
        kind=Kind.MEMORY,
        key=memory.id,
        text=memory.content,
        extraction=extract_record(memory.content, Kind.MEMORY),
        path_terms=words.count_terms(words.words(" ".join((memory.category, *memory.tags)))),
        title=title_of(memory.content),
        tags=memory.tags,
        fields={
            "category": memory.category.value,
            "importance": memory.importance,
            "provenance": memory.provenance.value,
            "created_at": iso_time(memory.created),
            "supersedes": memory.supersedes,
            "superseded_by": memory.superseded_by,
            "workspace": memory.workspace,
        },
        created=memory.created,
        updated=memory.updated,
        importance=memory.importance,
        origin=memory.origin,
        workspace=memory.workspace,
    )


def memory_of(bundle: Bundle, text: str) -> Memory:
    """The memory that a stored bundle is."""
    fields = bundle.fields
    return Memory(
        id=bundle.key,
        content=text,
        category=MemoryCategory(fields["category"]),
        importance=bundle.importance if bundle.importance is not None else 0.0,
        tags=bundle.tags,
        provenance=Provenance(fields["provenance"]),
        origin=bundle.origin,
        workspace=bundle.workspace,
        created=bundle.created,
        updated=bundle.updated,
        supersedes=fields.get("supersedes", ""),
        superseded_by=fields.get("superseded_by", ""),
    )


def experience_bundle(experience: Experience) -> NewBundle:
    """A resolved experience to be written. Its domain and strategy are searched like the path of a file."""
    fields = experience_fields(experience)
    texts = axis_texts(fields)
    parts, line = [], 1
    for text in texts.values():
        count = text.count("\n") + 1
        parts.append(Part(Role.RECORD, "", line, line + count - 1))
        line += count
    whole = "\n".join(texts.values())
    # The names are given afterwards: "root cause" in a question must not count as the name of every root cause.
    extraction = extract(whole, Outline(Kind.EXPERIENCE, tuple(parts)))
    extraction.parts = tuple(replace(part, name=axis.value) for part, axis in zip(parts, texts, strict=True))
    return NewBundle(
        kind=Kind.EXPERIENCE,
        key=experience.id,
        text=whole,
        extraction=extraction,
        path_terms=words.count_terms(words.words(f"{experience.domain} {experience.strategy}")),
        title=title_of(experience.goal),
        fields=fields,
        created=experience.created,
        updated=experience.updated,
        origin=experience.origin,
        workspace=experience.workspace,
    )


def experience_fields(experience: Experience) -> dict[str, Any]:
    """Everything that an experience says, as plain values; what it lacks is empty or None."""
    outcome, cause, lesson = experience.outcome, experience.root_cause, experience.lesson
    tier = experience.confidence_tier
    return {
        "domain": experience.domain.value,
        "strategy": experience.strategy.value,
        "goal": experience.goal,
        "hypothesis": experience.hypothesis,
        "action": experience.action,
        "prediction": experience.prediction,
        "history": [attempt_data(attempt) for attempt in experience.history],
        "iteration_count": experience.iteration_count,
        "notes": list(experience.notes),
        "outcome_status": experience.status,
        "outcome_result": outcome.result if outcome is not None else "",
        "captured_at": iso_time(outcome.captured_at) if outcome is not None else "",
        "auto_captured": outcome.auto_captured if outcome is not None else False,
        "surprise": experience.surprise,
        "root_cause": {"category": cause.category.value, "description": cause.description} if cause else None,
        "lesson": {"what_worked": lesson.what_worked, "takeaway": lesson.takeaway} if lesson else None,
        "confidence_tier": tier.value if tier is not None else "",
        "session_id": experience.session_id,
        "created_at": iso_time(experience.created),
        "workspace": experience.workspace,
    }


def attempt_of(data: Mapping[str, Any]) -> Attempt:
    """The earlier attempt that these values are. Raises KeyError and ValueError."""
    return Attempt(read_time(data["timestamp"]), data["hypothesis"], data["action"], data["prediction"])


def experience_of(bundle: Bundle) -> Experience:
    """The experience that a stored bundle is."""
    fields = bundle.fields
    cause, lesson = fields.get("root_cause"), fields.get("lesson")
    return Experience(
        id=bundle.key,
        domain=Domain(fields["domain"]),
        strategy=Strategy(fields["strategy"]),
        goal=fields["goal"],
        hypothesis=fields["hypothesis"],
        action=fields["action"],
        prediction=fields["prediction"],
        session_id=fields["session_id"],
        workspace=bundle.workspace,
        created=bundle.created,
        updated=bundle.updated,
        history=tuple(attempt_of(data) for data in fields["history"]),
        iteration_count=fields["iteration_count"],
        notes=tuple(fields["notes"]),
        outcome=Outcome(
            OutcomeStatus(fields["outcome_status"]),
            fields["outcome_result"],
            read_time(fields["captured_at"]),
            fields["auto_captured"],
        ),
        surprise=fields["surprise"],
        root_cause=RootCause(RootCauseCategory(cause["category"]), cause["description"]) if cause else None,
        lesson=Lesson(lesson["what_worked"], lesson["takeaway"]) if lesson else None,
        confidence_tier=ConfidenceTier(fields["confidence_tier"]) if fields["confidence_tier"] else None,
        origin=bundle.origin,
    )
