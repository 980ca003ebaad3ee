"""The rows of a store: documents of chunks, with their search terms.

A *document* is written and deleted as one: a file with its parts, or a record (commit, memory) with its single part.
Every part is a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from msgspec import Struct, field

from satchel.errors import StoreError
from satchel.types import Import, Kind, Part, Reference
from satchel.vocabulary import Visibility


class Postings(Struct):
    """Parallel columns: term (index into the vocabulary, 32 bits), unit (span or part, 32 bits), count (8 bits)."""

    terms: bytes
    units: bytes
    counts: bytes


class Extraction(Struct):
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
    functions: tuple[tuple[int, int, int], ...] = ()
    classes: tuple[tuple[int, int, int], ...] = ()
    statements: tuple[tuple[int, int], ...] = ()


SPAN_COLUMNS = 7

PUBLISHED = "published"
"""`meta` key of an index for the name of the team whose published index it was copied from."""

RENAMES = (
    "documents RENAME TO chunks", "chunks RENAME bundle TO document", "bundles RENAME TO documents",
    "documents RENAME first_document TO first_chunk", "documents RENAME last_document TO last_chunk",
    "texts RENAME bundle TO document", "definitions RENAME document TO chunk", "vectors RENAME document TO chunk",
    "segments RENAME windows TO spans",
)  # fmt: skip
"""Statements after `ALTER TABLE` that give the tables and columns of schema 2 the names of schema 3."""


class Lists(Struct, frozen=True):
    """How a database reads a list that is one binding of a query, the one of a number."""

    within: Callable[[int], str]
    """The condition that the column before it is one of the list; a `NOT` is written before the column."""
    table: Callable[[int], str]
    """A list of texts as a table with the column `value`."""
    bound: Callable[[Iterable[Any]], Any]
    """What is bound for a list: a value with a hash."""


def numbered(count: int) -> str:
    """Return the places of so many bindings: `$1, $2, $3`."""
    return ", ".join(f"${number}" for number in range(1, count + 1))


class NewDocument(Struct):
    """A document to be written. `key` is unique within its kind: a path, a commit id, a memory id.

    `text` is redacted and cleaned; it is empty if `packed` has it compressed by zlib. `content_hash` is the keyed
    hash of the raw bytes; `size` (bytes), `mtime_ns` and `changed_ns` are the file's stamp, 0 for a record.
    `path_terms` are the terms of the key, inherited by every part, `stem_terms` those of what a file is called, each
    with the number of all of them. `secondary` marks tests, docs and examples inside code. `references` are relations
    of the whole document. `workspace` identifies the repository of a memory, empty for a memory of all repositories.
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
    stem_terms: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_shared(self) -> bool:
        """Whether a team sees it, where the store has one."""
        return self.fields.get("visibility") == Visibility.TEAM


class Document(Struct, frozen=True):
    """A stored document without its text."""

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

    @property
    def rows(self) -> range:
        """The row numbers of its chunks."""
        return range(self.first_chunk, self.last_chunk + 1)


class Stamp(Struct, frozen=True):
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


class SkippedFile(Struct, frozen=True):
    """A file that was opened and not indexed."""

    path: str
    reason: str
    size: int
    mtime_ns: int
    changed_ns: int


class StoredChunk(Struct, frozen=True):
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


class DefinitionRow(Struct, frozen=True):
    """The definition of a name: the row of its chunk and the line in its file."""

    name: str
    owner: str
    row: int
    line: int


class Place(Struct, frozen=True):
    """A visible chunk for a walk: names, tags, age. One that `is_first` represents its whole document."""

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


Row = tuple[Any, ...]
Run = Callable[[str, Sequence[Any]], list[Row]]
"""Runs a query and returns all its rows."""


class DamagedStoreError(StoreError):
    """The store is not one of satchel, or is damaged. An index is put aside and built again."""


class Cursor(Protocol):
    """The rows of a query."""

    def fetchall(self) -> list[Row]:
        """Return all rows that were not read yet."""
        ...


class Connection(Protocol):
    """A connection that runs statements."""

    def execute(self, sql: str, bindings: Sequence[Any] = (), /) -> Cursor:
        """Run one statement."""
        ...


class WriteConnection(Connection, Protocol):
    """A connection with an open write transaction. Bindings in SQL are `$1`, `$2` ..., in this order."""

    lists: Lists

    def executemany(self, sql: str, rows: Iterable[Sequence[Any]], /) -> object:
        """Run one statement with each of these bindings."""
        ...

    def total_changes(self) -> int:
        """Return how many rows were written since the connection was opened."""
        ...


def rows(connection: Connection, sql: str, bindings: Sequence[Any] = ()) -> list[Row]:
    """Return all rows of a query. Columns have the types of the schema, which the type checker cannot know."""
    return connection.execute(sql, tuple(bindings)).fetchall()
