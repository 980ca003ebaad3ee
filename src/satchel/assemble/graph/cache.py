"""Contexts that were assembled before, for processes that stay.

A context depends on the request, on what the stores hold and on what the session received before, and on nothing
else; together they are the key, so a hit has the bytes that a fresh assembly would have. Files that a context shows
are looked at again. The time to live only bounds how old a hit can be.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from satchel.types import Context

MOST_CONTEXTS = 128
"""Kept at once: at 4,000 tokens they take 5 MB."""


@dataclass(frozen=True, slots=True)
class _Entry:
    made: float
    context: Context


class ContextCache:
    """Contexts by key, the one that was not used for longest goes first. Safe to share between threads."""

    def __init__(self, seconds: float, clock: Callable[[], float] = time.monotonic) -> None:
        """`seconds` to live; 0 keeps nothing."""
        self._seconds, self._clock = seconds, clock
        self._entries: OrderedDict[Hashable, _Entry] = OrderedDict()
        self._guard = threading.Lock()
        self.hits = 0

    def get(self, key: Hashable, is_current: Callable[[Context], bool]) -> Context | None:
        """The context under this key, None where there is none, it is too old, or a file that it shows changed."""
        with self._guard:
            entry = self._entries.get(key)
            if entry is None:
                return None
            if self._clock() - entry.made >= self._seconds:
                del self._entries[key]
                return None
            self._entries.move_to_end(key)
        if not is_current(entry.context):
            return None
        with self._guard:
            self.hits += 1
        return entry.context

    def put(self, key: Hashable, context: Context) -> None:
        """Keep a context, unless it has to note something that may be otherwise next time."""
        if self._seconds <= 0 or context.failures or context.meta.get("timed_out"):
            return
        with self._guard:
            self._entries[key] = _Entry(self._clock(), context)
            self._entries.move_to_end(key)
            while len(self._entries) > MOST_CONTEXTS:
                self._entries.popitem(last=False)

    def clear(self) -> None:
        """Forget everything."""
        with self._guard:
            self._entries.clear()
