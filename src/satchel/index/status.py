"""How fresh the index is, what it leaves out, and its removal."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from satchel.errors import GitError
from satchel.index.difference import known_files
from satchel.index.lock import holder, index_lock, last_run
from satchel.index.options import BROKEN_LINKS, EXPORT_STATE
from satchel.index.walk import Walk, WalkOptions, walk
from satchel.store.protocol import Store, StoreStatistics
from satchel.system import files, git
from satchel.types import Failure


@dataclass(frozen=True, slots=True)
class Freshness:
    """How the tree differs from the index, in files. `checked` is when the last run began, None before the first.

    A changed file is one whose size or times differ; its content may be the same. Heads are commit ids, empty where
    there is no commit.
    """

    checked: float | None
    new: int
    changed: int
    gone: int
    head: str
    indexed_head: str

    @property
    def is_fresh(self) -> bool:
        """Whether an index run would find nothing to do."""
        return not (self.new or self.changed or self.gone) and self.head == self.indexed_head


@dataclass(frozen=True, slots=True)
class Status:
    """The state of one index. `sizes` are bytes on disk, `skipped` counts files and folders by reason.

    `building` says who builds the index right now, empty if nobody does. `broken_links` lead to notes that do not
    exist; the first of them are named with their note (note, link as written).
    """

    root: Path
    index: Path
    revision: str
    statistics: StoreStatistics
    sizes: Mapping[str, int]
    freshness: Freshness
    skipped: Mapping[str, int]
    building: str
    failures: tuple[Failure, ...] = ()
    broken_links: int = 0
    broken_examples: tuple[tuple[str, str], ...] = ()


def look(
    store: Store,
    root: Path,
    index: Path,
    options: WalkOptions,
    stores: Mapping[str, Path],
    should_stop: Callable[[], bool],
) -> Status:
    """Return the state of the index in the folder `index`. `stores` are the store files to measure, by name."""
    tree = Walk((), {}, {}) if root.is_file() else walk(root, options, should_stop=should_stop)
    stamps = known_files(store) if root.is_dir() else {}
    stored = {path: (stamp.size, stamp.mtime_ns, stamp.changed_ns) for path, (_, stamp) in stamps.items()}
    stored |= store.skipped_stamps()
    present = {entry.path: (entry.size, entry.mtime_ns, entry.changed_ns) for entry in tree.entries}
    head, failures = _head(root)
    freshness = Freshness(
        checked=last_run(index / "index.lock"),
        new=sum(path not in stored for path in present),
        changed=sum(path in stored and stored[path] != stamp for path, stamp in present.items())
        + _changed_export(store, root),
        gone=sum(path not in present for path in stored),
        head=head,
        indexed_head=_indexed_head(store),
    )
    skipped = Counter(tree.skipped) + Counter(store.skipped_reasons())
    broken = json.loads(store.meta(BROKEN_LINKS) or "{}")
    return Status(
        root=root,
        index=index,
        revision=store.revision,
        statistics=store.statistics(),
        sizes={name: file_bytes(path) for name, path in stores.items()},
        freshness=freshness,
        skipped=dict(sorted(skipped.items(), key=lambda row: (-row[1], row[0]))),
        building=holder(index / "index.lock"),
        failures=failures,
        broken_links=broken.get("count", 0),
        broken_examples=tuple((note, link) for note, link in broken.get("examples", ())),
    )


def _changed_export(store: Store, root: Path) -> int:
    """1 where the root is an export that was written since it was read."""
    state = store.meta(EXPORT_STATE)
    now = files.stamp(root.parent, root.name) if root.is_file() else None
    return int(state is not None and now is not None and json.loads(state)[0] != list(now))


def file_bytes(path: Path) -> int:
    """Return bytes of a store file with its journals, 0 where there is none. Nothing is opened."""
    parts = (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm"))
    return sum(part.stat().st_size for part in parts if part.is_file())


def _head(root: Path) -> tuple[str, tuple[Failure, ...]]:
    repository = git.find_repository(root)
    try:
        return (git.head(repository) or "" if repository is not None else ""), ()
    except GitError as error:
        return "", (Failure("commits", str(error)),)


def _indexed_head(store: Store) -> str:
    """HEAD of the last run that read the history."""
    noted = store.meta("history")
    return str(json.loads(noted)[0]) if noted else ""


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
    """Return bytes of all files in a folder and below; links are not followed."""
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
