"""What beside the match speaks for a record: how far it can be relied on, how much it matters, how new it is.

Each adjustment is a share (0 to 1) times a weight on the log scale of the score, and stands among the signals of the
hit. Together they are worth at most `LARGEST`: they order what matches about equally well, and a record that matches
clearly better stays in front. Only routine commits step back further: they share the words of every question about the
project and answer few.
"""

from __future__ import annotations

import math

from satchel.sources.peripheral import is_routine_commit
from satchel.store.records import Bundle
from satchel.types import Kind, Signal
from satchel.vocabulary import MISSING_TIER_WEIGHT, TIER_WEIGHTS

TIER_WEIGHT = 0.12
"""Gold before abandoned is worth a match that is a tenth better (0.12 times the 0.8 between their weights)."""

IMPORTANCE_WEIGHT = 0.12
"""The same for a memory of importance 1 before one of importance 0."""

RECENCY_WEIGHT = 0.08
"""Less than the others: what is old is not wrong. It orders two records that say the same."""

LARGEST = max(TIER_WEIGHT, IMPORTANCE_WEIGHT) + RECENCY_WEIGHT
"""A match better by more than a factor of exp(0.2) = 1.22 cannot be overtaken."""

ROUTINE_FACTOR = 0.3
"""A commit that only moves versions or merges, where the question does not ask for one: as for peripheral files."""

HALF_LIFE_SECONDS = 30 * 86_400.0
"""The half-life of recency, the same as for nodes of a graph: after 30 days a half is left, after 60 a quarter."""

DAY_SECONDS = 86_400

_TIERS = {str(tier): weight for tier, weight in TIER_WEIGHTS.items()}


def adjustments(bundle: Bundle, now: float) -> tuple[Signal, ...]:
    """What speaks for a record beside its words. `now` (seconds, 0 for unknown) is cut to its day."""
    moment = bundle.updated or bundle.created
    return beside_words(bundle.kind, bundle.fields.get("confidence_tier"), bundle.importance, moment, now)


def beside_words(kind: Kind, tier: object, importance: float | None, moment: float, now: float) -> tuple[Signal, ...]:
    """What speaks for a record of a kind: its tier, its importance, and when it was written, as far as they count."""
    signals = []
    if kind is Kind.EXPERIENCE:
        signals.append(Signal("tier", _TIERS.get(str(tier), MISSING_TIER_WEIGHT), TIER_WEIGHT))
    if kind is Kind.MEMORY and importance is not None:
        signals.append(Signal("importance", importance, IMPORTANCE_WEIGHT))
    if now > 0:
        signals.append(Signal("recency", round(recency(moment, now), 4), RECENCY_WEIGHT))
    return tuple(signals)


def routine(bundle: Bundle) -> Signal | None:
    """What speaks against a commit that a bot made, or that only moves versions; None for all other records."""
    if bundle.kind is not Kind.COMMIT or not is_routine_commit(bundle.title, str(bundle.fields.get("author", ""))):
        return None
    return Signal("routine", 1.0, round(math.log(ROUTINE_FACTOR), 4))


def tier_share(bundle: Bundle) -> float:
    """How far an experience can be relied on, 0 to 1."""
    return _TIERS.get(str(bundle.fields.get("confidence_tier")), MISSING_TIER_WEIGHT)


def recency(moment: float, now: float) -> float:
    """1 for today or later, 0.5 for 30 days before the day of `now`, 0 for what has no time."""
    if moment <= 0:
        return 0.0
    today = now // DAY_SECONDS * DAY_SECONDS
    return float(0.5 ** (max(today - moment, 0.0) / HALF_LIFE_SECONDS))
