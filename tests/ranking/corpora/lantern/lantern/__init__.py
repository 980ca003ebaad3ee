"""Jobs in the background: queues, workers, retries and schedules."""

from lantern.errors import DeadLetter, LanternError
from lantern.queue import Queue
from lantern.worker import Worker

__all__ = ["DeadLetter", "LanternError", "Queue", "Worker"]
