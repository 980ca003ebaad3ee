"""Ways to talk to a ship."""


class Conn:
    """One way to talk: opened before use, and closed after it."""

    def open(self, ship):
        """Reach a ship."""
        raise NotImplementedError

    def say(self, text):
        """Say something."""
        raise NotImplementedError


class RadioConn(Conn):
    def open(self, ship):
        self.channel = ship.channel
        return self.channel

    def say(self, text):
        return f"channel {self.channel}: {text}, over"


class LampConn(Conn):
    def open(self, ship):
        self.bearing = ship.bearing
        return self.bearing

    def say(self, text):
        return " ".join("-." if letter.isupper() else "." for letter in text)


class FlagConn(Conn):
    def open(self, ship):
        self.mast = ship.mast
        return self.mast

    def say(self, text):
        return [letter.upper() for letter in text]


WAYS = {"radio": RadioConn, "lamp": LampConn, "flags": FlagConn}
