"""Schedules: jobs at given times."""

import datetime

from lantern.cron import CronExpression

STEP = datetime.timedelta(minutes=1)


class Schedule:
    """Puts a job into a queue whenever its expression matches."""

    def __init__(self, queue, expression, name, **arguments):
        self.queue = queue
        self.expression = CronExpression(expression)
        self.name = name
        self.arguments = arguments

    def tick(self, now):
        """Put the job if this minute matches; returns whether it does."""
        if not self.expression.matches(now):
            return False
        self.queue.put(self.name, **self.arguments)
        return True

    def next_time(self, after):
        """Return the next minute that matches."""
        moment = after.replace(second=0, microsecond=0) + STEP
        while not self.expression.matches(moment):
            moment += STEP
        return moment
