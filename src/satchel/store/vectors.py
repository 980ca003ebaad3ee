"""Vectors of length 1, stored as little-endian 16-bit floats, or in 8 bits if their fingerprint says so (`IN_STEPS`).

Compared with four bytes per number, the cosine of two vectors changes by less than 0.001, and a scan reads half. In 8
bits it is off by 0.0005 on average and by 0.005 at most.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel.types import IN_STEPS

if TYPE_CHECKING:
    import numpy.typing as npt

_STORED = "<f2"

WIDE_BYTES = 16_000_000
"""Memory for vectors of 32-bit numbers: 10,000 of a model with 384. Above it they are kept in 8 bits, a quarter of
that, and scanned as fast: 100,000 in 30 ms, where widening 16 bits at every question takes 110 to 400
(benchmarks/results/vectors.json)."""

BLOCK_ROWS = 512
"""Vectors that are widened at once: 0.8 MB of a model with 384 numbers, which fits into a processor's cache."""

EXACT_VECTORS = 500_000
"""Vectors of one kind up to which all are compared, also where an index could find the nearest: 60,000 take 17 ms, and
an index of pgvector 205 ms for any number (docs/decisions/0040)."""

NEAREST = 200
"""Vectors that an index finds for a question. An answer shows some dozens."""

SAMPLED = 4_000
"""Vectors whose mean similarity stands for that of all: for a question it is off by 0.002 at most in two of three."""


def scalar_products(
    matrix: npt.NDArray[np.float32] | npt.NDArray[np.int8], vector: npt.NDArray[np.float32]
) -> npt.NDArray[np.float32]:
    """Return the scalar product of each row with a vector.

    The library of linear algebra behind `@` would use a thread for each core, which wait busily for 20 ms and more
    after a product of less than one.
    """
    products: npt.NDArray[np.float32] = np.einsum("ij,j->i", matrix, vector)
    return products


class VectorTable(Struct, frozen=True):
    """Row numbers of chunks, ascending, and their vectors: 32-bit numbers, or integer steps times a scale per row.

    In 8 bits the cosine of two vectors is off by 0.0003 on average and by 0.002 at most: of the first ten
    hits of a real question 9.95 stay (benchmarks/results/vectors.json).
    """

    rows: npt.NDArray[np.int64]
    matrix: npt.NDArray[np.float32] | npt.NDArray[np.int8]
    scales: npt.NDArray[np.float32] | None = None

    def vector(self, place: int) -> npt.NDArray[np.float32]:
        """Return the vector at a place of the table."""
        numbers: npt.NDArray[np.float32] = self.matrix[place].astype(np.float32)
        return numbers if self.scales is None else numbers * self.scales[place]

    def products(self, vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """Return the scalar product of every vector with this one: the cosine if this has length 1."""
        if self.scales is None:
            return scalar_products(self.matrix, vector).astype(np.float64)
        values = np.empty(len(self.rows), dtype=np.float32)
        block = np.empty((BLOCK_ROWS, self.matrix.shape[1]), dtype=np.float32)
        for start in range(0, len(values), BLOCK_ROWS):
            count = min(BLOCK_ROWS, len(values) - start)
            np.copyto(block[:count], self.matrix[start : start + count])
            values[start : start + count] = scalar_products(block[:count], vector)
        return (values * self.scales).astype(np.float64)


Finder: TypeAlias = "Callable[[npt.NDArray[np.float32], int], Sequence[int]]"
"""Returns about so many row numbers, the nearest ones to a vector. Unknown rows are ignored."""


class NearVectors(Struct, frozen=True):
    """Row numbers of chunks, ascending, of which an index finds the nearest to a question; no process holds them all.

    `sample` has every n-th of them, `read` those of given rows.
    """

    rows: npt.NDArray[np.int64]
    sample: VectorTable
    find: Finder
    read: Callable[[Sequence[int]], VectorTable]

    def products(self, vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
        """Return what `VectorTable.products` does for the nearest vectors, and for each other one the mean of the rest.

        So the mean is that of all vectors, as far as the sample has it.
        """
        found = np.intersect1d(self.rows, np.array(self.find(vector, NEAREST), dtype=np.int64))
        exact = self.read(found.tolist()).products(vector) if len(found) else np.empty(0)
        others = max(len(self.rows) - len(found), 1)
        mean = float(self.sample.products(vector).mean())
        values = np.full(len(self.rows), (len(self.rows) * mean - float(exact.sum())) / others)
        values[np.searchsorted(self.rows, found)] = exact
        return values


def encode(vectors: npt.NDArray[np.float32], fingerprint: str = "") -> list[bytes]:
    """Return the bytes of each row, as the fingerprint of the vectors says."""
    if fingerprint.endswith(IN_STEPS):
        return [vector.tobytes() for vector in _in_steps(vectors)[0]]
    return [vector.tobytes() for vector in vectors.astype(_STORED)]


def numbers(stored: Sequence[bytes], fingerprint: str = "") -> npt.NDArray[np.floating[Any]]:
    """Return a row of numbers for each stored vector. Raises ValueError if their lengths differ."""
    if len({len(vector) for vector in stored}) > 1:
        raise ValueError("vectors of one fingerprint differ in length")
    is_in_steps = fingerprint.endswith(IN_STEPS)
    every = np.frombuffer(b"".join(stored), dtype=np.int8 if is_in_steps else _STORED)
    matrix = every.reshape(len(stored), -1) if len(stored) else every.reshape(0, 0)
    if not is_in_steps:
        return matrix
    wide = matrix.astype(np.float32)  # no scale is stored, because the length is known
    lengths = np.sqrt(np.einsum("ij,ij->i", wide, wide))
    return wide / np.where(lengths > 0, lengths, 1)[:, None]


def decode(
    rows: Sequence[int], stored: Sequence[bytes], fingerprint: str = "", *, of_many: bool = False
) -> VectorTable:
    """Decode stored vectors, into 8 bits above `WIDE_BYTES`, or if they are some `of_many`.

    Raises ValueError if their lengths differ.
    """
    matrix = numbers(stored, fingerprint)
    places = np.array(rows, dtype=np.int64)
    if 4 * matrix.size <= WIDE_BYTES and not of_many:
        return VectorTable(places, matrix.astype(np.float32, copy=False))
    return VectorTable(places, *_in_steps(matrix))


def _in_steps(matrix: npt.NDArray[np.floating[Any]]) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Return each row as integer steps, and the size of its step."""
    steps = np.empty(matrix.shape, dtype=np.int8)
    scales = np.empty(len(matrix), dtype=np.float32)
    for start in range(0, len(matrix), BLOCK_ROWS):
        block = matrix[start : start + BLOCK_ROWS].astype(np.float32)
        largest = np.abs(block).max(axis=1)
        scale = np.where(largest > 0, largest / 127, 1.0).astype(np.float32)  # steps of 8 bits on each side of zero
        scales[start : start + BLOCK_ROWS] = scale
        steps[start : start + BLOCK_ROWS] = np.rint(block / scale[:, None])
    return steps, scales
