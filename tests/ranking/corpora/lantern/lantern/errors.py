# Copyright (c) the lantern authors. Licensed under the terms of the file LICENSE.
# Everybody may use it; nobody is liable for what a worker or a queue does.
"""The errors that lantern raises on purpose."""


class LanternError(Exception):
    """Any error of this library."""


class DeadLetter(LanternError):
    """A job failed in its last attempt and was moved to the dead letters."""

    def __init__(self, job, attempts):
        super().__init__(f"job {job} failed {attempts} times")
        self.job = job
        self.attempts = attempts


class LeaseLost(LanternError):
    """The lease of a job expired while the job was still running."""


class UnknownHandler(LanternError):
    """No handler is registered under the name of the job."""
