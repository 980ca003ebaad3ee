"""On the day of a regatta yachts fill the quay."""

from harbour.berths import assign


def place_yachts(yachts, berths):
    """Place every yacht in the morning; returns how many found a berth."""
    count = 0
    for yacht in yachts:
        if assign.assign_berth(yacht, berths, 8):
            count += 1
    return count
