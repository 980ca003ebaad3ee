"""What one setting is: a row with its meaning, its default, its reason and the values that are possible."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import Any, TypeVar

from satchel.types import Kind

Value = TypeVar("Value")

LIST_LENGTH = 1_000
"""Entries of a list setting: patterns are tried on every path, so more would be slow and is never meant."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One row: what it means (with its unit), why the default is what it is, and which values are possible.

    `type` is int, float, bool, str or tuple (of texts). `least` and `most` bound a number, `choices` a text;
    `optional` admits None, written `auto`; the texts of a list with `patterns` are regular expressions.
    """

    key: str
    type: type
    default: Any
    meaning: str
    reason: str
    safe: bool = False
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()
    optional: bool = False
    patterns: bool = False

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return "SATCHEL_" + self.key.replace(".", "_").upper()

    @property
    def allowed(self) -> str:
        """The possible values in words, for messages."""
        if self.choices:
            return f"{'a list of' if self.type is tuple else 'one of'} {', '.join(self.choices)}"
        if self.type is bool:
            return "true or false"
        if self.type is tuple:
            return f"a list of at most {LIST_LENGTH:,} {'regular expressions' if self.patterns else 'texts'}"
        if self.type is str:
            return "a text"
        kind = "a whole number" if self.type is int else "a number"
        return f"{kind} from {self.least:,} to {self.most:,}" + (", or auto" if self.optional else "")

    def checked(self, value: object) -> Any:
        """Return the value as the setting holds it. Raises ValueError for any other than the allowed ones."""
        if self.optional and (value is None or value == "auto"):
            return None
        if self.type is tuple:
            return self._checked_list(value)
        if self.type is float and type(value) is int:
            value = float(value)
        if type(value) is not self.type:
            raise ValueError(self.allowed)
        if isinstance(value, int | float) and not self.least <= value <= self.most:  # NaN fails this as well
            raise ValueError(self.allowed)
        if self.choices and value not in self.choices:
            raise ValueError(self.allowed)
        return value

    def _checked_list(self, value: object) -> tuple[str, ...]:
        if not isinstance(value, list | tuple) or len(value) > LIST_LENGTH:
            raise ValueError(self.allowed)
        for entry in value:
            if not isinstance(entry, str) or (self.choices and entry not in self.choices):
                raise ValueError(self.allowed)
            if self.patterns:
                try:
                    re.compile(entry)
                except re.error as error:
                    raise ValueError(f"{self.allowed}; {entry!r} has a mistake: {error}") from error
        return tuple(value)


def setting(key: str, default: Value, meaning: str, reason: str, **bounds: Any) -> Value:
    """A field with its row. The type is that of the default; a setting without one is an optional number."""
    kind = float if default is None else type(default)
    row = Setting(key, kind, default, meaning, reason, optional=default is None, **bounds)
    return field(default=default, metadata={"row": row})


def kind_weight(kind: Kind, default: float) -> float:
    """The row of a kind's share of the budget."""
    return setting(
        f"context.weights.{kind.plural}",
        default,
        f"share of the budget for {kind.plural}, relative to the other types",
        "the shares of the first specification; what one type cannot fill goes to the others",
        safe=True, least=0.0, most=100.0,
    )  # fmt: skip


def signal_weight(name: str, default: float) -> float:
    """The row of what one signal counts when files are ranked."""
    meaning = f'weight of the signal "{name}" when files are ranked'
    reason = "measured on 296 real issues of 14 repositories; `satchel eval --tune` measures it on yours"
    return setting(
        f"search.weights.{name.replace(' ', '_')}", default, meaning, reason, safe=True, least=0.0, most=10.0
    )
