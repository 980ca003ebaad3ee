"""Situations (task, tool, files, language), paths below a root, and conditions under `when:`.

    when: {tool: edit_file, paths: ["src/auth/**"], task_matches: "log ?in|session"}
    when: {any: [{language: python}, {not: {agent: reviewer}}]}

Conditions need no judge: they are parsed and checked once, then evaluated for a situation. Every field of a mapping
must be true; a list in a field is true if one of its entries is. `task_matches` is a regular expression from an
untrusted file, and `(a+)+b` can block the engine of the standard library for years. RE2 needs time linear in the text,
and has neither look-around nor back-references.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from satchel.errors import UnsafePathError, UsageError
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field
from satchel.sources.code.languages import language_of
from satchel.system.globs import Globs, is_among, problem_of
from satchel.text import linear_pattern
from satchel.types import Json
from satchel.vocabulary import is_number, parse_moment


def resolved(reference: str, folder: str) -> str:
    """Return the path below the root that `reference` names in `folder`. Raises UnsafePathError outside of the root."""
    reference = reference.strip().replace("\\", "/")
    if reference.startswith(("/", "~")) or re.match(r"[A-Za-z]:", reference) or "\0" in reference:
        raise UnsafePathError(f"{reference!r} leads outside the root: write it relative to a folder of the workspace")
    steps = [step for step in folder.split("/") if step]
    for step in reference.split("/"):
        if step == "..":
            if not steps:
                raise UnsafePathError(f"{reference!r} leads outside the root: it climbs above the topmost folder")
            steps.pop()
        elif step not in ("", "."):
            steps.append(step)
    return "/".join(steps)


def parent_of(path: str) -> str:
    """Return the folder of a path, empty at the root."""
    return path.rpartition("/")[0]


def folders_above(path: str) -> list[str]:
    """Return the folders above a path, the root ("") first."""
    steps = path.split("/")[:-1]
    return ["/".join(steps[:count]) for count in range(len(steps) + 1)]


LONGEST_TEXT = 4_000
"""Length limit of a task, an intent or an error. Both ends are kept: an error may begin or end with its name."""

_CUT = "\n…\n"

MAX_FILES = 200
MAX_TAGS = 50
LONGEST_PARAMETERS = 1_500
"""Length limit of the shown parameters: one may be the text of a file."""

_FILE_PARAMETERS = ("path", "file", "file_path", "filePath", "filename", "notebook_path")
"""Parameters of tools that name a file."""


@dataclass(frozen=True, slots=True)
class Situation:
    """One moment of an agent's work. Build it with `make_situation`, which checks the values.

    `files` are relative to the root; `language` is by default derived from them; `time` is in seconds (UTC), None if it
    does not matter. With `is_call` the reader has written the parameters and needs no copy of them.
    """

    tool: str = ""
    params: Mapping[str, Any] = field(default_factory=dict)
    task: str = ""
    intent: str = ""
    files: tuple[str, ...] = ()
    language: str = ""
    error: str = ""
    agent: str = ""
    time: float | None = None
    tags: tuple[str, ...] = ()
    is_call: bool = False

    @property
    def languages(self) -> tuple[str, ...]:
        """The stated language, else those of the files."""
        if self.language:
            return (self.language.lower(),)
        names = filter(None, map(language_of, self.files))
        return tuple(dict.fromkeys("typescript" if name == "tsx" else name for name in names))

    @property
    def purpose(self) -> str:
        """The query for history: task, intent and error. The history of the files is that of `file_history`."""
        return "\n".join(part for part in (self.task, self.intent, self.error) if part)

    @property
    def question(self) -> str:
        """The words for choosing rules: the purpose and the names of the files."""
        return "\n".join(part for part in (self.purpose, " ".join(self.files)) if part)

    def lines(self) -> list[str]:
        """Return the situation for display, one line for each field that is not empty."""
        parameters = json.dumps(dict(self.params), ensure_ascii=False, sort_keys=True) if self.params else ""
        if len(parameters) > LONGEST_PARAMETERS:
            parameters = parameters[:LONGEST_PARAMETERS] + "…"
        rows = {
            "Task": self.task, "Intent": self.intent, "Tool": self.tool, "Parameters": parameters,
            "Files": ", ".join(self.files), "Language": self.language, "Error": self.error, "Agent": self.agent,
            "Tags": ", ".join(self.tags),
        }  # fmt: skip
        if self.is_call:
            own = [*self.params.values()]
            rows = {name: value for name, value in rows.items() if name != "Parameters" and value not in own}
        return [f"{name}: {value}" for name, value in rows.items() if value]

    def digest(self) -> str:
        """Return a hash that is equal for situations that differ only in their time."""
        values = [getattr(self, row.name) for row in fields(self) if row.name not in ("time", "is_call")]
        return blake2b(json.dumps(values, sort_keys=True, default=str).encode(), digest_size=16).hexdigest()


def make_situation(
    situation: Mapping[str, Any] | Situation | None = None, allow: Sequence[str] = (), root: Path | None = None
) -> Situation:
    """Check and return a situation; `timestamp` is another name of `time` (milliseconds are recognised).

    Absolute paths below the `root` become relative to it. Tools name them so: in `path`, or in a list of `edits`.

    Raises UsageError for an unknown field (the message lists all) and for a value of the wrong kind.
    """
    if isinstance(situation, Situation):
        return situation
    values = _given(situation)
    params = _parameters(values.get("params", {}), allow)
    edits = params.get("edits")
    calls = [params, *(edits if isinstance(edits, list) else ())]
    named = [call.get(name) for call in calls if isinstance(call, Mapping) for name in _FILE_PARAMETERS]
    files = [path for path in named if isinstance(path, str)]
    texts = {name: _text(name, values.get(name, ""), allow) for name in ("task", "intent", "error")}
    line = partial(sanitize.line, allow=allow)
    words = {name: line(_text(name, values.get(name, ""))) for name in ("tool", "language", "agent")}
    return Situation(
        params=params,
        files=_files([_below(path, root) for path in (*_texts("files", values.get("files", ())), *files)], allow),
        time=_seconds(values.get("time")),
        is_call=values.get("is_call") is True,
        tags=tuple(map(line, _texts("tags", values.get("tags", ()))[:MAX_TAGS])),
        **texts,
        **words,
    )


def _given(situation: object) -> Json:
    """Return the fields that are given. Raises UsageError for an unknown one."""
    if not isinstance(situation, Mapping | None):
        raise UsageError(f"the situation is {situation!r:.60}: give a mapping, as in {{'task': 'sign cookies'}}")
    values = {name: value for name, value in (situation or {}).items() if value is not None}
    values = {"time": values.pop("timestamp"), **values} if "timestamp" in values else values
    names = [row.name for row in fields(Situation)]
    if unknown := [name for name in values if name not in names]:
        names[-1] = "context"  # in place of the last one, `is_call`, which is not for callers
        raise UsageError(f"a situation has no {unknown[0]!r}: choose from {', '.join(names)}")
    return values


def _text(name: str, value: object, allow: Sequence[str] = ()) -> str:
    if not isinstance(value, str):
        raise UsageError(f"{name} of the situation is {value!r:.60}: give a text")
    text = sanitize.text(value, allow).strip()
    half = (LONGEST_TEXT - len(_CUT)) // 2  # a text that was cut once is not cut again
    return text if len(text) <= LONGEST_TEXT else f"{text[:half]}{_CUT}{text[-half:]}"


def _texts(name: str, value: object) -> list[str]:
    listed = value.split(",") if isinstance(value, str) else value
    if not isinstance(listed, Iterable) or isinstance(listed, Mapping):
        raise UsageError(f"{name} of the situation is {value!r:.60}: give a list of texts")
    entries = list(listed)
    if not all(isinstance(entry, str) for entry in entries):
        raise UsageError(f"{name} of the situation has a value that is not a text: give a list of texts")
    return [entry.strip() for entry in entries if entry.strip()]


def _parameters(value: object, allow: Sequence[str]) -> Mapping[str, Any]:
    """Return the parameters, redacted as one text: the name `password` marks a secret only beside its value."""
    if not isinstance(value, Mapping):
        raise UsageError(f"params of the situation is {value!r:.60}: give names with values")
    plain = sanitize.value(value, allow)
    redacted = sanitize.text(json.dumps(plain, ensure_ascii=False, default=str, indent=0), allow)
    try:
        params = json.loads(redacted)
    except ValueError:  # the redacted secret included quotes or braces of JSON
        return {"parameters": redacted}
    return params if isinstance(params, dict) else {}


def _below(path: str, root: Path | None) -> str:
    """Return an absolute path below the root as a relative one, any other path as it is."""
    for top in (root, root.resolve()) if root is not None and Path(path).is_absolute() else ():
        with suppress(ValueError):
            return Path(path).relative_to(top).as_posix()
    return path


def _files(paths: Sequence[str], allow: Sequence[str]) -> tuple[str, ...]:
    """Return the paths below the root, each once; others match nothing and are omitted."""
    files: dict[str, None] = {}
    for path in paths[:MAX_FILES]:
        with suppress(UnsafePathError):
            files[sanitize.line(resolved(path, ""), 1_000, allow)] = None
    return tuple(path for path in files if path)


def _seconds(value: object) -> float | None:
    if isinstance(value, str | datetime):
        return parse_moment(value, "time of the situation")
    if value is None:
        return None
    if not is_number(value) or value < 0:
        raise UsageError(f"time of the situation is {value!r:.60}: give seconds since 1970 (UTC)")
    return float(value) / 1000 if value > 1e11 else float(value)  # such large times are milliseconds


DEEPEST = 8
"""Limit of nested levels of all, any and not."""

MAX_ENTRIES = 100
"""Limit of the entries of one list."""

_JOINS = ("all", "any", "not")
_SPAN = re.compile(r"([01]\d|2[0-3]):([0-5]\d)\s*-\s*([01]\d|2[0-3]|24):([0-5]\d)")
_WILD = re.compile(r"[?*\[\]]")


class ConditionError(ValueError):
    """An unusable condition. `place` is the path to the wrong value inside the condition."""

    def __init__(self, problem: str, place: tuple[str | int, ...] = ()) -> None:
        super().__init__(problem)
        self.place = place


class ConditionResult(NamedTuple):
    """The result of a condition, with the reason."""

    holds: bool
    reason: str


class Condition(NamedTuple):
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
        raise ConditionError(f"is not a condition: give some of {', '.join([*_FIELDS, *_JOINS])}", place)
    parts = [_parse_part(str(name), value, (*place, str(name))) for name, value in written.items()]
    return parts[0] if len(parts) == 1 else Condition("all", parts=tuple(parts))


def _parse_part(name: str, value: object, place: tuple[str | int, ...]) -> Condition:
    if name == "not":
        return Condition("not", parts=(parse_condition(value, place),))
    if name in _JOINS:
        if not isinstance(value, list) or not 0 < len(value) <= MAX_ENTRIES:
            raise ConditionError(f"{name} needs a list of 1 to {MAX_ENTRIES} conditions", place)
        return Condition(name, parts=tuple(parse_condition(part, (*place, at)) for at, part in enumerate(value)))
    if name not in _FIELDS:
        names = ", ".join([*_FIELDS, *_JOINS])
        raise ConditionError(f"there is no condition {clean_field(name, 40)!r}: choose from {names}", place)
    return Condition(name, _entries(name, value if isinstance(value, list) else [value], place))


def _entries(name: str, listed: Sequence[object], place: tuple[str | int, ...]) -> tuple[str, ...]:
    """Return the values of a field. Raises ConditionError."""
    entries = tuple(entry.strip() for entry in listed if isinstance(entry, str) and entry.strip())
    if len(entries) != len(listed) or not 0 < len(entries) <= MAX_ENTRIES:
        raise ConditionError(f"{name} needs a text, or a list of 1 to {MAX_ENTRIES} texts", place)
    for entry in entries:
        if problem := _FIELDS[name].problem(entry):
            raise ConditionError(f"{name} {clean_field(entry, 60)!r} {problem}", place)
    return entries


@lru_cache(maxsize=500)
def pattern(text: str) -> Any:
    """Return a compiled regular expression of RE2 that ignores case. Raises ConditionError."""
    try:
        return linear_pattern(text, is_case_sensitive=False)
    except ValueError as error:
        raise ConditionError(str(error)) from None


def pattern_problem(text: str) -> str:
    """Return the problem with a regular expression, empty where there is none."""
    try:
        pattern(text)
    except ConditionError as error:
        return str(error)
    return ""


class _Field(NamedTuple):
    """One field of a condition: the check of its entries, and the problem with an entry."""

    check: Callable[[Sequence[str], Situation], ConditionResult]
    problem: Callable[[str], str] = lambda _: ""


def _check_names(label: str, names: Sequence[str], entries: Sequence[str]) -> ConditionResult:
    """Compare names of the situation with entries such as `edit_*`, ignoring case."""
    for entry in entries:
        for name in names:
            if is_among(name.casefold(), (entry.casefold(),)):
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
    # Characters at the beginning of the text that are searched.
    task = f"{situation.task}\n{situation.intent}".strip()[:4_000]
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


_FIELDS: Mapping[str, _Field] = {
    "tool": _Field(lambda entries, now: _check_names("the tool", [now.tool] if now.tool else [], entries)),
    "paths": _Field(_check_paths, problem_of),
    "task_matches": _Field(_check_task, pattern_problem),
    "language": _Field(lambda entries, now: _check_names("the language", now.languages, entries)),
    "error": _Field(_check_error),
    "agent": _Field(lambda entries, now: _check_names("the agent", [now.agent] if now.agent else [], entries)),
    "tags": _Field(lambda entries, now: _check_names("the tag", now.tags, entries)),
    "time": _Field(
        _check_time,
        lambda entry: "" if _SPAN.fullmatch(entry) else "is not a span of the day (UTC): write it as 22:00-06:00",
    ),
}
