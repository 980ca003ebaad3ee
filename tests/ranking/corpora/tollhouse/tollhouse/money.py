"""Amounts in cents."""


def rounded(cents: int) -> int:
    """Round an amount to five cents."""
    return (cents + 2) // 5 * 5


def shown(cents: int) -> str:
    """Return an amount as it is printed on a receipt."""
    return f"{cents // 100}.{cents % 100:02d}"
