"""The question of a command line: its words, or standard input for `-`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from satchel.cli import streams
from satchel.errors import UsageError

STANDARD_INPUT = "-"

MOST_BYTES = 1_000_000
"""Of standard input: a pasted log of 10,000 lines fits, a file that was piped in by mistake ends here."""


def read_question(words: Sequence[str], *, color: str = "") -> str:
    """The question that these arguments name. Raises UsageError where standard input is closed."""
    if list(words) == [STANDARD_INPUT]:
        return _standard_input(color)
    # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
    return " ".join(words).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_file(name: str, *, color: str = "") -> str:
    """The text of a file; its end where it is longer than is read, because a failure is told at the end of its log."""
    with Path(name).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - MOST_BYTES, 0))
        raw = file.read(MOST_BYTES)
    if size > MOST_BYTES:
        streams.note(f"{name} is long: only its last {MOST_BYTES:,} bytes are read", color=color)
    return raw.decode("utf-8", "replace")


def _standard_input(color: str) -> str:
    if sys.stdin is None:
        raise UsageError("the question should come from standard input (-), which is closed")
    if streams.is_terminal(sys.stdin):
        streams.note("type the question, then end it with Ctrl-D", color=color)
    raw = sys.stdin.buffer.read(MOST_BYTES + 1)
    if len(raw) > MOST_BYTES:
        streams.note(f"the question is cut after {MOST_BYTES:,} bytes", color=color)
    return raw[:MOST_BYTES].decode("utf-8", "replace")
