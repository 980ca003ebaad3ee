"""Fitted numbers: how a module of weights declares them, and how a script lists and changes them.

`search/weights.py`, `answer/weights.py` and `memory/weights.py` declare each number, tuple or mapping of numbers as
`NAME: Annotated[float, Between(low, high)] = 1.6`. Their readers use `weights.NAME` where they compute, so that one
changed attribute is seen by all of them. What is cached with such a number has it in its key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, get_type_hints

from msgspec import Struct

Key: TypeAlias = "str | int | None"
"""The key of one number in a mapping, its position (from 0) in a tuple, None for a number by itself."""


class Between(Struct, frozen=True):
    """The range, both ends included, in which a number keeps its meaning; for each number of a tuple or mapping."""

    low: float
    high: float


class Constant(NamedTuple):
    """One fitted number, its value, and the range of values for it."""

    name: str
    key: Key
    value: float
    low: float
    high: float


def constants(module: ModuleType) -> Iterator[Constant]:
    """Yield every fitted number of a module in the order of the file, those of a tuple or a mapping one by one."""
    for name, hint in get_type_hints(module, include_extras=True).items():
        for fitted in getattr(hint, "__metadata__", ()):
            if isinstance(fitted, Between):
                for key, value in _numbers(getattr(module, name)):
                    yield Constant(name, key, value, fitted.low, fitted.high)


@contextmanager
def changed(module: ModuleType, name: str, value: float, key: Key = None) -> Iterator[None]:
    """Give one fitted number another value for the duration of a `with` block; integers are rounded."""
    before = getattr(module, name)
    setattr(module, name, _replaced(before, key, value))
    try:
        yield
    finally:
        setattr(module, name, before)


def _numbers(value: Any) -> list[tuple[Key, float]]:
    if isinstance(value, Mapping):
        return [*value.items()]
    return [*enumerate(value)] if isinstance(value, tuple) else [(None, value)]


def _replaced(before: Any, key: Key, value: float) -> Any:
    """Return the same kind of value with another number at a key or position."""
    if isinstance(before, Mapping):
        return {**before, key: _replaced(before[key], None, value)}
    if isinstance(before, tuple):
        return tuple(_replaced(part, None, value) if place == key else part for place, part in enumerate(before))
    return round(value) if isinstance(before, int) else float(value)
