"""Find the nearest vectors with Qdrant: one collection for each root, model and kind, filled from the store.

The store stays the place of the vectors: Qdrant gets copies, without texts and names, and what it finds is compared
again with the bytes of the store. Tried in the local mode of its client only, never on a server.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

from qdrant_client import QdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException

from satchel.errors import StoreError
from satchel.store.vectors import Finder, numbers

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from satchel.store.protocol import Store
    from satchel.types import Kind

BATCH = 1_000
"""Points that are sent at once: some megabytes."""

_VECTORS = (
    "SELECT v.chunk, v.vector FROM vectors v JOIN chunks ON row = v.chunk JOIN documents ON id = document "
    "WHERE v.fingerprint = $1 AND kind = $2"
)


class QdrantIndex:
    """Copies of the vectors of one root at a `place`: the address of a server, a folder, or `:memory:`.

    The first question after a change reads all vectors of the kind and copies those that differ.
    """

    def __init__(self, place: str, root: str) -> None:
        self._place, self._root = place, root
        self._copied: dict[str, str] = {}

    def finder(self, state: Store, kind: Kind, fingerprint: str) -> Finder:
        """As in `VectorIndex`. What it returns raises StoreError where Qdrant cannot be reached."""
        named = "\0".join((self._root, kind, fingerprint)).encode("utf-8", "surrogatepass")
        name = f"satchel-{blake2b(named, digest_size=16).hexdigest()}"

        def find(vector: npt.NDArray[np.float32], most: int) -> Sequence[int]:
            with self._reported():
                client, revision = _client(self._place), state.revision
                if self._copied.get(name) != revision:
                    _copy(client, name, state._rows(_VECTORS, (fingerprint, kind)), fingerprint)
                    self._copied[name] = revision
                found = client.query_points(name, query=vector.tolist(), limit=most, with_payload=["row"])
            return [point.payload["row"] for point in found.points if point.payload]

        return find

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except (ApiException, QdrantException, RuntimeError, OSError) as error:  # a locked folder is a RuntimeError
            raise StoreError(f"Qdrant cannot be used at store.vectors: {str(error).splitlines()[0]}") from error


@cache
def _client(place: str) -> QdrantClient:
    """Return the client of a place: a folder can be opened once in a process, and by one process."""
    if place == ":memory:":
        client = QdrantClient(place)
    elif "://" in place:
        client = QdrantClient(url=place, api_key=os.environ.get("QDRANT_API_KEY"), check_compatibility=False)
    else:
        client = QdrantClient(path=str(Path(place).expanduser()))
    atexit.register(client.close)
    return client


def _copy(client: QdrantClient, name: str, rows: Sequence[tuple[int, bytes]], fingerprint: str) -> None:
    """Make the points of a collection those of these rows. A point is named by its row and vector, so none changes."""
    wanted = {_point(row, vector): (row, vector) for row, vector in rows}
    present: set[int] = set()
    if not client.collection_exists(name):
        dimension = numbers([rows[0][1]], fingerprint).shape[1]
        params = models.VectorParams(size=dimension, distance=models.Distance.DOT)
        client.create_collection(name, vectors_config=params)
    offset = None
    while True:
        records, offset = client.scroll(name, limit=BATCH, offset=offset, with_payload=False)
        present.update(int(record.id) for record in records)
        if offset is None:
            break
    gone, new = sorted(present - wanted.keys()), sorted(wanted.keys() - present)
    for start in range(0, len(gone), BATCH):
        client.delete(name, models.PointIdsList(points=[*gone[start : start + BATCH]]))
    for start in range(0, len(new), BATCH):
        points = new[start : start + BATCH]
        rows = [wanted[point] for point in points]
        matrix = numbers([vector for _, vector in rows], fingerprint)
        client.upsert(name, models.Batch(
            ids=[*points], vectors=matrix.astype(float).tolist(), payloads=[{"row": row} for row, _ in rows]
        ))  # fmt: skip


def _point(row: int, vector: bytes) -> int:
    return int.from_bytes(blake2b(row.to_bytes(8) + vector, digest_size=8).digest())
