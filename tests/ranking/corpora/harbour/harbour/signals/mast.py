"""The mast on the pier."""

from harbour.signals.register import signals_for


class Mast:
    """Shapes by day, lights by night."""

    def __init__(self, clock):
        self.clock = clock
        self.shown = []

    def is_night(self):
        return not 6 <= self.clock.hour() < 20

    def light(self, colour):
        self.shown.append(("light", colour))

    def shape(self, name):
        self.shown.append(("shape", name))

    def clear(self, name):
        self.shown = [one for one in self.shown if one[1] != name]

    def update(self, state):
        """Hoist every signal that applies."""
        self.shown.clear()
        for signal in signals_for(state):
            signal.hoist(self)
