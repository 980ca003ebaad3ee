"""The contract of a store: what every implementation can read and write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from satchel import text as words
from satchel.types import EdgeType, Kind

if TYPE_CHECKING:
    from satchel.store.lexicon import Lexicon
    from satchel.store.records import DefinitionRow, Document, NewDocument, Place, SkippedFile, Stamp, StoredChunk
    from satchel.store.vectors import VectorTable

EXTRACTION_VERSION = f"2.{words.ANALYSIS_VERSION}"
"""Part of every cache key: change it when the same text gives another extraction."""


@dataclass(frozen=True, slots=True)
class StoreStatistics:
    """Counts of what search can see, most first. `hidden` are documents of a kind that are kept but out of sight.

    `chunks` are parts of files, and records; `documents` are files and records; `languages` counts files. `spans`
    are the units that words are counted in. `redacted` secrets and `cleaned` characters are those that were replaced or
    removed before files and commits were stored.
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
    """One transaction: all of it is published at once when the block ends, nothing when it raises."""

    def put(self, documents: Sequence[NewDocument]) -> None:
        """Add these documents, replacing those of the same kind and key with everything that hangs on them."""

    def remove(self, kind: Kind, keys: Iterable[str]) -> None:
        """Delete documents with their chunks, definitions, edges, text and words; unknown keys are ignored."""

    def relate(self, edges: Mapping[int, Sequence[tuple[EdgeType, str]]]) -> None:
        """Replace all edges that leave these chunks (by row number) with these (type, target)."""

    def restamp(self, stamps: Sequence[Stamp]) -> None:
        """Note new file stamps for unchanged content."""

    def hide(self, kind: Kind, keys: Iterable[str]) -> None:
        """Make exactly these documents of a kind invisible to search; all others of the kind become visible."""

    def skip(self, files: Sequence[SkippedFile]) -> None:
        """Remember files that were opened and not indexed, so that they are not opened again until they change."""

    def unskip(self, paths: Iterable[str]) -> None:
        """Forget these skipped files; unknown paths are ignored."""

    def set_meta(self, key: str, value: str) -> None:
        """Remember one named value."""

    def put_vectors(self, fingerprint: str, vectors: Sequence[tuple[int, bytes]]) -> None:
        """Add vectors (`satchel.store.vectors`) of chunks by row number; older ones of the same fingerprint go."""

    def keep_vectors(self, fingerprint: str) -> None:
        """Delete the vectors of every other fingerprint."""

    def merge(self, should_stop: Callable[[], bool]) -> None:
        """Merge small or half-dead segments where that is due."""


class Store(Protocol):
    """Chunks, relations and words of one root. Reads see the last published state."""

    @property
    def revision(self) -> str:
        """A value that changes with every published write."""

    def snapshot(self) -> AbstractContextManager[Store]:
        """The store as it is published now, until the block ends; it can be read by several threads, not written."""

    def write(self) -> AbstractContextManager[Writer]:
        """Start the only write transaction. Raises LockedError when another process holds it too long."""

    def meta(self, key: str) -> str | None:
        """Return a value noted by `set_meta`."""

    def stamps(self, kind: Kind) -> Mapping[str, Stamp]:
        """Return the stamp of every document of a kind, by key."""

    def skipped_stamps(self) -> Mapping[str, tuple[int, int, int]]:
        """(size, mtime_ns, changed_ns) of the remembered skipped files, by path."""

    def skipped_reasons(self) -> Mapping[str, int]:
        """Return how many files are remembered as skipped, by reason."""

    def keys(self, kind: Kind) -> set[str]:
        """Return keys of all documents of a kind, hidden ones too, of every workspace."""

    def hidden_keys(self, kind: Kind) -> set[str]:
        """Return keys of the documents of a kind that are kept out of sight, of every workspace."""

    def documents(self, ids: Iterable[int]) -> dict[int, Document]:
        """Return documents by id; unknown ids are left out."""

    def document(self, kind: Kind, key: str) -> Document | None:
        """Return the document with this key."""

    def newest(self, kind: Kind, most: int) -> list[int]:
        """Return ids of the newest visible documents of a kind, at most `most`, the newest first; ties by key."""

    def document_ids(self, kind: Kind, keys: Iterable[str]) -> dict[str, int]:
        """Return ids of the documents with these keys; unknown keys are left out."""

    def first_rows(self, kind: Kind, keys: Iterable[str]) -> dict[str, int]:
        """Row numbers of the first chunks of the documents with these keys; unknown keys are left out."""

    def places(self, rows: Iterable[int]) -> dict[int, Place]:
        """Return what a walk needs to know of these chunks; unknown and hidden ones are left out."""

    def text(self, document: int) -> str:
        """Return the redacted text of a document."""

    def texts(self, documents: Iterable[int]) -> dict[int, str]:
        """Return the redacted texts of these documents; unknown ids are left out."""

    def parts(self, rows: Iterable[int]) -> dict[int, StoredChunk]:
        """Chunks by row number; unknown rows are left out."""

    def definitions(self, names: Sequence[str], *, most: int | None = None) -> list[DefinitionRow]:
        """Return where any of these names is defined (case-sensitive, unqualified).

        With `most`, names that more chunks than this define are left out, without being read.
        """

    def paths_named(self, names: Sequence[str], stems: Sequence[str]) -> list[tuple[int, str]]:
        """(document id, path) of files with one of these file names, or stems (name without its last suffix)."""

    def edges_from(self, rows: Sequence[int], types: Sequence[EdgeType]) -> list[tuple[int, EdgeType, str]]:
        """(source row, type, target) of the edges that leave these chunks."""

    def edges_to(self, targets: Sequence[str], types: Sequence[EdgeType]) -> list[tuple[int, EdgeType, str]]:
        """(source row, type, target) of the edges whose target is one of these names or paths."""

    def lexicon(self, kind: Kind) -> Lexicon:
        """Return the words of one kind at this revision."""

    def vectors(self, kind: Kind, fingerprint: str) -> VectorTable:
        """Return the vectors of the visible chunks of a kind that have one of this fingerprint, by row number."""

    def without_vector(self, kinds: Sequence[Kind], fingerprint: str) -> list[int]:
        """Row numbers of the visible chunks of these kinds without a vector of this fingerprint, newest first."""

    def vector_counts(self, kinds: Sequence[Kind], fingerprint: str) -> Mapping[Kind, tuple[int, int]]:
        """For each of these kinds that has visible chunks: how many have a vector of this fingerprint, of all."""

    def kinds(self) -> Mapping[Kind, int]:
        """Return how many visible chunks there are of each kind that has any."""

    def statistics(self) -> StoreStatistics:
        """Return what the store holds, counted."""

    def close(self) -> None:
        """Release the store. Using it afterwards is an error."""

    def iterate_keys(self, kind: Kind) -> Iterator[str]:
        """Return keys of visible documents in order."""
