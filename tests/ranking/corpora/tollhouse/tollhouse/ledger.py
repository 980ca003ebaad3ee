"""Every passage with its price."""


class Ledger:
    """The passages of a day, oldest first."""

    def __init__(self) -> None:
        self.entries: list[tuple[str, int]] = []

    def add(self, plate: str, cents: int) -> None:
        """Write down a passage."""
        self.entries.append((plate, cents))

    def total(self) -> int:
        """Return what was earned in the day."""
        return sum(cents for _, cents in self.entries)
