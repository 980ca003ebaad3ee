"""What a probe in the ground says."""

DRIEST = 0.18


def is_dry(reading):
    """Return whether the ground needs anything: below a fifth it does."""
    return reading.share < DRIEST or reading.is_cracked
