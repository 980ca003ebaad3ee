"""Operations on memories (store, forget, list, search), experiences (start to resolve, list, show) and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from itertools import filterfalse
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec.structs import replace

from satchel import vocabulary
from satchel.codec import many
from satchel.errors import UsageError
from satchel.operations import json
from satchel.operations.operation import Answered, Hints, Operation, OperationCall, Parameter, Shape, Spelling, text
from satchel.types import Data, Kind

if TYPE_CHECKING:
    from satchel.memory.model import Chosen, Experience, Memory
    from satchel.operations import records
else:

    class _Records:
        """The module of this name, imported when it is first used: most processes remember nothing."""

        def __getattr__(self, name: str) -> Any:
            return getattr(import_module("satchel.operations.records"), name)

    records = _Records()

Row = TypeVar("Row")

DEFAULT_ROWS = 20
"""Default number of rows of a list."""

STORE, FORGET, RESTORE, LIST, SHARE, REVIEW, TIDY = "store", "forget", "restore", "list", "share", "review", "tidy"
PIN, UNPIN = "pin", "unpin"
ACCEPT, REJECT = "accept", "reject"
START, UPDATE, NOTE, RESOLVE, CORRECT, SHOW = "start", "update", "note", "resolve", "correct", "show"

OF_SEARCH = ("category", "min_importance", "tags", "scope", "provenance", "origin", "author", "since", "until",
              "as_of")  # fmt: skip
_OF_NEW = ("category", "importance", "tags", "origin", "everywhere", "visibility", "since", "until", "files")
_LISTED = ("domain", "strategy", "outcome", "tier", "since", "limit", "session")
_STARTED = ("domain", "strategy", "goal", "hypothesis", "action_taken", "prediction")
_RESOLVED = ("status", "result", "surprise", "root_cause", "root_cause_description", "lesson", "takeaway")

MEMORY_ACTIONS: Mapping[str, tuple[str, ...]] = {
    STORE: ("text", "category", "importance", "tags", "provenance", "origin", "everywhere", "visibility",
            "supersedes", "since", "until", "files"),
    **dict.fromkeys((SHARE, PIN, UNPIN, RESTORE), ("ids",)),
    FORGET: ("ids", "origin", "question", "limit", "confirm", "for_good"),
    LIST: ("question", *OF_SEARCH, "superseded", "forgotten", "limit"),
    REVIEW: ("ids", "verdict", "text", "category", "limit"),
    TIDY: ("limit",),
}  # fmt: skip
EXPERIENCE_ACTIONS: Mapping[str, tuple[str, ...]] = {
    START: (*_STARTED, "visibility", "files", "session"),
    UPDATE: ("hypothesis", "action_taken", "prediction", "strategy", "session"),
    NOTE: ("note", "session"),
    RESOLVE: (*_RESOLVED, "files", "session"),
    CORRECT: ("id", *_STARTED, *_RESOLVED, "note", "visibility", "files"),
    LIST: _LISTED,
    SHOW: ("id", "session"),
}
"""Action -> its arguments."""

NEEDED: Mapping[str, tuple[str, ...]] = {
    START: _STARTED, NOTE: ("note",), RESOLVE: ("status", "result"), CORRECT: ("id",),
}  # fmt: skip
"""Action on an experience -> its required arguments."""


def _check_action(arguments: Data, actions: Mapping[str, Sequence[str]]) -> str:
    """Return the action. Raises UsageError for an unknown one, and for arguments that it does not have."""
    action: Any = arguments.get("action")
    if action not in actions:
        raise UsageError(f"unknown action {action!r}: choose from {', '.join(actions)}")
    for name in arguments:
        if name != "action" and name not in actions[action]:
            takers = [other for other, names in actions.items() if name in names]
            raise UsageError(f"{name} does not apply to {action}, only to {' and '.join(takers)}", name)
    return str(action)


def _remember(call: OperationCall) -> Answered:
    action = _check_action(call.arguments, MEMORY_ACTIONS)
    answered = {
        STORE: _stored, SHARE: _marked, PIN: _marked, UNPIN: _marked, FORGET: _forgotten, RESTORE: _restored,
        LIST: _memories, REVIEW: _reviewed, TIDY: _untidy,
    }[action](call)  # fmt: skip
    unread = tuple(f"{note.message} ({note.hint})" for note in call.engine.memory.notes)
    unread += tuple(call.engine.memory.lost()) if action == LIST else ()
    return replace(answered, notes=(*answered.notes, *unread)) if unread else answered


def _stored(call: OperationCall) -> Answered:
    arguments, memories = call.arguments, call.engine.memories
    if "text" not in arguments:
        raise UsageError("there is nothing to store: give text, one thing in a sentence or a few")
    if "supersedes" in arguments:
        unwanted = [name for name in _OF_NEW if name in arguments and name != "importance"]
        if unwanted:
            old = arguments["supersedes"]
            raise UsageError(f"{unwanted[0]} stays as it was in what supersedes {old!r}: leave it out", unwanted[0])
        stored = memories.supersede(arguments["supersedes"], arguments["text"], importance=arguments.get("importance"))
    else:
        options = call.chosen(_OF_NEW) | {"provenance": arguments.get("provenance", str(vocabulary.Provenance.AGENT))}
        stored = memories.add(arguments["text"], **options)
    alike = [
        f"{match.memory.id} says nearly the same ({match.score:.2f}): {json.line(match.memory.content)}; "
        + call.caller.spelling.forget.format(old=match.memory.id)
        for match in stored.similar
    ]
    notes = (*alike, *_opposed(call, stored.memory, stored.contradicts))
    return Answered(stored.memory.id, records.STORED.data(stored), notes, stored)


def _opposed(call: OperationCall, memory: Memory, older: Sequence[Memory]) -> list[str]:
    """Return a note for each older memory that a new one contradicts, with how to link the two."""
    from satchel.search.contradictions import outranks  # here, because operations are described without the engine

    notes = []
    for earlier in (other for other in older if other.id != memory.id):
        verb, rank = (
            ("is against", _STAYS)
            if outranks(earlier.category, earlier.content, memory.category)
            else ("differs from", "")
        )
        said = f"{earlier.category}, {json.minute(earlier.begins)}: {json.line(earlier.content)}"
        link = call.caller.spelling.supersede.format(old=earlier.id, new=memory.id)
        notes.append(f"it {verb} {earlier.id} ({said}){rank}: if it replaces that, {link}")
    return notes


def _marked(call: OperationCall) -> Answered:
    """Share, pin or unpin memories."""
    action, memories = call.arguments["action"], call.engine.memories
    if "ids" not in call.arguments:
        raise UsageError(f"give the ids to {action}")
    ids = call.arguments["ids"]
    rows = memories.share(ids) if action == SHARE else memories.pin(ids, is_pinned=action == PIN)
    return Answered("\n".join(map(records.memory_line, rows)), records.MEMORIES.data(rows))


def _forgotten(call: OperationCall) -> Answered:
    """Forget records by id; by origin or question only list them, until the caller confirms."""
    arguments, memory = call.arguments, call.engine.memory
    for_good = arguments.get("for_good", False)
    if len({"ids", "origin", "question"} & arguments.keys()) != 1:
        raise UsageError("give what to forget: ids, origin or question, one of them", "origin", "question")
    is_agreed = "ids" in arguments or arguments.get("confirm", False)
    if "ids" in arguments:
        chosen = memory.find(arguments["ids"], trash=for_good)
    elif "origin" in arguments:
        chosen = memory.find_origin(arguments["origin"])
    else:
        chosen = memory.find_containing(arguments["question"], arguments.get("limit"))
    if is_agreed or not chosen.ids:
        chosen = memory.forget(chosen, for_good=for_good)
    notes = _forgetting_notes(chosen, arguments.get("question"))
    if chosen.is_forgotten and chosen.ids and not for_good:
        notes += (f"{call.caller.spelling.restore} brings one back within {vocabulary.TRASH_DAYS} days",)
    return Answered(records.chosen_text(chosen), records.FORGOTTEN.data(chosen), notes, chosen.ids)


def _forgetting_notes(chosen: Chosen, question: str | None) -> tuple[str, ...]:
    """Return what was not forgotten, and why."""
    waiting = f"nothing was forgotten yet: confirm true forgets these {len(chosen.ids)}"
    left = f"{chosen.left:,} more contain these words: they stay"
    nothing = f"no memory contains each word of {question!r}: `list` with it shows what is near"
    is_empty = question is not None and not chosen.ids
    notes = {waiting: not chosen.is_forgotten, left: chosen.left > 0, nothing: is_empty}
    return tuple(note for note, applies in notes.items() if applies)


def _restored(call: OperationCall) -> Answered:
    if "ids" not in call.arguments:
        raise UsageError("give the ids to restore; `list` with forgotten shows them")
    chosen = call.engine.memory.bring_back(call.arguments["ids"])
    return Answered(
        records.chosen_text(chosen), records.FORGOTTEN.data(chosen), (f"restored {len(chosen.ids)}",), chosen.ids
    )


def _reviewed(call: OperationCall) -> Answered:
    """List the candidates that wait, or accept or reject some of them."""
    arguments, review = call.arguments, call.engine.memory.review
    if (verdict := arguments.get("verdict")) is None:
        rows, left = _first(review.waiting(), arguments.get("limit", DEFAULT_ROWS), call.caller.spelling)
        for name in filter(arguments.__contains__, ("ids", "text", "category")):
            raise UsageError(f"{name} needs a verdict: accept or reject", "verdict")
        notes = left if rows else ("no candidate waits: they come from conversations that end", *left)
        return Answered(records.candidates_text(rows), records.CANDIDATES.data(rows), notes, rows)
    if verdict not in (ACCEPT, REJECT):
        raise UsageError(f"unknown verdict {verdict!r}: choose from {ACCEPT}, {REJECT}", "verdict")
    if verdict == REJECT:
        gone = review.reject(arguments.get("ids", []))
        return Answered(records.candidates_text(gone), records.CANDIDATES.data(gone), (f"rejected {len(gone)}",), gone)
    chosen = review.accept(arguments.get("ids", []), **call.chosen(("text", "category")))
    memories = call.engine.memories
    opposed = [
        note for memory in chosen.memories for note in _opposed(call, memory, memories.contradicted(memory.content))
    ]
    notes = f"remembered {len(chosen.ids)}", *opposed
    return Answered(records.chosen_text(chosen), records.FORGOTTEN.data(chosen), notes, chosen)


def _untidy(call: OperationCall) -> Answered:
    """List the memories to clean up, each with the reasons."""
    engine, limit = call.engine, call.arguments.get("limit", DEFAULT_ROWS)
    every = engine.memories.untidy(engine.receipts.handles.shown(Kind.MEMORY))
    rows, left = _first(every, limit, call.caller.spelling)
    lines = [
        f"{records.memory_line(row.memory)}\n    {'; '.join(row.reasons)}; shown by {row.shown} recent answers"
        for row in rows
    ]
    notes = left if rows else ("no memory needs to be cleaned up",)
    return Answered("\n".join(lines), {"memories": many(records.UNTIDY).data(rows)}, notes)


def _trash(call: OperationCall) -> Answered:
    unwanted = [name for name in call.arguments if name not in ("action", "forgotten", "limit")]
    if unwanted:
        raise UsageError(f"{unwanted[0]} does not apply to what is forgotten: leave it out", unwanted[0])
    chosen = call.engine.memory.trash()
    nothing = () if chosen.ids else ("nothing was forgotten here in the last days",)
    return Answered(records.chosen_text(chosen), records.FORGOTTEN.data(chosen), nothing, chosen.ids)


def _memories(call: OperationCall) -> Answered:
    """Return the memories that answer a question, best first, or all memories, newest first."""
    arguments, memories = call.arguments, call.engine.memories
    if arguments.get("forgotten", False):
        return _trash(call)
    if "question" in arguments:
        return _matches(call, arguments["question"])
    every = memories.listed(**call.chosen((*OF_SEARCH, "superseded")))
    rows, left = _first(every, arguments.get("limit", DEFAULT_ROWS), call.caller.spelling)
    return Answered(
        "\n".join(map(records.memory_line, rows)), records.MEMORIES.data(rows), left if rows else (_NO_MEMORY,)
    )


_STAYS = ", which stays first"

_NO_MEMORY = "nothing that is remembered here matches"


def _matches(call: OperationCall, question: str) -> Answered:
    if "superseded" in call.arguments:
        raise UsageError("superseded does not apply to a question: leave one of the two out", "superseded")
    limit = call.arguments.get("limit", 10)  # default number of matches of a question
    matches = call.engine.memories.search(question, limit=limit, **call.chosen(OF_SEARCH))
    lines = [records.memory_line(row.memory, f"{row.score:.2f}", row.newer, row.against) for row in matches]
    return Answered("\n".join(lines), records.MATCHES.data(matches), () if matches else (_NO_MEMORY,))


def _first(rows: list[Row], limit: int, spelling: Spelling) -> tuple[list[Row], tuple[str, ...]]:
    """Return the first rows, and a note that there are more."""
    if limit < 1:
        raise UsageError(f"limit is {limit}: give at least 1", "limit")
    more = f"{limit} of {len(rows)} are listed: {spelling.limit} {len(rows)} lists all"
    return rows[:limit], (more,) if len(rows) > limit else ()


def _experience(call: OperationCall) -> Answered:
    action, journal = _check_action(call.arguments, EXPERIENCE_ACTIONS), call.engine.experiences
    call = replace(call, arguments={**_session_of(call, action), **call.arguments})
    arguments = call.arguments
    if missing := [*filterfalse(arguments.__contains__, NEEDED.get(action, ()))]:
        raise UsageError(f"{action} needs {', '.join(missing)}")
    # The field of an experience is named `action`, which is the name of the command here.
    values = {"action" if name == "action_taken" else name: arguments[name] for name in arguments if name != "action"}
    if action == LIST:
        return _experiences(call)
    if action == SHOW:
        shown = journal.get(values["id"]) if "id" in values else journal.require_active(**call.chosen(("session",)))
        return Answered(records.experience_text(shown), records.EXPERIENCE.data(shown))
    if action == START:
        started = journal.start(**values)
        return _changed(started.experience, _orphans(started.orphans, call.caller.spelling))
    changes: Mapping[str, Callable[..., Experience]] = {
        UPDATE: journal.update, NOTE: journal.note, CORRECT: journal.correct, RESOLVE: journal.resolve,
    }  # fmt: skip
    first = {NOTE: "note", CORRECT: "id"}.get(action)
    return _changed(changes[action](*([values.pop(first)] if first else ()), **values))


def _session_of(call: OperationCall, action: str) -> dict[str, str]:
    """Return the session of the connection, if neither the host nor the settings name one."""
    is_unnamed = (
        "session" in EXPERIENCE_ACTIONS[action] and call.engine.memory.notebook.session == vocabulary.DEFAULT_SESSION
    )
    return {"session": call.caller.session} if call.caller.session and is_unnamed else {}


def _changed(experience: Experience, notes: tuple[str, ...] = ()) -> Answered:
    """Return the id, status and tier as text: the caller knows the rest."""
    tier = experience.confidence_tier
    shown = f"{experience.id}  {experience.status}" + (f"  {tier}" if tier is not None else "")
    return Answered(shown, records.EXPERIENCE.data(experience), notes)


def _experiences(call: OperationCall) -> Answered:
    """Return the experiences, newest first, and the active ones of other sessions."""
    journal, options = call.engine.experiences, call.chosen(_LISTED)
    session = {"session": options.pop("session")} if "session" in options else {}
    limit = options.pop("limit", DEFAULT_ROWS)
    rows, left = _first(journal.listed(**options), limit, call.caller.spelling)
    orphans = journal.orphans(**session)
    envelope = {"experiences": many(records.EXPERIENCE).data(rows), "orphans": [orphan.id for orphan in orphans]}
    nothing = () if rows else ("no experience of this kind is recorded here",)
    notes = (*nothing, *left, *_orphans(orphans, call.caller.spelling))
    return Answered("\n".join(map(records.experience_line, rows)), envelope, notes)


def _orphans(orphans: Sequence[Experience], spelling: Spelling) -> tuple[str, ...]:
    return tuple(
        f"{orphan.id} of session {orphan.session_id!r} is still active: "
        f"{spelling.resolve.format(session=orphan.session_id)}"
        for orphan in orphans
    )


def _values(call: OperationCall) -> Answered:
    values = call.engine.values.listed(call.arguments.get("axis"))
    return Answered("", records.VALUES.data(values), subject=values)


def _proposals(call: OperationCall) -> Answered:
    proposals = call.engine.values.propose(call.arguments.get("cluster"), call.arguments.get("axis"))
    notes = tuple(dict.fromkeys(proposal.note for proposal in proposals if proposal.note))
    return Answered("", records.PROPOSALS.data(proposals), notes, subject=proposals)


_FILES = Parameter(
    "files", Shape.TEXTS, "Globs of the files that it is about: it is told before they are edited.", flags=("--files",)
)
_QUESTION = text("question", "Only matches, best first.", aliases=("query",))
_CATEGORY = text("category", "What it is about.", vocabulary.choices(vocabulary.MemoryCategory))
_TAGS = Parameter("tags", Shape.TEXTS, "Words to find it by.", flags=("--tag",))
_PROVENANCE = text("provenance", "Who says it (agent).", vocabulary.choices(vocabulary.Provenance), is_rare=True)
_ORIGIN = text("origin", "Source of the memories, to list or forget them together.", is_rare=True)
_MEMORY_LISTING = (
    text("author", "list: part of the name of who wrote them.", is_rare=True),
    text(
        "scope",
        "list: what the team shares, agents wrote, or belongs to the user.",
        vocabulary.choices(vocabulary.Scope),
        is_rare=True,
    ),
    Parameter("min_importance", Shape.NUMBER, "Lowest importance.", least=0, most=1, is_rare=True),
    Parameter("since", Shape.MOMENT, "True from then on; in a list: only newer ones.", is_rare=True),
    Parameter("until", Shape.MOMENT, "True until then; in a list: only older ones.", is_rare=True),
    Parameter("as_of", Shape.MOMENT, "What was true then, also if it was replaced since.", is_rare=True),
    Parameter("superseded", Shape.SWITCH, "Include replaced ones.", default=False, is_rare=True),
    Parameter("limit", Shape.COUNT, "Most rows.", least=1, flags=("-n", "--limit")),
)
_DOMAIN = text("domain", "start, list: the kind of work.", vocabulary.choices(vocabulary.Domain), listed_by="premortem")
_STRATEGY = text("strategy", "start, update, list: the approach.", vocabulary.choices(vocabulary.Strategy))
_VISIBILITY = text(
    "visibility",
    "Who finds it where a team shares the store (private).",
    vocabulary.choices(vocabulary.Visibility),
    is_rare=True,
)
_SESSION = text("session", "Your session id: each has one active experience.", is_rare=True)
_EXPERIENCE_LISTING = (
    text(
        "outcome", "list: only these.", (vocabulary.ACTIVE, *vocabulary.choices(vocabulary.OutcomeStatus)), is_rare=True
    ),
    text("tier", "list: only of this confidence.", vocabulary.choices(vocabulary.ConfidenceTier), is_rare=True),
    Parameter("since", Shape.MOMENT, "list: only newer ones.", is_rare=True),
    Parameter("limit", Shape.COUNT, "list: most rows.", least=1, flags=("-n", "--limit")),
)

REMEMBER = Operation(
    "remember",
    "Store, forget and list memories",
    "Remember a fact, decision, preference or error; forget, restore or list memories.",
    (
        # To share is for a person to decide: no list offers it to agents.
        text("action", "What to do.", (STORE, FORGET, RESTORE, LIST, REVIEW, TIDY), is_required=True),
        text("text", "One fact, in a sentence or a few."),
        _CATEGORY,
        Parameter("importance", Shape.NUMBER, "How important it is (0.5).", least=0, most=1),
        _TAGS,
        Parameter("everywhere", Shape.SWITCH, "store: for every repository, not only this one.", default=False),
        text("supersedes", "store: id of the memory that this text, or the memory of this id, replaces."),
        Parameter("ids", Shape.TEXTS, "Their ids."),
        text("verdict", "review: what becomes of `ids`; without it the candidates are listed.", (ACCEPT, REJECT)),
        _VISIBILITY,
        _QUESTION,
        _ORIGIN,
        Parameter("confirm", Shape.SWITCH, "forget by question or origin: forget them, not only list them.",
                  default=False, flags=("--yes",)),
        Parameter("for_good", Shape.SWITCH, "forget: remove at once, also what is in the trash.", default=False,
                  is_rare=True),
        Parameter("forgotten", Shape.SWITCH, "list: only what can be restored.", default=False, is_rare=True),
        _PROVENANCE,
        _FILES,
        *_MEMORY_LISTING,
    ),
    _remember,
    lambda: json.one_of(records.STORED, records.FORGOTTEN, records.MEMORIES, records.CANDIDATES),
    "Never a secret. What you tried belongs to `experience`.",
    leading=("action", "text", "category", "ids", "question"),
    hints=Hints(is_read_only=False, is_destructive=True, is_idempotent=False),
)  # fmt: skip

MEMORIES = Operation(
    "memories", "List memories", "List what is remembered, newest first, or what answers a question, best first.",
    (_QUESTION, _CATEGORY, _TAGS, _PROVENANCE, _ORIGIN, *_MEMORY_LISTING), _memories, lambda: records.MEMORIES.schema,
)  # fmt: skip

EXPERIENCE = Operation(
    "experience", "Keep an experience",
    "Record what you try while debugging or building: start with a hypothesis, resolve with result and lesson.",
    (
        text("action", "What to do.", tuple(EXPERIENCE_ACTIONS), is_required=True), _DOMAIN, _STRATEGY,
        text("goal", "start: the result you want."), text("hypothesis", "start, update: what is wrong, and where."),
        text("action_taken", "start, update: what you do about it.", flags=("--action",)),
        text("prediction", "start, update: what you will see if you are right."),
        text("note", "note: what you saw on the way."),
        text("status", "resolve: how it ended.", vocabulary.choices(vocabulary.OutcomeStatus)),
        text("result", "resolve: what happened."),
        # The description below names these three, so that the list need not do it again.
        text("surprise", "resolve, needed if falsified: what was not expected.", is_rare=True),
        text("root_cause", "resolve, needed if falsified: why it was wrong.",
             vocabulary.choices(vocabulary.RootCauseCategory), is_rare=True),
        text("root_cause_description", "resolve, needed if falsified: the same in a sentence.", is_rare=True),
        text("lesson", "resolve: what worked."), text("takeaway", "resolve: what to do next time."),
        text("id", "correct, show: its id; show takes the active one by default."), _VISIBILITY, _FILES,
        *_EXPERIENCE_LISTING, _SESSION,
    ),
    _experience, lambda: json.one_of(records.EXPERIENCE, records.EXPERIENCES),
    "start needs all of domain to prediction, resolve status and result (falsified also surprise, root_cause, "
    "root_cause_description). A plain fact goes to `remember`.",
    leading=("action", *_STARTED, "status", "result", "lesson"),
    hints=Hints(is_read_only=False, is_destructive=False, is_idempotent=False),
)  # fmt: skip

EXPERIENCES = Operation(
    "experiences", "List experiences", "List what was tried, newest first, active ones too.",
    (_DOMAIN, _STRATEGY, *_EXPERIENCE_LISTING, _SESSION), _experiences, lambda: records.EXPERIENCES.schema,
)  # fmt: skip

_AXIS = text("axis", "Only one axis of experiences.", vocabulary.choices(vocabulary.Axis), is_rare=True)

VALUES = Operation(
    "values", "List values", "List what experiences teach together, newest first.", (_AXIS,), _values,
    lambda: records.VALUES.schema,
)  # fmt: skip

PROPOSALS = Operation(
    "proposals", "List groups of experiences",
    "List the groups that experiences form, each with the lesson that could become a value.",
    (text("cluster", "Only one group, by its id."), _AXIS), _proposals, lambda: records.PROPOSALS.schema,
)  # fmt: skip
