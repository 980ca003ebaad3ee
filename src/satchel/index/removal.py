"""Removing what can be built again. Memories lie elsewhere and are never touched."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from satchel.index.lock import index_lock

LOCK_NAME = "index.lock"


def remove_index(folder: Path, wait_seconds: float) -> int:
    """Remove the index in this folder and return the bytes it took, 0 where there is none.

    Raises LockedError when a process keeps building it for longer than the wait.
    """
    if not folder.is_dir():
        return 0
    with index_lock(folder / LOCK_NAME, wait_seconds, _never):
        size = folder_bytes(folder)
        shutil.rmtree(folder)
    return size


def remove_everything(cache: Path, wait_seconds: float) -> int:
    """Remove all indexes and everything else in the cache folder of satchel. Raises LockedError as `remove_index`."""
    if not cache.is_dir():
        return 0
    indexes = sorted(lock.parent for lock in cache.glob(f"*/*/{LOCK_NAME}"))
    size = sum(remove_index(folder, wait_seconds) for folder in indexes) + folder_bytes(cache)
    shutil.rmtree(cache)
    return size


def folder_bytes(folder: Path) -> int:
    """Bytes of all files in a folder and below; links are not followed."""
    return sum((Path(place) / name).lstat().st_size for place, _, names in os.walk(folder) for name in names)


def _never() -> bool:
    return False
