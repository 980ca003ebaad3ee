"""One `context.yaml` as written: its values, its own rules, and what is wrong with it, line by line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from satchel import outside
from satchel.clean import clean_field, clean_text
from satchel.errors import ContextFileError, UsageError
from satchel.rules.conditions import Condition, ConditionError, condition_data, parse_condition
from satchel.rules.rule import BehaviorRule, InjectionRule, Target
from satchel.rules.schema import problems, without
from satchel.rules.yaml_text import Marked, Place, at, read_yaml
from satchel.search.filters import parse_filters
from satchel.types import Failure

FILE_NAME = "context.yaml"

CONTEXTS = "contexts"
"""The source that notes about context files name."""

MOST_LIMIT = 100
"""Records that one injection may ask for."""

RULE_LISTS = ("behavior_rules", "injection_rules")


@dataclass(frozen=True, slots=True)
class ContextFile:
    """A context file. `path` is its folder ("" at the root), `data` everything but its rules, `extends` as written.

    A list of rules may come under its name, or with `_override` or `_extend`: then the name stands in `modes`.
    """

    path: str
    file: str
    data: Mapping[str, Any]
    extends: tuple[str, ...]
    behavior: tuple[BehaviorRule, ...]
    injection: tuple[InjectionRule, ...]
    modes: Mapping[str, str]
    notes: tuple[Failure, ...]
    lines: Mapping[Place, int]

    def line(self, *place: str | int) -> str:
        """`client/context.yaml:12` for a value, or only the file where the line is not known."""
        return at(self.file, self.lines.get(place, 0))


def file_of(path: str) -> str:
    """The file of the context in a folder."""
    return f"{path}/{FILE_NAME}" if path else FILE_NAME


def read_context(text: str, path: str, allow: Sequence[str] = ()) -> ContextFile:
    """Read the text of the context in a folder. Raises ContextFileError where nothing in it can be used."""
    file = file_of(path)
    marked = read_yaml(clean_text(text)[0], file)
    data = {} if marked.data is None else outside.value(marked.data, allow, depth=_KEPT_DEPTH)
    if not isinstance(data, Mapping):
        raise ContextFileError(
            f"{at(file, 1)}: says {type(data).__name__}: write names with values, as in metadata: ..."
        )
    notes: list[Failure] = []
    for place, problem in list(problems(data)):
        notes.append(_note(_place_of(marked, file, place), problem))
        data = without(data, place)
    reader = _RuleReader(path, file, marked, notes)
    kept = {key: value for key, value in data.items() if _base(key)[0] not in RULE_LISTS}
    behavior, injection = (reader.rules(data, name) for name in RULE_LISTS)
    intent = data.get("intent_context")
    extends = intent.get("extends") if isinstance(intent, Mapping) else None
    return ContextFile(
        path=path,
        file=file,
        data=kept,
        extends=tuple([extends] if isinstance(extends, str) else extends or ()),
        behavior=tuple(rule for rule in behavior if isinstance(rule, BehaviorRule)),
        injection=tuple(rule for rule in injection if isinstance(rule, InjectionRule)),
        modes=reader.modes,
        notes=tuple(notes),
        lines=marked.lines,
    )


_KEPT_DEPTH = 24


def _base(key: str) -> tuple[str, str]:
    """A key without its suffix, and the suffix: override, extend, or nothing."""
    for suffix in ("override", "extend"):
        if key.endswith(f"_{suffix}") and len(key) > len(suffix) + 1:
            return key[: -len(suffix) - 1], suffix
    return key, ""


def _place_of(marked: Marked, file: str, place: Place) -> str:
    """Where a value stands, or the nearest that holds it where it is missing."""
    while place and place not in marked.lines:
        place = place[:-1]
    return at(file, marked.lines.get(place, 1))


def _note(where: str, problem: str) -> Failure:
    return Failure(CONTEXTS, f"{where}: {problem}", "the rest of it counts")


class _RuleReader:
    """Reads the rules of one file. What it cannot use it notes with its line, and goes on."""

    def __init__(self, path: str, file: str, marked: Marked, notes: list[Failure]) -> None:
        self._path, self._file, self._marked, self._notes = path, file, marked, notes
        self.modes: dict[str, str] = {}

    def rules(self, data: Mapping[str, Any], name: str) -> list[BehaviorRule | InjectionRule]:
        """The rules that stand under this name, with a suffix or without."""
        found: list[BehaviorRule | InjectionRule] = []
        for key, listed in data.items():
            base, mode = _base(key)
            if base != name:
                continue
            if not isinstance(listed, list):
                self._say((key,), f"{key} is no list: write one rule after each dash")
                continue
            if mode:
                self.modes[name] = mode
            for index, given in enumerate(listed):
                rule = self._rule(name, given, (key, index))
                if rule is not None:
                    found.append(rule)
        return found

    def _say(self, place: Place, problem: str) -> None:
        self._notes.append(_note(_place_of(self._marked, self._file, place), problem))

    def _rule(self, name: str, given: object, place: Place) -> BehaviorRule | InjectionRule | None:
        if not isinstance(given, Mapping):
            self._say(place, f"a rule is {clean_field(repr(given), 60)}: give names with values")
            return None
        condition = given.get("condition") or ""
        when = self._when(given, place)
        if not isinstance(condition, str) or isinstance(when, str):
            if not isinstance(condition, str):
                self._say((*place, "condition"), "condition is no text: conditions that can be decided go under when")
            return None  # without its condition it would always apply
        if name == "behavior_rules":
            return self._behavior(given, place, condition.strip(), when)
        return self._injection(given, place, condition.strip(), when)

    def _when(self, given: Mapping[str, Any], place: Place) -> Condition | str | None:
        """The condition, None where there is none, a text where it cannot be used."""
        if given.get("when") is None:
            return None
        try:
            return parse_condition(given["when"])
        except ConditionError as error:
            self._say((*place, "when", *error.place), f"when: {error}")
            return "unusable"

    def _behavior(
        self, given: Mapping[str, Any], place: Place, condition: str, when: Condition | None
    ) -> BehaviorRule | None:
        actions = given.get("actions", given.get("action"))
        actions = [actions] if isinstance(actions, str) else actions
        trigger = given.get("trigger")
        if not isinstance(trigger, str) or not trigger.strip():
            self._say(place, "a behavior rule has no trigger: say on what it acts")
            return None
        if not isinstance(actions, list) or not actions or not all(isinstance(one, str) for one in actions):
            self._say(
                place, f"the behavior rule {clean_field(trigger, 40)!r} has no action: give a text or a list of texts"
            )
            return None
        where = _place_of(self._marked, self._file, place)
        lines = tuple(" ".join(action.split()) for action in actions)
        return BehaviorRule(self._path, where, condition, when, condition_data(given), " ".join(trigger.split()), lines)

    def _injection(
        self, given: Mapping[str, Any], place: Place, condition: str, when: Condition | None
    ) -> InjectionRule | None:
        name = given.get("name")
        label = clean_field(name, 80) if isinstance(name, str) else ""
        listed = given.get("inject")
        listed = [listed] if isinstance(listed, str | Mapping) else listed
        if not isinstance(listed, list) or not listed:
            self._say(place, f"the injection rule {label or 'without a name'} has no inject: name a context or a key")
            return None
        targets = [self._target(entry, (*place, "inject", index)) for index, entry in enumerate(listed)]
        found = tuple(target for target in targets if target is not None)
        where = _place_of(self._marked, self._file, place)
        return InjectionRule(self._path, where, condition, when, condition_data(given), label, found) if found else None

    def _target(self, given: object, place: Place) -> Target | None:
        if isinstance(given, str) and given.strip():
            return Target(given.strip())
        reference = (given.get("context") or given.get("key")) if isinstance(given, Mapping) else None
        if not isinstance(given, Mapping) or not isinstance(reference, str) or not reference.strip():
            self._say(place, "inject names nothing: give a context's path, a key, or key: with query, filter and limit")
            return None
        query, filters, limit = given.get("query") or "", given.get("filter") or {}, given.get("limit")
        if not isinstance(query, str) or not isinstance(filters, Mapping):
            self._say(place, "query is a text, and filter has names with values")
            return None
        if limit is not None and (
            isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_LIMIT
        ):
            self._say((*place, "limit"), f"limit is {clean_field(repr(limit), 40)}: give 1 to {MOST_LIMIT}")
            return None
        try:
            parse_filters({name: value for name, value in filters.items() if name not in RELATIVE_FILTERS})
        except (UsageError, TypeError) as error:
            self._say((*place, "filter"), f"filter: {error}")
            return None
        return Target(reference.strip(), query.strip(), dict(filters), limit)


RELATIVE_FILTERS = frozenset({"last_hours", "last_days"})
"""Filters that count back from the moment of the question."""
