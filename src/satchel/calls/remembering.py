"""Operations on what was said once and is true for long: store, forget, list, search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from satchel.calls import shapes
from satchel.calls.operation import Answered, Call, Hints, Operation
from satchel.calls.parameters import Parameter, Shape
from satchel.calls.records import forgotten_data, found_json, memory_json, memory_line, remark_line, stored_data
from satchel.errors import UsageError
from satchel.vocabulary import MemoryCategory, Provenance, choices

if TYPE_CHECKING:
    from satchel.learn.entries import FoundMemory

STORE, FORGET, LIST = ACTIONS = ("store", "forget", "list")

DEFAULT_ROWS = 20
DEFAULT_MATCHES = 10
"""As on the command line: what fits on a screen, and what answers a question."""

_OF_ACTION = {
    STORE: ("text", "category", "importance", "tags", "provenance", "origin", "everywhere", "supersedes"),
    FORGET: ("ids", "origin", "question", "limit", "confirm"),
    LIST: ("question", "category", "min_importance", "tags", "provenance", "origin", "since", "until", "superseded",
           "limit"),
}  # fmt: skip
"""Action -> the arguments that say something to it."""

_OF_NEW = ("category", "importance", "tags", "origin", "everywhere")
_OF_SEARCH = ("category", "min_importance", "tags", "since", "until")
_OF_LIST = ("category", "provenance", "origin", "since", "superseded")


def check_action(given: dict[str, Any], known: dict[str, tuple[str, ...]], default: str | None = None) -> str:
    """The action that was given. Raises UsageError for another one, and for arguments that say nothing to it."""
    action = given.get("action", default)
    if action not in known:
        raise UsageError(f"unknown action {action!r}: choose from {', '.join(known)}")
    for name in given:
        if name != "action" and name not in known[action]:
            takers = [other for other, names in known.items() if name in names]
            raise UsageError(f"{name} says nothing to {action}: it is for {' and '.join(takers)}")
    return str(action)


def _remember(call: Call) -> Answered:
    action = check_action(call.given, _OF_ACTION)
    return _stored(call) if action == STORE else _forgotten(call) if action == FORGET else memories(call)


def _stored(call: Call) -> Answered:
    given, kept = call.given, call.engine.memories
    if "text" not in given:
        raise UsageError("there is nothing to store: give text, one thing in a sentence or a few")
    if "supersedes" in given:
        unwanted = [name for name in _OF_NEW if name in given and name != "importance"]
        if unwanted:
            raise UsageError(f"{unwanted[0]} stays as it was in what supersedes {given['supersedes']!r}: leave it out")
        stored = kept.supersede(given["supersedes"], given["text"], importance=given.get("importance"))
    else:
        options = call.chosen(*_OF_NEW) | {"provenance": given.get("provenance", str(Provenance.AGENT))}
        stored = kept.add(given["text"], **options)
    return Answered(stored.memory.id, stored_data(stored), tuple(map(_alike, stored.similar)))


def _alike(found: FoundMemory) -> str:
    return f"{found.memory.id} says nearly the same ({found.score:.2f}): forget one of the two"


def _forgotten(call: Call) -> Answered:
    given, engine = call.given, call.engine
    if sum(name in given for name in ("ids", "origin", "question")) != 1:
        raise UsageError("say what to forget: ids, origin or question, one of them")
    kept, said = engine.memories, []
    if "ids" in given:
        chosen = kept.with_replaced(given["ids"])
    elif "origin" in given:
        found = kept.listed(origin=given["origin"], superseded=True)
        chosen, said = (
            kept.with_replaced([memory.id for memory in found]),
            engine.conversations.listed(origin=given["origin"]),
        )
    else:
        matches = kept.search(given["question"], limit=given.get("limit", DEFAULT_MATCHES))
        chosen = kept.with_replaced([match.memory.id for match in matches])
    is_agreed = "ids" in given or given.get("confirm", False) or not (chosen or said)
    if is_agreed and chosen:
        kept.forget([memory.id for memory in chosen])
    if is_agreed and said:
        engine.conversations.forget([remark.id for remark in said])
    notes = () if is_agreed else (f"nothing was forgotten yet: confirm true forgets these {len(chosen) + len(said)}",)
    lines = [*map(memory_line, chosen), *map(remark_line, said)]
    return Answered("\n".join(lines), forgotten_data(chosen, said, done=is_agreed), notes)


def memories(call: Call) -> Answered:
    """The memories that answer a question, best first; without one all, newest first."""
    given, kept = call.given, call.engine.memories
    nothing = "nothing that is remembered here matches"
    if "question" in given:
        unwanted = [name for name in ("provenance", "origin", "superseded") if name in given]
        if unwanted:
            raise UsageError(f"{unwanted[0]} says nothing to a question: leave one of the two out")
        found = kept.search(given["question"], limit=given.get("limit", DEFAULT_MATCHES), **call.chosen(*_OF_SEARCH))
        lines = [memory_line(row.memory, f"{row.score:.2f}") for row in found]
        return Answered("\n".join(lines), {"memories": [found_json(row) for row in found]}, () if found else (nothing,))
    tags = given.get("tags", [])
    rows = kept.listed(**call.chosen(*_OF_LIST), tag=tags[0] if tags else None)
    least, until = given.get("min_importance", 0.0), given.get("until")
    rows = [
        row for row in rows
        if set(tags) <= set(row.tags) and row.importance >= least and (until is None or row.created < until)
    ][: checked_limit(given.get("limit", DEFAULT_ROWS))]  # fmt: skip
    text = "\n".join(map(memory_line, rows))
    return Answered(text, {"memories": [memory_json(row) for row in rows]}, () if rows else (nothing,))


def checked_limit(limit: int) -> int:
    """A usable limit. Raises UsageError below 1."""
    if limit < 1:
        raise UsageError(f"limit is {limit}: give at least 1")
    return limit


_QUESTION = Parameter("question", Shape.TEXT, "Only what answers it, best first.", aliases=("query",))
_CATEGORY = Parameter("category", Shape.TEXT, "What it is about.", choices=tuple(choices(MemoryCategory)))
_TAGS = Parameter("tags", Shape.TEXTS, "Words to find it by.")
_PROVENANCE = Parameter(
    "provenance", Shape.TEXT, "Who says it (agent).", choices=tuple(choices(Provenance)), is_rare=True
)
_ORIGIN = Parameter("origin", Shape.TEXT, "Where it comes from, to list or forget all of it at once.")
_LISTING = (
    Parameter("min_importance", Shape.NUMBER, "Only what matters at least so much.", least=0, most=1, is_rare=True),
    Parameter("since", Shape.MOMENT, "Only newer ones.", is_rare=True),
    Parameter("until", Shape.MOMENT, "Only older ones.", is_rare=True),
    Parameter("superseded", Shape.SWITCH, "Also those that were replaced.", default=False, is_rare=True),
    Parameter("limit", Shape.COUNT, "At most so many.", least=1),
)

REMEMBER = Operation(
    "remember",
    "Store, forget and list memories",
    "Remember a fact, decision, preference or error for later sessions; forget or list what is remembered.",
    (
        Parameter("action", Shape.TEXT, "What to do.", choices=ACTIONS, is_required=True),
        Parameter("text", Shape.TEXT, "store: one thing, in a sentence or a few."),
        _CATEGORY,
        Parameter("importance", Shape.NUMBER, "How much it matters (0.5).", least=0, most=1),
        _TAGS,
        Parameter("everywhere", Shape.SWITCH, "store: for every folder, not only this repository.", default=False),
        Parameter("supersedes", Shape.TEXT, "store: id of the memory that this replaces."),
        Parameter("ids", Shape.TEXTS, "forget: these, for good."),
        _QUESTION,
        _ORIGIN,
        Parameter("confirm", Shape.SWITCH, "forget by question or origin: really do it, not only preview.",
                  default=False),
        _PROVENANCE,
        *_LISTING,
    ),
    _remember,
    shapes.one_of(
        shapes.record(memory=shapes.MEMORY, similar=shapes.many(shapes.MEMORY)),
        shapes.record(forgotten=shapes.SWITCH, memories=shapes.many(shapes.MEMORY),
                      conversations=shapes.many(shapes.ANY_OBJECT)),
        shapes.MEMORIES,
    ),
    hints=Hints(is_read_only=False, is_destructive=True, is_idempotent=False),
)  # fmt: skip

MEMORIES = Operation(
    "memories",
    "List memories",
    "List what is remembered, newest first, or what answers a question, best first.",
    (_QUESTION, _CATEGORY, _TAGS, _PROVENANCE, _ORIGIN, *_LISTING),
    memories,
    shapes.MEMORIES,
)
