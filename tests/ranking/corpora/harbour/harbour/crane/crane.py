"""A crane on rails."""

STRONGEST = 40


class Overload(Exception):
    """A load is too heavy for the crane."""


class Crane:
    """Lifts loads of up to 40 tonnes."""

    def __init__(self, position):
        self.position = position

    @classmethod
    def at(cls, berth):
        return cls(berth.number * 50)

    def lift(self, load):
        """Lift one load. Raises Overload."""
        weight = weigh(load)
        if weight > STRONGEST:
            raise Overload(f"a load of {weight} tonnes is too heavy for the crane on rail {self.position}")
        return self.position, load


def weigh(load):
    """Return the weight in tonnes."""
    return float(load.rsplit(":", 1)[1])
