"""What goes wrong."""


class StoppedClock(Exception):
    """A clock stands still."""


def check_rate(clock, seconds):
    """Raise StoppedClock where a clock is far off."""
    if seconds > 300:
        raise StoppedClock(f"clock {clock.name} lost {seconds} seconds since noon")
    if seconds < -300:
        raise StoppedClock("the hairspring is magnetised")
    if clock.is_silent:
        raise StoppedClock("no tick was heard for a minute")


def check_oil(clock):
    """Raise StoppedClock where the oil is old."""
    if clock.oil_years > 5:
        raise StoppedClock("the oil has turned to resin")
