"""The page of an evaluation, and the intervals of its figures."""

from __future__ import annotations

from satchel.evaluation.fixes import Estimate, Fix, Mined, estimate
from satchel.evaluation.report import report_page
from satchel.evaluation.run import EvaluationResult, FixAnswer


def test_a_page_of_a_stopped_run_says_so() -> None:
    outcome = EvaluationResult(Mined(), 4000, is_stopped=True)
    outcome.answers = [FixAnswer("1" * 40, rank=1, file_share=1.0, span_share=1.0, used=1.0, gold_files=1)]
    outcome.fixes = [Fix("1" * 40, "2" * 40, 1.7e9, "a lamp", "a lamp burns in lamp.py", {"lamp.py": ((1, 1),)})]
    text = report_page("shop & co", outcome)
    assert "shop &amp; co" in text
    assert "stopped before the end" in text
    assert "100% name a changed file" in text


def test_estimates_are_the_same_every_time_and_hold_the_mean() -> None:
    values = [0.0, 1.0, 1.0, 0.5] * 10
    result = estimate(values)
    assert result == estimate(values)
    assert result.low < result.mean == 0.625 < result.high
    assert estimate([]) == Estimate(0.0, 0.0, 0.0)
    assert estimate([1.0]) == Estimate(1.0, 1.0, 1.0)
