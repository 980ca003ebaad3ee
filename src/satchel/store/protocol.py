"""The protocols of a store: reading and writing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from satchel import text as words
from satchel.types import EdgeType, Kind

if TYPE_CHECKING:
    from satchel.store.records import DefinitionRow, Document, NewDocument, Place, SkippedFile, Stamp, StoredChunk
    from satchel.store.segments import Lexicon
    from satchel.store.vectors import VectorTable

EXTRACTION_VERSION = f"2.{words.ANALYSIS_VERSION}"
"""Part of the version of an index: change it when the same text gives another extraction."""

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
