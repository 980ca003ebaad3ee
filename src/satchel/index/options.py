"""What a run of the index reads with, apart from the code that reads: an unchanged index imports no parser."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b

from satchel.clean import CLEANING_VERSION
from satchel.index.walk import WalkOptions
from satchel.redact import REDACTION_VERSION
from satchel.roots import Places
from satchel.settings import Settings
from satchel.sources.notes.version import NOTES_VERSION
from satchel.sources.version import OUTLINE_VERSION
from satchel.store.version import EXTRACTION_VERSION

READING_VERSION = f"{EXTRACTION_VERSION}/{CLEANING_VERSION}/{REDACTION_VERSION}/{OUTLINE_VERSION}"
"""Changes when the same bytes would give other documents: an index of another version is built again."""

_DIGEST_BYTES = 8

LINKS_DUE = "links_due"
"""Under this key a store remembers that notes of a vault changed and their links were not looked at since."""

BROKEN_LINKS = "broken_links"
"""Under this key a store remembers the links to notes that do not exist: how many, and the first of them."""

EXPORT_STATE = "export"
"""Under this key a store remembers which export of notes it holds: its stamp, and how it was read."""


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What a worker needs to know. `key` keys the content hashes; `cache` is the extraction cache file or empty.

    In a `vault` Markdown files are notes.
    """

    root: str
    key: bytes
    limit: int
    allow: tuple[str, ...] = ()
    cache: str = ""
    vault: bool = False

    @property
    def version(self) -> str:
        """What an index read with these options carries; it changes with the key and with what is allowed.

        With another key no hash of a file would be found again, and what was allowed once must not stay unredacted.
        """
        digest = blake2b("\0".join(self.allow).encode(), key=self.key, digest_size=_DIGEST_BYTES)
        notes = f"/vault {NOTES_VERSION}" if self.vault else ""
        return f"{READING_VERSION}/{digest.hexdigest()}{notes}"


@dataclass(frozen=True, slots=True)
class BuildOptions:
    """Plain values that one run needs; the engine fills them from the settings."""

    walk: WalkOptions
    reading: ReadingOptions
    workers: int = 0
    commits: int = 6000
    commit_files: int = 40
    message_characters: int = 5000
    export_bytes: int = 1_000_000_000


def build_options(settings: Settings, places: Places, key: bytes, *, vault: bool) -> BuildOptions:
    """What the settings say of a run on a root; `key` keys the content hashes."""
    return BuildOptions(
        walk=WalkOptions(
            max_file_bytes=settings.index_max_file_bytes,
            max_files=settings.index_max_files,
            include=settings.index_include,
            exclude=settings.index_exclude,
            stores=(places.index,),
        ),
        reading=ReadingOptions(
            root=str(places.root),
            key=key,
            limit=settings.index_max_file_bytes,
            allow=settings.redact_allow,
            # What is known of a note beside its extraction has no place in the cache.
            cache=str(places.cache) if places.cache is not None and not vault else "",
            vault=vault,
        ),
        workers=settings.index_workers,
        commits=settings.index_commits,
        commit_files=settings.index_commit_files,
        message_characters=settings.index_message_chars,
        export_bytes=settings.notes_max_export_bytes,
    )
