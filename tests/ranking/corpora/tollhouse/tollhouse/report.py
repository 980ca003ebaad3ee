"""The report of a day, sent to the owners of the road."""

from tollhouse.ledger import Ledger
from tollhouse.money import shown


def daily_report(ledger: Ledger) -> str:
    """Return the report of a day as text."""
    return f"{len(ledger.entries)} passages, {shown(ledger.total())}"
