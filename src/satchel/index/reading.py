"""From a path to everything the store keeps of the file: read once, clean, redact, parse, cut, count.

Runs in the indexing process and in its workers alike.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from satchel import files
from satchel.clean import CLEANING_VERSION, clean_text
from satchel.index.extract import EXTRACTION_VERSION, dump, extract
from satchel.index.extraction_cache import ExtractionCache
from satchel.redact import REDACTION_VERSION, redact
from satchel.sources.outline import OUTLINE_VERSION, outline_file

READING_VERSION = f"{EXTRACTION_VERSION}/{CLEANING_VERSION}/{REDACTION_VERSION}/{OUTLINE_VERSION}"
"""Changes when the same bytes would give other documents: an index of another version is built again."""

TEXT_COMPRESSION = 1


@dataclass(frozen=True, slots=True)
class ReadingOptions:
    """What a worker needs to know. `key` keys the content hashes; `cache` is the extraction cache file or empty."""

    root: str
    key: bytes
    limit: int
    allow: tuple[str, ...] = ()
    cache: str = ""


@dataclass(slots=True)
class Reading:
    """What was made of one file. Either `skipped` names the reason, or the other fields hold the result.

    `text` is compressed, `extraction` dumped; `redacted` and `cleaned` count what was taken out.
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
    extraction: bytes = b""
    redacted: int = 0
    cleaned: int = 0
    lossy: bool = False
    cached: bool = False


class Reader:
    """Reads files of one root. Holds the root's options and the extraction cache, if there is one."""

    def __init__(self, options: ReadingOptions) -> None:
        self._options = options
        self._root = Path(options.root)
        self._cache = ExtractionCache.open(Path(options.cache), options.key) if options.cache else None

    def read(self, path: str) -> Reading:
        """Read one file. Never raises for what the file holds: what cannot be indexed comes back as skipped."""
        options = self._options
        try:
            content = files.read_text(self._root, path, key=options.key, limit=options.limit)
        except files.Skipped as skip:
            stamp = files.stamp(self._root, path)
            size, mtime_ns, changed_ns = stamp if stamp else (0, 0, 0)
            return Reading(path, size, mtime_ns, changed_ns, skipped=str(skip.reason), failed=skip.is_error)
        reading = Reading(
            path, content.size, content.mtime_ns, content.changed_ns,
            content_hash=content.content_hash, lossy=content.lossy,
        )  # fmt: skip
        reason = files.unwanted(path, content.text)
        if reason is not None:
            reading.skipped = str(reason)
            return reading
        cache_key = self._cache_key(path, content.content_hash)
        if self._cache is not None and self._cache.load(cache_key, reading):
            return reading
        text, cleaned = clean_text(content.text)
        text, secrets = redact(text, allow=options.allow)
        kind, outline = outline_file(path, text)
        reading.kind = str(kind)
        reading.text = zlib.compress(text.encode("utf-8", "replace"), TEXT_COMPRESSION)
        reading.extraction = dump(extract(text, outline))
        reading.redacted, reading.cleaned = sum(secrets.values()), cleaned
        return reading

    def _cache_key(self, path: str, content_hash: str) -> str:
        """Files of equal bytes and equal name endings give equal extractions."""
        name = path.rpartition("/")[2]
        suffix = name.rpartition(".")[2] if "." in name else name
        return f"{READING_VERSION}/{content_hash}/{suffix}/{'|'.join(self._options.allow)}"

    def cache_key(self, reading: Reading) -> str:
        """The key under which this reading is cached."""
        return self._cache_key(reading.path, reading.content_hash)

    def remember(self, readings: Sequence[Reading]) -> None:
        """Keep these readings for other work trees of the repository; does nothing without a cache."""
        if self._cache is not None:
            fresh = [reading for reading in readings if not reading.skipped and not reading.cached]
            self._cache.save([(self.cache_key(reading), reading) for reading in fresh])
