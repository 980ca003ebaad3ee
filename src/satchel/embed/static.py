"""A static table: each word has a vector, and a text is their sum. Nothing is installed, loaded or sent for it.

The table was distilled from MiniLM (scripts/meaning, `make meaning`; NOTICE names what it was made from). It keeps the
gain of MiniLM for short texts, and loses a part of it for long ones.

Equal texts give equal bytes everywhere: a row has whole numbers, which are summed in 32 bits. The squares of the sum
are added in 64 bits, and one root and one division follow, both correctly rounded. No library of matrices takes part.
"""

from __future__ import annotations

import math
import mmap
import threading
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Sequence
from functools import cached_property
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING

from satchel import lazy_numpy as np
from satchel.text import pattern

if TYPE_CHECKING:
    import numpy.typing as npt

    from satchel.embed import Vectors

DIMENSION = 256
LARGEST = 7
"""The numbers of a row are -7 to 7. Two share a byte, each with 8 added: the low half has the first 128 of a row."""

MAX_WORDS = 256
"""Words of a text that count, as many as MiniLM has tokens."""

CELL_BYTES = 16
"""Bytes of an entry in the list of words, padded with blanks, without the end of the line."""

KEPT_RUNS = 50_000
"""Runs of letters whose entries are kept in memory: more than a large repository has."""

MANY_WORDS = 300
"""New words at once, from which on a dictionary of all entries takes less time than a search for each."""

LONGEST_WORD = 40
"""Letters of a word that are cut into pieces; what is longer is no word."""

PIECE_MARK = "##"
"""Begins an entry that is not the beginning of a word."""

TABLE_FILE, WORDS_FILE, DIGEST_FILE = (
    Path(__file__).with_name(f"static_{part}") for part in ("rows.bin", "words.txt", "table.sha256")
)
"""The rows, the entries in ascending order, and the SHA-256 of both files one after the other."""

