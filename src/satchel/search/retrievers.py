"""The search strategies that a question may be limited to, and the weights of the signals of a file.

Nothing here imports numpy, so that a request is checked without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from satchel.errors import UsageError
from satchel.types import Failure


class SearchStrategy(StrEnum):
    """One way of searching.

    `lexical` counts the words of a text, `names` looks up names in the question (files, symbols, frames of a trace),
    `history` lets commits vote for the files they touched, `graph` follows calls, `dense` compares meanings.
    """

    LEXICAL = "lexical"
    NAMES = "names"
    HISTORY = "history"
    GRAPH = "graph"
    DENSE = "dense"


def parse_strategies(names: Iterable[str]) -> tuple[SearchStrategy, ...]:
    """Return strategies by name, each once, in their order; none means all. Raises UsageError that lists all."""
    listed = list(names)
    for name in listed:
        if name not in set(SearchStrategy):
            raise UsageError(f"unknown search strategy {name!r}: choose from {', '.join(SearchStrategy)}")
    return tuple(strategy for strategy in SearchStrategy if strategy in listed)


def silent(strategies: Sequence[SearchStrategy]) -> frozenset[SearchStrategy]:
    """Return the strategies that take no part; none if none was asked for by name."""
    return frozenset(SearchStrategy) - frozenset(strategies) if strategies else frozenset()


def unavailable(strategies: Iterable[SearchStrategy], *, has_vectors: bool, has_history: bool) -> list[Failure]:
    """Return a failure for each named strategy that cannot be used here."""
    missing = {
        SearchStrategy.HISTORY: (has_history, "no commits are indexed here", "it needs a git history"),
        SearchStrategy.DENSE: (
            has_vectors,
            "no vectors are set up here",
            "install satchel[embed] or set embed.endpoint, then run `satchel index`",
        ),
    }
    return [
        Failure(f"strategy {strategy}", missing[strategy][1], missing[strategy][2])
        for strategy in strategies
        if strategy in missing and not missing[strategy][0]
    ]


FILE_WEIGHTS = {
    "best part": 1.0,
    "top three parts": 0.5,
    "history": 1.0,
    "whole file": 0.5,
    "name": 0.5,
    "path mention": 0.5,
    "symbol mention": 0.5,
    "trace": 1.0,
    "vectors": 1.0,
}
"""Weight of each normalised signal in F. Vectors are of prose only: r@5 rises from .66 to .69 on encyclopedia passages,
from .69 to .78 and .75 to .79 on headings of two documentations, from .60 to .77 and .65 to .74 on questions in other
words than theirs; half or twice the weights change that by a few points (benchmarks/results/prose.json)."""

FileWeights = tuple[tuple[str, float], ...]
"""Weights that replace those of `FILE_WEIGHTS`, by signal; `satchel eval --tune` finds them."""
