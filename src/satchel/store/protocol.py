"""The protocols of a store, and its rows: documents of chunks, with their search terms.

A *document* is written and deleted as one: a file with its parts, or a record (commit, memory) with its single part.
Every part is a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from satchel import text as words
from satchel.types import EdgeType, Import, Kind, Part, Reference

if TYPE_CHECKING:
    from satchel.store.segments import Lexicon
    from satchel.store.vectors import VectorTable


@dataclass(slots=True)
class Postings:
    """Parallel columns: term (index into the vocabulary, 32 bits), unit (span or part, 32 bits), count (8 bits)."""

    terms: bytes
    units: bytes
    counts: bytes


@dataclass(slots=True)
class Extraction:
    """One text with its spans and term counts. Columns are native arrays as bytes: `I` is 32 bits, `B` is 8 bits.

    `span_columns` are, per span: part index, first line, last line, characters, terms, words, comment words
    (`SPAN_COLUMNS` columns of 32 bits, one after the other). Texts that were counted together share one vocabulary
    with the terms of all of them.
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

    `text` is redacted and cleaned; it is empty if `packed` has it compressed by zlib. `content_hash` is the keyed
    hash of the raw bytes; `size` (bytes), `mtime_ns` and `changed_ns` are the file's stamp, 0 for a record.
    `path_terms` are the terms of the key, inherited by every part. `secondary` marks tests, docs and examples inside
    code. `references` are relations of the whole document. `workspace` identifies the repository of a memory, empty
    for a memory of all repositories.
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
    """A stored document without its text. `first_chunk`..`last_chunk` are the row numbers of its chunks."""

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
    """The state of a file when it was read; another size, time or hash means that it changed."""

    document: int
    content_hash: str
    size: int
    mtime_ns: int
    changed_ns: int

    @property
    def times(self) -> tuple[int, int, int]:
        """Size in bytes, `mtime_ns` and `changed_ns`."""
        return self.size, self.mtime_ns, self.changed_ns


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
    """A stored chunk: its row number, its document and its lines. `twin` counts equal names from 1."""

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
    """The definition of a name: the row of its chunk and the line in its file."""

    name: str
    owner: str
    row: int
    line: int


@dataclass(frozen=True, slots=True)
class Place:
    """A visible chunk for a walk over relations: its names, tags and age.

    `is_first` marks the first chunk of its document, which represents the whole document.
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
        """The target of relations between notes that lead here."""
        return natural_key(self.key, self.name, self.twin)


def natural_key(key: str, name: str, twin: int) -> str:
    """Return the key of a document, with the name of a chunk if it has one (`~2`: its second twin)."""
    if not name:
        return key
    return f"{key}::{name}" + (f"~{twin}" if twin > 1 else "")


EXTRACTION_VERSION = f"2.{words.ANALYSIS_VERSION}"
"""Part of every cache key: change it when the same text gives another extraction."""

SET_ASIDE = "set_aside"
"""`meta` key for the file name of the damaged store that this one replaces."""


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """Counts of searchable rows, largest first. `hidden` counts stored documents that search does not see.

    `chunks` are parts of files, and records; `documents` are files and records; `languages` counts files. Words are
    counted by `spans`. `redacted` secrets and `cleaned` characters were replaced or removed before files and commits
    were stored.
    """

    chunks: Mapping[Kind, int]
    documents: Mapping[Kind, int]
    hidden: Mapping[Kind, int]
    languages: Mapping[str, int]
    edges: Mapping[EdgeType, int]
    spans: Mapping[Kind, int]
    definitions: int
    text_bytes: int
    redacted: int = 0
    cleaned: int = 0


class Writer(Protocol):
    """One transaction: published at once when the block ends, rolled back when it raises."""

    def put(self, documents: Sequence[NewDocument]) -> None:
        """Add documents; those of the same kind and key are removed first, as by `remove`."""

    def remove(self, kind: Kind, keys: Iterable[str]) -> None:
        """Delete documents with their chunks, definitions, edges, text and words; unknown keys are ignored."""

    def relate(self, edges: Mapping[int, Sequence[tuple[EdgeType, str]]]) -> None:
        """Replace all edges from these chunks (by row number) with these (type, target)."""

    def restamp(self, stamps: Sequence[Stamp]) -> None:
        """Store new file stamps for unchanged content."""

    def hide(self, kind: Kind, keys: Iterable[str]) -> None:
        """Hide exactly these documents of a kind from search; all others of the kind become visible."""

    def skip(self, files: Sequence[SkippedFile]) -> None:
        """Store files that were opened and not indexed, so that they are not opened again until they change."""

    def unskip(self, paths: Iterable[str]) -> None:
        """Forget these skipped files; unknown paths are ignored."""

    def set_meta(self, key: str, value: str) -> None:
        """Store one named value."""

    def put_vectors(self, fingerprint: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Store vectors (`satchel.store.vectors`) by row number; they replace older ones of this fingerprint."""

    def keep_vectors(self, fingerprint: str) -> None:
        """Delete the vectors of every other fingerprint."""

    def merge(self, should_stop: Callable[[], bool]) -> None:
        """Merge small or half-dead segments where that is due, unless stopped."""


