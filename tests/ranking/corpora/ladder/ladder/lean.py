"""How a ladder leans."""


def lean(ladder, wall):
    """Lean a ladder against a wall, one foot out for each four up. A rung is at eye level."""
    return wall.height / 4


def count_rungs(ladder):
    """Count the rungs."""
    return len(ladder.rungs)
