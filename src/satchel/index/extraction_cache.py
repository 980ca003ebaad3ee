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
from satchel.store.sqlite.connection import open_cache, remove_files

if TYPE_CHECKING:
    from satchel.index.reading import Reading

VERSION = 2
SCHEMA = """
DROP TABLE IF EXISTS extractions;
CREATE TABLE extractions(
    age INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, redacted INTEGER NOT NULL,
    cleaned INTEGER NOT NULL, seal BLOB NOT NULL, text BLOB NOT NULL, extraction BLOB NOT NULL);
"""

MOST_BYTES = 256_000_000
"""Size of one cache above which the oldest rows are dropped: 15,000 files as large as those of pytest."""

_DROPPED_SHARE = 4
"""One row in so many is dropped at once, so that a full cache is not pruned again by the next few files."""

_DROP_OLDEST = """
DELETE FROM extractions WHERE age IN (
    SELECT age FROM extractions ORDER BY age LIMIT (SELECT count(*) / ? + 1 FROM extractions))
"""
_DIGEST_BYTES = 16
_BUSY = (apsw.BusyError, apsw.LockedError)


class ExtractionCache:
    """A small key-value file beside the indexes of one repository.

    Whatever is wrong with the file only costs time: a busy or full one is done without for once, a broken one is
    removed and not used again by this process.
    """

    def __init__(self, path: Path, connection: apsw.Connection, key: bytes) -> None:
        self._path = path
        self._connection: apsw.Connection | None = connection
        self._key = key

    @classmethod
    def open(cls, path: Path, key: bytes) -> ExtractionCache | None:
        """Open or create the cache; None where it cannot be used, because the work goes on without."""
        try:
            return cls(path, open_cache(path, VERSION, SCHEMA), key)
        except (StoreError, LockedError):
            return None

    def load(self, cache_key: str, reading: Reading) -> bool:
        """Fill a reading from the cache. Returns whether a valid row was found."""
        if self._connection is None:
            return False
        select = "SELECT kind, text, extraction, redacted, cleaned, seal FROM extractions WHERE key = ?"
        try:
            row = self._connection.execute(select, (cache_key,)).fetchone()
        except apsw.Error as error:
            self._fail(error)
            return False
        except UnicodeDecodeError:  # a text that we did not write
            return False
        if row is None or row[5] != self._seal(cache_key, row[:5]):
            return False
        reading.kind, reading.text, reading.dumped, reading.redacted, reading.cleaned = row[:5]
        reading.cached = True
        return True

    def save(self, rows: Iterable[tuple[str, Reading]]) -> None:
        """Keep these readings, and drop the oldest rows of a cache that grew too large."""
        if self._connection is None:
            return
        values = []
        for cache_key, reading in rows:
            row = (reading.kind, reading.text, reading.dump(), reading.redacted, reading.cleaned)
            values.append((cache_key, *row, self._seal(cache_key, row)))
        if not values:
            return
        try:
            with self._connection as connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO extractions(key, kind, text, extraction, redacted, cleaned, seal) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?)",
                    values,
                )
                _prune(connection)
        except apsw.Error as error:
            self._fail(error)

    def close(self) -> None:
        """Release the file. Nothing is found or kept afterwards."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fail(self, error: apsw.Error) -> None:
        """Do without the cache. A file that is no cache or a damaged one is removed, so that a sound one follows."""
        if isinstance(error, _BUSY):
            return
        self.close()
        if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.SQLError):
            remove_files(self._path)

    def _seal(self, cache_key: str, row: tuple[object, ...]) -> bytes:
        """The keyed hash of a row with the types of its values: text and bytes must not pass for one another."""
        digest = hashlib.blake2b(cache_key.encode(), key=self._key, digest_size=_DIGEST_BYTES)
        for value in row:
            part = value if isinstance(value, bytes) else str(value).encode()
            digest.update(type(value).__name__.encode() + len(part).to_bytes(8, "little") + part)
        return digest.digest()


def _prune(connection: apsw.Connection) -> None:
    """Drop the oldest rows of a cache that is too large; a row that is written again counts as new."""
    pages = connection.pragma("page_count") - connection.pragma("freelist_count")
    if pages * connection.pragma("page_size") > MOST_BYTES:
        connection.execute(_DROP_OLDEST, (_DROPPED_SHARE,))