class Store(Protocol):
    """Chunks, relations and words of one root. Reads see the last published state."""

    @property
    def revision(self) -> str:
        """A value that changes with every published write."""

    def snapshot(self) -> AbstractContextManager[Store]:
        """Return the state published now, until the block ends; several threads can read it, none can write."""

    def write(self) -> AbstractContextManager[Writer]:
        """Start the only write transaction. Raises LockedError when another process holds it too long."""

    def meta(self, key: str) -> str | None:
        """Return a value stored by `set_meta`."""

    def stamps(self, kind: Kind) -> Mapping[str, Stamp]:
        """Return the stamp of every document of a kind, by key."""

    def skipped_stamps(self) -> Mapping[str, tuple[int, int, int]]:
        """Return (size, mtime_ns, changed_ns) of the skipped files, by path."""

    def skipped_reasons(self) -> Mapping[str, int]:
        """Return the number of skipped files by reason."""

    def keys(self, kind: Kind) -> set[str]:
        """Return keys of all documents of a kind, hidden ones too, of every workspace."""

    def hidden_keys(self, kind: Kind) -> set[str]:
        """Return keys of the hidden documents of a kind, of every workspace."""

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Return documents by id; unknown ids are left out."""

    def document(self, kind: Kind, key: str) -> Document | None:
        """Return the document with this key."""

    def newest(self, kind: Kind, most: int) -> list[int]:
        """Return ids of the newest visible documents of a kind, at most `most`, the newest first; ties by key."""

    def document_ids(self, kind: Kind, keys: Iterable[str]) -> dict[str, int]:
        """Return ids of the documents with these keys; unknown keys are left out."""

    def first_rows(self, kind: Kind, keys: Iterable[str]) -> dict[str, int]:
        """Return row numbers of the first chunks of the documents with these keys; unknown keys are left out."""

    def places(self, rows: Iterable[int]) -> dict[int, Place]:
        """Return the places of these chunks by row number; unknown and hidden ones are left out."""

    def text(self, document: int) -> str:
        """Return the redacted text of a document."""

    def texts(self, documents: Iterable[int]) -> dict[int, str]:
        """Return the redacted texts of these documents; unknown ids are left out."""

    def parts(self, rows: Iterable[int]) -> dict[int, StoredChunk]:
        """Return chunks by row number; unknown rows are left out."""

    def definitions(self, names: Sequence[str], *, most: int | None = None) -> list[DefinitionRow]:
        """Return where any of these names is defined (case-sensitive, unqualified).

        With `most`, names that more chunks than this define are left out, without being read.
        """

    def paths_named(self, names: Sequence[str], stems: Sequence[str]) -> list[tuple[int, str]]:
        """Return (document id, path) of files with one of these file names, or stems (name without its last suffix)."""

    def edges_from(self, rows: Sequence[int], types: Sequence[EdgeType]) -> list[tuple[int, EdgeType, str]]:
        """Return (source row, type, target) of the edges from these chunks."""

    def edges_to(self, targets: Sequence[str], types: Sequence[EdgeType]) -> list[tuple[int, EdgeType, str]]:
        """Return (source row, type, target) of the edges to one of these names or paths."""

    def lexicon(self, kind: Kind) -> Lexicon:
        """Return the words of one kind at this revision."""

    def vectors(self, kind: Kind, fingerprint: str) -> VectorTable:
        """Return the vectors of this fingerprint of the visible chunks of a kind, by row number."""

    def without_vector(self, kinds: Sequence[Kind], fingerprint: str) -> list[int]:
        """Return row numbers of the visible chunks of these kinds without such a vector, newest first."""

    def vector_counts(self, kinds: Sequence[Kind], fingerprint: str) -> Mapping[Kind, tuple[int, int]]:
        """Return (chunks with a vector of this fingerprint, visible chunks) for each of these kinds that has chunks."""

    def kinds(self) -> Mapping[Kind, int]:
        """Return the number of visible chunks of each kind that has any."""

    def statistics(self) -> StoreStatistics:
        """Return counts over all tables."""

    def close(self) -> None:
        """Release the store. Using it afterwards is an error."""

    def iterate_keys(self, kind: Kind) -> Iterator[str]:
        """Return keys of visible documents in order."""
