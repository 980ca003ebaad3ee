"""From a path to everything the store keeps of the file: read once, clean, redact, parse, cut, count.

Runs in the indexing process and in its workers alike.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel import files
from satchel.clean import clean_text
from satchel.file_contents import unwanted
from satchel.index.extraction_cache import ExtractionCache
from satchel.index.options import ReadingOptions
from satchel.index.tick import tick
from satchel.redact import redact
from satchel.sources.notes.note import is_note
from satchel.sources.outline import outline_file
from satchel.store.extract import dump, extract, load
from satchel.store.records import Extraction
from satchel.types import Kind, Outline

TEXT_COMPRESSION = 1


FAILED = "parser-failure"


@dataclass(slots=True)
class Reading:
    """What was made of one file. Either `skipped` names the reason, or the other fields hold the result.

    `text` is compressed; `redacted` and `cleaned` count what was taken out. `changed_ns` is 0 for a file that may have
    changed once more unnoticed: it is read again by the next run. The extraction is there as a value where it was
    made, and dumped where it came from a worker or the cache. `facts` are those of a note of a vault.
    """

    path: str
    size: int = 0
    mtime_ns: int = 0
    changed_ns: int = 0
    skipped: str = ""
    failed: bool = False
    content_hash: str = ""
    kind: str = ""
    text: bytes = b""
    dumped: bytes = b""
    redacted: int = 0
    cleaned: int = 0
    lossy: bool = False
    cached: bool = False
    facts: str = ""
    made: Extraction | None = None

    @property
    def extraction(self) -> Extraction:
        """Parts, windows and words of the file."""
        return self.made or load(self.dumped)

    def dump(self) -> bytes:
        """The extraction as bytes, for the cache or another process."""
        return self.dumped or (dump(self.made) if self.made is not None else b"")

    def row(self) -> tuple[Any, ...]:
        """All fields but the last as plain values, in order: `Reading(*row)` is this reading."""
        return (
            self.path, self.size, self.mtime_ns, self.changed_ns, self.skipped, self.failed, self.content_hash,
            self.kind, self.text, self.dump(), self.redacted, self.cleaned, self.lossy, self.cached, self.facts,
        )  # fmt: skip


class Reader:
    """Reads files of one root. Holds the root's options and the extraction cache, if there is one."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._root = Path(options.root)
        self._cache = ExtractionCache.open(Path(options.cache), options.key) if options.cache else None

    def read(self, path: str) -> Reading:
        """Read one file. Never raises for what the file holds: what cannot be indexed comes back as skipped."""
        options = self._options
        now = tick()
        try:
            content = files.read_text(self._root, path, key=options.key, limit=options.limit)
        except files.Skipped as skip:
            return Reading(path, skipped=str(skip.reason), failed=skip.is_error)
        reading = Reading(
            path, content.size, content.mtime_ns, content.changed_ns if content.changed_ns < now else 0,
            content_hash=content.content_hash, lossy=content.lossy,
        )  # fmt: skip
        reason = unwanted(path, content.text)
        if reason is not None:
            reading.skipped = str(reason)
            return reading
        if self._cache is not None and self._cache.load(self.cache_key(reading), reading):
            return reading
        try:
            self._parse(reading, content.text)
        except (RecursionError, MemoryError):  # nesting or size beyond anything written by hand
            return Reading(path, skipped=FAILED, failed=True)
        return reading

    def _parse(self, reading: Reading, text: str) -> None:
        text, reading.cleaned = clean_text(text)
        text, secrets = redact(text, allow=self._options.allow)
        kind, outline = self._outlined(reading, text)
        reading.kind = str(kind)
        reading.text = zlib.compress(text.encode("utf-8", "replace"), TEXT_COMPRESSION)
        reading.made = extract(text, outline)
        reading.redacted = sum(secrets.values())

    def _outlined(self, reading: Reading, text: str) -> tuple[Kind, Outline]:
        if not self._options.vault or not is_note(reading.path):
            return outline_file(reading.path, text)
        from satchel.sources.notes.vault import read_note

        outline, facts = read_note(reading.path, text)
        reading.facts = facts.dump()
        return Kind.NOTE, outline

    def cache_key(self, reading: Reading) -> str:
        """The key under which this reading is cached: equal bytes under an equal name give an equal extraction."""
        name = reading.path.rpartition("/")[2]
        return f"{self._options.version}/{reading.content_hash}/{name}"

    def remember(self, readings: Sequence[Reading]) -> None:
        """Keep these readings for other work trees of the repository; does nothing without a cache."""
        if self._cache is not None:
            fresh = [reading for reading in readings if not reading.skipped and not reading.cached]
            self._cache.save([(self.cache_key(reading), reading) for reading in fresh])

    def close(self) -> None:
        """Release the cache."""
        if self._cache is not None:
            self._cache.close()
