"""Which crane unloads what."""

from harbour.crane.crane import Crane


def plan_unloading(ship, berth):
    """Return the lifts that empty a ship: heavy goods first, dangerous ones last and alone."""
    crane = Crane.at(berth)
    return [crane.lift(one) for one in ordered(ship.goods)]


def ordered(goods):
    """Heavy goods first, dangerous ones last."""
    return sorted(goods, key=lambda one: (one.startswith("UN"), -len(one)))
