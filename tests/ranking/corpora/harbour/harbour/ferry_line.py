"""The ferry, which has a berth of its own and is placed by nobody."""

from harbour.berths.assign import assign_berth

TIMES = (6, 9, 12, 15, 18, 21)


def next_ferry(hour):
    """Return the hour of the next ferry."""
    return next((time for time in TIMES if time >= hour), TIMES[0])
