"""Reading what a host writes to standard input. Not every host closes it, so a complete object is the end."""

from __future__ import annotations

import json
import os
import select
import time
from typing import Any

MOST_BYTES = 16_000_000
"""A tool that wrote a large file sends all of it; more than this is nothing that an event needs."""

SILENCE_SECONDS = 0.3
"""So long nothing more comes from a host that wrote something, or will not write anything at all."""

PAUSE_SECONDS = 0.01
"""A host that pauses so long may be done: it is worth looking whether the object is complete."""

_CHUNK = 1 << 20


def receive(descriptor: int, deadline: float) -> bytes:
    """Everything up to the end, or the end of a JSON object that nothing follows; at most `MOST_BYTES`.

    Ends at the deadline (monotonic seconds) at the latest. Standard input that is closed or a terminal holds nothing.
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
        if select.select([descriptor], [], [], PAUSE_SECONDS)[0]:
            chunk = os.read(descriptor, _CHUNK)
            if not chunk:
                break
            received += chunk
            quiet_since = time.monotonic()
        elif _is_object(received) or time.monotonic() - quiet_since > SILENCE_SECONDS:
            break
    return bytes(received)


def _is_object(received: bytearray) -> bool:
    return received.rstrip().endswith(b"}") and bool(parse(bytes(received)))


def parse(received: bytes) -> dict[str, Any]:
    """The object that was sent; empty where it is none."""
    try:
        value = json.loads(received.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
