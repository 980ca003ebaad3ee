"""Reminders by month."""

MONTHS = {3: "turn the heap", 5: "bleach linen", 11: "sweep the chimney"}


def reminder(month):
    """Return what is to be done in a month."""
    return MONTHS.get(month, "rest")


def next_reminder(month):
    """Return the next month with a reminder."""
    return min(one for one in MONTHS if one > month)
