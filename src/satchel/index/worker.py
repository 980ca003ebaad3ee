"""A child process that reads files: `python -P -m satchel.index.worker`, spoken to over its standard streams.

A message is a 32-bit length and that many marshalled bytes. The first one holds the options; every later one is a
list of paths, answered by one message with their readings. End of input ends the worker, so it never outlives the
process that started it. It never writes a store.
"""

from __future__ import annotations

import marshal
import signal
import struct
import sys
from dataclasses import astuple
from typing import IO, Any

_LENGTH = struct.Struct("<I")


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    body = marshal.dumps(message)
    stream.write(_LENGTH.pack(len(body)) + body)
    stream.flush()


def receive(stream: IO[bytes]) -> Any:
    """Read one message; None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        return None
    return marshal.loads(body)  # noqa: S302 - only the process that started this one writes here


def main() -> int:
    """Serve until the input ends."""
    from satchel.index.reading import Reader, ReadingOptions

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    options = receive(requests)
    if options is None:
        return 0
    reader = Reader(ReadingOptions(*options))
    while (paths := receive(requests)) is not None:
        send(answers, [astuple(reader.read(path)) for path in paths])
    return 0


if __name__ == "__main__":
    sys.exit(main())
