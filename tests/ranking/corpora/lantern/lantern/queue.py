"""The queue: jobs by priority, then by age."""

import heapq
import itertools

from lantern.codec.json_writer import dump_job
from lantern.errors import LanternError
from lantern.metrics import count
from lantern.store.memory import MemoryStore

URGENT, NORMAL, IDLE = 0, 1, 2

LONGEST_NAME = 80


class Job:
    """What is to be done: the name of a handler and its arguments."""

    def __init__(self, number, name, arguments, priority=NORMAL):
        self.number = number
        self.name = name
        self.arguments = arguments
        self.priority = priority
        self.attempts = 0
        self.result = None

    def __lt__(self, other):
        return (self.priority, self.number) < (other.priority, other.number)


class Queue:
    """Jobs that wait for a worker."""

    def __init__(self, name, store=None):
        if len(name) > LONGEST_NAME:
            raise LanternError(f"the name of a queue has at most {LONGEST_NAME} characters")
        self.name = name
        self.store = store or MemoryStore()
        self._numbers = itertools.count(1)
        self._heap = []
        self._paused = False

    def put(self, name, priority=NORMAL, **arguments):
        """Add a job; returns its number."""
        job = Job(next(self._numbers), name, arguments, priority)
        self.store.save(job.number, dump_job(job))
        heapq.heappush(self._heap, job)
        count("put", self.name)
        return job.number

    def take(self, most=1):
        """Take up to `most` jobs, the most urgent and then the oldest first; none while the queue is paused."""
        taken = []
        while self._heap and len(taken) < most and not self._paused:
            taken.append(heapq.heappop(self._heap))
        count("take", self.name, len(taken))
        return taken

    def give_back(self, job):
        """Put a job back that was taken and not finished."""
        heapq.heappush(self._heap, job)
        count("give_back", self.name)

    def pause(self):
        """Hand out nothing until `resume`."""
        self._paused = True

    def resume(self):
        """Hand out jobs again."""
        self._paused = False

    def purge(self):
        """Forget all waiting jobs; returns how many there were."""
        purged = len(self._heap)
        for job in self._heap:
            self.store.remove(job.number)
        self._heap.clear()
        return purged

    def __len__(self):
        return len(self._heap)
