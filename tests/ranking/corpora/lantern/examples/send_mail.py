"""An example: mails that are sent by a worker, with retries."""

from lantern.handlers import register
from lantern.queue import Queue
from lantern.retry import RetryPolicy
from lantern.worker import Worker


@register("send")
def send(address):
    print(f"sent to {address}")


queue = Queue("mail")
queue.put("send", address="ada@example.invalid")
Worker(queue, RetryPolicy(attempts=3)).run()
