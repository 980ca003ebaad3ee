"""Questions to a resident `satchel mcp` or `satchel serve` of the same root, over a private Unix socket.

The client runs before anything else of satchel is loaded, so this module imports only what the interpreter has at hand.
Every fault means that the command answers by itself.

A frame is its size in decimal, a line break, and its parts, each with its own size in the same way. The client sends a
frame with version, location, environment, folder, kind, words and event. The resident sends `ACCEPTED` as a sign of
life, then the frame of the answer, unless only the command itself can give it, and closes the connection.
"""

from __future__ import annotations

import os
import sys
import time

from satchel import __version__

TYPE_CHECKING = False  # the module `typing` takes as long to import as everything else here together
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CONNECT_SECONDS = 0.05
"""Longest wait for a connection: the kernel makes it, unless hundreds of others wait."""

ACCEPT_SECONDS = 0.25
"""Longest wait for a sign of life: a process that was stopped has none."""

ANSWER_SECONDS = 5.0
"""Longest wait for the answer to a command. An index that needs longer is brought up to date by the command itself."""

HOOK, COMMAND = b"hook", b"command"
ACCEPTED = b"+"

LONGEST_ADDRESS = 100
"""Bytes of a socket's path: systems allow 104 or 108."""

_MATTERING = frozenset({
    b"HOME", b"TZ", b"XDG_CONFIG_HOME", b"XDG_DATA_HOME", b"XDG_STATE_HOME", b"XDG_CACHE_HOME", b"NO_COLOR",
    b"FORCE_COLOR",
})  # fmt: skip
"""Variables, beside `SATCHEL_*`, that decide about an answer: both processes must have the same values."""


def identity() -> list[bytes]:
    """Return what client and resident must have in common: version, location of the package, and environment."""
    rows = [b"%b=%b" % row for row in os.environb.items() if row[0].startswith(b"SATCHEL_") or row[0] in _MATTERING]
    return [__version__.encode(), os.fsencode(os.path.dirname(__file__)), b"\0".join(sorted(rows))]  # noqa: PTH120


def socket_folder(environ: Mapping[str, str] = os.environ) -> str:
    """Return the folder of the sockets, as `Folders` decides about it; empty without a home folder."""
    home, own = environ.get("HOME", ""), environ.get("SATCHEL_HOME", "")
    home = home if home.startswith("/") else ""
    if own:
        base = home + own[1:] if own.startswith("~/") else own
        return f"{base}/state/resident" if base.startswith("/") else ""
    state = environ.get("XDG_STATE_HOME", "")
    base = state if state.startswith("/") else home and f"{home}/.local/state"
    return base and f"{base}/satchel/resident"


def socket_name(root: str) -> str:
    """Return the name of the socket of a root, the same by every path to it. Raises OSError if it does not exist."""
    status = os.stat(root)  # noqa: PTH116
    return f"{status.st_dev:x}-{status.st_ino:x}"


def address(start: str) -> str:
    """Return the socket of the nearest folder at or above `start`, below a private folder; empty if there is none."""
    folder = socket_folder()
    try:
        status = os.stat(folder)  # noqa: PTH116
        if status.st_uid != os.getuid() or status.st_mode & 0o077:
            return ""
        names = set(os.listdir(folder))  # noqa: PTH208
        current = os.path.realpath(start) if names else ""
        while current:
            if (name := socket_name(current)) in names:
                return f"{folder}/{name}"
            above = os.path.dirname(current)  # noqa: PTH120
            current = above if above != current else ""
    except (OSError, AttributeError):  # no such folder, or a system without users
        pass
    return ""


def root_of(words: Sequence[str]) -> str:
    """Return the folder that a command line is about: that of `--root`, else the current one."""
    for number, word in enumerate(words):
        if word.startswith("--root="):
            return word[7:]
        if word == "--root" and number + 1 < len(words):
            return words[number + 1]
    return os.curdir


def framed(parts: Sequence[bytes]) -> bytes:
    """Return the frame of these parts."""
    body = b"".join(b"%d\n%b" % (len(part), part) for part in parts)
    return b"%d\n%b" % (len(body), body)


def parts_of(frame: bytes) -> list[bytes]:
    """Return the parts of a complete frame, none of an incomplete one."""
    size, _, body = frame.partition(b"\n")
    parts: list[bytes] = []
    if not size.isdigit() or int(size) != len(body):
        return parts
    start = 0
    while start < len(body):
        end = body.index(b"\n", start)
        if not body[start:end].isdigit():  # a negative size would never end
            return []
        start = end + 1 + int(body[start:end])
        parts.append(body[end + 1 : start])
    return parts if start == len(body) else []


def ask(
    place: str, kind: bytes, words: Sequence[str], event: bytes, deadline: float, patience: float = ACCEPT_SECONDS
) -> list[bytes]:
    """Return the parts of the answer of the resident at a socket; none without one until the deadline (monotonic).

    `patience` are the seconds that a sign of life may take.
    """
    # Not `socket`: it takes five milliseconds to import, a third of what the whole client does.
    from _socket import AF_UNIX, SOCK_STREAM, socket

    peer = socket(AF_UNIX, SOCK_STREAM)
    try:
        peer.settimeout(CONNECT_SECONDS)
        peer.connect(place)
        peer.settimeout(patience)
        folder = os.fsencode(os.getcwd())  # noqa: PTH109
        peer.sendall(framed([*identity(), folder, kind, b"\0".join(map(os.fsencode, words)), event]))
        received, chunk = b"", peer.recv(1)
        if chunk != ACCEPTED:
            return []
        # bytes of an answer; the largest context has a tenth
        while chunk and len(received) < 64 << 20 and (rest := deadline - time.monotonic()) > 0:
            peer.settimeout(rest)
            chunk = peer.recv(65_536)
            received += chunk
        return parts_of(received)
    except (OSError, ValueError):
        return []
    finally:
        peer.close()


def run(words: Sequence[str]) -> int | None:
    """Let a resident answer a command, write what it wrote, and return the exit code; None if there is no answer.

    A terminal gets progress and colours, and messages are in its encoding, so only others are sent.
    """
    try:
        is_plain = sys.stderr is not None and sys.stderr.encoding == "utf-8"
        if not is_plain or os.isatty(1) or os.isatty(2) or not all(map(os.fstat, (1, 2))):
            return None
        place = address(root_of(words))
    except OSError:  # a closed stream: its number would be that of the connection
        return None
    parts = ask(place, COMMAND, words, b"", time.monotonic() + ANSWER_SECONDS) if place else []
    return _passed_on(parts) if parts else None


def _passed_on(parts: Sequence[bytes]) -> int | None:
    """Write an answer and return its exit code; None if nothing of it can be written."""
    is_written = False
    try:
        for stream, text in zip(parts[1::2], parts[2::2], strict=True):
            rest = text
            while rest:
                rest = rest[os.write(int(stream), rest) :]
                is_written = True
    except BrokenPipeError:
        return 0  # the reader has enough
    except OSError as error:
        if not is_written:
            return None  # the command meets the same fault and says so
        sys.stderr.write(f"error: cannot write the answer: {error.strerror}\n")
        return 1
    return int(parts[0])
