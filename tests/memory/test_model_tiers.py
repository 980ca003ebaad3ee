from __future__ import annotations

import pytest

from satchel.memory.model import is_poor, tier_of
from satchel.vocabulary import OutcomeStatus, tier_weight

GOAL = "Fix the flaky session test"


@pytest.mark.parametrize(
    "hypothesis",
    ["It will work now", "There is a bug in the code", "The session test is flaky", "Fixing the session fixes it", "?"],
)
def test_a_hypothesis_that_fits_any_problem_or_repeats_the_goal_is_poor(hypothesis: str) -> None:
    assert is_poor(hypothesis, GOAL)
    assert tier_of(OutcomeStatus.CONFIRMED, hypothesis, GOAL, auto_captured=False) == "bronze"


@pytest.mark.parametrize(
    "hypothesis",
    ["The fixture closes the session twice", "The timeout is too short", "parse_config drops empty paths"],
)
def test_a_hypothesis_that_says_what_is_wrong_and_where_is_silver(hypothesis: str) -> None:
    assert tier_of(OutcomeStatus.FALSIFIED, hypothesis, GOAL, auto_captured=False) == "silver"


def test_a_captured_outcome_is_gold_and_an_abandoned_one_is_nothing_else() -> None:
    assert tier_of(OutcomeStatus.CONFIRMED, "it works", GOAL, auto_captured=True) == "gold"
    assert tier_of(OutcomeStatus.ABANDONED, "it works", GOAL, auto_captured=True) == "abandoned"


def test_a_tier_that_is_missing_or_unknown_weighs_as_much_as_a_poor_one() -> None:
    assert [tier_weight(tier) for tier in ("gold", "silver", "bronze", "abandoned", None, "", "tin")] == [
        1.0, 0.8, 0.5, 0.2, 0.5, 0.5, 0.5
    ]  # fmt: skip
