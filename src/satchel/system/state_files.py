"""Files in the user's folders that several processes share: locks, limited reads, atomic replacement, pruning.

Every function raises OSError for an error of the disk. Locks are advisory; the kernel releases them when the process
ends.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import stat
import threading
import time
from collections.abc import Callable, Iterator
from hashlib import blake2b
from pathlib import Path
from threading import get_ident
from typing import Any

from satchel.errors import LockedError
from satchel.system.files import escape_name

try:
    import fcntl
except ImportError:  # not a POSIX system: of two changes at the same moment, one may be lost
    fcntl = None  # type: ignore[assignment]

HAS_LOCKS = fcntl is not None

NO_LINK = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""Flags for opening a file so that no link is followed, no child process inherits it, and no line end is changed."""


class UnusableFileError(OSError):
    """The path is not a regular file, or the file exceeds the limit."""


def make_folder(folder: Path) -> None:
    """Create a folder and its missing parents, accessible only to the user."""
    if not folder.is_dir():
        make_folder(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


def read(path: Path, limit: int | None = None) -> bytes | None:
    """Return the contents of a regular file, None if missing. Raises UnusableFileError for more than `limit` bytes."""
    try:
        descriptor = os.open(path, os.O_RDONLY | NO_LINK | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise UnusableFileError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            raw = file.read() if limit is None else file.read(limit + 1)
    finally:
        os.close(descriptor)
    if limit is not None and len(raw) > limit:
        raise UnusableFileError(errno.EFBIG, f"more than {limit:,} bytes", str(path))
    return raw


def append(path: Path, raw: bytes, *, most: int | None = None, wait_seconds: float | None = None) -> None:
    """Add complete lines to a file; all of them or, on a full disk, none.

    If the file then has more than `most` bytes, only the newest complete lines of half as many remain. A process that
    has waited `wait_seconds` for the lock of the folder writes without it.
    """
    make_folder(path.parent)
    with locked(path.parent, wait_seconds):
        descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | NO_LINK, 0o600)
        try:
            before = os.fstat(descriptor).st_size
            try:
                write_all(descriptor, raw)
            except OSError:
                os.ftruncate(descriptor, before)
                raise
        finally:
            os.close(descriptor)
        if most is not None and before + len(raw) > most:
            replace(path, path.read_bytes()[-(most // 2) :].partition(b"\n")[2])


def replace(path: Path, raw: bytes, *, mode: int = 0o600, durable: bool = False) -> None:
    """Replace a file atomically, also in a crash; a `durable` one is on the disk before it replaces the old one."""
    unfinished = path.with_name(f".{path.name}.{os.getpid()}-{get_ident()}")
    unfinished.unlink(missing_ok=True)
    _prune_unfinished(path)
    try:
        descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK, mode)
        try:
            write_all(descriptor, raw)
            if durable:
                os.fsync(descriptor)
        finally:
            os.close(descriptor)
        unfinished.chmod(mode)  # whatever the mask of the process allows
        unfinished.replace(path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


UNFINISHED_SECONDS = 600
"""Age at which the unfinished contents of a file belong to a process that was killed."""


def _prune_unfinished(path: Path) -> None:
    """Delete what killed processes left when they replaced this file."""
    prefix, oldest = f".{path.name}.", time.time() - UNFINISHED_SECONDS
    for entry in os.scandir(path.parent):
        is_ours = entry.name.startswith(prefix) and entry.name[len(prefix) :].replace("-", "").isdigit()
        with contextlib.suppress(FileNotFoundError):
            if is_ours and entry.stat(follow_symlinks=False).st_mtime < oldest:
                os.unlink(entry.path)  # noqa: PTH108 - a path object for each entry would take longer


def write_all(descriptor: int, raw: bytes) -> None:
    """Write all bytes, which does not wait on a full disk. Raises OSError."""
    if os.write(descriptor, raw) < len(raw):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@contextlib.contextmanager
def locked(path: Path, wait_seconds: float | None = None) -> Iterator[bool]:
    """Lock a folder, or a lock file that is created where it is missing; yields whether the lock was obtained.

    Without `wait_seconds` it waits as long as another process has the lock.
    """
    if fcntl is None:
        yield True
        return
    flags = os.O_RDONLY if path.is_dir() else os.O_RDWR | os.O_CREAT
    descriptor = os.open(path, flags | NO_LINK, 0o600)
    try:
        yield _wait_for_lock(descriptor, wait_seconds)
    finally:
        os.close(descriptor)


def _wait_for_lock(descriptor: int, wait_seconds: float | None) -> bool:
    deadline = None if wait_seconds is None else time.monotonic() + wait_seconds
    while not try_lock(descriptor):
        if deadline is not None and time.monotonic() >= deadline:
            return False
        time.sleep(0.005)  # poll seconds
    return True


def try_lock(descriptor: int, *, is_shared: bool = False) -> bool:
    """Lock an open file if no other process has locked it. True if the system or file system has no locks."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if is_shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True  # some network file systems have no locks
    return True


def prune_older(folder: Path, seconds: float) -> None:
    """Delete the files in a folder that were last changed more than `seconds` ago."""
    oldest = time.time() - seconds
    with contextlib.suppress(FileNotFoundError):
        for path in folder.iterdir():
            with contextlib.suppress(FileNotFoundError):
                if path.stat().st_mtime < oldest:
                    path.unlink()


MAX_ANSWERS = 1_000
"""Answers of one kind that are kept; then the older half is deleted."""


class KeptAnswers:
    """What a model answered: JSON by a keyed hash of what it was asked, in files of a folder without the question.

    Errors of the disk are ignored, because the model can be asked again.
    """

    def __init__(self, folder: Path, key: bytes) -> None:
        self._folder, self._key = folder, key[: blake2b.MAX_KEY_SIZE]

    def mark(self, asked: str) -> str:
        """Return the hash of a text."""
        return blake2b(asked.encode("utf-8", "replace"), key=self._key, digest_size=12).hexdigest()

    def read(self, asked: str) -> Any:
        """Return what is kept, None where there is nothing that can be read."""
        try:
            return json.loads(read(self._file(asked), 100_000) or b"null")  # bytes: far more than an answer has
        except (OSError, ValueError):
            return None

    def keep(self, asked: str, answer: Any) -> None:
        """Keep an answer."""
        with contextlib.suppress(OSError):
            make_folder(self._folder)
            paths = sorted(self._folder.glob("*.json"), key=lambda path: (path.stat().st_mtime_ns, path.name))
            for path in paths[: len(paths) - MAX_ANSWERS // 2] if len(paths) >= MAX_ANSWERS else ():
                path.unlink(missing_ok=True)
            replace(self._file(asked), json.dumps(answer, sort_keys=True).encode("ascii"))

    def _file(self, asked: str) -> Path:
        return self._folder / f"{self.mark(asked)}.json"


_LOOK_SECONDS = 0.05

OPENING_ATTEMPTS = 25
"""Attempts to open the lock file while its folder is removed."""


@contextlib.contextmanager
def index_lock(path: Path, wait_seconds: float, should_stop: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock file while the block runs. Raises LockedError with the holder after `wait_seconds`."""
    import platform  # here, because only a run on an index needs it

    descriptor = _acquire(path, time.monotonic() + wait_seconds, should_stop)
    try:
        holder = json.dumps({"pid": os.getpid(), "host": platform.node(), "since": int(time.time())})
        with contextlib.suppress(OSError):  # a full disk: only messages of other processes lack the holder
            os.ftruncate(descriptor, os.write(descriptor, holder.encode()))
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def thread_lock(lock: threading.Lock, should_stop: Callable[[], bool]) -> Iterator[bool]:
    """Hold a lock among the threads of this process while the block runs; yields false after a stop."""
    is_ours = lock.acquire(timeout=_LOOK_SECONDS)
    while not is_ours and not should_stop():
        is_ours = lock.acquire(timeout=_LOOK_SECONDS)
    try:
        yield is_ours
    finally:
        if is_ours:
            lock.release()


def last_run(path: Path) -> float | None:
    """Return the start of the last run in seconds since the epoch; None before the first."""
    try:
        return path.stat().st_mtime
    except OSError:
        return None


def holder(path: Path) -> str:
    """Return a sentence about the process that builds the index right now, empty if none. Does not wait."""
    if not path.exists():
        return ""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
    try:
        return "" if try_lock(descriptor, is_shared=True) else _held_by(path)
    finally:
        os.close(descriptor)


def _acquire(path: Path, deadline: float, should_stop: Callable[[], bool]) -> int:
    while True:
        descriptor = _open(path)
        try:
            while not try_lock(descriptor):
                if time.monotonic() >= deadline or should_stop():
                    raise LockedError(_held_by(path))
                time.sleep(_LOOK_SECONDS)
            # `satchel clean` removes the file with its folder: a lock on a removed file protects nothing.
            if _is_there(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _open(path: Path) -> int:
    """Open or create the lock file, although `satchel clean` may remove its folder meanwhile."""
    for attempt in range(OPENING_ATTEMPTS):
        try:
            make_folder(path.parent)
            return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        except (FileExistsError, FileNotFoundError):
            if attempt == OPENING_ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt returns or raises")


def _is_there(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


def _held_by(path: Path) -> str:
    try:
        holder = json.loads(path.read_text(encoding="utf-8"))
        since = time.strftime("%H:%M:%S", time.localtime(holder["since"]))
        by = escape_name(f"process {holder['pid']} on {holder['host']}")[:200]  # holder characters
        return f"the index is being built by {by} since {since}: try again soon"
    except (OSError, ValueError, LookupError, TypeError, OverflowError):  # not what we wrote
        return f"the index is being built by another process (lock {path}): try again soon"
