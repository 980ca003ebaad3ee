"""Reads one event from standard input. Not every host closes it, so a complete object ends an event."""

from __future__ import annotations

import os
import select
import time

TYPE_CHECKING = False  # `typing` takes longer to import than a hook that a resident process answers
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 16_000_000
"""Size limit of an event: a tool that wrote a large file sends all of it."""

_CHUNK = 1 << 20


def receive(descriptor: int, deadline: float) -> bytes:
    """Read to the end of the stream, or of a JSON object that nothing follows; at most `MOST_BYTES`.

    Stops at the deadline (monotonic seconds). Standard input that is closed or a terminal is empty.
    """
    try:
        if os.isatty(descriptor):
            return b""
        return _received(descriptor, deadline)
    except OSError:
        return b""


def _received(descriptor: int, deadline: float) -> bytes:
    received = bytearray()
    quiet_since = time.monotonic()
    while time.monotonic() < deadline and len(received) < MOST_BYTES:
        # Pause of the host after which the object may be complete and is checked.
        if select.select([descriptor], [], [], 0.01)[0]:
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                break
            received += chunk
            quiet_since = time.monotonic()
        # Time after which the event of a silent host is complete.
        elif _is_object(received) or time.monotonic() - quiet_since > 0.3:
            break
    return bytes(received)


def _is_object(received: bytearray) -> bool:
    return received.rstrip().endswith(b"}") and bool(parse(bytes(received)))


def parse(received: bytes) -> dict[str, Any]:
    """Return the object that was sent; empty for anything else."""
    import json  # here, because a resident process reads the event

    try:
        value = json.loads(received.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
