"""Read and extract a file, through the cache of extractions."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from satchel.index.difference import tick
from satchel.index.options import ReadingOptions
from satchel.safety.sanitize import clean_text, redact
from satchel.sources.notes import is_note
from satchel.sources.outline import outline_file, unwanted
from satchel.store.extract import dump, extract, load
from satchel.store.records import Extraction
from satchel.system import files
from satchel.types import Kind, Outline

TEXT_COMPRESSION = 1


FAILED = "parser-failure"


@dataclass(slots=True)
class Reading:
    """The result for one file: `skipped` is the reason if it is not indexed.

    `text` is compressed; `redacted` and `cleaned` count removals. `changed_ns` is 0 for a file that may have changed
    once more unnoticed: the next run reads it again. The extraction is a value (`made`) or, from a worker, `dumped`.
    `facts` are those of a note of a vault.
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
    facts: str = ""
    made: Extraction | None = None

    @property
    def extraction(self) -> Extraction:
        """Parts, spans and words of the file."""
        return self.made or load(self.dumped)

    def dump(self) -> bytes:
        """Return the extraction as bytes, for another process."""
        return self.dumped or (dump(self.made) if self.made is not None else b"")

    def row(self) -> tuple[Any, ...]:
        """Return all fields but the last as plain values, in order: `Reading(*row)` is this reading."""
        return (
            self.path, self.size, self.mtime_ns, self.changed_ns, self.skipped, self.failed, self.content_hash,
            self.kind, self.text, self.dump(), self.redacted, self.cleaned, self.lossy, self.facts,
        )  # fmt: skip


def read_file(path: str, options: ReadingOptions) -> Reading:
    """Read one file of the root. Never raises for its content: a file that cannot be indexed is returned as skipped."""
    now = tick()
    try:
        content = files.read_text(Path(options.root), path, key=options.key, limit=options.limit)
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
    try:
        _parse(reading, content.text, options)
    except (RecursionError, MemoryError):  # nesting or size beyond anything written by hand
        return Reading(path, skipped=FAILED, failed=True)
    return reading


def _parse(reading: Reading, text: str, options: ReadingOptions) -> None:
    text, reading.cleaned = clean_text(text)
    text, secrets = redact(text, allow=options.allow)
    kind, outline = _outlined(reading, text, options)
    reading.kind = str(kind)
    reading.text = zlib.compress(text.encode("utf-8", "replace"), TEXT_COMPRESSION)
    reading.made = extract(text, outline)
    reading.redacted = sum(secrets.values())


def _outlined(reading: Reading, text: str, options: ReadingOptions) -> tuple[Kind, Outline]:
    if not options.vault or not is_note(reading.path):
        return outline_file(reading.path, text)
    from satchel.sources.vault import read_note

    outline, facts = read_note(reading.path, text)
    reading.facts = facts.dump()
    return Kind.NOTE, outline
