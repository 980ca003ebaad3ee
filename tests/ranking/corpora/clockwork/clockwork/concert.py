"""A concert of all clocks."""

from clockwork.tower.chime import TowerChime


def play_concert(chimes, first: TowerChime):
    """Let the tower begin, then every other clock."""
    first.sound()
    for chime in chimes:
        chime.sound()
