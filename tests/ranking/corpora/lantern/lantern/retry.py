"""When a failed job is tried again, and when it is given up."""

from lantern.backoff import jittered
from lantern.errors import DeadLetter

ATTEMPTS = 5
LONGEST_WAIT = 300.0


class RetryPolicy:
    """How often a job is tried, and how long each wait is."""

    def __init__(self, attempts=ATTEMPTS, longest=LONGEST_WAIT):
        self.attempts = attempts
        self.longest = longest
        self.dead = []

    def next_wait(self, job, error):
        """Return the seconds before the next attempt, None when the job is given up."""
        if job.attempts >= self.attempts or not is_temporary(error):
            return None
        return min(jittered(job.attempts), self.longest)

    def bury(self, job):
        """Move a job to the dead letters."""
        self.dead.append(DeadLetter(job.number, job.attempts))


def is_temporary(error):
    """Return whether trying again may help: a refused connection, but not a wrong argument."""
    return isinstance(error, (ConnectionError, TimeoutError))
