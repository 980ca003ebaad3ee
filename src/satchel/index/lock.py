"""An advisory lock for one index run per root; the kernel releases it however the process ends."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from satchel.errors import LockedError
from satchel.system import state_files

_POLL_SECONDS = 0.05

OPENING_ATTEMPTS = 25
"""Attempts to open the lock file while its folder is removed."""


@contextlib.contextmanager
def index_lock(path: Path, wait_seconds: float, should_stop: Callable[[], bool]) -> Iterator[None]:
    """Hold the lock file while the block runs. Raises LockedError with the holder after `wait_seconds`."""
    descriptor = _acquire(path, time.monotonic() + wait_seconds, should_stop)
    try:
        holder = json.dumps({"pid": os.getpid(), "host": platform.node(), "since": int(time.time())})
        os.ftruncate(descriptor, 0)
        os.pwrite(descriptor, holder.encode(), 0)
        yield
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def thread_lock(lock: threading.Lock, should_stop: Callable[[], bool]) -> Iterator[bool]:
    """Hold a lock among the threads of this process while the block runs; yields false after a stop."""
    is_ours = lock.acquire(timeout=_POLL_SECONDS)
    while not is_ours and not should_stop():
        is_ours = lock.acquire(timeout=_POLL_SECONDS)
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
        return "" if state_files.try_lock(descriptor, is_shared=True) else _held_by(path)
    finally:
        os.close(descriptor)


def _acquire(path: Path, deadline: float, should_stop: Callable[[], bool]) -> int:
    while True:
        descriptor = _open(path)
        try:
            while not state_files.try_lock(descriptor):
                if time.monotonic() >= deadline or should_stop():
                    raise LockedError(_held_by(path))
                time.sleep(_POLL_SECONDS)
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
            state_files.make_folder(path.parent)
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
        return f"the index is being built by process {holder['pid']} on {holder['host']} since {since}: try again soon"
    except (OSError, ValueError, KeyError):
        return f"the index is being built by another process (lock {path}): try again soon"
