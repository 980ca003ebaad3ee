"""A file of lines in the state folder that several processes add to at once, and that never grows beyond a size.

Whoever writes holds the lock of the folder, and a line that does not fit on the disk is taken back, so a reader sees
whole lines except after a crash in the middle of one.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
from collections.abc import Iterator
from pathlib import Path


class LineFile:
    """One such file, readable by its user only. All methods raise OSError where the disk does not let them."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self) -> bytes:
        """Everything in it, nothing where it does not exist yet. Never follows a link, never waits for a pipe."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return b""
        with os.fdopen(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError(errno.EINVAL, "no regular file", str(self.path))
            return file.read()

    def append(self, raw: bytes, *, most: int, kept: int) -> None:
        """Write whole lines at the end. Beyond `most` bytes only the newest `kept` bytes of whole lines stay."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            descriptor = self._opened(os.O_APPEND)
            try:
                before = os.fstat(descriptor).st_size
                if os.write(descriptor, raw) < len(raw):
                    os.ftruncate(descriptor, before)
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
            finally:
                os.close(descriptor)
            if before + len(raw) > most:
                self._replace(self.path.read_bytes()[-kept:].partition(b"\n")[2])

    def replace(self, raw: bytes) -> None:
        """Hold these lines and no others from now on."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._locked():
            self._replace(raw)

    def check_writable(self) -> None:
        """Make the file if there is none, and see that lines can be added to it."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(self._opened(os.O_APPEND))

    def _opened(self, how: int) -> int:
        flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | how
        return os.open(self.path, flags, 0o600)

    def _replace(self, raw: bytes) -> None:
        unfinished = self.path.with_suffix(f".{os.getpid()}")
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            written = os.write(descriptor, raw)
        finally:
            os.close(descriptor)
        if written < len(raw):
            unfinished.unlink()
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.path))
        unfinished.replace(self.path)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the folder's lock; it goes with the process, however that ends."""
        descriptor = os.open(self.path.parent, os.O_RDONLY | os.O_CLOEXEC)
        try:
            # Some network file systems have no locks; a line written during a pruning may then be lost.
            with contextlib.suppress(OSError):
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)
