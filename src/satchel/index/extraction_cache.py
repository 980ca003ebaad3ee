"""Extractions by content, shared by the work trees of one repository.

A row is trusted only when it carries a hash keyed with the user's own key, so a foreign or damaged cache file costs
a parse, never a wrong answer. Losing the file loses nothing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.errors import LockedError, StoreError
from satchel.store.sqlite.connection import open_cache

if TYPE_CHECKING:
    from satchel.index.reading import Reading

_DIGEST_BYTES = 16


class ExtractionCache:
    """A small key-value file beside the indexes of one repository."""

    def __init__(self, connection: apsw.Connection, key: bytes) -> None:
        self._connection = connection
        self._key = key

    @classmethod
    def open(cls, path: Path, key: bytes) -> ExtractionCache | None:
        """Open or create the cache; None where it cannot be used, because the work goes on without."""
        try:
            return cls(open_cache(path), key)
        except (StoreError, LockedError):
            return None

    def load(self, cache_key: str, reading: Reading) -> bool:
        """Fill a reading from the cache. Returns whether a valid row was found."""
        row = self._connection.execute(
            "SELECT kind, text, extraction, redacted, cleaned, seal FROM extractions WHERE key = ?", (cache_key,)
        ).fetchone()
        if row is None or row[5] != self._seal(cache_key, row[:5]):
            return False
        reading.kind, reading.text, reading.extraction, reading.redacted, reading.cleaned = row[:5]
        reading.cached = True
        return True

    def save(self, rows: Iterable[tuple[str, Reading]]) -> None:
        """Keep these readings; a locked or full cache keeps nothing, which only costs time later."""
        values = []
        for cache_key, reading in rows:
            row = (reading.kind, reading.text, reading.extraction, reading.redacted, reading.cleaned)
            values.append((cache_key, *row, self._seal(cache_key, row)))
        try:
            with self._connection:
                self._connection.executemany("INSERT OR REPLACE INTO extractions VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        except (apsw.BusyError, apsw.FullError, apsw.ReadOnlyError, apsw.IOError):
            return

    def _seal(self, cache_key: str, row: tuple[object, ...]) -> bytes:
        digest = hashlib.blake2b(cache_key.encode(), key=self._key, digest_size=_DIGEST_BYTES)
        for value in row:
            part = value if isinstance(value, bytes) else str(value).encode()
            digest.update(len(part).to_bytes(8, "little") + part)
        return digest.digest()
