"""Milled fruit."""

FINEST = 4


def mill(fruit):
    """Mill fruit to pieces that give their liquid freely."""
    pieces = []
    for one in fruit:
        pieces.extend(one.split(FINEST))
    return pieces
