"""Options of an index run, its progress and its report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple, Protocol

from satchel.index.walk import WalkOptions
from satchel.safety.sanitize import CLEANING_VERSION, REDACTION_VERSION
from satchel.settings import Settings
from satchel.store.place import INDEX_NAME
from satchel.store.protocol import EXTRACTION_VERSION
from satchel.system.locations import Places
from satchel.types import Failure, Kind


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


@dataclass(slots=True)
class IndexReport:
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


@dataclass(frozen=True, slots=True)
class VectorCounts:
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


class VectorReport(NamedTuple):
    """The outcome of a run: the number of new vectors, the progress so far, and the failure that stopped it."""

    made: int
    counts: VectorCounts
    failure: Failure | None = None


OUTLINE_VERSION = "4"
"""Change it when the same text has another outline: the readers themselves are not imported for an unchanged index."""

NOTES_VERSION = 3
"""Increase it when the same export or vault has other notes."""

READING_VERSION = f"{EXTRACTION_VERSION}/{CLEANING_VERSION}/{REDACTION_VERSION}/{OUTLINE_VERSION}"
"""Changes if the same bytes give other chunks: an index of another version is built again."""

LINKS_DUE = "links_due"
"""`meta` key: notes of a vault changed and their links were not resolved since."""

BROKEN_LINKS = "broken_links"
"""`meta` key: the number of links to missing notes, and the first of them."""

EXPORT_STATE = "export"
"""`meta` key: the stamp of the indexed export of notes, and the versions that read it."""


class ReadingOptions(NamedTuple):
    """The options of a worker. `key` keys the content hashes. In a `vault` Markdown files are notes."""

    root: str
    key: bytes
    limit: int
    allow: tuple[str, ...] = ()
    vault: bool = False

    @property
    def version(self) -> str:
        """The mark of an index read with these options; it changes with the key and with the allowed secrets.

        With another key no content hash would match, and a secret that is no longer allowed must be redacted.
        """
        digest = blake2b("\0".join(self.allow).encode(), key=self.key, digest_size=8)
        notes = f"/vault {NOTES_VERSION}" if self.vault else ""
        return f"{READING_VERSION}/{digest.hexdigest()}{notes}"


class BuildOptions(NamedTuple):
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


def build_options(settings: Settings, places: Places, key: bytes, *, vault: bool) -> BuildOptions:
    """Return the options of a run on a root from the settings; `key` keys the content hashes."""
    return BuildOptions(
        walk=WalkOptions(
            max_file_bytes=settings.index_max_file_bytes,
            max_files=settings.index_max_files,
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
    )
