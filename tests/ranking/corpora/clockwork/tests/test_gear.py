"""Gears turn."""

import pytest

from clockwork.gear import Slipped, turn_gear


class Gear:
    teeth = 4


def test_a_gear_with_few_teeth_slips():
    with pytest.raises(Slipped):
        turn_gear(Gear(), 1)
