"""How the pocket clock sounds."""


class PocketChime:
    """Sounds a gong."""

    def sound(self):
        """Let the gong sound once."""
        return self.strike("gong")

    def mute(self):
        """Keep silent."""
        self.strike = None
