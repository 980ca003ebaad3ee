"""What goes into a store and what comes out: documents of chunks, with their search terms beside them.

A *document* is what is written and deleted as one: a file with its parts, or a record (commit, memory) with its single
part. Every part is a chunk.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from satchel.types import Import, Kind, Part, Reference


@dataclass(slots=True)
class Postings:
    """Parallel columns: term (index into the vocabulary, 32 bits), unit (span or part, 32 bits), count (8 bits)."""

    terms: bytes
    units: bytes
    counts: bytes


@dataclass(slots=True)
class Extraction:
    """One text, cut and counted. Columns are native arrays as bytes: `I` is 32 bits, `B` is 8 bits.

    `window_columns` holds, per span: part index, first line, last line, characters, terms, words, comment words
    (`WINDOW_COLUMNS` columns of 32 bits, one after the other). Texts that were counted together share one vocabulary,
    which then holds more than the terms of each.
    """

    language: str
    line_count: int
    parsed: bool
    parts: tuple[Part, ...]
    imports: tuple[Import, ...]
    span_count: int
    span_columns: bytes
    vocabulary: list[str]
    body: Postings
    names: Postings
    signatures: Postings


SPAN_COLUMNS = 7


@dataclass(slots=True)
class NewDocument:
    """A document to be written. `key` is unique within its kind: a path, a commit id, a memory id.

    `text` is redacted and cleaned; whoever has it compressed by zlib already gives it as `packed` instead, and leaves
    `text` empty. `content_hash` is the keyed hash of the raw bytes; `size` (bytes), `mtime_ns` and
    `changed_ns` are the file's stamp, 0 for a record. `path_terms` are the terms of the key that every part inherits.
    `secondary` marks tests, docs and examples inside code. `references` are relations of the document as a whole.
    `workspace` is the identity of the repository that a memory belongs to, empty for what belongs to all of them.
    """

    kind: Kind
    key: str
    text: str
    extraction: Extraction
    path_terms: Mapping[str, int]
    content_hash: str = ""
    size: int = 0
    mtime_ns: int = 0
    changed_ns: int = 0
    secondary: bool = False
    title: str = ""
    tags: tuple[str, ...] = ()
    fields: Mapping[str, Any] = field(default_factory=dict)
    references: tuple[Reference, ...] = ()
    created: float = 0.0
    updated: float = 0.0
    importance: float | None = None
    origin: str = ""
    packed: bytes = b""
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A stored document without its text. `first_document`..`last_document` are its chunks' row numbers."""

    id: int
    kind: Kind
    key: str
    language: str
    content_hash: str
    size: int
    mtime_ns: int
    changed_ns: int
    line_count: int
    secondary: bool
    title: str
    tags: tuple[str, ...]
    fields: Mapping[str, Any]
    created: float
    updated: float
    importance: float | None
    origin: str
    first_chunk: int
    last_chunk: int
    workspace: str = ""


@dataclass(frozen=True, slots=True)
class Stamp:
    """What is compared to see whether a file changed."""

    document: int
    content_hash: str
    size: int
    mtime_ns: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that was opened and not indexed."""

    path: str
    reason: str
    size: int
    mtime_ns: int
    changed_ns: int


@dataclass(frozen=True, slots=True)
class StoredChunk:
    """A stored chunk: its row number, its document, and where it stands in it. `twin` counts equal names from 1."""

    row: int
    document: int
    role: str
    name: str
    twin: int
    start: int
    end: int
    signature: str
    summary: str


@dataclass(frozen=True, slots=True)
class DefinitionRow:
    """Where a name is defined: the chunk's row and the line in its file."""

    name: str
    owner: str
    row: int
    line: int


@dataclass(frozen=True, slots=True)
class Place:
    """A visible chunk as a walk over relations needs it: what it is called, what it is tagged with, how old it is.

    `is_first` marks the first chunk of its document, which stands for the document as a whole.
    """

    row: int
    document: int
    kind: Kind
    key: str
    name: str
    twin: int
    tags: tuple[str, ...]
    updated: float
    secondary: bool
    is_first: bool

    @property
    def natural_key(self) -> str:
        """What relations between notes call it: the key of its document, and its name if it has one (`~2`: a twin)."""
        if not self.name:
            return self.key
        return f"{self.key}::{self.name}" + (f"~{self.twin}" if self.twin > 1 else "")
