"""How good a node is for a request: nearness, relevance and recency, each a signal that can be seen.

    score = 0.40 nearness + 0.35 relevance + 0.25 recency, + 0.10 for a tag that the lens looks for, at most 1
    score = 0.60 nearness + 0.40 recency                   for a node id without any words to be relevant to

Which of the two it is holds for a whole request. Nearness is 1 / (distance + 1) times the relevance of the source in
parts of the best one, times the worth of the relations on the way. Recency halves every 30 days.
"""

from __future__ import annotations

from dataclasses import dataclass

from satchel.assemble.graph.lenses import Lens
from satchel.assemble.graph.walk import Reached
from satchel.search.adjust import HALF_LIFE_SECONDS
from satchel.sources.roles import is_inline_test
from satchel.store.records import Place
from satchel.types import Signal

DISTANCE_WEIGHT, RELEVANCE_WEIGHT, RECENCY_WEIGHT = 0.40, 0.35, 0.25
"""The weights of the specification for a request with words."""

BARE_DISTANCE_WEIGHT, BARE_RECENCY_WEIGHT = 0.60, 0.40
"""Those for a node id alone."""

TAG_BOOST = 0.10
"""What a tag of the lens adds: a match that is 0.29 more relevant is worth as much."""

TEST_FADE = 0.8
"""What a test, an example or a benchmark is worth beside production code at the same distance, in a lens on code."""

UNDATED = 0.5
"""Recency of a node without a date: neither new nor old."""


@dataclass(frozen=True, slots=True)
class Rating:
    """The score of a node, 0 to 1, and what it is made of."""

    total: float
    signals: tuple[Signal, ...]


def recency(moment: float, now: float) -> float:
    """1 for now or later, 0.5 for exactly 30 days ago, `UNDATED` for what has no time. Both in seconds."""
    if moment <= 0:
        return UNDATED
    return float(0.5 ** (max(now - moment, 0.0) / HALF_LIFE_SECONDS))


def rate(reached: Reached, relevance: float, lens: Lens, now: float, *, has_words: bool) -> Rating:
    """The score of one node. `has_words` is the same for all nodes of a request."""
    signals = [
        Signal("distance", 1 / (reached.distance + 1), DISTANCE_WEIGHT if has_words else BARE_DISTANCE_WEIGHT),
        Signal("source", reached.source_factor, 0.0),
        Signal("edges", reached.edge_factor, 0.0),
        Signal("recency", recency(reached.place.updated, now), RECENCY_WEIGHT if has_words else BARE_RECENCY_WEIGHT),
    ]
    nearness = reached.nearness * (TEST_FADE if lens.is_about_code and _is_secondary(reached.place) else 1.0)
    total = signals[0].weight * nearness + signals[3].weight * signals[3].value
    if has_words:
        signals.append(Signal("relevance", relevance, RELEVANCE_WEIGHT))
        total += RELEVANCE_WEIGHT * relevance
    if is_boosted(reached, lens):
        signals.append(Signal("tag", 1.0, TAG_BOOST))
        total += TAG_BOOST
    return Rating(min(total, 1.0), tuple(signals))


def _is_secondary(place: Place) -> bool:
    return place.secondary or is_inline_test(place.key, place.name)


def is_boosted(reached: Reached, lens: Lens) -> bool:
    """Whether a node has a tag that the lens looks for; a test file counts as tagged `test`."""
    tags = {tag.lower().lstrip("#") for tag in reached.place.tags}
    if reached.place.secondary:
        tags.add("test")
    return not tags.isdisjoint(lens.boost_tags)
