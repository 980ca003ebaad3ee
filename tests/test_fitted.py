"""Fitted numbers are listed one by one, and changed for a while."""

from __future__ import annotations

from types import ModuleType
from typing import Annotated

import pytest

from satchel.fitted import Between, Constant, changed, constants


@pytest.fixture
def module() -> ModuleType:
    """A module of weights."""
    made = ModuleType("weights")
    vars(made).update(
        ONE=1.5,
        FEW=4,
        SHARES=(0.9, 0.5),
        BY_NAME={"title": 3.0, "most": 2},
        OTHER=7,
        __annotations__={
            "ONE": Annotated[float, Between(0.5, 3)],
            "FEW": Annotated[int, Between(1, 9)],
            "SHARES": Annotated[tuple[float, ...], Between(0, 1)],
            "BY_NAME": Annotated[dict[str, float], Between(0, 9)],
            "OTHER": int,
        },
    )
    return made


def test_each_number_is_listed_with_its_key_and_range(module: ModuleType) -> None:
    assert list(constants(module)) == [
        Constant("ONE", None, 1.5, 0.5, 3),
        Constant("FEW", None, 4, 1, 9),
        Constant("SHARES", 0, 0.9, 0, 1),
        Constant("SHARES", 1, 0.5, 0, 1),
        Constant("BY_NAME", "title", 3.0, 0, 9),
        Constant("BY_NAME", "most", 2, 0, 9),
    ]


def test_a_number_is_changed_and_put_back_also_after_an_error(module: ModuleType) -> None:
    before = dict(vars(module))
    with changed(module, "ONE", 2), changed(module, "SHARES", 0.1, 1), changed(module, "BY_NAME", 1, "title"):
        assert (vars(module)["ONE"], vars(module)["SHARES"]) == (2.0, (0.9, 0.1))
        assert vars(module)["BY_NAME"] == {"title": 1.0, "most": 2}
    with pytest.raises(ValueError, match="stop"), changed(module, "ONE", 2):
        raise ValueError("stop")
    assert vars(module) == before


def test_a_whole_number_stays_one(module: ModuleType) -> None:
    with changed(module, "FEW", 5.6), changed(module, "BY_NAME", 2.8, "most"):
        assert vars(module)["FEW"] == 6
        assert isinstance(vars(module)["FEW"], int)
        assert vars(module)["BY_NAME"]["most"] == 3
