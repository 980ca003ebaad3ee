"""YAML as plain values with the line of each, and nothing else that YAML can do.

Tags are refused, because they make objects; merge keys too, because `extends` says the same in the open. An alias may
repeat a value, but the number of all values is bounded, and so is the depth. Plain words are read by the core schema of
YAML 1.2: `no` is a word, and a date stays a text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from satchel.clean import clean_field
from satchel.errors import ContextFileError

Place = tuple[str | int, ...]
"""The keys and positions that lead to a value, as in `("injection_rules", 0, "inject")`."""

DEEPEST = 24
"""Levels of nesting: people write five; a parser that goes deeper is being attacked."""

MOST_VALUES = 20_000
"""Values of a file with everything that its aliases repeat; the largest honest one seen has a few hundred."""

_CONSTANTS = {
    **dict.fromkeys(["", "~", "null", "Null", "NULL"]),
    **dict.fromkeys(["true", "True", "TRUE"], True),
    **dict.fromkeys(["false", "False", "FALSE"], False),
}
_WHOLE = re.compile(r"[-+]?[0-9]{1,18}")
_NUMBER = re.compile(r"[-+]?(?:[0-9]{1,18}\.[0-9]{0,18}|\.[0-9]{1,18}|[0-9]{1,18})(?:[eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True)
class Marked:
    """The values of a text, and the line (1-based) on which each of them begins."""

    data: Any
    lines: Mapping[Place, int]


def read_yaml(text: str, name: str, first_line: int = 1) -> Marked:
    """Read one document. `name` and `first_line` are for messages. Raises ContextFileError.

    An empty text is None. Keys are texts, whatever they look like.
    """
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    reader = _Reader(name, first_line)
    try:
        return reader.document(yaml.parse(text, Loader=loader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        problem = clean_field(str(getattr(error, "problem", None) or getattr(error, "reason", None) or "is not YAML"))
        line = first_line + mark.line if mark is not None else 0
        raise ContextFileError(f"{at(name, line)}: {problem}") from None


def at(name: str, line: int = 0) -> str:
    """`client/context.yaml:12`, or only the path where no line is known."""
    return f"{clean_field(name)}:{line}" if line else clean_field(name)


class _Reader:
    """Builds values from events, and recurses no deeper than `DEEPEST`."""

    def __init__(self, name: str, first_line: int) -> None:
        self._name, self._first_line = name, first_line
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
                    raise self._error(event, "holds a second document: leave one in a file")
                data = self._value(next(events), events, ())
        return Marked(data, self._lines)

    def _error(self, event: Any, problem: str) -> ContextFileError:
        return ContextFileError(f"{at(self._name, self._first_line + event.start_mark.line)}: {problem}")

    def _spend(self, count: int, event: Any) -> None:
        self._count += count
        if self._count > MOST_VALUES:
            raise self._error(
                event, f"stands for more than {MOST_VALUES:,} values: write less, and no alias of aliases"
            )

    def _value(self, event: Any, events: Iterator[Any], place: Place) -> Any:
        kind = type(event).__name__
        self._lines[place] = self._first_line + event.start_mark.line
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

    def _mapping(self, events: Iterator[Any], place: Place) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while (kind := type(event := next(events)).__name__) != "MappingEndEvent":
            if kind != "ScalarEvent" or event.tag is not None:
                raise self._error(event, "has a key that is no plain text")
            key = event.value
            if key == "<<" and event.implicit[0]:
                raise self._error(event, "has a merge key (<<): name the other context with `extends` instead")
            if key in values:
                line = self._lines[(*place, key)]
                raise self._error(event, f"has {clean_field(key, 60)!r} twice, first on line {line}: leave one")
            values[key] = self._value(next(events), events, (*place, key))
            self._lines[(*place, key)] = self._first_line + event.start_mark.line
        return values


def _plain(word: str) -> Any:
    """The value of a word without quotes in the core schema."""
    if word in _CONSTANTS:
        return _CONSTANTS[word]
    if _WHOLE.fullmatch(word):
        return int(word)
    return float(word) if _NUMBER.fullmatch(word) else word