_WORD = pattern(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_BLANKED = bytes(code if chr(code).isascii() and chr(code).isalnum() else 32 for code in range(256))
_MARKS = pattern("[\u0300-\u036f]+")
_LETTERS = str.maketrans({"ß": "ss", "æ": "ae", "Æ": "Ae", "œ": "oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L", "đ": "d"})


def runs(text: str) -> list[str]:
    """Return the runs of letters and digits of a text. Latin letters lose accents, others are left out."""
    if not text.isascii():
        text = _MARKS.sub("", unicodedata.normalize("NFD", text.translate(_LETTERS)))
    return text.encode("ascii", "replace").translate(_BLANKED).decode("ascii").split()  # bytes are translated fast


def words(text: str) -> list[str]:
    """Return the words of a text: `parseHTTPHeader2` has four."""
    return [*chain.from_iterable(map(_WORD.findall, runs(text)))]


class Entries:
    """The entries of the table, by their place in ascending order.

    They are searched in the mapped file: a question has a dozen words, and a dictionary of all takes 5 ms to build. An
    index has thousands.
    """

    def __init__(self, cells: npt.NDArray[np.bytes_]) -> None:
        self._cells = cells
        self._places: dict[str, int] | None = None
        self._known: dict[str, tuple[tuple[int, ...], ...]] = {}
        """Run -> the entries of each of its words."""

    def numbers(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the entries of the first `MAX_WORDS` words of each text."""
        split = [*map(runs, texts)]
        known = self._known
        if new := {*chain.from_iterable(split)}.difference(known):
            if len(known) > KEPT_RUNS:
                known = self._known = {}
                new = {*chain.from_iterable(split)}
            pieces = {run: _WORD.findall(run) for run in new}
            found = self._found({*chain.from_iterable(pieces.values())})
            known.update({run: tuple([found[word] for word in own]) for run, own in pieces.items()})
        every = (chain.from_iterable(map(known.__getitem__, own)) for own in split)
        return [[*chain.from_iterable(islice(own, MAX_WORDS))] for own in every]

    def _found(self, words: Collection[str]) -> dict[str, tuple[int, ...]]:
        """Return the entry of each word, else those of its pieces."""
        if self._places is None and len(words) > MANY_WORDS:
            every = self._cells.tobytes().decode("ascii").split()
            self._places = dict(zip(every, range(len(every)), strict=True))
        lower = [word.lower() for word in words]
        if self._places is not None:
            whole = [*map(self._places.get, lower)]
        else:
            cells = np.array([_cell(word[: CELL_BYTES + 1]) for word in lower], dtype=self._cells.dtype)
            places = np.minimum(np.searchsorted(self._cells, cells), len(self._cells) - 1)
            is_whole = (self._cells[places] == cells).tolist()
            whole = [place if is_entry else None for place, is_entry in zip(places.tolist(), is_whole, strict=True)]
        found = zip(words, lower, whole, strict=True)
        return {word: self._pieces(small) if place is None else (place,) for word, small, place in found}

    def _place(self, entry: str) -> int | None:
        if self._places is not None:
            return self._places.get(entry)
        cell = _cell(entry)
        place = bisect_left(self._cells, cell)
        return place if place < len(self._cells) and self._cells[place] == cell else None

    def _pieces(self, word: str) -> tuple[int, ...]:
        """Return the entries of the longest pieces of a word in lower case, from its start."""
        word = word[:LONGEST_WORD]
        pieces, start = [], 0
        while start < len(word):
            mark = PIECE_MARK if start else ""
            for end in range(min(len(word), start + CELL_BYTES - len(mark)), start, -1):
                place = self._place(mark + word[start:end])
                if place is not None:
                    pieces.append(place)
                    break
            else:
                end = start + 1  # a piece that the table lacks has no meaning
            start = end
        return tuple(pieces)


def _cell(entry: str) -> bytes:
    return entry.encode().ljust(CELL_BYTES) + b"\n"


class StaticTable:
    """The embedder; its files are mapped at the first text."""

    dimension, max_tokens = DIMENSION, MAX_WORDS
    is_quick = is_table = True

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._entries: Entries | None = None
        self._file: mmap.mmap | None = None
        self._rows: npt.NDArray[np.uint8] | None = None

    @cached_property
    def id(self) -> str:
        """The model with the beginning of the digest of its files."""
        return f"static-minilm@{DIGEST_FILE.read_text(encoding='ascii')[:12]}"

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Return one vector of length 1 per text; zeros for a text without a word of the table."""
        entries, rows = self._mapped()
        vectors = np.zeros((len(texts), DIMENSION), dtype=np.float32)
        for place, numbers in enumerate(entries.numbers(texts)):
            packed = rows.take(numbers, axis=0)
            both = np.add.reduce(packed, axis=0, dtype=np.int32)
            low = np.add.reduce(packed & 15, axis=0, dtype=np.int32)
            sums = np.concatenate([low, (both - low) >> 4])
            sums -= (LARGEST + 1) * len(numbers)
            vectors[place] = sums / (math.sqrt(int(np.square(sums, dtype=np.int64).sum())) or 1.0)
        return vectors

    def embed_query(self, text: str) -> Vectors:
        """Return the vector of one text."""
        vector: Vectors = self.embed_documents([text])[0]
        if self._file is not None and hasattr(mmap, "MADV_DONTNEED"):
            self._file.madvise(mmap.MADV_DONTNEED)  # the system maps much around each row; it keeps the pages anyway
        return vector

    def forget(self) -> None:
        """Let go of the files and of what is kept of words, until the next text."""
        with self._guard:
            self._entries = self._file = self._rows = None

    def _mapped(self) -> tuple[Entries, npt.NDArray[np.uint8]]:
        with self._guard:
            if self._entries is None or self._rows is None:
                self._entries = Entries(np.frombuffer(_map(WORDS_FILE), dtype=f"S{CELL_BYTES + 1}"))
                self._file = _map(TABLE_FILE)
                self._rows = np.frombuffer(self._file, dtype=np.uint8).reshape(-1, DIMENSION // 2)
            return self._entries, self._rows


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
