"""What goes wrong."""


class ClockError(Exception):
    """A clock stands still."""


def check_rate(clock, seconds):
    """Raise ClockError where a clock is far off."""
    if seconds > 300:
        raise ClockError(f"clock {clock.name} lost {seconds} seconds since noon")
    if seconds < -300:
        raise ClockError("the hairspring is magnetised")
    if clock.is_silent:
        raise ClockError("no tick was heard for a minute")


def check_oil(clock):
    """Raise ClockError where the oil is old."""
    if clock.oil_years > 5:
        raise ClockError("the oil has turned to resin")
