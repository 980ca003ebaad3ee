"""Lines of a pipe as they are, and a pipe that several threads write whole lines to.

Descriptors, not streams: a thread that is blocked in a buffered read would keep the process from ending.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator

CHUNK_BYTES = 65_536
"""What a pipe holds, so that a reader gets no more than that at once."""

LONGEST_LINE = 64_000_000
"""Bytes of a line that is looked at. A longer one is passed on as it comes, so that memory stays bounded."""

Pieces = Iterator[bytes]


def lines(descriptor: int) -> Iterator[bytes | Pieces]:
    """Each line with its end; the last one may have none. What is longer than `LONGEST_LINE` comes in pieces.

    The pieces have to be taken before the next line is asked for.
    """
    buffered: list[bytes] = []
    size, behind = 0, b""
    chunks = _chunks(descriptor)
    while chunk := behind or next(chunks, b""):
        behind = b""
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            yield b"".join([*buffered, line, b"\n"])
            buffered, size = [], 0
        if rest:
            buffered.append(rest)
            size += len(rest)
        if size > LONGEST_LINE:
            following: list[bytes] = []
            yield _pieces(buffered, chunks, following)
            buffered, size, behind = [], 0, b"".join(following)
    if buffered:
        yield b"".join(buffered)


def _pieces(buffered: list[bytes], chunks: Iterator[bytes], following: list[bytes]) -> Pieces:
    """What was buffered and all up to the end of the line; what was read behind that goes to `following`."""
    yield from buffered
    for chunk in chunks:
        piece, end, rest = chunk.partition(b"\n")
        following.append(rest)
        yield piece + end
        if end:
            return


def _chunks(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            chunk = os.read(descriptor, CHUNK_BYTES)
        except OSError:  # the other side is gone, or the descriptor was closed to end this
            return
        if not chunk:
            return
        yield chunk


class Output:
    """Where lines go, whole and one after the other, from whichever thread. It blocks while nobody reads."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._guard = threading.Lock()

    def write(self, pieces: Iterable[bytes]) -> bool:
        """Write one line; False where nobody reads any more."""
        with self._guard:
            try:
                for piece in pieces:
                    _write_all(self._descriptor, piece)
            except OSError:
                return False
        return True


def _write_all(descriptor: int, raw: bytes) -> None:
    rest = memoryview(raw)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
