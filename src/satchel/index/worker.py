"""A child process that reads files: `python -P -m satchel.index.worker`, spoken to over its standard streams.

A message is a 32-bit length and that many marshalled bytes. The worker answers the first one, which holds the
options, with `READY`, and every later one, a list of paths, with their readings. The end of its input ends it, and on
Linux the kernel does when its parent dies, so it never outlives the process that started it. It writes no store.
"""

from __future__ import annotations

import gc
import marshal
import os
import signal
import struct
import sys
from typing import IO, Any

READY = "ready"

_LENGTH = struct.Struct("<I")
_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


def send(stream: IO[bytes], message: Any) -> None:
    """Write one message."""
    body = marshal.dumps(message)
    stream.write(_LENGTH.pack(len(body)))
    stream.write(body)
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
    """Serve until the input ends, or nobody takes the answers any more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _die_with_parent()
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    sys.stdout = sys.stderr
    options = receive(requests)
    if options is None:
        return 0
    gc.disable()  # this process makes no cycles worth looking for, and the system takes back all that it held
    try:
        _serve(options, requests, answers)
    except BrokenPipeError:
        # The interpreter flushes once more when it ends; that must not fail as well.
        os.dup2(os.open(os.devnull, os.O_WRONLY), answers.fileno())
    return 0


def _serve(options: Any, requests: IO[bytes], answers: IO[bytes]) -> None:
    from satchel.index.options import ReadingOptions
    from satchel.index.reading import Reader

    reader = Reader(ReadingOptions(*options))
    send(answers, READY)
    while (paths := receive(requests)) is not None:
        send(answers, [reader.read(path).row() for path in paths])


def _die_with_parent() -> None:
    """Ask the kernel for a SIGKILL when the parent ends: a file that takes long is not worth finishing then."""
    if sys.platform != "linux":
        return
    import ctypes

    ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(main())
