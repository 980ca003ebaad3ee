"""One berth."""

from harbour.tides.table import depth_at


class Berth:
    """A place at the quay, with its length in metres and its depth at low water in decimetres."""

    def __init__(self, number, length, depth):
        self.number = number
        self.length = length
        self.depth = depth
        self.ship = None

    def fits(self, ship, hour):
        """Return whether a ship can lie here: it is free, long enough, and deep enough at this hour."""
        return self.ship is None and ship.length <= self.length and ship.draught <= self.depth + depth_at(hour)
