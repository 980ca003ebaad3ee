"""Caches in memory that outlive a question: all those of a process share one budget of bytes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from threading import RLock
from typing import Any, ClassVar, Generic, TypeVar
from weakref import WeakSet

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

Size = Callable[[Value], int]
Fetch = Callable[[list[Key]], Mapping[Key, Value]]
Make = Callable[[list[Key], tuple[int, ...]], Sequence[Sequence[Value]]]
"""Takes keys and the positions of the caches that lack all of them, and returns their values for each of these."""

MAX_BYTES = 34_000_000
"""Bytes of all caches together, by estimate: those of a hundred answers about a repository of 700 files."""

_every: WeakSet[Cache[Any, Any]] = WeakSet()
_guard = RLock()


class Cache(Generic[Key, Value]):
    """Values by key, the oldest first; `size` estimates the bytes of one. Threads may share it.

    Where all caches of the process are above their budget, the largest one loses its oldest values. The budget grows
    by `extra` bytes while this cache lives.
    """

    grown: ClassVar[float] = 0  # bytes kept since the caches were last compared with the budget

    def __init__(self, size: Size[Value], extra: int = 0) -> None:
        self.values: dict[Key, Value] = {}
        self.bytes, self.extra, self._size = 0, extra, size
        with _guard:
            _every.add(self)

    def through(self, keys: list[Key], fetch: Fetch[Key, Value]) -> dict[Key, Value]:
        """Return values by key, in the order of the keys; missing ones are fetched, by two threads perhaps twice."""
        try:
            return dict(zip(keys, map(self.values.__getitem__, keys), strict=True))
        except KeyError:
            kept = map(self.values.get, keys)
            found = {key: value for key, value in zip(keys, kept, strict=True) if value is not None}
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
            if Cache.grown >= MAX_BYTES / 100:
                Cache.grown = 0
                while sum(cache.bytes - cache.extra for cache in _every) > MAX_BYTES:
                    largest = max(_every, key=lambda cache: cache.bytes - cache.extra)
                    largest.drop([*islice(largest.values, len(largest.values) // 50 + 1)])

    def drop(self, keys: Iterable[Key]) -> None:
        """Forget these values, if they are kept."""
        with _guard:
            for key in keys:
                if key in self.values:
                    self.bytes -= self._size(self.values.pop(key))


def through_all(caches: Sequence[Cache[Key, Value]], keys: Sequence[Key], make: Make[Key, Value]) -> list[list[Value]]:
    """Return for each cache the values of all keys, in their order; missing ones are made."""
    with suppress(KeyError):
        return [[*map(cache.values.__getitem__, keys)] for cache in caches]
    rows = [{key: value for key in keys if (value := cache.values.get(key)) is not None} for cache in caches]
    lacking: dict[tuple[int, ...], list[Key]] = {}
    for key in dict.fromkeys(keys):
        lacking.setdefault(tuple([place for place, row in enumerate(rows) if key not in row]), []).append(key)
    for places, new in lacking.items():
        for place, values in zip(places, make(new, places) if places else (), strict=True):
            made = dict(zip(new, values, strict=True))
            rows[place] |= made
            caches[place].keep(made)
    return [[row[key] for key in keys] for row in rows]
