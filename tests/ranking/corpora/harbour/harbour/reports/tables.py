"""Plain tables."""


def as_table(rows):
    """Return rows as lines of text with aligned numbers."""
    widest = max(len(str(name)) for name, _ in rows)
    return "\n".join(f"{name:<{widest}} {number:>8}" for name, number in rows)
