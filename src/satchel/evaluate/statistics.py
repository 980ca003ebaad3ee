"""Means with their intervals, and differences of paired values, by bootstrap: no shape of the values is assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

RESAMPLES = 2_000
"""Enough that the ends of an interval move by less than what is printed."""

CONFIDENCE = 0.95

_SEED = 20_240_305
"""The same values give the same interval."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the ends of its 95 % interval. All three are 0 without values."""

    mean: float
    low: float
    high: float


def estimate(values: Sequence[float]) -> Estimate:
    """The mean of these values. Their order does not matter for it, and hardly for the interval."""
    if not values:
        return Estimate(0.0, 0.0, 0.0)
    data = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(_SEED).integers(0, len(data), size=(RESAMPLES, len(data)))
    means = data[drawn].mean(axis=1)
    edge = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [edge, 1 - edge])
    return Estimate(float(data.mean()), float(low), float(high))
