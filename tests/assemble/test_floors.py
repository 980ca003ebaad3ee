"""The least relevance of what is shown."""

from __future__ import annotations

import pytest

from satchel.assemble.floors import ITEM_FLOOR, RELATIVE_FLOOR, RELATIVE_FLOORS, floor_of, is_weak
from satchel.search.strength import WEAK_FLOOR
from satchel.types import Kind


@pytest.mark.parametrize("kind", [Kind.CODE, Kind.COMMIT, Kind.DOC])
@pytest.mark.parametrize("least", [0.0, 0.4])
def test_a_floor_of_the_caller_is_the_only_one(kind: Kind, least: float) -> None:
    assert floor_of(kind, 0.9, 0.9, least) == least
    assert floor_of(kind, 0.01, 0.01, least) == least
    assert not is_weak(0.01, least)


def test_records_are_held_back_beside_a_better_one_and_code_is_not() -> None:
    assert floor_of(Kind.COMMIT, 0.8, 0.9, None) == pytest.approx(0.8 * RELATIVE_FLOORS[Kind.COMMIT])
    assert floor_of(Kind.MEMORY, 0.8, 0.9, None) == pytest.approx(0.8 * RELATIVE_FLOOR)
    assert floor_of(Kind.MEMORY, 0.14, 0.9, None) == ITEM_FLOOR
    assert floor_of(Kind.CODE, 0.8, 0.9, None) == 0.0


def test_a_kind_that_hardly_matches_does_not_answer_beside_one_that_does() -> None:
    assert floor_of(Kind.DOC, WEAK_FLOOR / 2, 0.9, None) is None
    assert floor_of(Kind.DOC, 0.0, 0.9, None) is None


def test_of_a_weak_answer_what_is_near_its_best_is_shown() -> None:
    assert is_weak(0.05, None)
    assert floor_of(Kind.CODE, 0.05, 0.05, None) == pytest.approx(0.05 * RELATIVE_FLOOR)
    assert floor_of(Kind.DOC, 0.01, 0.05, None) == pytest.approx(0.05 * RELATIVE_FLOOR)
    assert floor_of(Kind.CODE, 0.0, 0.0, None) is None
