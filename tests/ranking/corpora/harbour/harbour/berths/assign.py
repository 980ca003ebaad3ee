"""Which ship lies where."""

from harbour.berths.queue import call_next, wait_outside


class NoBerth(Exception):
    """No berth is free for a ship."""


def assign_berth(ship, berths, hour):
    """Give a ship the smallest berth that fits. Raises NoBerth when there is none."""
    free = sorted((berth for berth in berths if berth.fits(ship, hour)), key=lambda berth: berth.length)
    if not free:
        wait_outside(ship)
        raise NoBerth(f"no berth is long and deep enough for {ship.name}")
    berth = alone(free, berths) if ship.is_dangerous else free[0]
    berth.ship = ship
    return berth


def alone(free, berths):
    """Return a free berth whose neighbours are empty, for dangerous goods."""
    taken = {berth.number for berth in berths if berth.ship is not None}
    return next(berth for berth in free if not {berth.number - 1, berth.number + 1} & taken)


def leave(berth):
    """Free a berth, and call the ship that has waited longest."""
    berth.ship = None
    return call_next()
