"""How old something is that grows."""

YOUNG_YEARS = 4


def is_young(grown):
    """Return whether fewer than four winters have passed since planting."""
    return grown.winters < YOUNG_YEARS


def rings(disc):
    """Count rings of a sawn disc."""
    return sum(1 for shade in disc.shades if shade.is_dark)
