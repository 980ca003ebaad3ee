"""The worker: takes jobs of a queue and runs their handlers."""

import signal

from lantern.errors import LeaseLost, UnknownHandler
from lantern.handlers import find_handler
from lantern.lease import Lease
from lantern.metrics import count, timed
from lantern.retry import RetryPolicy

BATCH = 8


class Worker:
    """Runs the jobs of one queue, one after the other."""

    def __init__(self, queue, policy=None, clock=None):
        self.queue = queue
        self.policy = policy or RetryPolicy()
        self.clock = clock
        self._stopping = False

    def run(self):
        """Work until the queue is empty or a signal asks to stop; the running job is finished first."""
        signal.signal(signal.SIGTERM, self._stop)
        while not self._stopping:
            batch = self.queue.take(BATCH)
            if not batch:
                break
            for job in batch:
                self._run_one(job)

    def _run_one(self, job):
        with Lease(job, self.clock) as lease, timed(job.name):
            try:
                handler = find_handler(job.name)
                job.result = handler(**job.arguments)
            except UnknownHandler:
                raise
            except Exception as error:
                self._failed(job, error)
            if lease.is_over():
                raise LeaseLost(job.number)

    def _failed(self, job, error):
        job.attempts += 1
        wait = self.policy.next_wait(job, error)
        count("failed", job.name)
        if wait is None:
            self.policy.bury(job)
        else:
            self.queue.give_back(job)

    def _stop(self, *_):
        self._stopping = True
