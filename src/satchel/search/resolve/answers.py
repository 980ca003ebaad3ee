"""What was found out about names, once for one state of a store, and shared by all questions about that state."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from satchel.system.cache import Cache

Answer = TypeVar("Answer")

_MISSING = object()


class Answers:
    """Answers by key, each found once. Not for several threads; the `shared` ones are.

    What an answer asks again for itself is empty. Such an answer depends on who asked first, as does everything that
    was found with it: it is kept here alone. All others are shared.
    """

    def __init__(self, shared: Cache[Hashable, Any]) -> None:
        self._shared = shared
        self._own: dict[Hashable, Any] = {}
        self._partial: set[Hashable] = set()
        self._cuts = 0

    def get(self, key: Hashable, find: Callable[[], Answer], empty: Answer) -> Answer:
        """Return the answer of a key; `empty` while it is being found."""
        found: Answer = self._own.get(key, _MISSING)
        if found is not _MISSING:
            self._cuts += key in self._partial
            return found
        found = self._shared.values.get(key, _MISSING)
        if found is _MISSING:
            found = self._found(key, find, empty)
        else:
            self._own[key] = found
        return found

    def sure(self, key: Hashable, find: Callable[[], Answer]) -> Answer:
        """Return the answer of a key, which is kept if it depends on nobody; else it is found again each time."""
        known: Answer = self._shared.values.get(key, _MISSING)
        if known is not _MISSING:
            return known
        cuts, found = self._cuts, find()
        if self._cuts == cuts:
            self._shared.keep({key: found})
        return found

    def has(self, key: Hashable) -> bool:
        """Return whether an answer is known, or is being found."""
        return key in self._own or key in self._shared.values

    def _found(self, key: Hashable, find: Callable[[], Answer], empty: Answer) -> Answer:
        self._own[key] = empty
        self._partial.add(key)
        cuts = self._cuts
        answer = self._own[key] = find()
        if self._cuts == cuts:
            self._partial.remove(key)
            self._shared.keep({key: answer})
        return answer

    def cut(self) -> None:
        """Note that something was not looked up: what is being found depends on who asked."""
        self._cuts += 1
