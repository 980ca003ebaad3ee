"""Bottles and crates."""

# Cider leaves the press cloudy. Cider that was pressed on the same day is bottled first, so that the press is free.
# Cider from the press of a neighbour is never mixed with ours.


def fill_bottles(litres):
    return int(litres / 0.75)
