"""Counting terms in many pieces of text at once.

Every run of word characters gets a number when it is first seen, together with its terms, so that a file is counted
with a few operations on arrays instead of a step in Python for each of its words.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from satchel import text as words

MOST_RUNS = 200_000
"""Runs that are remembered; a tree with more is counted with a new table from there on. They take about 40 MB."""

LARGEST_COUNT = 255

Numbers = npt.NDArray[np.uint32]


class _Table(dict[str, int]):
    """Numbers of runs. `spans` holds, per run, where its terms begin in `terms`, how many they are, and its words."""

    def __init__(self) -> None:
        super().__init__()
        self.vocabulary: list[str] = []
        self._numbers: dict[str, int] = {}
        self._terms = array("I")
        self._spans = array("I")
        self._guard = threading.Lock()

    def __missing__(self, run: str) -> int:
        with self._guard:
            known = self.get(run)
            if known is not None:
                return known
            found = [run] if run.isidentifier() else words.words(run)
            terms = [term for word in found for term in words.terms_of(word)]
            self._spans.extend((len(self._terms), len(terms), len(found)))
            for term in terms:
                number = self._numbers.setdefault(term, len(self._numbers))
                if number == len(self.vocabulary):
                    self.vocabulary.append(term)
                self._terms.append(number)
            number = len(self)
            self[run] = number
            return number

    def arrays(self) -> tuple[Numbers, Numbers]:
        """Terms of all runs, and one row of `spans` a run. Copies, because another thread may add runs meanwhile."""
        with self._guard:
            return np.array(self._terms, dtype=np.uint32), np.array(self._spans, dtype=np.uint32).reshape(-1, 3)


_table = _Table()


def _current() -> _Table:
    """The table in use; one that is full is left to those who still use it."""
    global _table
    if len(_table) > MOST_RUNS:
        _table = _Table()
    return _table


@dataclass(frozen=True, slots=True)
class Counted:
    """Terms of some pieces: parallel columns ordered by piece, and how many terms and words each piece has in all."""

    terms: npt.NDArray[np.int64]
    pieces: npt.NDArray[np.int64]
    counts: npt.NDArray[np.uint8]
    vocabulary: list[str]
    term_totals: npt.NDArray[np.int64]
    word_totals: npt.NDArray[np.int64]


def count(pieces: Sequence[str], measured: Sequence[str] = ()) -> Counted:
    """Count the terms of each piece. Of the `measured` ones, which follow, only the totals are wanted."""
    table = _current()
    numbers = array("I")
    sizes = array("I")
    number_of = table.__getitem__
    for piece in (*pieces, *measured):
        found = words.runs(piece)
        numbers.extend(map(number_of, found))
        sizes.append(len(found))
    terms, spans = table.arrays()
    runs = np.frombuffer(numbers, dtype=np.uint32).astype(np.int64)
    owners = np.repeat(np.arange(len(sizes)), np.frombuffer(sizes, dtype=np.uint32))
    begins, lengths, worth = (spans[:, column][runs].astype(np.int64) for column in range(3))
    term_totals, word_totals = _totals(owners, lengths, len(sizes)), _totals(owners, worth, len(sizes))
    wanted = int(np.searchsorted(owners, len(pieces)))
    begins, lengths, owners = begins[:wanted], lengths[:wanted], owners[:wanted]
    ends = np.cumsum(lengths)
    places = np.repeat(begins - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
    used, first, local = np.unique(terms[places], return_index=True, return_inverse=True)
    order = np.argsort(first)  # of first occurrence: the numbers of the table differ from process to process
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    keys, counts = np.unique(np.repeat(owners, lengths) * len(used) + rank[local], return_counts=True)
    return Counted(
        terms=keys % max(len(used), 1),
        pieces=keys // max(len(used), 1),
        counts=np.minimum(counts, LARGEST_COUNT).astype(np.uint8),
        vocabulary=[table.vocabulary[number] for number in used[order].tolist()],
        term_totals=term_totals,
        word_totals=word_totals,
    )


def _totals(owners: npt.NDArray[np.int64], values: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    return np.bincount(owners, values, size).astype(np.int64)
