"""The ways of searching that a question may be limited to, and what is said of one that cannot be had here."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from satchel.errors import UsageError
from satchel.types import Failure


class SearchStrategy(StrEnum):
    """One way of finding.

    `lexical` counts the words of a text, `names` looks for what the question names (files, symbols, frames of a trace),
    `history` lets commits vote for the files they touched, `graph` follows calls, `dense` compares meanings.
    """

    LEXICAL = "lexical"
    NAMES = "names"
    HISTORY = "history"
    GRAPH = "graph"
    DENSE = "dense"


def parse_strategies(names: Iterable[str]) -> tuple[SearchStrategy, ...]:
    """Strategies by name, each once, in their order; none stands for all. Raises UsageError that lists all."""
    asked = list(names)
    for name in asked:
        if name not in set(SearchStrategy):
            raise UsageError(f"unknown search strategy {name!r}: choose from {', '.join(SearchStrategy)}")
    return tuple(strategy for strategy in SearchStrategy if strategy in asked)


def silent(asked: Iterable[SearchStrategy]) -> frozenset[SearchStrategy]:
    """The strategies that take no part; none if none was asked for by name."""
    wanted = frozenset(asked)
    return frozenset(SearchStrategy) - wanted if wanted else frozenset()


def unavailable(asked: Iterable[SearchStrategy], *, has_vectors: bool, has_history: bool) -> list[Failure]:
    """What was asked for by name and cannot be had, as named failures; the others answer."""
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
        for strategy in asked
        if strategy in missing and not missing[strategy][0]
    ]
