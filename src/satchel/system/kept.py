"""What is kept in memory between questions: bounded in bytes, with one budget for all caches of a process."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from itertools import islice
from threading import RLock
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

MOST_BYTES = 48_000_000
"""Bytes of all caches together, by estimate: those of some four hundred answers about a repository of 700 files."""

_every: WeakSet[Cache[Any, Any]] = WeakSet()
_guard = RLock()


class Cache(Generic[Key, Value]):
    """Values by key, the oldest first; `size` estimates the bytes of one. Threads may share it.

    Where all caches of the process are above their budget, the largest one loses its oldest values. The budget grows
    by `extra` bytes while this cache lives.
    """

    grown: ClassVar[float] = 0  # bytes kept since the caches were last compared with the budget

    def __init__(self, size: Callable[[Value], int], extra: int = 0) -> None:
        self.values: dict[Key, Value] = {}
        self.bytes, self.extra, self._size = 0, extra, size
        with _guard:
            _every.add(self)

    def through(self, keys: list[Key], fetch: Callable[[list[Key]], Mapping[Key, Value]]) -> dict[Key, Value]:
        """Return values by key, in the order of the keys; missing ones are fetched, by two threads perhaps twice."""
        try:
            return dict(zip(keys, map(self.values.__getitem__, keys), strict=True))
        except KeyError:
            found = {key: value for key in keys if (value := self.values.get(key)) is not None}
        self.keep(new := fetch([key for key in keys if key not in found]))
        found |= new
        return {key: found[key] for key in keys if key in found}

    def keep(self, values: Mapping[Key, Value]) -> None:
        """Keep these values as the newest, as far as there is room for them."""
        with _guard:
            self.drop(values)
            self.values |= values
            size = sum(map(self._size, values.values()))
            self.bytes += size
            Cache.grown += size
            if Cache.grown >= MOST_BYTES / 100:
                Cache.grown = 0
                while sum(one.bytes - one.extra for one in _every) > MOST_BYTES:
                    largest = max(_every, key=lambda one: one.bytes - one.extra)
                    largest.drop([*islice(largest.values, len(largest.values) // 50 + 1)])

    def drop(self, keys: Iterable[Key]) -> None:
        """Forget these values, if they are kept."""
        with _guard:
            for key in keys:
                if key in self.values:
                    self.bytes -= self._size(self.values.pop(key))
