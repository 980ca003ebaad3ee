"""A lease on a job: until it is over, the job belongs to one worker."""

import time

LEASE_SECONDS = 60.0


class Lease:
    """Held while a job runs; extended by `renew`."""

    def __init__(self, job, clock=None):
        self.job = job
        self.clock = clock or time.monotonic
        self.ends = 0.0

    def __enter__(self):
        self.renew()
        return self

    def __exit__(self, *_):
        self.ends = 0.0

    def renew(self):
        """Extend the lease by its full time."""
        self.ends = self.clock() + LEASE_SECONDS

    def is_over(self):
        """Return whether the lease has expired."""
        return self.clock() >= self.ends
