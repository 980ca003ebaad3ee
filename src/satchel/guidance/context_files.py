"""Read context.yaml files: their text, lines and schema."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from satchel.errors import ContextFileError, UsageError
from satchel.guidance.situation import Condition, ConditionError, parse_condition
from satchel.safety import sanitize
from satchel.safety.sanitize import clean_field, clean_text
from satchel.search.filters import parse_filters
from satchel.types import Data, Failure, Json
from satchel.vocabulary import is_number, is_whole

Place = tuple[str | int, ...]
"""The path of a value, keys and positions, as in `("injection_rules", 0, "inject")`."""

DEEPEST = 24
"""Limit of nested levels: people write five; deeper files are attacks."""

MAX_VALUES = 20_000
"""Limit of the values of a file, aliases expanded; the largest honest one seen has a few hundred."""

_CONSTANTS = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18}|[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?")


class Marked(NamedTuple):
    """The values of a text, and the first line (1-based) of each."""

    data: Any
    lines: Mapping[Place, int]


def read_yaml(text: str, name: str) -> Marked:
    """Read one document. `name` is for messages. Raises ContextFileError.

    An empty text is None. All keys are texts.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader(name)
    try:
        return reader.document(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = clean_field(str(getattr(error, "problem", None) or getattr(error, "reason", None) or "is not YAML"))
        line = 1 + mark.line if mark is not None else 0
        raise ContextFileError(f"{at(name, line)}: {problem}") from None


def at(name: str, line: int = 0) -> str:
    """Return `client/context.yaml:12`, or only the path if `line` is 0."""
    return f"{clean_field(name)}:{line}" if line else clean_field(name)


class _Reader:
    """Builds values from YAML events, nested at most `DEEPEST` levels."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._count = 0
        self._lines: dict[Place, int] = {}
        self._anchors: dict[str, tuple[Any, int]] = {}

    def document(self, events: Iterator[Any]) -> Marked:
        data: Any = None
        documents = 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._error(event, "has a second document: keep one per file")
                data = self._value(next(events), events, ())
        return Marked(data, self._lines)

    def _error(self, event: Any, problem: str) -> ContextFileError:
        return ContextFileError(f"{at(self._name, 1 + event.start_mark.line)}: {problem}")

    def _spend(self, count: int, event: Any) -> None:
        self._count += count
        if self._count > MAX_VALUES:
            raise self._error(event, f"stands for more than {MAX_VALUES:,} values: write less, and no alias of aliases")

    def _value(self, event: Any, events: Iterator[Any], place: Place) -> Any:
        kind = type(event).__name__
        self._lines[place] = 1 + event.start_mark.line
        if kind == "AliasEvent":
            value, size = self._anchors.get(event.anchor, (None, -1))
            if size < 0:
                raise self._error(event, f"*{clean_field(event.anchor, 40)} stands for nothing that was said before")
            self._spend(size, event)
            return value
        before = self._count
        self._spend(1, event)
        if event.tag is not None:
            raise self._error(event, f"has the tag {clean_field(event.tag, 60)}: write plain values without tags")
        if len(place) > DEEPEST:
            raise self._error(event, f"is nested deeper than {DEEPEST} levels")
        if kind == "ScalarEvent":
            value = _plain(event.value) if event.implicit[0] else event.value
        elif kind == "SequenceStartEvent":
            value = self._list(events, place)
        else:
            value = self._mapping(events, place)
        if event.anchor is not None:
            self._anchors[event.anchor] = (value, self._count - before)
        return value

    def _list(self, events: Iterator[Any], place: Place) -> list[Any]:
        values: list[Any] = []
        while type(event := next(events)).__name__ != "SequenceEndEvent":
            values.append(self._value(event, events, (*place, len(values))))
        return values

    def _mapping(self, events: Iterator[Any], place: Place) -> Json:
        values: Json = {}
        while (kind := type(event := next(events)).__name__) != "MappingEndEvent":
            if kind != "ScalarEvent" or event.tag is not None:
                raise self._error(event, "has a key that is not a plain text")
            key = event.value
            if key == "<<" and event.implicit[0]:
                raise self._error(event, "has a merge key (<<): name the other context with `extends` instead")
            if key in values:
                line = self._lines[(*place, key)]
                raise self._error(event, f"has {clean_field(key, 60)!r} twice, first on line {line}: leave one")
            values[key] = self._value(next(events), events, (*place, key))
            self._lines[(*place, key)] = 1 + event.start_mark.line
        return values


def _plain(word: str) -> Any:
    """Return the value of a word without quotes in the core schema."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _WHOLE.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else word


FILE_NAME = "context.yaml"

CONTEXTS = "contexts"
"""The source of notes about context files."""

MAX_LIMIT = 100
"""Limit of the records of one injection."""

RELATIVE_FILTERS = frozenset({"last_hours", "last_days"})
"""Filters relative to the time of the question."""

RULE_LISTS = ("behavior_rules", "injection_rules")

_Common = tuple[str, str, str, Condition | None, str]
"""The values of the fields of `Rule`."""

_Check = tuple[Callable[[Any], bool], str]
"""The test of a value, and the advice for a wrong value."""


@dataclass(frozen=True, slots=True)
class InjectionTarget:
    """One target of an injection: a context's path or a registered key as written, with query, filters and limit."""

    reference: str
    query: str = ""
    filters: Data = field(default_factory=dict)
    limit: int | None = None

    @property
    def is_relative(self) -> bool:
        """True if the path is relative to the folder of its file, not to the root."""
        return self.reference.startswith(("./", "../"))


@dataclass(frozen=True, slots=True)
class Rule:
    """The fields that both kinds of rules have.

    `condition` is free text for the judge, `when` a structured condition; a rule with neither always applies, one with
    both needs both. `origin` is the folder of its context, `place` its file and line, `text` the rule as written, to
    recognise it when it is inherited twice.
    """

    origin: str
    place: str
    condition: str
    when: Condition | None
    text: str


@dataclass(frozen=True, slots=True)
class BehaviorRule(Rule):
    """A rule with a trigger and the actions to take; a rule of one sentence has no actions."""

    trigger: str
    actions: tuple[str, ...]

    @property
    def line(self) -> str:
        """The rule on one line, in the form of the first specification."""
        condition = f" (if {self.condition})" if self.condition else ""
        return ": ".join(filter(None, (f"{self.trigger}{condition}", "; ".join(self.actions))))


@dataclass(frozen=True, slots=True)
class InjectionRule(Rule):
    """A rule with the targets to inject."""

    name: str
    inject: tuple[InjectionTarget, ...]

    @property
    def label(self) -> str:
        """The name, else the place, for messages."""
        return self.name or self.place


class ContextFile(NamedTuple):
    """A context file. `path` is its folder ("" at the root), `data` everything but its rules, `extends` as written.

    The suffix `_override` or `_extend` of a list of rules is its entry in `modes`.
    """

    path: str
    file: str
    data: Data
    extends: tuple[str, ...]
    behavior: tuple[BehaviorRule, ...]
    injection: tuple[InjectionRule, ...]
    modes: Mapping[str, str]
    notes: tuple[Failure, ...]
    lines: Mapping[Place, int]

    def line(self, *place: str | int) -> str:
        """Return `client/context.yaml:12` for a value, or only the file if the value has no line of its own."""
        return at(self.file, self.lines.get(place, 0))


def file_of(path: str) -> str:
    """Return the file of the context in a folder."""
    return f"{path}/{FILE_NAME}" if path else FILE_NAME


def read_context(text: str, path: str, allow: Sequence[str] = ()) -> ContextFile:
    """Read the text of the context in a folder. Raises ContextFileError for an unusable file."""
    file = file_of(path)
    marked = read_yaml(clean_text(text)[0], file)
    data = {} if marked.data is None else sanitize.value(marked.data, allow, depth=24)
    if not isinstance(data, Mapping):
        raise ContextFileError(
            f"{at(file, 1)}: says {type(data).__name__}: write names with values, as in metadata: ..."
        )
    reader = _RuleReader(path, file, marked)
    for place, problem in list(schema_problems(data)):
        reader.note(place, problem)
        data = without(data, place)
    kept = {key: value for key, value in data.items() if split_suffix(key)[0] not in RULE_LISTS}
    behavior, injection = tuple(reader.behavior(data)), tuple(reader.injection(data))
    extends = section_of(data, "intent_context").get("extends")
    parents = (extends,) if isinstance(extends, str) else tuple(extends or ())
    return ContextFile(path, file, kept, parents, behavior, injection, reader.modes, tuple(reader.notes), marked.lines)


def split_suffix(key: str) -> tuple[str, str]:
    """Return a key without its suffix, and the suffix: override, extend, or nothing."""
    for suffix in ("override", "extend"):
        if key.endswith(f"_{suffix}") and len(key) > len(suffix) + 1:
            return key[: -len(suffix) - 1], suffix
    return key, ""


class _RuleReader:
    """Reads the rules of one file. Notes unusable rules with their line, and continues."""

    def __init__(self, path: str, file: str, marked: Marked) -> None:
        self._path, self._file, self._marked = path, file, marked
        self.modes: dict[str, str] = {}
        self.notes: list[Failure] = []

    def note(self, place: Place, problem: str) -> None:
        """Note a problem with the line of a value, or of the nearest one around it."""
        self.notes.append(Failure(CONTEXTS, f"{self._line(place)}: {problem}", "the rest of it is used"))

    def _line(self, place: Place) -> str:
        while place and place not in self._marked.lines:
            place = place[:-1]
        return at(self._file, self._marked.lines.get(place, 1))

    def _rules(self, data: Data, name: str) -> Iterator[tuple[Data, Place, _Common]]:
        """Yield the rules under this name, with or without a suffix: as written, the place, and the common fields."""
        for key, listed in data.items():
            base, mode = split_suffix(key)
            if base != name:
                continue
            if not isinstance(listed, list):
                self.note((key,), f"{key} is not a list: write one rule after each dash")
                continue
            if mode:
                self.modes[name] = mode
            for index, entry in enumerate(listed):
                is_sentence = name == "behavior_rules" and isinstance(entry, str)
                written = {"trigger": entry, "actions": ()} if is_sentence else entry
                common = self._common(written, (key, index))
                if common is not None:
                    yield written, (key, index), common

    def _common(self, written: object, place: Place) -> _Common | None:
        """Return the common fields; None for a broken condition, without which a rule would always apply."""
        if not isinstance(written, Mapping):
            self.note(place, f"a rule is {clean_field(repr(written), 60)}: give names with values")
            return None
        condition, when, is_usable = written.get("condition") or "", None, True
        try:
            when = parse_condition(written["when"]) if written.get("when") is not None else None
        except ConditionError as error:
            self.note((*place, "when", *error.place), f"when: {error}")
            is_usable = False
        if not isinstance(condition, str):
            self.note((*place, "condition"), "condition is not a text: conditions that can be decided go under when")
            return None
        text = json.dumps(written, sort_keys=True, ensure_ascii=False, default=str)
        return (self._path, self._line(place), condition.strip(), when, text) if is_usable else None

    def behavior(self, data: Data) -> Iterator[BehaviorRule]:
        """Yield the behaviour rules of the file."""
        for written, place, common in self._rules(data, "behavior_rules"):
            actions, trigger = written.get("actions", written.get("action")), written.get("trigger")
            actions = [actions] if isinstance(actions, str) else actions
            if not isinstance(trigger, str) or not trigger.strip():
                self.note(place, "a behavior rule has no trigger: say on what it acts")
            elif actions != () and not (actions and _is_texts(actions)):
                name = clean_field(trigger, 40)
                self.note(place, f"the behavior rule {name!r} has no action: give a text or a list of texts")
            else:
                lines = tuple(" ".join(action.split()) for action in actions)
                yield BehaviorRule(*common, " ".join(trigger.split()), lines)

    def injection(self, data: Data) -> Iterator[InjectionRule]:
        """Yield the injection rules of the file."""
        for written, place, common in self._rules(data, "injection_rules"):
            name, listed = written.get("name"), written.get("inject")
            label = clean_field(name, 80) if isinstance(name, str) else ""
            listed = [listed] if isinstance(listed, str | Mapping) else listed
            if not isinstance(listed, list) or not listed:
                rule = label or "without a name"
                self.note(place, f"the injection rule {rule} has no inject: name a context or a key")
                continue
            targets = (self._target(entry, (*place, "inject", index)) for index, entry in enumerate(listed))
            if usable := tuple(filter(None, targets)):
                yield InjectionRule(*common, label, usable)

    def _target(self, written: object, place: Place) -> InjectionTarget | None:
        entry: Data = written if isinstance(written, Mapping) else {"context": written}
        reference = entry.get("context") or entry.get("key")
        if not isinstance(reference, str) or not reference.strip():
            self.note(place, "inject names nothing: give a context's path, a key, or key: with query, filter and limit")
            return None
        options = self._options(entry, place)
        return InjectionTarget(reference.strip(), *options) if options is not None else None

    def _options(self, entry: Data, place: Place) -> tuple[str, Data, int | None] | None:
        """Return query, filters and limit of a target; None if one of them is wrong, which is noted."""
        query, filters, limit = entry.get("query") or "", entry.get("filter") or {}, entry.get("limit")
        if not isinstance(query, str) or not isinstance(filters, Mapping):
            self.note(place, "query is a text, and filter has names with values")
            return None
        if limit is not None and not (is_whole(limit) and 1 <= limit <= MAX_LIMIT):
            self.note((*place, "limit"), f"limit is {clean_field(repr(limit), 40)}: give 1 to {MAX_LIMIT}")
            return None
        try:
            parse_filters(absolute(filters))
        except (UsageError, TypeError) as error:
            self.note((*place, "filter"), f"filter: {error}")
            return None
        return query.strip(), dict(filters), limit


def absolute(filters: Data) -> Json:
    """Return the filters that are not relative to the time of the question."""
    return {name: value for name, value in filters.items() if name not in RELATIVE_FILTERS}


STATUSES = ("active", "inactive", "archived", "planning")

_REQUIRED = {"workspace": "physical_path", "workflow": "workflow_steps", "file": "file_path", "folder": "folder_path"}
"""Type -> required field of its configuration."""


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


_MAPPING: _Check = (lambda value: isinstance(value, Mapping), "give names with values")
_TEXT: _Check = (lambda value: isinstance(value, str), "give a text")
_TEXTS: _Check = (_is_texts, "give a list of texts")
_SHARE: _Check = (lambda value: is_number(value) and 0 <= value <= 1, "give a number from 0 to 1")

_CHECKED: Sequence[tuple[_Check, str]] = (
    (_MAPPING, "metadata intent_context relationships status"),
    (_TEXT, "metadata.id metadata.type metadata.name metadata.created metadata.updated metadata.description"),
    (_TEXT, "intent_context.intent_type intent_context.business_goal intent_context.context_adaptations"),
    (
        (lambda value: isinstance(value, str) or _is_texts(value), "give a path, or a list of paths"),
        "intent_context.extends",
    ),
    (_TEXTS, "relationships.depends_on relationships.blocks relationships.children relationships.shares_with"),
    ((lambda value: isinstance(value, list), "give a list"), "behavior_rules injection_rules"),
    ((lambda value: value in STATUSES, f"choose from {', '.join(STATUSES)}"), "status.current"),
    (_SHARE, "status.progress status.confidence"),
)
_SCHEMA = {name: check for check, names in _CHECKED for name in names.split()}
"""Fields of the schema, each with the test of its value and the advice for a wrong one."""


def section_of(data: Data, name: str) -> Data:
    """Return the mapping under a name, an empty one for anything else."""
    section = data.get(name)
    return section if isinstance(section, Mapping) else {}


def schema_problems(data: Data) -> Iterator[tuple[Place, str]]:
    """Yield the place of every field of the schema with an impossible value, and the advice."""
    for name, (is_valid, advice) in _SCHEMA.items():
        section, _, key = name.rpartition(".")
        value = (section_of(data, section) if section else data).get(key)
        if value is not None and not is_valid(value):
            yield tuple(name.split(".")), f"{name} is {clean_field(repr(value), 60)}: {advice}"
    grouped = section_of(data, "polymorphic_config")
    for kind, name in _REQUIRED.items():
        key = f"{kind}_config"
        within: Place = () if key in data else ("polymorphic_config",)
        config = data.get(key, grouped.get(key))
        if isinstance(config, Mapping) and config.get(name) is None:
            yield (*within, key, name), f"{key}.{name} is missing: a {kind} needs it"


def without(data: Data, place: Place) -> Json:
    """Return the mapping without the value at a place."""
    key, *rest = map(str, place)
    if not rest:
        return {name: value for name, value in data.items() if name != key}
    inner = data.get(key)
    return {**data, key: without(inner, tuple(rest))} if isinstance(inner, Mapping) else dict(data)
