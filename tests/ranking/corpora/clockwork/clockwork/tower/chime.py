"""How the tower clock sounds."""


class TowerChime:
    """Sounds a bronze."""

    def sound(self):
        """Let the bronze sound once."""
        return self.strike("bronze")

    def mute(self):
        """Keep silent."""
        self.strike = None
