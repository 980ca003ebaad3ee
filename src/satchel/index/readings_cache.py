"""The readings of the files of a branch in a file beside the index: a later switch to it has nothing to parse."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import blake2b
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import apsw
import msgspec

from satchel.index.reading import File, Reading, Shared, read_stamped
from satchel.index.run import ReadingOptions
from satchel.store.records import rows
from satchel.store.sqlite.connection import open_cache
from satchel.types import ShouldStop

MIN_FILES = 20
"""Files of a run from which on their readings are kept: a switch or a merge. Edits change fewer, and each for good."""

MAX_BYTES = 32_000_000
"""Compressed bytes above which the oldest batches are dropped: about 3,000 files of 10 KB."""

NAME = "readings.db"

_SCHEMA = """
DROP TABLE IF EXISTS batches; DROP TABLE IF EXISTS files;
CREATE TABLE batches(age INTEGER PRIMARY KEY, body BLOB NOT NULL);
CREATE TABLE files(path TEXT NOT NULL, content_hash TEXT NOT NULL, batch INTEGER NOT NULL,
  PRIMARY KEY(path, content_hash)) WITHOUT ROWID;
"""


class _Found(NamedTuple):
    """A file whose content was read before: the reading as it is now, and the batch that has the rest."""

    stamped: Reading
    batch: int


class ReadingsCache:
    """Batches of readings by path and content; empty without a `path`. After a fault of the file all is read again."""

    def __init__(self, path: Path | None, options: ReadingOptions) -> None:
        self._options = options
        # Another version would read the same content in another way.
        version = int.from_bytes(blake2b(options.version.encode(), digest_size=4).digest(), "big") >> 1
        self._connection = open_cache(path, version or 1, _SCHEMA) if path is not None else None

    def take(self, wanted: Sequence[File], should_stop: ShouldStop) -> list[list[Reading]]:
        """Return the readings of those files that are as they were once read, by batches with one vocabulary."""
        batches: dict[int, list[Reading]] = {}
        try:
            for found in takewhile(lambda _: not should_stop(), self._found(wanted)):
                batches.setdefault(found.batch, []).append(found.stamped)
            return [readings for batch, asked in batches.items() if (readings := self._restored(batch, asked))]
        except (KeyError, ValueError, zlib.error, msgspec.MsgspecError):  # after a loss of power the file may be uneven
            self._forget()
        except apsw.Error:
            self.close()
        return []

    def _found(self, wanted: Sequence[File]) -> Iterator[_Found]:
        if self._connection is None:
            return
        kept: dict[str, dict[str, int]] = {}
        for path, content_hash, batch in rows(self._connection, "SELECT path, content_hash, batch FROM files"):
            kept.setdefault(path, {})[content_hash] = batch
        for path, indexed in wanted:
            stamped = read_stamped(path, self._options) if path in kept else None
            if stamped is not None and stamped.content_hash != indexed and stamped.content_hash in kept[path]:
                yield _Found(stamped, kept[path][stamped.content_hash])

    def _restored(self, batch: int, asked: Sequence[Reading]) -> list[Reading]:
        """Return what was read of these files, with their times as they are now."""
        assert self._connection is not None
        ((body,),) = rows(self._connection, "SELECT body FROM batches WHERE age = ?", (batch,))
        shared = msgspec.msgpack.decode(zlib.decompress(body), type=Shared)
        same = {(reading.path, reading.content_hash): reading for reading in shared.readings}
        restored = []
        for now in asked:
            reading = same[now.path, now.content_hash]
            assert reading.extraction is not None
            reading.extraction.vocabulary = shared.vocabulary
            restored.append(replace(reading, size=now.size, mtime_ns=now.mtime_ns, changed_ns=now.changed_ns))
        return restored

    def _forget(self) -> None:
        assert self._connection is not None
        with suppress(apsw.Error):
            self._connection.execute("DELETE FROM batches; DELETE FROM files")

    def keeping(self, batches: Iterable[list[Reading]]) -> Iterator[list[Reading]]:
        """Yield new readings, each batch after it was added to the file."""
        for batch in batches:
            self._keep(batch)
            yield batch

    def _keep(self, batch: Iterable[Reading]) -> None:
        """Keep what was read of some files at once."""
        readings = [reading for reading in batch if reading.extraction is not None]
        if self._connection is None or not readings:
            return
        vocabulary: list[str] = []
        bare = []
        for reading in readings:
            assert reading.extraction is not None
            vocabulary = reading.extraction.vocabulary
            bare.append(replace(reading, extraction=msgspec.structs.replace(reading.extraction, vocabulary=[])))
        body = zlib.compress(msgspec.msgpack.encode(Shared(vocabulary, bare)), 1)
        try:
            with self._connection:
                self._connection.execute("INSERT INTO batches(body) VALUES (?)", (body,))
                age = self._connection.last_insert_rowid()
                self._connection.executemany(
                    "INSERT OR REPLACE INTO files VALUES (?, ?, ?)",
                    [(reading.path, reading.content_hash, age) for reading in readings],
                )
        except apsw.Error:
            self.close()

    def close(self) -> None:
        """Drop the oldest batches above `MAX_BYTES`, and release the file; later calls take and keep nothing."""
        connection, self._connection = self._connection, None
        if connection is None:
            return
        with closing(connection), suppress(apsw.Error), connection:
            _drop_oldest(connection)


def _drop_oldest(connection: apsw.Connection) -> None:
    """Drop batches of which nothing is left to take, and the oldest ones above `MAX_BYTES`."""
    connection.execute("DELETE FROM batches WHERE age NOT IN (SELECT batch FROM files)")
    size = 0
    for age, length in rows(connection, "SELECT age, length(body) FROM batches ORDER BY age DESC"):
        size += length
        if size > MAX_BYTES:
            connection.execute("DELETE FROM batches WHERE age = ?", (age,))
            connection.execute("DELETE FROM files WHERE batch = ?", (age,))
