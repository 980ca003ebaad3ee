"""The arguments of an operation: what each may be, as a JSON schema, and as a check of what somebody sent.

Types and names are checked here, because no caller of the engine in Python gets those wrong unseen. Which values are
possible is checked by the engine, so that a wrong one is told in the same words everywhere; the schemas list them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from satchel.calls.moment import parse_moment
from satchel.clean import clean_field
from satchel.errors import UsageError

SHOWN_CHARACTERS = 60
"""Of a wrong value in a message."""


class Shape(StrEnum):
    """What an argument looks like in JSON. A moment is a date, a date with time, or seconds since the epoch."""

    TEXT = "text"
    NUMBER = "number"
    COUNT = "whole number"
    SWITCH = "true or false"
    TEXTS = "list of texts"
    OBJECT = "object"
    COUNTS = "object of whole numbers"
    MOMENT = "moment"


_SCHEMAS: Mapping[Shape, Mapping[str, Any]] = {
    Shape.TEXT: {"type": "string"},
    Shape.NUMBER: {"type": "number"},
    Shape.COUNT: {"type": "integer"},
    Shape.SWITCH: {"type": "boolean"},
    Shape.TEXTS: {"type": "array", "items": {"type": "string"}},
    Shape.OBJECT: {"type": "object"},
    Shape.COUNTS: {"type": "object", "additionalProperties": {"type": "integer"}},
    Shape.MOMENT: {"type": "string"},  # numbers are taken too, but lists of types confuse some clients
}

_EXAMPLES: Mapping[Shape, str] = {
    Shape.TEXT: "a text",
    Shape.NUMBER: "a number",
    Shape.COUNT: "a whole number",
    Shape.SWITCH: "true or false",
    Shape.TEXTS: 'a list of texts, as in ["one", "two"]',
    Shape.OBJECT: 'an object, as in {"name": "value"}',
    Shape.COUNTS: 'an object of whole numbers, as in {"memories": 300}',
    Shape.MOMENT: "a date (2024-05-01), a date with time, or epoch seconds",
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument. `aliases` are other spellings that are taken as well.

    `choices` are all possible texts, `least` and `most` the possible numbers, as far as there is a limit. `default` is
    what the operation does without it, None where settings or the engine decide. A `rare` one is offered where there
    is room for it: lists of tools are read by models, whole.
    """

    name: str
    shape: Shape
    meaning: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    default: str | int | bool | None = None
    is_required: bool = False
    is_rare: bool = False
    is_open: bool = False
    aliases: tuple[str, ...] = ()

    def schema(self) -> dict[str, Any]:
        """The JSON schema of the value."""
        found: dict[str, Any] = {**_SCHEMAS[self.shape]}
        if self.choices:
            limited = {"type": "string", "examples" if self.is_open else "enum": list(self.choices)}
            found = {**found, "items": limited} if self.shape is Shape.TEXTS else limited
        facts = {"minimum": self.least, "maximum": self.most, "default": self.default, "description": self.meaning}
        return found | {name: value for name, value in facts.items() if value is not None}

    def checked(self, value: Any) -> Any:
        """The value as the engine takes it. Raises UsageError for another shape."""
        try:
            return _CHECKS[self.shape](value)
        except (TypeError, ValueError, OverflowError):
            shown = clean_field(repr(value), SHOWN_CHARACTERS)
            raise UsageError(f"{self.name} is {shown}: give {_EXAMPLES[self.shape]}") from None


def object_schema(parameters: Sequence[Parameter], *, rare: bool = True) -> dict[str, Any]:
    """The JSON schema of all arguments together, without the `rare` ones where those would be too many.

    Other spellings are not listed, so the schema does not forbid what it does not name.
    """
    shown = [one for one in parameters if rare or not one.is_rare]
    required = [one.name for one in shown if one.is_required]
    schema: dict[str, Any] = {"type": "object", "properties": {one.name: one.schema() for one in shown}}
    return schema | ({"required": required} if required else {})


def checked_arguments(operation: str, parameters: Sequence[Parameter], given: Mapping[str, Any]) -> dict[str, Any]:
    """What was sent, under the names of the parameters; None counts as not sent.

    Raises UsageError for an unknown or missing argument, one that is given under two names, and a wrong type.
    """
    known = {name: one for one in parameters for name in (one.name, *one.aliases)}
    found: dict[str, Any] = {}
    for name, value in given.items():
        if name not in known:
            raise UsageError(_unknown(operation, str(name), list(known), [one.name for one in parameters]))
        if value is None:
            continue
        parameter = known[name]
        if parameter.name in found:
            raise UsageError(f"{clean_field(name)} is given under two names: give {parameter.name} alone")
        found[parameter.name] = parameter.checked(value)
    for one in parameters:
        if one.is_required and one.name not in found:
            raise UsageError(f"{operation} needs {one.name}: {one.meaning}")
    return found


def _unknown(operation: str, name: str, spellings: Sequence[str], names: Sequence[str]) -> str:
    from difflib import get_close_matches  # here, because it serves only mistakes

    near = get_close_matches(name.lower(), spellings, n=1)
    meant = f" (did you mean {near[0]}?)" if near else ""
    choice = f"choose from {', '.join(names)}" if names else "it has none"
    return f"{operation} has no argument {clean_field(name, SHOWN_CHARACTERS)!r}{meant}: {choice}"


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError
    return float(value)


def _count(value: Any) -> int:
    number = _number(value)
    if not number.is_integer():
        raise TypeError
    return int(value)


def _switch(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _texts(value: Any) -> list[str]:
    if not isinstance(value, list | tuple):
        raise TypeError
    return [_text(one) for one in value]


def _object(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise TypeError
    return {_text(name): inner for name, inner in value.items()}


def _counts(value: Any) -> dict[str, int]:
    return {name: _count(inner) for name, inner in _object(value).items()}


def _moment(value: Any) -> float:
    if isinstance(value, str):
        try:
            return parse_moment(value)
        except UsageError as error:
            raise ValueError from error
    return _number(value)


_CHECKS: Mapping[Shape, Callable[[Any], Any]] = {
    Shape.TEXT: _text,
    Shape.NUMBER: _number,
    Shape.COUNT: _count,
    Shape.SWITCH: _switch,
    Shape.TEXTS: _texts,
    Shape.OBJECT: _object,
    Shape.COUNTS: _counts,
    Shape.MOMENT: _moment,
}
