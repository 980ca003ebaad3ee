"""Ships get berths."""

import pytest

from harbour.berths.assign import NoBerth, assign_berth
from harbour.berths.berth import Berth
from harbour.berths.ship import Ship


def test_a_ship_gets_the_smallest_berth_that_fits():
    berths = [Berth(1, 200, 90), Berth(2, 100, 60)]
    assert assign_berth(Ship("Ada", 80, 30), berths, 0).number == 2


def test_a_ship_that_is_too_long_waits_outside():
    with pytest.raises(NoBerth):
        assign_berth(Ship("Bob", 300, 30), [Berth(1, 200, 90)], 0)
