"""The booth: a passage from the plate to the ledger."""

from tollhouse.gate import Gate
from tollhouse.ledger import Ledger


class Booth:
    """One booth with its gate."""

    def __init__(self, gate: Gate, ledger: Ledger) -> None:
        self.gate, self.ledger = gate, ledger

    def pass_through(self, plate: str, axles: int, hour: int) -> int:
        """Let a vehicle through and write down its passage."""
        cents = self.gate.charge(axles, hour)
        self.ledger.add(plate, cents)
        self.gate.close()
        return cents
