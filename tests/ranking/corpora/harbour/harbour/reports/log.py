"""The log of the harbour."""

LINES = []


def note(text):
    """Add a line to the log."""
    LINES.append(text)


def newest(count):
    """Return the newest lines."""
    return LINES[-count:]
