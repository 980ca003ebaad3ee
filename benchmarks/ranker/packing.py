"""The candidates of an instance, packed as the engine packs them but with estimated sizes: enough for differences.

A small function is one candidate, of a larger one each span is; they are ordered by value over a power of their size.
On the development issues the shares are within .01 of those of the real packer.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from satchel.answer.candidates import CHARACTERS_PER_TOKEN
from satchel.answer.sections import COST_EXPONENT, COST_OFFSET

Floats = npt.NDArray[np.float64]

WHOLE_TOKENS = 400
FRAME_TOKENS, FILE_TOKENS, RANGE_TOKENS, SIGNATURE_TOKENS = 60, 14, 4, 18
LEAST_ROOM = 30
"""Tokens of the frame of an answer, of a file, of a range, of the declaration above a span; and the room that ends."""


@dataclass(frozen=True, slots=True, eq=False)
class Instance:
    """One question with its candidate spans in the order of the formula.

    `features` has a row a span; `gold` rows are (document, first line, last line) of changed ranges, `files` and
    `ranges` how many the fix changed. `framed` spans are those of a pasted trace: they come first.
    """

    id: str
    repo: str
    language: str
    is_mined: bool
    names: tuple[str, ...]
    features: npt.NDArray[np.float32]
    value: Floats
    framed: npt.NDArray[np.bool_]
    span: npt.NDArray[np.int64]
    chunk: npt.NDArray[np.int64]
    document: npt.NDArray[np.int64]
    gold: npt.NDArray[np.int64]
    files: int
    ranges: int
    strength: float

    @property
    def is_gold(self) -> npt.NDArray[np.bool_]:
        """Which spans have a changed line."""
        mask = np.zeros(len(self.document), dtype=bool)
        for document, first, last in self.gold.tolist():
            mask |= (self.document == document) & (self.span[:, 0] <= last) & (first <= self.span[:, 1])
        return mask


def load(folder: Path) -> list[Instance]:
    """Return all instances, in the order of their ids."""
    return [_read(path) for path in sorted(folder.glob("*.npz")) if not path.name.endswith(".part.npz")]


def _read(path: Path) -> Instance:
    with np.load(path, allow_pickle=False) as stored:
        identity, repo, language, source = stored["about"].tolist()
        files, ranges = stored["counts"].tolist()
        return Instance(
            identity, repo, language, source == "mined", tuple(stored["names"].tolist()), stored["features"],
            stored["value"], stored["framed"], stored["span"].astype(np.int64), stored["chunk"].astype(np.int64),
            stored["document"], stored["gold"], files, ranges, float(stored["strength"][0]),
        )  # fmt: skip


def shown(instance: Instance, values: Floats, max_tokens: int) -> dict[int, list[tuple[int, int]]]:
    """Return the shown line ranges by document for these values of the spans."""
    span, chunk = instance.span, instance.chunk
    if instance.framed.any():
        values = np.where(instance.framed, values.max() + 1 + instance.value - instance.value.min(), values)
    whole = chunk[:, 3] / CHARACTERS_PER_TOKEN <= WHOLE_TOKENS
    key = np.where(whole, chunk[:, 0], -1 - np.arange(len(span)))
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    value = np.full(len(first), -np.inf)
    np.maximum.at(value, group, values)
    size = np.maximum(np.where(whole, chunk[:, 3], span[:, 2])[first] / CHARACTERS_PER_TOKEN, 2.0)
    start, end = np.where(whole, chunk[:, 1], span[:, 0])[first], np.where(whole, chunk[:, 2], span[:, 1])[first]
    order = np.argsort(-(value - COST_EXPONENT * np.log(size + COST_OFFSET)), kind="stable")
    left = max_tokens - FRAME_TOKENS
    ranges: dict[int, list[tuple[int, int]]] = {}
    declared: set[int] = set()
    for one in order.tolist():
        document, owner = int(instance.document[first[one]]), int(chunk[first[one], 0])
        cost = size[one] + RANGE_TOKENS + (0 if document in ranges else FILE_TOKENS)
        cost += 0 if whole[first[one]] or owner in declared else SIGNATURE_TOKENS
        if cost > left:
            if left < LEAST_ROOM:
                break
            continue
        left -= cost
        ranges.setdefault(document, []).append((int(start[one]), int(end[one])))
        declared.add(owner)
    return ranges


def shares(instance: Instance, values: Floats, max_tokens: int) -> tuple[float, float, float]:
    """Return the shares of changed files and of changed ranges that are shown, and of files among the first five."""
    ranges = shown(instance, values, max_tokens)
    files: set[int] = set()
    hits = 0
    for document, first, last in instance.gold.tolist():
        if any(start <= last and first <= end for start, end in ranges.get(document, ())):
            files.add(document)
            hits += 1
    first_five = set(list(ranges)[:5])
    changed = set(instance.gold[:, 0].tolist())
    return len(files) / instance.files, hits / max(instance.ranges, 1), len(changed & first_five) / instance.files


def measured(instances: Sequence[Instance], values: Iterable[Floats], max_tokens: int) -> Floats:
    """Return the shares of each instance, one row each."""
    return np.array([shares(one, row, max_tokens) for one, row in zip(instances, values, strict=True)])


def paired(after: Floats, before: Floats) -> dict[str, list[float]]:
    """Return the means of both and of the difference, with the half-width of its 95 % interval, by measure."""
    difference = after - before
    half = 1.96 * difference.std(axis=0, ddof=1) / math.sqrt(len(difference))
    return {
        name: [round(float(x), 4) for x in (before[:, n].mean(), after[:, n].mean(), difference[:, n].mean(), half[n])]
        for n, name in enumerate(("file", "span", "r5"))
    }
