"""The queue hands out the most urgent job first."""

from lantern.queue import IDLE, URGENT, Queue


def test_an_urgent_job_is_taken_before_an_idle_one():
    queue = Queue("mail")
    queue.put("later", priority=IDLE)
    queue.put("now", priority=URGENT)
    assert [job.name for job in queue.take(2)] == ["now", "later"]


def test_a_paused_queue_hands_out_nothing():
    queue = Queue("mail")
    queue.put("send")
    queue.pause()
    assert queue.take() == []
