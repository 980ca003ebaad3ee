"""The gates and their motors."""

from tollhouse.tariff import Tariff


class Gate:
    """One gate of the road."""

    def __init__(self, tariff: Tariff) -> None:
        self.tariff = tariff
        self.is_open = False

    def charge(self, axles: int, hour: int) -> int:
        """Open the gate and return what the passage costs."""
        self.is_open = True
        return self.tariff.price_of(axles, hour)

    def close(self) -> None:
        """Close the gate once the light barrier is free."""
        self.is_open = False
