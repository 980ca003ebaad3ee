"""The alarm: a lamp and a melody for the visitors."""

SNOOZE_MINUTES = 9


class Alarm:
    """Wakes the guard; snooze gives nine more minutes of darkness before the lamp and the melody start again."""

    def __init__(self, lamp, melody):
        self.lamp = lamp
        self.melody = melody
        self.rings_at = None

    def snooze(self, now):
        """Put the lamp out, stop the melody, and start both again after nine minutes."""
        self.lamp.out()
        self.melody.stop()
        self.rings_at = now + SNOOZE_MINUTES

    def tick(self, now):
        """Start lamp and melody when it is time."""
        if self.rings_at is not None and now >= self.rings_at:
            self.lamp.on()
            self.melody.start()
