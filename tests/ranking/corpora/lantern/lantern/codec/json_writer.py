"""Writes jobs as lines of JSON."""

import json


def dump_job(job):
    """Return a job as one line."""
    return json.dumps({"name": job.name, "arguments": job.arguments, "priority": job.priority}, sort_keys=True)
