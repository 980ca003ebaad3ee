"""The difference between the index and the tree, and between the stored commits and those that HEAD reaches.

Reads a few small files of the repository and does not run git.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import filterfalse
from pathlib import Path
from typing import NamedTuple

from satchel.errors import GitError
from satchel.index.options import BuildOptions
from satchel.index.walk import FileEntry, TreeWalk, WalkOptions, walk
from satchel.store.protocol import Store
from satchel.store.records import Stamp
from satchel.system import git
from satchel.types import Failure, Kind


def tick() -> int:
    """Return the time in nanoseconds that the system gives to a file that changes right now.

    That clock moves in steps of some milliseconds. A file with this time or a later one may change again under the
    same time, so an equal time does not prove that it is unchanged.
    """
    # Where the step is unknown, the file system has a fine clock.
    clock = getattr(time, "CLOCK_REALTIME_COARSE", time.CLOCK_REALTIME)
    return time.clock_gettime_ns(clock)


FILE_KINDS = (Kind.CODE, Kind.DOC, Kind.NOTE)
"""The kinds whose documents are files."""


class Difference(NamedTuple):
    """The files to read, and those that are gone.

    `stored` are the files of the store; `gone` those that are no longer in the tree; `unskipped` the skipped paths
    that are no longer there. `version` is the mark of the index after the run, `is_marked` says that it has it
    already, and `is_rebuild` that its files were read by another version, so that equal bytes mean nothing.
    """

    version: str
    is_marked: bool
    is_rebuild: bool
    read: Sequence[FileEntry]
    unchanged: int
    stored: Mapping[str, tuple[Kind, Stamp]]
    gone: Sequence[str]
    skipped: frozenset[str]
    unskipped: Sequence[str]

    @property
    def is_any(self) -> bool:
        """Whether there are files to read or to forget."""
        return bool(self.read or self.gone or self.unskipped)

    def indexed_hash(self, path: str) -> str:
        """Return the content hash of a stored file; a file with these bytes is not extracted again. Empty if it is."""
        return "" if self.is_rebuild or path not in self.stored else self.stored[path][1].content_hash


def known_files(store: Store, *, folders: bool = False) -> dict[str, tuple[Kind, Stamp]]:
    """Return the files of the store by path; with `folders` also the notes that represent folders of a vault."""
    every = {path: (kind, stamp) for kind in FILE_KINDS for path, stamp in store.stamps(kind).items()}
    return every if folders else {path: row for path, row in every.items() if not path.endswith("/")}


def compare(store: Store, tree: TreeWalk, version: str, *, vault: bool = False) -> Difference:
    """Compare a walk with the store. Only a `vault` keeps its folders."""
    stored = known_files(store, folders=not vault)
    skipped = store.skipped_stamps()
    is_marked = store.meta("reading_version") == version
    is_rebuild = bool(stored or skipped) and not is_marked
    times = {**skipped, **{path: stamp.times for path, (_, stamp) in stored.items()}}
    read = [entry for entry in tree.entries if is_rebuild or times.get(entry.path) != entry.times]
    is_present = {entry.path for entry in tree.entries}.__contains__
    return Difference(
        version=version,
        is_marked=is_marked,
        is_rebuild=is_rebuild,
        read=read,
        unchanged=len(tree.entries) - len(read),
        stored=stored,
        gone=[*filterfalse(is_present, stored)],
        skipped=frozenset(skipped),
        unskipped=[*filterfalse(is_present, skipped)],
    )


def changed_files(store: Store, root: Path, options: WalkOptions) -> list[tuple[str, int]]:
    """Return (path, size in bytes) of the files below a root that are not stored, or with another stamp."""
    times = {path: stamp.times for path, (_, stamp) in known_files(store).items()}
    return [(entry.path, entry.size) for entry in walk(root, options).entries if times.get(entry.path) != entry.times]


class HistoryPlan(NamedTuple):
    """The work on the history, none without `repository` and `head`. `is_stale`: stored commits are read again, too."""

    options: BuildOptions
    is_due: bool
    repository: git.Repository | None = None
    head: str | None = None
    is_stale: bool = False
    notes: tuple[Failure, ...] = ()

    @property
    def state(self) -> str:
        """The mark of a store whose commits are those of this plan. The first value is HEAD."""
        return json.dumps([self.head, self.options.commits])

    @property
    def form(self) -> str:
        """The stored form of commits: after a change, stored commits have to be read again."""
        options = self.options
        return json.dumps([options.commit_files, options.message_characters, options.reading.version])


def plan_history(store: Store, root: Path, options: BuildOptions) -> HistoryPlan:
    """Compare the store with HEAD. A folder without git, or without a commit, has no history."""
    try:
        repository = git.find_repository(root)
        head = git.head(repository) if repository is not None and options.commits else None
    except GitError as error:
        # The stored commits stay: a failure of git says nothing about the history.
        return HistoryPlan(options, is_due=False, notes=(git_failure(error),))
    noted, form = store.meta("history"), store.meta("history_form")
    if repository is None or head is None:
        return HistoryPlan(options, is_due=bool(noted or form))
    notes = []
    if repository.shallow:
        notes.append(Failure("commits", "this is a shallow clone: older history is missing", "git fetch --unshallow"))
    if repository.partial and (unknown := store.meta("history_unknown")):
        notes.append(unknown_files(int(unknown)))
    plan = HistoryPlan(options, is_due=False, repository=repository, head=head, notes=tuple(notes))
    failed, until, reason = json.loads(store.meta("history_failed") or '["", 0, ""]')
    if failed == plan.form and time.time() < until:
        return plan._replace(notes=(*notes, git_failure(GitError(reason))))
    is_stale = bool(form) and form != plan.form
    return plan._replace(is_stale=is_stale, is_due=is_stale or noted != plan.state)


def git_failure(error: GitError) -> Failure:
    """Return the note for a history that could not be read to its end."""
    return Failure("commits", str(error), "the files are indexed; the history is as far as it could be read")


def unknown_files(count: int) -> Failure:
    """Return the note for a clone without the folders of old commits."""
    message = f"this is a partial clone: which files {count:,} old commits changed is unknown"
    return Failure("commits", message, "git fetch --refetch --filter=blob:none")
