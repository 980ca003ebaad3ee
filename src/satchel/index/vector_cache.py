"""Vectors by content, shared by all roots: an unchanged text is embedded once, though its file or index is new.

Keys are hashes with the user's own key, so the file tells nothing about the texts. Losing it costs time, nothing else.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw

from satchel.errors import LockedError, StoreError
from satchel.store.sqlite.connection import open_cache, rows

MOST_ROWS = 300_000
"""Vectors above which the oldest tenth is dropped: 230 MB of a model with 384 numbers."""

_VERSION = 1
_DIGEST_BYTES = 16
_SCHEMA = """
DROP TABLE IF EXISTS vectors;
CREATE TABLE vectors(age INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
"""


class VectorCache:
    """A key-value file. Whatever is wrong with it, the vectors are made again."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._key = key[: hashlib.blake2b.MAX_KEY_SIZE]
        self._connection = _open(path)

    def key(self, fingerprint: str, text: str) -> bytes:
        """The key of a text under a fingerprint."""
        data = f"{fingerprint}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=_DIGEST_BYTES, key=self._key).digest()

    def load(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The stored vectors of these keys; unknown ones are left out."""
        if self._connection is None:
            return {}
        found: dict[bytes, bytes] = {}
        try:
            for key in keys:
                found |= rows(self._connection, "SELECT key, vector FROM vectors WHERE key = ?", (key,))
        except apsw.Error:
            self.close()
        return found

    def save(self, vectors: Mapping[bytes, bytes]) -> None:
        """Remember vectors, and drop the oldest where there are too many."""
        if self._connection is None or not vectors:
            return
        try:
            with self._connection:
                self._connection.executemany(
                    "INSERT OR IGNORE INTO vectors(key, vector) VALUES (?, ?)", vectors.items()
                )
                ((count,),) = rows(self._connection, "SELECT count(*) FROM vectors")
                if count > MOST_ROWS:
                    oldest = "SELECT age FROM vectors ORDER BY age LIMIT ?"
                    self._connection.execute(f"DELETE FROM vectors WHERE age IN ({oldest})", (MOST_ROWS // 10,))  # noqa: S608 - our own text
        except apsw.Error:
            self.close()

    def close(self) -> None:
        """Release the file; the cache is then empty and takes nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _open(path: Path) -> apsw.Connection | None:
    """The file, begun anew where it is no cache of ours; None where it cannot be used."""
    try:
        return open_cache(path, _VERSION, _SCHEMA)
    except (StoreError, LockedError):
        return None
