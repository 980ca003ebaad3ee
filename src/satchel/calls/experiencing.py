"""Operations on what was tried and what came of it: start, update, note, resolve, list, show."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.calls import shapes
from satchel.calls.operation import Answered, Call, Hints, Operation
from satchel.calls.parameters import Parameter, Shape
from satchel.calls.records import experience_json, experience_line, experience_text
from satchel.calls.remembering import DEFAULT_ROWS, check_action
from satchel.errors import UsageError
from satchel.vocabulary import ACTIVE, ConfidenceTier, Domain, OutcomeStatus, RootCauseCategory, Strategy, choices

if TYPE_CHECKING:
    from satchel.learn.entries import Experience

START, UPDATE, NOTE, RESOLVE, LIST, SHOW = ACTIONS = ("start", "update", "note", "resolve", "list", "show")

_STARTED = ("domain", "strategy", "goal", "hypothesis", "action_taken", "prediction")
_RENAMED = {"action_taken": "action"}
"""What an experience calls its action, because `action` already says what is asked for."""

_LISTED = ("domain", "strategy", "outcome", "tier", "since", "limit", "session")

_OF_ACTION = {
    START: (*_STARTED, "session"),
    UPDATE: ("hypothesis", "action_taken", "prediction", "strategy", "session"),
    NOTE: ("note", "session"),
    RESOLVE: ("status", "result", "surprise", "root_cause", "root_cause_description", "lesson", "takeaway", "session"),
    LIST: _LISTED,
    SHOW: ("id", "session"),
}
"""Action -> the arguments that say something to it."""

_NEEDED = {START: _STARTED, NOTE: ("note",), RESOLVE: ("status", "result")}


def _experience(call: Call) -> Answered:
    given, journal = call.given, call.engine.experiences
    action = check_action(given, _OF_ACTION)
    missing = [name for name in _NEEDED.get(action, ()) if name not in given]
    if missing:
        raise UsageError(f"{action} needs {', '.join(missing)}")
    told = {_RENAMED.get(name, name): value for name, value in given.items() if name != "action"}
    if action == LIST:
        return experiences(call)
    if action == SHOW:
        shown = journal.get(told["id"]) if "id" in told else journal.require_active(**call.chosen("session"))
        return Answered(experience_text(shown), experience_json(shown))
    if action == START:
        started = journal.start(**told)
        return _done(started.experience, tuple(map(_orphan, started.orphans)))
    if action == NOTE:
        return _done(journal.note(told.pop("note"), **told))
    return _done(journal.update(**told) if action == UPDATE else journal.resolve(**told))


def _done(changed: Experience, notes: tuple[str, ...] = ()) -> Answered:
    """A minimal text: whoever wrote it knows what it says."""
    tier = changed.confidence_tier
    text = f"{changed.id}  {changed.status}" + (f"  {tier}" if tier is not None else "")
    return Answered(text, experience_json(changed), notes)


def experiences(call: Call) -> Answered:
    """The experiences in sight, newest first, and the active ones of other sessions."""
    journal, options = call.engine.experiences, call.chosen(*_LISTED)
    session = {"session": options.pop("session")} if "session" in options else {}
    rows = journal.listed(**{"limit": DEFAULT_ROWS} | options)
    orphans = journal.orphans(**session)
    envelope = {"experiences": [experience_json(row) for row in rows], "orphans": [orphan.id for orphan in orphans]}
    nothing = () if rows else ("there is no such experience here",)
    return Answered("\n".join(map(experience_line, rows)), envelope, (*nothing, *map(_orphan, orphans)))


def _orphan(orphan: Experience) -> str:
    return f"{orphan.id} of session {orphan.session_id!r} is still active: resolve it with that session"


def _text(name: str, meaning: str, values: Any = None, *, is_rare: bool = False) -> Parameter:
    return Parameter(name, Shape.TEXT, meaning, choices=tuple(choices(values)) if values else (), is_rare=is_rare)


_DOMAIN = _text("domain", "start, list: the kind of work.", Domain)
_STRATEGY = _text("strategy", "start, update, list: how it is gone about.", Strategy)
_SESSION = _text("session", "Whose experience it is, one active each.")
_LISTING = (
    _text("outcome", "list: only these.", (ACTIVE, *OutcomeStatus)),
    _text("tier", "list: only of this confidence.", ConfidenceTier, is_rare=True),
    Parameter("since", Shape.MOMENT, "list: only newer ones.", is_rare=True),
    Parameter("limit", Shape.COUNT, "list: at most so many.", least=1, is_rare=True),
)

EXPERIENCE = Operation(
    "experience",
    "Keep an experience",
    "Keep what you try while debugging or building: start with a hypothesis, update it, resolve it with its lesson.",
    (
        Parameter("action", Shape.TEXT, "What to do.", choices=ACTIONS, is_required=True),
        _DOMAIN,
        _STRATEGY,
        _text("goal", "start: what should be true in the end."),
        _text("hypothesis", "start, update: what is wrong, and where."),
        _text("action_taken", "start, update: what is done about it."),
        _text("prediction", "start, update: what will be seen if that is right."),
        _text("note", "note: what was seen on the way."),
        _text("status", "resolve: how it ended.", OutcomeStatus),
        _text("result", "resolve: what happened."),
        _text("surprise", "resolve, needed if falsified: what was not expected."),
        _text("root_cause", "resolve, needed if falsified: why it was wrong.", RootCauseCategory),
        _text("root_cause_description", "resolve, needed if falsified: the same in a sentence."),
        _text("lesson", "resolve: what worked."),
        _text("takeaway", "resolve: what to do next time."),
        _text("id", "show: which one; by default the active one."),
        *_LISTING,
        _SESSION,
    ),
    _experience,
    shapes.one_of(shapes.EXPERIENCE, shapes.EXPERIENCES),
    "Later premortems and contexts show it.",
    hints=Hints(is_read_only=False, is_destructive=False, is_idempotent=False),
)

EXPERIENCES = Operation(
    "experiences",
    "List experiences",
    "List what was tried, newest first, active ones too.",
    (_DOMAIN, _STRATEGY, *_LISTING, _SESSION),
    experiences,
    shapes.EXPERIENCES,
)
