"""A run on an index: its options, the difference between index and tree, its progress and its report.

The difference, also that between the stored commits and those that HEAD reaches, is read from a few small files of the
repository, without running git.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from hashlib import blake2b
from itertools import filterfalse
from pathlib import Path
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from satchel.errors import GitError
from satchel.index.walk import FileEntry, TreeWalk, WalkOptions, walk
from satchel.safety.sanitize import CLEANING_VERSION, REDACTION_VERSION
from satchel.settings import Settings
from satchel.sources.mailmap import NONE, Mailmap, read_mailmap
from satchel.store.place import INDEX_NAME
from satchel.store.protocol import EXTRACTION_VERSION, Store
from satchel.store.records import Stamp
from satchel.system import git
from satchel.system.locations import Places
from satchel.types import FILE_KINDS, Failure, Kind


class Progress(Protocol):
    """Watches a run. Calls come from the thread that runs it."""

    def phase(self, name: str, total: int) -> None:
        """A phase of `total` steps starts."""

    def advance(self, count: int) -> None:
        """`count` more steps are done."""


class Quiet:
    """A progress that shows nothing."""

    def phase(self, name: str, total: int) -> None:
        """Ignore it."""

    def advance(self, count: int) -> None:
        """Ignore it."""


class IndexReport(Struct):
    """The outcome of one run, filled while it works.

    `files` are in the index afterwards. `skipped` counts files by reason, `errors` those among them that could not be
    read.
    """

    files: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    commits_added: int = 0
    commits_hidden: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    errors: int = 0
    redacted: int = 0
    cleaned: int = 0
    interrupted: bool = False
    notes: tuple[Failure, ...] = ()
    seconds: float = 0.0

    @property
    def is_fresh(self) -> bool:
        """Whether nothing had to be written."""
        return not (self.added or self.changed or self.removed or self.commits_added)


class VectorCounts(Struct, frozen=True):
    """The progress of vectors: (chunks with a vector, chunks) for each kind that has chunks."""

    kinds: Mapping[Kind, tuple[int, int]] = field(default_factory=dict)

    @property
    def done(self) -> int:
        """Chunks with a vector."""
        return sum(done for done, _ in self.kinds.values())

    @property
    def total(self) -> int:
        """Chunks that are to have a vector."""
        return sum(total for _, total in self.kinds.values())

    @property
    def is_complete(self) -> bool:
        """Whether nothing is missing."""
        return self.done == self.total


class VectorReport(Struct, frozen=True):
    """The outcome of a run: the number of new vectors, the progress so far, and the failure that stopped it."""

    made: int
    counts: VectorCounts
    failure: Failure | None = None


OUTLINE_VERSION = "11"
"""Change it when the same text has another outline, or the same path another role: no reader is imported here."""

NOTES_VERSION = 3
"""Increase it when the same export or vault has other notes."""

READING_VERSION = f"{EXTRACTION_VERSION}/{CLEANING_VERSION}/{REDACTION_VERSION}/{OUTLINE_VERSION}"
"""Changes if the same bytes give other chunks: an index of another version is built again."""

LINKS_DUE = "links_due"
"""`meta` key: notes of a vault changed and their links were not resolved since."""

BROKEN_LINKS = "broken_links"
"""`meta` key: the number of links to missing notes, and the first of them."""

MAILMAP = "mailmap"
"""`meta` key: the digest of the `.mailmap` that named the authors of the stored commits."""

EXPORT_STATE = "export"
"""`meta` key: the stamp of the indexed export of notes, and the versions that read it."""


class ReadingOptions(Struct, frozen=True):
    """The options of a worker. `key` keys the content hashes. In a `vault` Markdown files are notes."""

    root: str
    key: bytes
    limit: int
    allow: tuple[str, ...] = ()
    vault: bool = False

    @property
    def version(self) -> str:
        """The mark of an index read with these options; it changes with the key, the allowed secrets and the limit.

        With another key no content hash would match, a secret that is no longer allowed must be redacted, and with
        another limit more or less of a large file is read.
        """
        digest = blake2b("\0".join(self.allow).encode(), key=self.key, digest_size=8)
        notes = f"/vault {NOTES_VERSION}" if self.vault else ""
        return f"{READING_VERSION}/{self.limit}/{digest.hexdigest()}{notes}"


class BuildOptions(Struct, frozen=True):
    """Plain values that one run needs; the engine fills them from the settings."""

    walk: WalkOptions
    reading: ReadingOptions
    workers: int = 0
    commits: int = 6000
    # Files of a commit above which it says nothing about any of them: reformatting would tie every file to every
    # word.
    commit_files: int = 40
    # Characters of a commit message that are kept: enough for any explanation, too few for a pasted log to matter.
    message_characters: int = 5_000
    # Bytes above which an export of notes is not read: three times the largest export seen; it is read in one piece.
    export_bytes: int = 1_000_000_000
    # The folder in which readings are kept for a later switch of branches, None for none.
    readings_folder: Path | None = None


def build_options(settings: Settings, places: Places, key: bytes, *, vault: bool) -> BuildOptions:
    """Return the options of a run on a root from the settings; `key` keys the content hashes."""
    return BuildOptions(
        walk=WalkOptions(
            include=settings.index_include,
            exclude=settings.index_exclude,
            stores=(places.index, places.index / INDEX_NAME, places.memory, places.state),
        ),
        reading=ReadingOptions(
            root=str(places.root),
            key=key,
            limit=settings.index_max_file_bytes,
            allow=settings.redact_allow,
            vault=vault,
        ),
        workers=settings.index_workers,
        commits=settings.index_commits,
        readings_folder=places.index,
    )


def tick() -> int:
    """Return the time in nanoseconds that the system gives to a file that changes right now.

    That clock moves in steps of some milliseconds. A file with this time or a later one may change again under the
    same time, so an equal time does not prove that it is unchanged.
    """
    if hasattr(time, "CLOCK_REALTIME_COARSE"):
        return time.clock_gettime_ns(time.CLOCK_REALTIME_COARSE)
    return time.time_ns()  # where the step is unknown, the file system has a fine clock


class Difference(Struct, frozen=True):
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


def compare(store: Store, tree: TreeWalk, version: str, stored: Mapping[str, tuple[Kind, Stamp]]) -> Difference:
    """Compare a walk with the store, whose files are `stored`."""
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


class HistoryPlan(Struct, frozen=True):
    """The work on the history, none without `repository` and `head`.

    `is_stale`: stored commits are read again, too; `is_renamed`: only their authors, whom `mailmap` calls otherwise.
    """

    options: BuildOptions
    is_due: bool
    repository: git.Repository | None = None
    head: str | None = None
    is_stale: bool = False
    is_renamed: bool = False
    notes: tuple[Failure, ...] = ()
    mailmap: Mailmap = NONE

    @property
    def state(self) -> str:
        """The mark of a store whose commits are those of this plan. The first value is HEAD."""
        return json.dumps([self.head, self.options.commits])

    @property
    def form(self) -> str:
        """The stored form of commits: after a change, stored commits have to be read again."""
        options = self.options
        read_as = [options.commit_files, options.message_characters, options.reading.version]
        return json.dumps([*read_as, "renames with changes"])


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
    if refusal := git.unfit_config(repository):
        # Said at every question: the commits that were indexed before stay, and git reads no new ones.
        return HistoryPlan(options, is_due=False, notes=(git_failure(GitError(refusal)),))
    notes = []
    if repository.shallow:
        notes.append(Failure("commits", "this is a shallow clone: older history is missing", "git fetch --unshallow"))
    if repository.partial and (unknown := store.meta("history_unknown")):
        notes.append(unknown_files(int(unknown)))
    mailmap = read_mailmap(repository)
    plan = HistoryPlan(options, is_due=False, repository=repository, head=head, notes=tuple(notes), mailmap=mailmap)
    failed, until, reason = json.loads(store.meta("history_failed") or '["", 0, ""]')
    if failed == plan.form and time.time() < until:
        return replace(plan, notes=(*notes, git_failure(GitError(reason))))
    is_stale = bool(form) and form != plan.form
    is_renamed = bool(form) and not is_stale and (store.meta(MAILMAP) or "") != mailmap.digest
    return replace(plan, is_stale=is_stale, is_renamed=is_renamed, is_due=is_stale or is_renamed or noted != plan.state)


def git_failure(error: GitError) -> Failure:
    """Return the note for a history that could not be read to its end."""
    return Failure("commits", str(error), "the files are indexed; the history is as far as it could be read")


HISTORY_LATER = Failure(
    "commits",
    "commits are still being indexed and are not in this answer",
    "the next question reads it, or `satchel index`",
)
"""The note on an answer from a new index whose files were published before a long history was read."""


def unknown_files(count: int) -> Failure:
    """Return the note for a clone without the folders of old commits."""
    message = f"this is a partial clone: which files {count:,} old commits changed is unknown"
    return Failure("commits", message, "git fetch --refetch --filter=blob:none")
