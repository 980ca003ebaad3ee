"""The least relevance of what is shown, and when an answer is only a weak match."""

from __future__ import annotations

from collections.abc import Mapping

from satchel.search.rank_records import SearchResult
from satchel.search.strength import WEAK_FLOOR, answer_strength
from satchel.types import Hit, Kind

ITEM_FLOOR = 0.1
"""For each record and section of prose of a kind that answers. Code has none beyond the floor of its kind: what is
shown of it is chosen by value."""

RELATIVE_FLOOR = 0.6
RELATIVE_FLOORS: Mapping[Kind, float] = {Kind.CODE: 0.0, Kind.COMMIT: 0.75}
"""A record or a section of prose is shown only with at least this share of the relevance of the best of its kind:
beside a commit about the question, one that shares a single word with it is noise. Commits are many and short, so
the bar is higher for them: with 0.4 twenty of them filled their third of the budget. Code is ranked by file instead."""

LEAST_LISTED = 0.005
"""What is written as 0.00 is not listed."""

WEAK_ITEMS = 3
"""Documents of an answer that is a weak match: the few best, to look at, not to rely on."""


def is_weak(strength: float, min_score: float | None) -> bool:
    """Whether an answer is a weak match: by its strength, unless the caller has a floor of their own."""
    return min_score is None and strength < WEAK_FLOOR


def floor_of(kind: Kind, best: float, strength: float, min_score: float | None) -> float | None:
    """The least relevance of a hit of a kind whose best has `best`; None where the kind does not answer.

    `strength` is that of the whole answer (`answer_strength`). A `min_score` is absolute: nothing else is held back
    then. Beside a kind that matches well, one that hardly does is left out. Of a weak answer what is near its best is
    shown, so that it is never empty.
    """
    if min_score is not None:
        return min_score
    near = RELATIVE_FLOOR * strength
    if best <= 0 or (best < min(WEAK_FLOOR, near) and not is_weak(strength, min_score)):
        return None
    least = 0.0 if kind is Kind.CODE else min(ITEM_FLOOR, near)
    return max(least, RELATIVE_FLOORS.get(kind, RELATIVE_FLOOR) * best)


def admitted(results: Mapping[Kind, SearchResult], limit: int, min_score: float | None) -> list[Hit]:
    """The best hits of each kind, at most `limit` each. Of a weak answer only the few best are given.

    A list may be long: nothing is held back because something else is better.
    """
    strength = answer_strength({kind: result.strength for kind, result in results.items()})
    found: list[Hit] = []
    for kind, result in results.items():
        best = max((hit.relevance for hit in result.hits), default=0.0)
        least = floor_of(kind, best, strength, min_score)
        if least is not None:
            listed = LEAST_LISTED if is_weak(strength, None) else ITEM_FLOOR
            lowest = least if min_score is not None else min(least, listed)
            found += [hit for hit in result.hits if hit.relevance >= lowest][:limit]
    if not is_weak(strength, min_score):
        return found
    kept = sorted(found, key=lambda hit: -hit.relevance)[:WEAK_ITEMS]
    return [hit for hit in found if hit in kept]
