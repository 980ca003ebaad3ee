"""The real lines of real files, checked against what was indexed.

The text that is shown comes from the file on disk. When its bytes are those that were indexed, the stored text,
cleaned and redacted already, is the same text and is taken instead of doing that work again. When they are not, the
file is reported as changed and left out: a slice with shifted lines is worse than none.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path

from satchel import files
from satchel.store.protocol import Store

CACHED_FILES = 256
"""Files kept as lines between questions."""


@dataclass(frozen=True, slots=True)
class Lines:
    """The lines of one file, 0-based here, without line ends."""

    path: str
    lines: tuple[str, ...]

    def text(self, start: int, end: int) -> str:
        """Lines `start`..`end` (1-based, inclusive), each with its line end."""
        return "\n".join(self.lines[start - 1 : end]) + "\n"


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Why a file cannot be shown."""

    path: str
    reason: str


class FileLines:
    """Reads files of one root for display, with a bounded cache. Safe to share between threads."""

    def __init__(self, root: Path, store: Store, key: bytes, limit: int) -> None:
        self._root, self._store, self._key, self._limit = root, store, key, limit
        self._cache: OrderedDict[tuple[int, str], Lines] = OrderedDict()
        self._guard = threading.Lock()

    def read(self, path: str, bundle: int, content_hash: str) -> Lines | Unreadable:
        """The lines of an indexed file, or why they cannot be shown."""
        try:
            raw = files.read_bytes(self._root, path, limit=self._limit).raw
        except files.Skipped as skip:
            return Unreadable(path, str(skip.reason))
        if files.content_hash(raw, self._key) != content_hash:
            return Unreadable(path, "changed since it was indexed")
        with self._guard:
            known = self._cache.get((bundle, content_hash))
            if known is not None:
                self._cache.move_to_end((bundle, content_hash))
                return known
        lines = Lines(path, tuple(self._store.text(bundle).split("\n")))
        with self._guard:
            self._cache[(bundle, content_hash)] = lines
            while len(self._cache) > CACHED_FILES:
                self._cache.popitem(last=False)
        return lines

    def clear(self) -> None:
        """Forget every file."""
        with self._guard:
            self._cache.clear()
