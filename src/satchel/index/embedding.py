"""Make the vectors that are missing, through a cache of vectors by text."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import apsw

from satchel.embed import Embedder, fingerprint
from satchel.errors import EmbeddingError
from satchel.index.run import Progress, Quiet, VectorCounts
from satchel.store.extract import ChunkText, chunk_texts
from satchel.store.protocol import VECTORS_COMPLETE, Store
from satchel.store.records import rows
from satchel.store.sqlite.connection import open_cache
from satchel.store.vectors import encode
from satchel.types import EdgeType, Kind, ShouldStop, never

if TYPE_CHECKING:
    from concurrent.futures import Future

    from satchel.embed import Vectors

MAX_ROWS = 300_000
"""Vectors above which the oldest tenth is dropped: 230 MB of a model with 384 numbers."""

_SCHEMA = """
DROP TABLE IF EXISTS vectors;
CREATE TABLE vectors(age INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, vector BLOB NOT NULL);
"""


class VectorCache:
    """A key-value file. After any fault of it the vectors are made again."""

    def __init__(self, path: Path, key: bytes) -> None:
        self._key = key[: hashlib.blake2b.MAX_KEY_SIZE]
        self._connection = open_cache(path, 1, _SCHEMA)

    def key(self, fingerprint: str, text: str) -> bytes:
        """Return the key of a text under a fingerprint."""
        data = f"{fingerprint}\0{text}".encode("utf-8", "surrogatepass")
        return hashlib.blake2b(data, digest_size=16, key=self._key).digest()

    def load(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the stored vectors of these keys; unknown ones are left out."""
        if self._connection is None:
            return {}
        vectors: dict[bytes, bytes] = {}
        try:
            for key in keys:
                vectors |= rows(self._connection, "SELECT key, vector FROM vectors WHERE key = ?", (key,))
        except apsw.Error:
            self.close()
        return vectors

    def save(self, vectors: Mapping[bytes, bytes]) -> None:
        """Store vectors, and drop the oldest above `MAX_ROWS`."""
        if self._connection is None or not vectors:
            return
        try:
            with self._connection:
                self._connection.executemany(
                    "INSERT OR IGNORE INTO vectors(key, vector) VALUES (?, ?)", vectors.items()
                )
                ((count,),) = rows(self._connection, "SELECT count(*) FROM vectors")
                if count > MAX_ROWS:
                    oldest = "SELECT age FROM vectors ORDER BY age LIMIT ?"
                    self._connection.execute(f"DELETE FROM vectors WHERE age IN ({oldest})", (MAX_ROWS // 10,))  # noqa: S608 - our own text
        except apsw.Error:
            self.close()

    def close(self) -> None:
        """Release the file; later calls load and save nothing."""
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


BATCH_CHUNKS = 8
"""Texts embedded at once: 0.1 to 0.5 s by their length, the time that Ctrl-C waits."""

PUBLISH_CHUNKS = 2_000
"""Vectors that wait for publication at most: 2 MB of a model with 384 numbers."""


@dataclass(slots=True)
class _Pending:
    """Vectors that are not published yet."""

    entries: list[tuple[ChunkText, bytes]] = field(default_factory=list)
    published: float = field(default_factory=time.monotonic)

    def is_due(self) -> bool:
        """Return whether to publish them, for their number or their age."""
        # A run publishes at least this often; not much more often, as readers then load the words again.
        return len(self.entries) >= PUBLISH_CHUNKS or time.monotonic() - self.published > 5.0

    def publish(self, store: Store, mark: str, max_tokens: int) -> int:
        """Store the vectors of chunks whose row still has the same text, and return their number."""
        if not self.entries:
            return 0
        with store.write() as writer:
            texts = chunk_texts(store, [entry.row for entry, _ in self.entries], max_tokens)
            current = {entry.row: entry.text for entry in texts}
            kept = [(entry.row, vector) for entry, vector in self.entries if current.get(entry.row) == entry.text]
            writer.put_vectors(mark, kept)
        self.entries.clear()
        self.published = time.monotonic()
        return len(kept)


MAX_CODE = 10_000
"""Chunks of code with a vector at most, where nothing else is said: a minute of one core."""


def counts(store: Store, kinds: Sequence[Kind], embedder: Embedder, most_code: int = MAX_CODE) -> VectorCounts:
    """Return the progress of this embedder in one store; of code `most_code` chunks are to have a vector."""
    progress = dict(store.vector_counts(kinds, fingerprint(embedder)))
    if Kind.CODE in progress:
        done, total = progress[Kind.CODE]
        progress[Kind.CODE] = done, max(min(total, most_code), done)
    return VectorCounts(progress)


def _missing(store: Store, kinds: Sequence[Kind], mark: str, most_code: int) -> list[int]:
    """Return the rows that are to get a vector, in this order: the newest texts, then the most useful code."""
    missing = store.without_vector([kind for kind in kinds if kind is not Kind.CODE], mark)
    if Kind.CODE in kinds:
        done, _ = store.vector_counts((Kind.CODE,), mark).get(Kind.CODE, (0, 0))
        missing += most_useful(store, store.without_vector((Kind.CODE,), mark))[: max(most_code - done, 0)]
    return missing


def most_useful(store: Store, rows: Sequence[int]) -> list[int]:
    """Return chunks of code in another order: what is called most and what the newest commits changed comes first.

    The places in both orders count alike.
    """
    chunks = store.chunks(rows)
    documents = store.documents({chunk.document for chunk in chunks.values()})
    changed = _last_changes(store, [document.key for document in documents.values()])
    times = {identity: changed.get(document.key, 0.0) for identity, document in documents.items()}
    names = {row: chunk.name.rpartition(".")[2] for row, chunk in chunks.items()}
    called = Counter(name for _, _, name in store.edges_to([*{*names.values()}], [EdgeType.CALLS]))
    newest = sorted(chunks, key=lambda row: (-times.get(chunks[row].document, 0.0), -row))
    place = {row: number for number, row in enumerate(newest)}
    busiest = sorted(chunks, key=lambda row: (-called[names[row]], place[row]))
    return [row for _, _, row in sorted((place[row] + number, number, row) for number, row in enumerate(busiest))]


def _last_changes(store: Store, paths: Sequence[str]) -> dict[str, float]:
    """Return when a commit last touched each of these files; files that none touched are left out."""
    touches = store.edges_to(paths, [EdgeType.TOUCHES])
    commits = store.chunks({source for source, _, _ in touches})
    documents = store.documents({commit.document for commit in commits.values()})
    times = {row: documents[commit.document].created for row, commit in commits.items() if commit.document in documents}
    in_order = sorted((times.get(source, 0.0), path) for source, _, path in touches)
    return {path: moment for moment, path in in_order}


def fill(
    store: Store,
    kinds: Sequence[Kind],
    embedder: Embedder,
    cache: VectorCache,
    progress: Progress | None = None,
    should_stop: ShouldStop = never,
    most_code: int = MAX_CODE,
    beside: Sequence[str] = (),
) -> int:
    """Give every chunk of these kinds a vector, of code `most_code` chunks, and return the number of new ones.

    Vectors of other fingerprints, except those `beside`, are deleted once there is a complete set of this one. A stop
    takes a batch of `BATCH_CHUNKS` at most. Raises EmbeddingError; earlier vectors are kept.
    """
    progress = progress or Quiet()
    mark = fingerprint(embedder)
    missing = _missing(store, kinds, mark, most_code)
    if missing:
        progress.phase("vectors", len(missing))
    made, start, size, pending = 0, 0, BATCH_CHUNKS, _Pending()
    try:
        while start < len(missing):
            rows = missing[start : start + size]
            if should_stop():
                return made + pending.publish(store, mark, embedder.max_tokens)
            vectors = _embedded(chunk_texts(store, rows, embedder.max_tokens), embedder, cache, should_stop)
            if vectors is None:
                return made + pending.publish(store, mark, embedder.max_tokens)
            pending.entries += vectors
            progress.advance(len(rows))
            if pending.is_due():
                made += pending.publish(store, mark, embedder.max_tokens)
            start += len(rows)
            # After the batch: a model that has to be built first is not quick before.
            size = BATCH_CHUNKS if embedder.is_quick else 256  # texts embedded at once by an endpoint: four requests
    except EmbeddingError:
        pending.publish(store, mark, embedder.max_tokens)
        raise
    made += pending.publish(store, mark, embedder.max_tokens)
    _complete(store, mark, *beside)
    return made


def fill_from_table(
    store: Store, kinds: Sequence[Kind], table: Embedder, should_stop: ShouldStop = never, *, is_beside: bool = False
) -> int:
    """Do what `fill` does with a table of words, which makes vectors in less time than a cache needs to find them.

    With `is_beside` those of a model are kept.
    """
    mark, made = fingerprint(table), 0
    rows = sorted(store.without_vector(kinds, mark))  # in ascending order they fill the pages of the database
    for start in range(0, len(rows), PUBLISH_CHUNKS):
        if should_stop():
            return made
        with store.write() as writer:
            texts = chunk_texts(store, rows[start : start + PUBLISH_CHUNKS], table.max_tokens)
            vectors = encode(table.embed_documents([entry.text for entry in texts]), mark)
            writer.put_vectors(mark, [(entry.row, vector) for entry, vector in zip(texts, vectors, strict=True)])
            made += len(texts)
    if not is_beside:
        _complete(store, mark)
    return made


def _complete(store: Store, mark: str, *others: str) -> None:
    """Keep no vectors but those of this fingerprint, which all chunks have, and of others that come beside it."""
    if store.meta(VECTORS_COMPLETE) != mark:
        with store.write() as writer:
            writer.keep_vectors(mark, *others)
            writer.set_meta(VECTORS_COMPLETE, mark)


def _embedded(
    texts: Sequence[ChunkText], embedder: Embedder, cache: VectorCache, should_stop: ShouldStop
) -> list[tuple[ChunkText, bytes]] | None:
    """Return each text with its encoded vector, from the cache or new. None when stopped."""
    mark = fingerprint(embedder)
    keys = {entry.text: cache.key(mark, entry.text) for entry in texts}
    stored = {
        key: vector for key, vector in cache.load([*keys.values()]).items() if len(vector) == 2 * embedder.dimension
    }
    fresh = [text for text, key in keys.items() if key not in stored]
    if fresh:
        vectors = _vectors(fresh, embedder, should_stop)
        if vectors is None:
            return None
        made = dict(zip((keys[text] for text in fresh), encode(vectors), strict=True))
        cache.save(made)
        stored |= made
    return [(entry, stored[keys[entry.text]]) for entry in texts]


def _vectors(texts: Sequence[str], embedder: Embedder, should_stop: ShouldStop) -> Vectors | None:
    """Return the vectors of these texts, None after a stop.

    A slow embedder (a server, a model that is built first) works in a thread that is abandoned on a stop: it writes
    nothing to a store, and ends with its call or with the process.
    """
    if embedder.is_quick:
        return embedder.embed_documents(texts)
    from concurrent.futures import Future  # here, because it imports logging

    outcome: Future[Vectors] = Future()

    def work() -> None:
        try:
            outcome.set_result(embedder.embed_documents(texts))
        except BaseException as error:  # noqa: BLE001 - `outcome.result` raises it
            outcome.set_exception(error)

    threading.Thread(target=work, name="satchel-embedding", daemon=True).start()
    while True:
        try:
            # Seconds between two checks for a stop while an embedder that may be slow works.
            return outcome.result(0.05)
        except TimeoutError:
            if outcome.done():  # the embedder raised it
                raise
            # A model that is built by now ends its batch soon, and must not run at the end of the process.
            if should_stop() and not embedder.is_quick:
                return None
