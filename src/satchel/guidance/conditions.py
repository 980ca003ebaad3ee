"""Conditions under `when:`, which need no judge: parsed and checked once, then evaluated for a situation.

    when: {tool: edit_file, paths: ["src/auth/**"], task_matches: "log ?in|session"}
    when: {any: [{language: python}, {not: {agent: reviewer}}]}

Every field of a mapping must be true; a list in a field is true if one of its entries is. `task_matches` is a regular
expression from an untrusted file, and `(a+)+b` can block the engine of the standard library for years. RE2 needs time
linear in the text, and has neither look-around nor back-references.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any

from satchel.guidance.situation import Globs, Situation, problem_of
from satchel.safety.sanitize import clean_field

DEEPEST = 8
"""Limit of nested levels of all, any and not."""

MOST_ENTRIES = 100
"""Limit of the entries of one list."""

LONGEST_PATTERN = 400
"""Length limit of a regular expression."""

PATTERN_MEMORY = 1 << 18
"""Memory limit of a compiled pattern in bytes: enough for a thousand letters, not for `(a{100}){100}`."""

LONGEST_SUBJECT = 4_000
"""Characters at the beginning of the text that are searched."""

_JOINS = ("all", "any", "not")
_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]|24):([0-5]\d)")
_WILD = re.compile(r"[?*\[\]]")
_LITERAL_REPEAT = re.compile(r"(?<!\\)\{(?:,\d+|\d{5,}(?:,\d*)?|\d*,\d{5,})\}")
"""Repeats that RE2 silently reads as plain text: `{,3}`, and counts far beyond its limit of 1,000."""


class ConditionError(ValueError):
    """An unusable condition. `place` is the path to the wrong value inside the condition."""

    def __init__(self, problem: str, place: tuple[str | int, ...] = ()) -> None:
        super().__init__(problem)
        self.place = place


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """The result of a condition, with the reason."""

    holds: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Condition:
    """A checked condition: `name` is a field or all, any, not; `entries` are values, `parts` joined conditions."""

    name: str
    entries: tuple[str, ...] = ()
    parts: tuple[Condition, ...] = ()

    def check(self, situation: Situation) -> ConditionResult:
        """Return the outcome for a situation, with the reason."""
        if self.name not in _JOINS:
            return _FIELDS[self.name].check(self.entries, situation)
        outcomes = [part.check(situation) for part in self.parts]
        if self.name == "not":
            reason = outcomes[0].reason
            return ConditionResult(
                not outcomes[0].holds, f"{reason} (wanted otherwise)" if outcomes[0].holds else reason
            )
        is_any = self.name == "any"
        decisive = next((outcome for outcome in outcomes if outcome.holds is is_any), None)
        return decisive or ConditionResult(not is_any, " and ".join(outcome.reason for outcome in outcomes))


def parse_condition(written: object, place: tuple[str | int, ...] = ()) -> Condition:
    """Parse the value of `when:`. Raises ConditionError with the place of the mistake."""
    if len(place) > DEEPEST * 2:
        raise ConditionError(f"is nested deeper than {DEEPEST} levels", place)
    if not isinstance(written, Mapping) or not written:
        raise ConditionError(f"is no condition: give some of {', '.join([*_FIELDS, *_JOINS])}", place)
    parts = [_parse_part(str(name), value, (*place, str(name))) for name, value in written.items()]
    return parts[0] if len(parts) == 1 else Condition("all", parts=tuple(parts))


def _parse_part(name: str, value: object, place: tuple[str | int, ...]) -> Condition:
    if name == "not":
        return Condition("not", parts=(parse_condition(value, place),))
    if name in _JOINS:
        if not isinstance(value, list) or not 0 < len(value) <= MOST_ENTRIES:
            raise ConditionError(f"{name} needs a list of 1 to {MOST_ENTRIES} conditions", place)
        return Condition(name, parts=tuple(parse_condition(one, (*place, at)) for at, one in enumerate(value)))
    if name not in _FIELDS:
        names = ", ".join([*_FIELDS, *_JOINS])
        raise ConditionError(f"there is no condition {clean_field(name, 40)!r}: choose from {names}", place)
    listed = value if isinstance(value, list) else [value]
    entries = tuple(entry.strip() for entry in listed if isinstance(entry, str) and entry.strip())
    if not entries or len(entries) != len(listed) or len(entries) > MOST_ENTRIES:
        raise ConditionError(f"{name} needs a text, or a list of 1 to {MOST_ENTRIES} texts", place)
    for entry in entries:
        problem = _FIELDS[name].problem(entry)
        if problem:
            raise ConditionError(f"{name} {clean_field(entry, 60)!r} {problem}", place)
    return Condition(name, entries)


@lru_cache(maxsize=500)
def pattern(text: str) -> Any:
    """Return a compiled regular expression of RE2 that ignores case. Raises ConditionError."""
    import re2  # imported here, because only contexts with a pattern need it

    if len(text) > LONGEST_PATTERN:
        raise ConditionError(f"has {len(text)} characters: at most {LONGEST_PATTERN}")
    literal = _LITERAL_REPEAT.search(text)
    if literal is not None:
        raise ConditionError(f"is no regular expression: repeat {literal[0]} has no lower bound, or one above 1,000")
    options = re2.Options()
    options.case_sensitive, options.log_errors, options.max_mem = False, False, PATTERN_MEMORY
    try:
        return re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode("utf-8", "replace") if isinstance(error.args[0], bytes) else str(error)
        raise ConditionError(f"is no regular expression that RE2 accepts: {reason}") from None


def pattern_problem(text: str) -> str:
    """Return the problem with a regular expression, empty where there is none."""
    try:
        pattern(text)
    except ConditionError as error:
        return str(error)
    return ""


@dataclass(frozen=True, slots=True)
class _Field:
    """One field of a condition: the check of its entries, and the problem with an entry."""

    check: Callable[[Sequence[str], Situation], ConditionResult]
    problem: Callable[[str], str] = lambda _: ""


def _check_names(label: str, names: Sequence[str], entries: Sequence[str]) -> ConditionResult:
    """Compare names of the situation with entries such as `edit_*`, ignoring case."""
    for entry in entries:
        for name in names:
            if fnmatchcase(name.casefold(), entry.casefold()):
                return ConditionResult(
                    holds=True, reason=f"{label} {name}" + (f" is like {entry}" if _WILD.search(entry) else "")
                )
    return ConditionResult(
        holds=False, reason=f"{label} is {', '.join(names) or 'not given'}, not {' or '.join(entries)}"
    )


def _check_paths(entries: Sequence[str], situation: Situation) -> ConditionResult:
    match = Globs(tuple(entries)).first(situation.files)
    if match is None:
        return ConditionResult(holds=False, reason=f"no file matches {' or '.join(entries)}")
    return ConditionResult(holds=True, reason=f"{match[0]} matches {match[1]}")


def _check_task(entries: Sequence[str], situation: Situation) -> ConditionResult:
    task = f"{situation.task}\n{situation.intent}".strip()[:LONGEST_SUBJECT]
    task = task.encode("utf-8", "replace").decode("utf-8")
    for entry in entries:
        if pattern(entry).search(task):
            return ConditionResult(holds=True, reason=f"the task matches {entry}")
    return ConditionResult(holds=False, reason=f"the task does not match {' or '.join(entries)}")


def _check_error(entries: Sequence[str], situation: Situation) -> ConditionResult:
    error = situation.error.casefold()
    named = next((entry for entry in entries if error and entry.casefold() in error), "")
    return ConditionResult(
        bool(named), f"the error {'names' if named else 'does not name'} {named or ' or '.join(entries)}"
    )


def _check_time(entries: Sequence[str], situation: Situation) -> ConditionResult:
    if situation.time is None:
        return ConditionResult(holds=False, reason="the situation has no time")
    moment = datetime.fromtimestamp(situation.time, UTC)
    minute = moment.hour * 60 + moment.minute
    for entry in entries:
        span = _SPAN.fullmatch(entry)
        assert span is not None  # checked when the condition was read
        hour, start, end_hour, end = map(int, span.groups())
        start, end = hour * 60 + start, end_hour * 60 + end
        if start <= minute < end if start < end else (minute >= start or minute < end):
            return ConditionResult(holds=True, reason=f"{moment:%H:%M} UTC is in {entry}")
    return ConditionResult(holds=False, reason=f"{moment:%H:%M} UTC is not in {' or '.join(entries)}")


def _time_problem(entry: str) -> str:
    return "" if _SPAN.fullmatch(entry) else "is no span of the day (UTC): write it as 22:00-06:00"


_FIELDS: Mapping[str, _Field] = {
    "tool": _Field(lambda entries, now: _check_names("the tool", [now.tool] if now.tool else [], entries)),
    "paths": _Field(_check_paths, problem_of),
    "task_matches": _Field(_check_task, pattern_problem),
    "language": _Field(lambda entries, now: _check_names("the language", now.languages, entries)),
    "error": _Field(_check_error),
    "agent": _Field(lambda entries, now: _check_names("the agent", [now.agent] if now.agent else [], entries)),
    "tags": _Field(lambda entries, now: _check_names("the tag", now.tags, entries)),
    "time": _Field(_check_time, _time_problem),
}


def condition_data(written: Any) -> str:
    """Return a rule as JSON on one line, for comparison."""
    return json.dumps(written, sort_keys=True, ensure_ascii=False, default=str)
