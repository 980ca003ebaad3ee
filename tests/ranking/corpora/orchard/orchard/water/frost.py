"""Frost: blossoms are sprinkled, and the ice around them keeps them from freezing."""

FREEZING = -0.5


def protect_blossoms(thermometer, sprinklers):
    """Sprinkle the blossoms for as long as it freezes."""
    while thermometer.read() < FREEZING:
        for sprinkler in sprinklers:
            sprinkler.pulse()
