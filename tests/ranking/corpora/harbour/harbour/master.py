"""The harbour master: what is done when a ship arrives, and each hour."""

from harbour.berths.assign import NoBerth, assign_berth, leave
from harbour.crane.plan import plan_unloading
from harbour.reports.log import note


def arrive(ship, berths, hour):
    """Take in a ship that arrives."""
    try:
        berth = assign_berth(ship, berths, hour)
    except NoBerth as error:
        note(f"{ship.name} waits: {error}")
        return None
    note(f"{ship.name} lies at berth {berth.number}")
    return plan_unloading(ship, berth)


def depart(berth, berths, hour):
    """Send a ship off, and take in the one that waits."""
    following = leave(berth)
    return arrive(following, berths, hour) if following is not None else None


PLACING = {"first": assign_berth, "by hand": None}
