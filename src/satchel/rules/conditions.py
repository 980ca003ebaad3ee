"""Conditions that need no judgement: what `when:` says, checked once, and whether it holds for a situation.

    when: {tool: edit_file, paths: ["src/auth/**"], task_matches: "log ?in|session"}
    when: {any: [{language: python}, {not: {agent: reviewer}}]}

All fields of a mapping must hold; a list in a field holds if one of its entries does.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from typing import Any

from satchel.clean import clean_field
from satchel.rules import expression
from satchel.rules.expression import any_found
from satchel.rules.paths import Globs
from satchel.rules.paths import problem_of as glob_problem
from satchel.rules.situation import Situation

DEEPEST = 8
"""Levels of all, any and not: more is a program."""

MOST_ENTRIES = 100
"""Entries of one list."""

_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]|24):([0-5]\d)")
_WILD = re.compile(r"[?*\[\]]")


@dataclass(frozen=True, slots=True)
class Outcome:
    """Whether a condition holds, and what made it so."""

    holds: bool
    reason: str


def _holds(reason: str) -> Outcome:
    return Outcome(holds=True, reason=reason)


def _fails(reason: str) -> Outcome:
    return Outcome(holds=False, reason=reason)


class ConditionError(ValueError):
    """A condition that cannot be used. `place` leads to the value inside the condition that is to blame."""

    def __init__(self, problem: str, place: tuple[str | int, ...] = ()) -> None:
        super().__init__(problem)
        self.place = place


@dataclass(frozen=True, slots=True)
class Condition:
    """A checked condition: `name` is a field or all, any, not; `entries` are its values, `parts` what it joins."""

    name: str
    entries: tuple[str, ...] = ()
    parts: tuple[Condition, ...] = ()

    def check(self, situation: Situation) -> Outcome:
        """Whether it holds for a situation."""
        if self.name in _JOINS:
            return _JOINS[self.name]([part.check(situation) for part in self.parts])
        return _FIELDS[self.name].check(self.entries, situation)


def parse_condition(given: object, place: tuple[str | int, ...] = ()) -> Condition:
    """What `when:` says. Raises ConditionError, with the place of what is wrong."""
    if len(place) > DEEPEST * 2:
        raise ConditionError(f"is nested deeper than {DEEPEST} levels", place)
    if not isinstance(given, Mapping) or not given:
        raise ConditionError(f"is no condition: give some of {', '.join(_known())}", place)
    parts = [_part(str(name), value, (*place, str(name))) for name, value in given.items()]
    return parts[0] if len(parts) == 1 else Condition("all", parts=tuple(parts))


def _known() -> list[str]:
    return [*_FIELDS, *_JOINS]


def _part(name: str, value: object, place: tuple[str | int, ...]) -> Condition:
    if name == "not":
        return Condition("not", parts=(parse_condition(value, place),))
    if name in _JOINS:
        if not isinstance(value, list) or not 0 < len(value) <= MOST_ENTRIES:
            raise ConditionError(f"{name} needs a list of 1 to {MOST_ENTRIES} conditions", place)
        return Condition(name, parts=tuple(parse_condition(one, (*place, at)) for at, one in enumerate(value)))
    if name not in _FIELDS:
        raise ConditionError(
            f"there is no condition {clean_field(name, 40)!r}: choose from {', '.join(_known())}", place
        )
    listed = value if isinstance(value, list) else [value]
    entries = [entry for entry in listed if isinstance(entry, str) and entry.strip()]
    if not entries or len(entries) != len(listed) or len(entries) > MOST_ENTRIES:
        raise ConditionError(f"{name} needs a text, or a list of 1 to {MOST_ENTRIES} texts", place)
    for entry in entries:
        problem = _FIELDS[name].problem(entry)
        if problem:
            raise ConditionError(f"{name} {clean_field(entry, 60)!r} {problem}", place)
    return Condition(name, tuple(entry.strip() for entry in entries))


@dataclass(frozen=True, slots=True)
class _Field:
    """What one field of a condition looks at: its check, and what is wrong with an entry."""

    check: Callable[[Sequence[str], Situation], Outcome]
    problem: Callable[[str], str] = lambda _: ""


def _like(pattern: str, word: str) -> bool:
    return fnmatchcase(word.casefold(), pattern.casefold())


def _name(field: str, words: Callable[[Situation], Sequence[str]]) -> Callable[[Sequence[str], Situation], Outcome]:
    """A check that one of the situation's words is like one of the entries (`edit_*`)."""

    def check(entries: Sequence[str], situation: Situation) -> Outcome:
        found = words(situation)
        for entry in entries:
            for word in found:
                if _like(entry, word):
                    return _holds(f"{field} {word}" + (f" is like {entry}" if _WILD.search(entry) else ""))
        return _fails(f"{field} is {', '.join(found) or 'not given'}, not {' or '.join(entries)}")

    return check


