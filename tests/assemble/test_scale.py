"""The scale of budgets at which choices are made."""

from __future__ import annotations

from itertools import pairwise

import pytest

from satchel.assemble.request import LARGEST_BUDGET
from satchel.assemble.scale import LOOKED_BACK, SMALL, floor_of, looked_back, scale


@pytest.mark.parametrize(
    "budget", [100, 200, 500, 1000, 1024, 1500, 2000, 2048, 3000, 4000, 4096, 8000, 12_000, 32_000]
)
def test_the_budgets_that_people_give_are_on_the_scale(budget: int) -> None:
    assert floor_of(budget) == budget


def test_a_budget_in_between_has_the_one_below_it() -> None:
    assert floor_of(4199) == 4096
    assert floor_of(LARGEST_BUDGET) <= LARGEST_BUDGET
    assert floor_of(SMALL[0] - 1) == SMALL[0] - 1


def test_the_scale_rises_in_small_steps() -> None:
    assert all(one < other <= 1.25 * one for one, other in pairwise(scale()))


def test_what_is_looked_at_lies_below_and_rises() -> None:
    budgets = looked_back(4000)
    assert len(budgets) == LOOKED_BACK
    assert list(budgets) == sorted(budgets)
    assert budgets[-1] < 4000
    assert looked_back(SMALL[0]) == ()
