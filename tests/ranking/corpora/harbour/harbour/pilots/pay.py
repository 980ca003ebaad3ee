"""What pilots earn besides."""


def bonus(pilot):
    """Return the bonus: for nights, storms and ships with dangerous goods."""
    return 5 * pilot.nights + 20 * pilot.storms + 50 * pilot.dangerous
