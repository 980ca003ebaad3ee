"""The listening side of `satchel.system.resident`: the socket of a root, and the requests of other processes."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

from satchel.system import resident, state_files

WAITING = 64
"""Connections that may wait to be accepted."""

REQUEST_SECONDS = 1.0
"""Longest wait for the rest of a request, or for a client to take its answer."""

MOST_BYTES = 32_000_000
"""Size limit of a request: twice that of an event."""

_CHUNK = 1 << 16


def connected(address: str) -> socket.socket:
    """Return a connection to the process that listens there. Raises OSError if there is none."""
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.settimeout(resident.CONNECT_SECONDS)
        connection.connect(address)
    except OSError:
        connection.close()
        raise
    return connection


@contextlib.contextmanager
def listening(root: Path) -> Iterator[socket.socket | None]:
    """Yield the listening socket of a root; None while another process listens, or where there can be none.

    The socket of a dead process is replaced. It is removed at the end. Raises OSError for an error of the disk.
    """
    folder = Path(resident.socket_folder())
    state_files.make_folder(folder)
    path = folder / resident.socket_name(os.fspath(root))
    if len(os.fsencode(path)) > resident.LONGEST_ADDRESS or folder.stat().st_mode & 0o077:
        yield None
        return
    with state_files.locked(folder):
        door = _bound(path)
    if door is None:
        yield None
        return
    with door:
        own = path.stat()
        try:
            yield door
        finally:
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(own, path.stat()):
                    path.unlink()


def _bound(path: Path) -> socket.socket | None:
    try:
        connected(os.fspath(path)).close()
    except (ConnectionRefusedError, FileNotFoundError):
        path.unlink(missing_ok=True)
    except OSError:  # a process that is alive, and busy
        return None
    else:
        return None
    door = socket.socket(socket.AF_UNIX)
    try:
        door.bind(os.fspath(path))
        path.chmod(0o600)
        door.listen(WAITING)
    except OSError:
        door.close()
        raise
    return door


def is_own(connection: socket.socket) -> bool:
    """Return whether the client is a process of this user, where the system says so; else the folder guards it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return True
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.getuid())


def request(connection: socket.socket) -> list[bytes]:
    """Return the folder, kind, words and event of a request; empty unless it is complete and can be answered here."""
    connection.settimeout(REQUEST_SECONDS)
    if not is_own(connection):
        return []
    head = b""
    while not head.endswith(b"\n") and len(head) < 12:
        byte = connection.recv(1)
        if not byte:
            return []
        head += byte
    left = int(head)
    chunks = [head]
    while 0 < left <= MOST_BYTES:
        chunks.append(connection.recv(min(left, _CHUNK)))
        if not chunks[-1]:
            return []
        left -= len(chunks[-1])
    parts = resident.parts_of(b"".join(chunks))
    return parts[3:] if len(parts) == 7 and parts[:3] == resident.identity() else []


def is_gone(connection: socket.socket) -> bool:
    """Return whether the client has closed the connection: it sends nothing after its request."""
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))
