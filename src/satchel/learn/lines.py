"""Reading a memory or an experience from plain JSON values, as `satchel.learn.entries` writes them.

Reading checks everything, because an export may come from elsewhere: texts pass `clean`, lengths and choices are those
of the vocabulary, unknown keys are ignored. Everything that is wrong is a UsageError that names the field.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from satchel.errors import UsageError
from satchel.learn.entries import Attempt, Experience, Lesson, Memory, Outcome, RootCause
from satchel.learn.tiers import tier_of
from satchel.learn.times import read_time
from satchel.vocabulary import (
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
    choices,
    parse_choice,
)

NAME_CHARACTERS = 100
"""Of an id, a session, a workspace and an origin."""

MOST_NOTES = 1_000
"""Notes and earlier attempts of one experience: more are not the work of one session."""

_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")

Clean = Callable[[str], str]
"""Makes a text from elsewhere safe to store."""

Data = Mapping[str, Any]


def _as_it_is(text: str) -> str:
    return text


def memory_from(data: Data, clean: Clean = _as_it_is) -> Memory:
    """The memory that these values are. Raises UsageError."""
    importance = data.get("importance", DEFAULT_IMPORTANCE)
    if isinstance(importance, bool) or not isinstance(importance, int | float) or not 0 <= importance <= 1:
        raise UsageError(f"importance is {importance!r}: it is 0 to 1")
    created = _time(data, "created_at")
    return Memory(
        id=_identity(data, "id", required=True),
        content=_text(data, "content", MEMORY_CHARACTERS, clean, required=True),
        category=parse_choice(MemoryCategory, _text(data, "category", NAME_CHARACTERS) or "fact", "category"),
        importance=float(importance),
        tags=tuple(dict.fromkeys(_texts(data, "tags", MOST_TAGS, TAG_CHARACTERS, clean))),
        provenance=parse_choice(Provenance, _text(data, "provenance", NAME_CHARACTERS) or "import", "provenance"),
        origin=_text(data, "origin", NAME_CHARACTERS, clean),
        workspace=_text(data, "workspace", NAME_CHARACTERS, clean),
        created=created,
        updated=_time(data, "updated_at", created),
        supersedes=_identity(data, "supersedes"),
        superseded_by=_identity(data, "superseded_by"),
    )


def experience_from(data: Data, clean: Clean = _as_it_is) -> Experience:
    """The experience that these values are; without an outcome it is active. Raises UsageError.

    The lines that CALM and CLAMS write are read as well. Surprise, root cause and lesson may be missing; a missing
    tier is worked out.
    """
    created = _time(data, "created_at")
    outcome = _outcome(data, created, clean)
    goal = _text(data, "goal", STATEMENT_CHARACTERS, clean, required=True)
    hypothesis = _text(data, "hypothesis", STATEMENT_CHARACTERS, clean, required=True)
    history = tuple(_attempt(inner, clean) for inner in _mappings(data, "history"))
    return Experience(
        id=_identity(data, "id", required=True),
        domain=parse_choice(Domain, _text(data, "domain", NAME_CHARACTERS), "domain"),
        strategy=parse_choice(Strategy, _text(data, "strategy", NAME_CHARACTERS), "strategy"),
        goal=goal,
        hypothesis=hypothesis,
        action=_text(data, "action", STATEMENT_CHARACTERS, clean, required=True),
        prediction=_text(data, "prediction", STATEMENT_CHARACTERS, clean, required=True),
        session_id=_text(data, "session_id", NAME_CHARACTERS, clean),
        workspace=_text(data, "workspace", NAME_CHARACTERS, clean),
        created=created,
        updated=_time(data, "updated_at", outcome.captured_at if outcome else created),
        history=history,
        iteration_count=_count(data, len(history) + 1),
        notes=_texts(data, "notes", MOST_NOTES, REPORT_CHARACTERS, clean),
        outcome=outcome,
        surprise=_text(data, "surprise", REPORT_CHARACTERS, clean),
        root_cause=_root_cause(data, clean),
        lesson=_lesson(data, clean),
        confidence_tier=_tier(data, outcome, hypothesis, goal),
        origin=_text(data, "origin", NAME_CHARACTERS, clean),
    )


def _outcome(data: Data, created: float, clean: Clean) -> Outcome | None:
    inner = _mapping(data, "outcome")
    if inner is None:
        return None
    captured = inner.get("auto_captured", False)
    if not isinstance(captured, bool):
        raise UsageError(f"auto_captured is {captured!r}: it is true or false")
    return Outcome(
        parse_choice(OutcomeStatus, _text(inner, "status", NAME_CHARACTERS), "status"),
        _text(inner, "result", REPORT_CHARACTERS, clean),
        _time(inner, "captured_at", created),
        captured,
    )


def _tier(data: Data, outcome: Outcome | None, hypothesis: str, goal: str) -> ConfidenceTier | None:
    if outcome is None:
        return None
    given = _text(data, "confidence_tier", NAME_CHARACTERS)
    if given in choices(ConfidenceTier):
        return ConfidenceTier(given)
    return tier_of(outcome.status, hypothesis, goal, auto_captured=outcome.auto_captured)


def _root_cause(data: Data, clean: Clean) -> RootCause | None:
    inner = _mapping(data, "root_cause")
    if inner is None:
        return None
    category = parse_choice(RootCauseCategory, _text(inner, "category", NAME_CHARACTERS), "root cause")
    return RootCause(category, _text(inner, "description", REPORT_CHARACTERS, clean))


def _lesson(data: Data, clean: Clean) -> Lesson | None:
    inner = _mapping(data, "lesson")
    if inner is None:
        return None
    worked = _text(inner, "what_worked", REPORT_CHARACTERS, clean)
    takeaway = _text(inner, "takeaway", REPORT_CHARACTERS, clean)
    return Lesson(worked, takeaway) if worked or takeaway else None


def _attempt(inner: Data, clean: Clean) -> Attempt:
    return Attempt(
        _time(inner, "timestamp"),
        _text(inner, "hypothesis", STATEMENT_CHARACTERS, clean),
        _text(inner, "action", STATEMENT_CHARACTERS, clean),
        _text(inner, "prediction", STATEMENT_CHARACTERS, clean),
    )


def _count(data: Data, default: int) -> int:
    count = data.get("iteration_count", default)
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise UsageError(f"iteration_count is {count!r}: it counts from 1")
    return count


def _identity(data: Data, name: str, *, required: bool = False) -> str:
    text = _text(data, name, NAME_CHARACTERS, required=required)
    if text and _ID.fullmatch(text) is None:
        raise UsageError(f"{name} is {text!r}: it has letters, digits, dots, dashes and underscores only")
    return text


def _text(data: Data, name: str, limit: int, clean: Clean = _as_it_is, *, required: bool = False) -> str:
    """A text field, empty if it is missing or null and not required."""
    text = data.get(name)
    if text is None:
        text = ""
    if not isinstance(text, str):
        raise UsageError(f"{name} is {type(text).__name__}: it is a text")
    _check_length(name, text, limit, required=required)
    cleaned = clean(text)
    _check_length(name, cleaned, limit, required=required)
    return cleaned


def _check_length(name: str, text: str, limit: int, *, required: bool) -> None:
    if required and not text.strip():
        raise UsageError(f"{name} is missing or empty")
    if len(text) > limit:
        raise UsageError(f"{name} has {len(text):,} characters: at most {limit:,}")


def _texts(data: Data, name: str, most: int, limit: int, clean: Clean) -> tuple[str, ...]:
    listed = data.get(name) or []
    if not isinstance(listed, list):
        raise UsageError(f"{name} is {type(listed).__name__}: it is a list")
    if len(listed) > most:
        raise UsageError(f"{name} has {len(listed):,} entries: at most {most:,}")
    return tuple(_text({name: text}, name, limit, clean, required=True) for text in listed)


def _mapping(data: Data, name: str) -> Data | None:
    inner = data.get(name)
    if inner is None:
        return None
    if not isinstance(inner, Mapping):
        raise UsageError(f"{name} is {type(inner).__name__}: it is an object")
    return inner


def _mappings(data: Data, name: str) -> list[Data]:
    listed = data.get(name) or []
    if not isinstance(listed, list) or not all(isinstance(inner, Mapping) for inner in listed):
        raise UsageError(f"{name} is not a list of objects")
    if len(listed) > MOST_NOTES:
        raise UsageError(f"{name} has {len(listed):,} entries: at most {MOST_NOTES:,}")
    return listed


def _time(data: Data, name: str, default: float | None = None) -> float:
    given = data.get(name)
    if given is None and default is not None:
        return default
    try:
        return read_time(given) if isinstance(given, str) else _never(name, given)
    except (ValueError, OverflowError, OSError):
        raise UsageError(f"{name} is {given!r}: give a time such as 2026-05-01T10:30:00Z") from None


def _never(name: str, given: object) -> float:
    raise UsageError(f"{name} is {given!r}: give a time such as 2026-05-01T10:30:00Z")
