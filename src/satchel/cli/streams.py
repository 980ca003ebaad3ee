"""The three streams: answers on standard output, byte for byte, messages on standard error; `-` is the input.

A failed write to standard output is an error; a failed write to standard error is ignored.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from satchel.codec import json_text as json_text
from satchel.errors import SatchelError, UsageError

if TYPE_CHECKING:
    from satchel.types import Failure

STANDARD_INPUT = "-"

MAX_BYTES = 1_000_000
"""Bytes read of standard input: a log of 10,000 lines fits, a file piped in by mistake is cut."""


class OutputError(SatchelError):
    """The answer could not be written to standard output."""


_recorded: ContextVar[list[tuple[int, bytes]] | None] = ContextVar("recorded", default=None)


@contextlib.contextmanager
def recorded() -> Iterator[list[tuple[int, bytes]]]:
    """Collect what this thread writes while the block runs: (1 or 2, bytes), for a process that is not a terminal."""
    rows: list[tuple[int, bytes]] = []
    token = _recorded.set(rows)
    try:
        yield rows
    finally:
        _recorded.reset(token)


def is_recorded() -> bool:
    """Return whether this thread writes for another process."""
    return _recorded.get() is not None


def write(text: str) -> None:
    """Write text to standard output as UTF-8, whatever the locale. Raises OutputError or BrokenPipeError."""
    if (rows := _recorded.get()) is not None:
        rows.append((1, text.encode("utf-8", "replace")))
        return
    if sys.stdout is None:
        raise OutputError("cannot write the answer: standard output is closed")
    flush(text.encode("utf-8", "replace"))


def write_text(text: str) -> None:
    """Write a counted text byte for byte, with a line break after it only on a terminal."""
    if text:
        write(f"{text}\n" if is_terminal(sys.stdout) and not text.endswith("\n") else text)


def write_line(line: str) -> None:
    """Write one line."""
    write(f"{line}\n")


def write_json(value: Mapping[str, Any]) -> None:
    """Write one JSON object: indented on a terminal, on one line otherwise."""
    indent = 2 if is_terminal(sys.stdout) else None  # json indent
    write_line(json_text(value, indent))


def flush(answer: bytes = b"") -> None:
    """Flush standard output, then `answer` too. Raises OutputError, and BrokenPipeError unchanged."""
    if sys.stdout is None:
        return
    try:
        sys.stdout.flush()
        if answer:
            sys.stdout.buffer.write(answer)
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(f"cannot write the answer: {error.strerror}") from error


def abandon() -> int:
    """Redirect standard output to nowhere, because a reader that closes the pipe early is not an error. Returns 0."""
    with contextlib.suppress(OSError, ValueError, AttributeError, io.UnsupportedOperation):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    return 0


def say(text: str, *, color: str = "", **style: Any) -> None:
    """Write one line to standard error, without secrets, coloured if enabled."""
    from satchel.safety.sanitize import redact  # here, because most commands have nothing to say

    text = redact(text)[0]
    stream = sys.stderr
    rows = _recorded.get()
    if stream is None and rows is None:
        return
    if style and wants_color(stream, color):
        text = click.style(text, **style)
    if rows is not None:
        rows.append((2, f"{text}\n".encode("utf-8", "backslashreplace")))
        return
    with contextlib.suppress(OSError, ValueError):
        stream.write(f"{text}\n")
        stream.flush()


def redraw(line: str = "") -> None:
    """Write the last line of a terminal again, cut to its width; without a text only remove it."""
    import shutil  # here, because it brings three libraries for archives

    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"\r{line[: shutil.get_terminal_size().columns - 1]}\x1b[K")
        sys.stderr.flush()


def error(message: str, *, color: str = "") -> None:
    """Write an error; lines after the first are hints."""
    first, _, rest = message.partition("\n")
    label = click.style("error:", fg="red", bold=True) if wants_color(sys.stderr, color) else "error:"
    say("\n".join([f"{label} {first}", *(f"  {line}" for line in rest.splitlines())]))


def note(message: str, *, color: str = "") -> None:
    """Write a note that is not part of the answer."""
    label = click.style("note:", fg="yellow") if wants_color(sys.stderr, color) else "note:"
    say(f"{label} {message}")


def failure(what: Failure, *, color: str = "") -> None:
    """Write a failure that the answer does without."""
    hint = f" ({what.hint})" if what.hint else ""
    note(f"{what.source}: {what.message}{hint}", color=color)


def is_terminal(stream: IO[str] | None) -> bool:
    """Return whether this stream is a terminal."""
    try:
        return stream is not None and not is_recorded() and stream.isatty()
    except ValueError:  # closed
        return False


def can_redraw(stream: IO[str] | None) -> bool:
    """Return whether lines of this stream can be redrawn."""
    return is_terminal(stream) and os.environ.get("TERM") != "dumb"


def wants_color(stream: IO[str] | None, choice: str = "") -> bool:
    """Return whether to write colours: the option decides, then NO_COLOR, FORCE_COLOR, TERM=dumb, then the stream."""
    if choice in {"always", "never"}:
        return choice == "always"
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR", "0") not in {"", "0"}:
        return True
    return can_redraw(stream)


def read_question(words: Sequence[str], *, color: str = "") -> str:
    """Return the text that these arguments name. Raises UsageError where standard input is closed."""
    if list(words) == [STANDARD_INPUT]:
        return _standard_input(color)
    # Bytes of the command line that are not UTF-8 arrive as lone surrogates.
    return " ".join(words).encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def read_file(name: str, *, color: str = "") -> str:
    """Return the text of a file, only the end of a long one, because a log ends with its failure."""
    with Path(name).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - MAX_BYTES, 0))
        raw = file.read(MAX_BYTES)
    if size > MAX_BYTES:
        note(f"{name} is long: only its last {MAX_BYTES:,} bytes are read", color=color)
    return raw.decode("utf-8", "replace")


def _standard_input(color: str) -> str:
    if sys.stdin is None:
        raise UsageError("the question should come from standard input (-), which is closed")
    if is_terminal(sys.stdin):
        note("type the question, then end it with Ctrl-D", color=color)
    raw = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(raw) > MAX_BYTES:
        note(f"the question is cut after {MAX_BYTES:,} bytes", color=color)
    return raw[:MAX_BYTES].decode("utf-8", "replace")


def size_text(size: int) -> str:
    """Return bytes in the largest unit that gives at least one: `12.3 MB`."""
    amount = float(size)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def counts_text(counts: Iterable[tuple[str, int]]) -> str:
    """`3 new, 1,200 changed`, without those that are 0."""
    return ", ".join(f"{count:,} {what}" for what, count in counts if count)


def day(moment: float) -> str:
    """Return the day (UTC) of a time."""
    return f"{datetime.fromtimestamp(moment, UTC):%Y-%m-%d}"


def age_text(seconds: float) -> str:
    """Return a span of time in its largest whole unit: `3 minutes`."""
    for unit, length in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= length:
            number = int(seconds // length)
            return f"{number} {unit}" if number == 1 else f"{number} {unit}s"
    return "a moment"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return headings and rows in columns as wide as their widest cell; no line ends with blanks.

    A heading that begins with `>` is that of numbers, which are aligned right.
    """
    lines = [[heading.removeprefix(">") for heading in headings], *rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    fits = [str.rjust if heading.startswith(">") else str.ljust for heading in headings]
    return [
        "  ".join(fit(cell, width) for fit, cell, width in zip(fits, line, widths, strict=True)).rstrip()
        for line in lines
    ]


LONGEST_LINE = 64 << 20
"""Bytes of the longest line of a file of lines; the longest useful one is an exchange with the output of a command."""

MAX_IMPORTED_BYTES = 4 << 30
"""Bytes of the largest input: more than the conversations of years."""


def lines_of(
    file: IO[bytes], name: str, longest: int = LONGEST_LINE, most: int = MAX_IMPORTED_BYTES
) -> Iterator[bytes]:
    """Yield the lines of a file, with their ends. Raises UsageError for one without an end, or a file without one."""
    size = 0
    while line := file.readline(longest + 1):
        size += len(line)
        _check_size(name, len(line), size, longest, most)
        yield line


def _check_size(name: str, length: int, size: int, longest: int, most: int) -> None:
    if length > longest:
        raise UsageError(f"{name} has a line of more than {longest:,} bytes: give a file that satchel can import")
    if size > most:
        raise UsageError(f"{name} has more than {most:,} bytes: split it, and import one part after the other")


WRITER_SECONDS = 2.0
"""Time in which somebody has to open a named pipe to write to it."""


def lines_of_pipe(
    path: str, silence_seconds: float = 10.0, longest: int = LONGEST_LINE, most: int = MAX_IMPORTED_BYTES
) -> Iterator[bytes]:
    """Yield the lines of a named pipe, as `lines_of`, without their ends.

    Raises UsageError if nobody writes to it, or after so long without any.
    """
    import select

    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    rest, size, is_ended = bytearray(), 0, False
    fault = UsageError(f"{path} is a pipe that nobody writes to: give a file, or - for standard input")
    try:
        chunk = _first_of(descriptor, min(WRITER_SECONDS, silence_seconds))
        if chunk is None:
            raise fault
        waiting = select.poll()
        waiting.register(descriptor, select.POLLIN)
        while not is_ended:
            if not chunk:
                if not waiting.poll(silence_seconds * 1_000):
                    raise fault
                chunk = os.read(descriptor, 1 << 16)
            is_ended = not chunk
            size += len(chunk)
            first, *lines = chunk.split(b"\n")
            rest += first
            for line in lines:
                yield bytes(rest)
                rest = bytearray(line)
            _check_size(path, len(rest), size, longest, most)
            chunk = b""
        if rest:
            yield bytes(rest)
    finally:
        os.close(descriptor)


def _first_of(descriptor: int, seconds: float) -> bytes | None:
    """Return the first bytes of a pipe, none yet if somebody has it open, and None if nobody opens it in this time."""
    until = time.monotonic() + seconds
    while True:
        try:
            if chunk := os.read(descriptor, 1 << 16):
                return chunk
        except BlockingIOError:
            return b""
        if time.monotonic() >= until:
            return None
        time.sleep(0.02)
