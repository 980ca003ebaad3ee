"""The command `lantern`."""

import argparse
import sys

from lantern.metrics import report
from lantern.queue import Queue
from lantern.worker import Worker


def build_parser():
    """Return the parser with all commands and flags."""
    parser = argparse.ArgumentParser(prog="lantern")
    commands = parser.add_subparsers(dest="command", required=True)
    work = commands.add_parser("work", help="run the jobs of a queue")
    work.add_argument("queue")
    work.add_argument("--batch", type=int, default=8, help="jobs that are taken at once")
    revive = commands.add_parser("revive", help="put dead letters back into their queue")
    revive.add_argument("queue")
    commands.add_parser("stats", help="print all counters")
    return parser


def main(arguments=None):
    """Run a command; returns the exit status."""
    options = build_parser().parse_args(arguments)
    if options.command == "stats":
        print("\n".join(report()))
        return 0
    queue = Queue(options.queue)
    worker = Worker(queue)
    if options.command == "revive":
        return revive_dead(queue, worker.policy)
    worker.run()
    return 0


def revive_dead(queue, policy):
    """Put every dead letter back into the queue."""
    for letter in policy.dead:
        queue.put(letter.job)
    policy.dead.clear()
    return 0


if __name__ == "__main__":
    sys.exit(main())
