"""How a vector is stored: little-endian 16-bit floats, one after the other, of a vector of length 1.

Two bytes a number instead of four: the cosine of two vectors changes by less than 0.001, and a scan reads half as much.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

_STORED = np.dtype("<f2")

WIDE_BYTES = 64_000_000
"""Memory up to which vectors are widened to 32 bits when they are read: a scan of 100,000 as they are stored takes
70 ms, nearly all of it for widening them, again at every question."""


@dataclass(frozen=True, slots=True)
class VectorTable:
    """Row numbers of documents, rising, and the vector of each: as it is stored, or in 32 bits where these are few."""

    rows: npt.NDArray[np.int64]
    matrix: npt.NDArray[np.float16] | npt.NDArray[np.float32]


def encode(vectors: npt.NDArray[np.float32]) -> list[bytes]:
    """Each row as it is stored."""
    return [vector.tobytes() for vector in vectors.astype(_STORED)]


def decode(rows: Sequence[int], stored: Sequence[bytes]) -> VectorTable:
    """The opposite of `encode`. Raises ValueError where the vectors differ in length."""
    if len({len(vector) for vector in stored}) > 1:
        raise ValueError("vectors of one fingerprint differ in length")
    numbers = np.frombuffer(b"".join(stored), dtype=_STORED)
    matrix = numbers.reshape(len(rows), -1) if rows else numbers.reshape(0, 0)
    is_small = 2 * matrix.nbytes <= WIDE_BYTES
    return VectorTable(np.array(rows, dtype=np.int64), matrix.astype(np.float32) if is_small else matrix)
