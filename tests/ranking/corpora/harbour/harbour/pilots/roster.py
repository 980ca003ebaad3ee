"""The roster of the pilots."""

from harbour.pilots.pay import bonus


class Roster:
    """Which pilot is on duty."""

    def __init__(self, pilots):
        self.pilots = pilots
        self.turn = 0

    def next_pilot(self):
        """Return the pilot whose turn it is."""
        pilot = self.pilots[self.turn % len(self.pilots)]
        self.turn += 1
        return pilot

    def month(self, days):
        """Return the pay of each pilot for a month."""
        return {pilot.name: 40 * days + bonus(pilot) for pilot in self.pilots}