def _paths(entries: Sequence[str], situation: Situation) -> Outcome:
    found = Globs(tuple(entries)).first(situation.files)
    if found is None:
        return _fails(f"no file matches {' or '.join(entries)}")
    return _holds(f"{found[0]} matches {found[1]}")


def _task(entries: Sequence[str], situation: Situation) -> Outcome:
    found = any_found(entries, f"{situation.task}\n{situation.intent}".strip())
    return Outcome(bool(found), f"the task {'matches' if found else 'does not match'} {found or ' or '.join(entries)}")


def _error(entries: Sequence[str], situation: Situation) -> Outcome:
    said = situation.error.casefold()
    found = next((entry for entry in entries if entry.casefold() in said), "") if said else ""
    return Outcome(bool(found), f"the error {'names' if found else 'does not name'} {found or ' or '.join(entries)}")


def _time(entries: Sequence[str], situation: Situation) -> Outcome:
    if situation.time is None:
        return _fails("the situation has no time")
    moment = datetime.fromtimestamp(situation.time, UTC)
    minute = moment.hour * 60 + moment.minute
    for entry in entries:
        start, end = _minutes(entry)
        if start <= minute < end if start < end else (minute >= start or minute < end):
            return _holds(f"{moment:%H:%M} UTC is in {entry}")
    return _fails(f"{moment:%H:%M} UTC is not in {' or '.join(entries)}")


def _minutes(entry: str) -> tuple[int, int]:
    found = _SPAN.fullmatch(entry.strip())
    assert found is not None  # checked when the condition was read
    first, second, third, fourth = map(int, found.groups())
    return first * 60 + second, third * 60 + fourth


def _time_problem(entry: str) -> str:
    return "" if _SPAN.fullmatch(entry.strip()) else "is no span of the day (UTC): write it as 22:00-06:00"


_FIELDS: Mapping[str, _Field] = {
    "tool": _Field(_name("the tool", lambda situation: [situation.tool] if situation.tool else [])),
    "paths": _Field(_paths, glob_problem),
    "task_matches": _Field(_task, expression.problem_of),
    "language": _Field(_name("the language", lambda situation: situation.languages)),
    "error": _Field(_error),
    "agent": _Field(_name("the agent", lambda situation: [situation.agent] if situation.agent else [])),
    "tags": _Field(_name("the tag", lambda situation: situation.tags)),
    "time": _Field(_time, _time_problem),
}


def _all(outcomes: Sequence[Outcome]) -> Outcome:
    failed = next((outcome for outcome in outcomes if not outcome.holds), None)
    return failed or _holds(" and ".join(outcome.reason for outcome in outcomes))


def _any(outcomes: Sequence[Outcome]) -> Outcome:
    held = next((outcome for outcome in outcomes if outcome.holds), None)
    return held or _fails(" and ".join(outcome.reason for outcome in outcomes))


def _not(outcomes: Sequence[Outcome]) -> Outcome:
    return Outcome(
        not outcomes[0].holds, f"{outcomes[0].reason} (wanted otherwise)" if outcomes[0].holds else outcomes[0].reason
    )


_JOINS: Mapping[str, Callable[[Sequence[Outcome]], Outcome]] = {"all": _all, "any": _any, "not": _not}


def condition_data(given: Any) -> str:
    """A condition as written, on one line, to be compared."""
    import json

    return json.dumps(given, sort_keys=True, ensure_ascii=False, default=str)
