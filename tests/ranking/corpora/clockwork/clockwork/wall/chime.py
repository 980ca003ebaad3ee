"""How the wall clock sounds."""


class WallChime:
    """Sounds a rod."""

    def sound(self):
        """Let the rod sound once."""
        return self.strike("rod")

    def mute(self):
        """Keep silent."""
        self.strike = None
