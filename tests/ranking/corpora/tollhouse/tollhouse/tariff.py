"""What a passage costs."""

from tollhouse.money import rounded


class Tariff:
    """The prices of a day."""

    def __init__(self, per_axle: int) -> None:
        self.per_axle = per_axle

    def price_of(self, axles: int, hour: int) -> int:
        """Return the price of a passage in cents."""
        return rounded(self.per_axle * axles)


class NightTariff(Tariff):
    """The prices between ten and five."""

    def price_of(self, axles: int, hour: int) -> int:
        """Return the price of a passage at night."""
        return rounded(self.per_axle * axles // 2)
