"""The intervals of the figures of an evaluation."""

from __future__ import annotations

from satchel.evaluation.fixes import Estimate, estimate


def test_estimates_are_the_same_every_time_and_hold_the_mean() -> None:
    values = [0.0, 1.0, 1.0, 0.5] * 10
    result = estimate(values)
    assert result == estimate(values)
    assert result.low < result.mean == 0.625 < result.high
    assert estimate([]) == Estimate(0.0, 0.0, 0.0)
    assert estimate([1.0]) == Estimate(1.0, 1.0, 1.0)
