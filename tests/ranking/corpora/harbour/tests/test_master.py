"""The harbour master."""

from harbour.berths.berth import Berth
from harbour.berths.ship import Ship
from harbour.master import arrive, depart


def test_a_ship_that_waits_is_called_when_a_berth_is_free():
    berth = Berth(1, 200, 90)
    arrive(Ship("Ada", 80, 30), [berth], 0)
    assert arrive(Ship("Bob", 80, 30), [berth], 0) is None
    depart(berth, [berth], 1)
    assert berth.ship.name == "Bob"
