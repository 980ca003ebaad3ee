"""The state of an index, and its removal."""

from __future__ import annotations

import errno
import json
import os
import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from satchel import config
from satchel.errors import GitError
from satchel.index.run import BROKEN_LINKS, EXPORT_STATE, known_files
from satchel.index.walk import TreeWalk, WalkOptions, walk
from satchel.store.place import LOCK_NAME, store_places
from satchel.store.protocol import Store, StoreStatistics
from satchel.system import files, git
from satchel.system.locations import locate
from satchel.system.state_files import holder, index_lock, last_run
from satchel.types import AnyPath, Failure, ShouldStop, never


class IndexFreshness(NamedTuple):
    """The difference of tree and index, in files. `checked` is the start of the last run, None before the first.

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

    `building` names the process that builds the index right now, empty if none. `broken_links` counts links to missing
    notes; `broken_examples` are the first of them (note, link as written).
    """

    root: Path
    index: Path
    revision: str
    statistics: StoreStatistics
    sizes: Mapping[str, int]
    freshness: IndexFreshness
    skipped: Mapping[str, int]
    building: str
    failures: tuple[Failure, ...] = ()
    broken_links: int = 0
    broken_examples: tuple[tuple[str, str], ...] = ()


def _freshness(store: Store, root: Path, tree: TreeWalk, checked: float | None, head: str) -> IndexFreshness:
    """Return the differences of files and heads between the tree and the store."""
    stamps = known_files(store) if root.is_dir() else {}
    stored = {path: stamp.times for path, (_, stamp) in stamps.items()} | dict(store.skipped_stamps())
    present = {entry.path: entry.times for entry in tree.entries}
    old = stored.keys() & present.keys()
    changed = sum(stored[path] != present[path] for path in old) + _changed_export(store, root)
    noted = store.meta("history")
    indexed = str(json.loads(noted)[0]) if noted else ""
    return IndexFreshness(checked, len(present) - len(old), changed, len(stored) - len(old), head, indexed)


def look(
    store: Store, root: Path, index: Path, options: WalkOptions, sizes: Mapping[str, int], should_stop: ShouldStop
) -> Status:
    """Return the state of the index in the folder `index`. `sizes` are bytes of the stores."""
    tree = TreeWalk((), {}, {}) if root.is_file() else walk(root, options, should_stop=should_stop)
    head, failures = _head(root)
    freshness = _freshness(store, root, tree, last_run(index / "index.lock"), head)
    skipped = Counter(tree.skipped) + Counter(store.skipped_reasons())
    broken = json.loads(store.meta(BROKEN_LINKS) or "{}")
    return Status(
        root=root,
        index=index,
        revision=store.revision,
        statistics=store.statistics(),
        sizes=sizes,
        freshness=freshness,
        skipped=dict(sorted(skipped.items(), key=lambda row: (-row[1], row[0]))),
        building=holder(index / LOCK_NAME),
        failures=(*failures, *(Failure("notes", f"{note}: {problem}") for note, problem in broken.get("problems", ()))),
        broken_links=broken.get("count", 0),
        broken_examples=tuple((note, link) for note, link in broken.get("examples", ())),
    )


def _changed_export(store: Store, root: Path) -> int:
    """Return 1 for a root that is an export written since it was read, else 0."""
    state = store.meta(EXPORT_STATE)
    now = files.stamp(root.parent, root.name) if root.is_file() else None
    return int(state is not None and now is not None and json.loads(state)[0] != list(now))


def _head(root: Path) -> tuple[str, tuple[Failure, ...]]:
    repository = git.find_repository(root)
    try:
        return (git.head(repository) or "" if repository is not None else ""), ()
    except GitError as error:
        return "", (Failure("commits", str(error)),)


REMOVING_ATTEMPTS = 20
"""A process that opens a store makes a few files once, not twenty times while a folder is removed."""


class Removal(NamedTuple):
    """The folder that `clean` removed and its size in bytes."""

    folder: Path
    size: int


def clean(
    path: AnyPath = ".",
    *,
    root: AnyPath | None = None,
    everything: bool = False,
    wait_seconds: float = 0.0,
    environ: Mapping[str, str] | None = None,
) -> Removal:
    """Remove the index of a root, or with `everything` all that can be built again. Memories are never touched.

    On a server the index of a root is removed, and with `everything` nothing: others may use it.
    Raises NoIndexError, and LockedError while another process builds an index.
    """
    variables = os.environ if environ is None else environ
    folders = config.Folders.from_environment(variables)
    if everything:
        return Removal(folders.cache, remove_everything(folders.cache, wait_seconds))
    places = locate(path, root, folders)
    place, _ = store_places(places, config.load_settings(places.root, variables, {}, folders).settings)
    on_server = place.remove() if place.url else 0
    return Removal(places.index, on_server + remove_index(places.index, wait_seconds))


def remove_index(folder: Path, wait_seconds: float) -> int:
    """Remove the index in this folder and return its bytes, 0 without one. Raises LockedError after the wait."""
    if not folder.is_dir():
        return 0
    with index_lock(folder / LOCK_NAME, wait_seconds, never):
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
    """Return the bytes of all files in a folder and below; links are not followed."""
    return sum((Path(place) / name).lstat().st_size for place, _, names in os.walk(folder) for name in names)


def _remove(folder: Path) -> None:
    """Remove a folder, although other processes may make or remove files in it meanwhile."""
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
