"""Retries: the wait grows, and the last attempt buries the job."""

from lantern.backoff import doubled, jittered
from lantern.queue import Job
from lantern.retry import RetryPolicy


def test_the_wait_doubles_with_every_attempt():
    assert doubled(1) == 2 * doubled(0)


def test_a_job_is_given_up_after_the_last_attempt():
    job = Job(1, "send", {})
    job.attempts = 5
    assert RetryPolicy(attempts=5).next_wait(job, TimeoutError()) is None


def test_the_random_part_of_the_wait_is_bounded():
    assert jittered(0, lambda: 0.0) == doubled(0) / 2
