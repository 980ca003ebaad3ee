"""Removing what can be built again. Memories lie elsewhere and are never touched."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path

from satchel.index.lock import index_lock

LOCK_NAME = "index.lock"

REMOVING_ATTEMPTS = 20
"""A process that asks makes a few files once; it does not do so twenty times while a folder is removed."""


def remove_index(folder: Path, wait_seconds: float) -> int:
    """Remove the index in this folder and return the bytes it took, 0 where there is none.

    Raises LockedError when a process keeps building it for longer than the wait.
    """
    if not folder.is_dir():
        return 0
    with index_lock(folder / LOCK_NAME, wait_seconds, _never):
        size = folder_bytes(folder)
        _remove(folder)
    return size


def remove_everything(cache: Path, wait_seconds: float) -> int:
    """Remove all indexes and everything else in the cache folder of satchel. Raises LockedError as `remove_index`."""
    if not cache.is_dir():
        return 0
    indexes = sorted(lock.parent for lock in cache.glob(f"*/*/{LOCK_NAME}"))
    size = sum(remove_index(folder, wait_seconds) for folder in indexes) + folder_bytes(cache)
    _remove(cache)
    return size


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder and below; links are not followed."""
    return sum((Path(place) / name).lstat().st_size for place, _, names in os.walk(folder) for name in names)


def _remove(folder: Path) -> None:
    """Remove a folder. Whoever opens a store just then makes files in it, or loses some first: both pass."""
    for attempt in range(REMOVING_ATTEMPTS):
        try:
            shutil.rmtree(folder)
            return
        except FileNotFoundError:
            if not folder.exists():
                return
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or attempt == REMOVING_ATTEMPTS - 1:
                raise


def _never() -> bool:
    return False
