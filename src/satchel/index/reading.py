"""Read and extract a file, through the cache of extractions."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import apsw

from satchel.errors import LockedError, StoreError
from satchel.index.difference import tick
from satchel.index.options import ReadingOptions
from satchel.safety.sanitize import clean_text, redact
from satchel.sources.notes import is_note
from satchel.sources.outline import outline_file, unwanted
from satchel.store.extract import dump, extract, load
from satchel.store.records import Extraction
from satchel.store.sqlite.connection import open_cache, remove_files
from satchel.system import files
from satchel.types import Kind, Outline

VERSION = 2
SCHEMA = """
DROP TABLE IF EXISTS extractions;
CREATE TABLE extractions(
    age INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, redacted INTEGER NOT NULL,
    cleaned INTEGER NOT NULL, seal BLOB NOT NULL, text BLOB NOT NULL, extraction BLOB NOT NULL);
"""

MOST_BYTES = 256_000_000
"""Bytes of a cache above which the oldest rows are dropped: 15,000 files as large as those of pytest."""

_DROPPED_SHARE = 4
"""One row in four is dropped at once, so that the next files do not prune again."""

_DROP_OLDEST = """
DELETE FROM extractions WHERE age IN (
    SELECT age FROM extractions ORDER BY age LIMIT (SELECT count(*) / ? + 1 FROM extractions))
"""
_DIGEST_BYTES = 16
_BUSY = (apsw.BusyError, apsw.LockedError)


class ExtractionCache:
    """A small key-value file beside the indexes of one repository.

    Faults of the file only cost time: a busy or full one is skipped this time, a broken one is removed and not used
    again by this process.
    """

    def __init__(self, path: Path, connection: apsw.Connection, key: bytes) -> None:
        self._path = path
        self._connection: apsw.Connection | None = connection
        self._key = key

    @classmethod
    def open(cls, path: Path, key: bytes) -> ExtractionCache | None:
        """Open or create the cache; None if it cannot be used."""
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
        except UnicodeDecodeError:  # not written by satchel
            return False
        if row is None or row[5] != self._seal(cache_key, row[:5]):
            return False
        reading.kind, reading.text, reading.dumped, reading.redacted, reading.cleaned = row[:5]
        reading.cached = True
        return True

    def save(self, rows: Iterable[tuple[str, Reading]]) -> None:
        """Store readings, and drop the oldest rows of a cache that is too large."""
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
        """Release the file; later calls load and save nothing."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _fail(self, error: apsw.Error) -> None:
        """Stop using the cache, unless it is only busy. A damaged or foreign file is removed."""
        if isinstance(error, _BUSY):
            return
        self.close()
        if isinstance(error, apsw.CorruptError | apsw.NotADBError | apsw.SQLError):
            remove_files(self._path)

    def _seal(self, cache_key: str, row: tuple[object, ...]) -> bytes:
        """Return the keyed hash of a row with the types of its values, which tell text from equal bytes."""
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


TEXT_COMPRESSION = 1


FAILED = "parser-failure"


@dataclass(slots=True)
class Reading:
    """The result for one file: `skipped` is the reason if it is not indexed.

    `text` is compressed; `redacted` and `cleaned` count removals. `changed_ns` is 0 for a file that may have changed
    once more unnoticed: the next run reads it again. The extraction is a value (`made`) or, from a worker or the cache,
    `dumped`. `facts` are those of a note of a vault.
    """

    path: str
    size: int = 0
    mtime_ns: int = 0
    changed_ns: int = 0
    skipped: str = ""
    failed: bool = False
    content_hash: str = ""
    kind: str = ""
    text: bytes = b""
    dumped: bytes = b""
    redacted: int = 0
    cleaned: int = 0
    lossy: bool = False
    cached: bool = False
    facts: str = ""
    made: Extraction | None = None

    @property
    def extraction(self) -> Extraction:
        """Parts, spans and words of the file."""
        return self.made or load(self.dumped)

    def dump(self) -> bytes:
        """Return the extraction as bytes, for the cache or another process."""
        return self.dumped or (dump(self.made) if self.made is not None else b"")

    def row(self) -> tuple[Any, ...]:
        """Return all fields but the last as plain values, in order: `Reading(*row)` is this reading."""
        return (
            self.path, self.size, self.mtime_ns, self.changed_ns, self.skipped, self.failed, self.content_hash,
            self.kind, self.text, self.dump(), self.redacted, self.cleaned, self.lossy, self.cached, self.facts,
        )  # fmt: skip


class Reader:
    """Reads files of one root, through the extraction cache if there is one."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._root = Path(options.root)
        self._cache = ExtractionCache.open(Path(options.cache), options.key) if options.cache else None

    def read(self, path: str) -> Reading:
        """Read one file. Never raises for its content: a file that cannot be indexed is returned as skipped."""
        options = self._options
        now = tick()
        try:
            content = files.read_text(self._root, path, key=options.key, limit=options.limit)
        except files.Skipped as skip:
            return Reading(path, skipped=str(skip.reason), failed=skip.is_error)
        reading = Reading(
            path, content.size, content.mtime_ns, content.changed_ns if content.changed_ns < now else 0,
            content_hash=content.content_hash, lossy=content.lossy,
        )  # fmt: skip
        reason = unwanted(path, content.text)
        if reason is not None:
            reading.skipped = str(reason)
            return reading
        if self._cache is not None and self._cache.load(self.cache_key(reading), reading):
            return reading
        try:
            self._parse(reading, content.text)
        except (RecursionError, MemoryError):  # nesting or size beyond anything written by hand
            return Reading(path, skipped=FAILED, failed=True)
        return reading

    def _parse(self, reading: Reading, text: str) -> None:
        text, reading.cleaned = clean_text(text)
        text, secrets = redact(text, allow=self._options.allow)
        kind, outline = self._outlined(reading, text)
        reading.kind = str(kind)
        reading.text = zlib.compress(text.encode("utf-8", "replace"), TEXT_COMPRESSION)
        reading.made = extract(text, outline)
        reading.redacted = sum(secrets.values())

    def _outlined(self, reading: Reading, text: str) -> tuple[Kind, Outline]:
        if not self._options.vault or not is_note(reading.path):
            return outline_file(reading.path, text)
        from satchel.sources.vault import read_note

        outline, facts = read_note(reading.path, text)
        reading.facts = facts.dump()
        return Kind.NOTE, outline

    def cache_key(self, reading: Reading) -> str:
        """Return the cache key of a reading: equal bytes under an equal name give an equal extraction."""
        name = reading.path.rpartition("/")[2]
        return f"{self._options.version}/{reading.content_hash}/{name}"

    def remember(self, readings: Sequence[Reading]) -> None:
        """Cache new readings for other work trees of the repository."""
        if self._cache is not None:
            fresh = [reading for reading in readings if not reading.skipped and not reading.cached]
            self._cache.save([(self.cache_key(reading), reading) for reading in fresh])

    def close(self) -> None:
        """Release the cache."""
        if self._cache is not None:
            self._cache.close()
