"""From the text of one file to everything the store keeps of it: parts, windows and postings.

The result depends on the text and its language only, never on the path or the store, so it can be computed in
another process and shared by every work tree of a repository that holds the same bytes.
"""

from __future__ import annotations

import marshal
from array import array
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from satchel import text as words
from satchel.store.records import WINDOW_COLUMNS, Extraction, Postings
from satchel.store.windows import WINDOW_LINES, cut_windows
from satchel.types import Definition, EdgeType, Import, Outline, Part, Reference, Role

EXTRACTION_VERSION = f"1.{words.ANALYSIS_VERSION}"
"""Part of every cache key: change it when the same text gives another extraction."""

_LARGEST_COUNT = 255
_NO_POSTINGS = Postings(b"", b"", b"")
_MARSHAL_VERSION = 4


def extract(text: str, outline: Outline) -> Extraction:
    """Cut the parts of a file into windows and count their terms. `outline` must tile `text`."""
    lines = text.split("\n")
    vocabulary = _Vocabulary()
    starts = _line_starts(lines)
    columns: list[array[int]] = [array("I") for _ in range(WINDOW_COLUMNS)]
    body = _Counting(vocabulary)
    names = _Counting(vocabulary)
    signatures = _Counting(vocabulary)
    comments = _comment_flags(outline, len(lines))
    window_index = 0
    for part_index, part in enumerate(outline.parts):
        names.add(part_index, words.words(part.name))
        signatures.add(part_index, words.words(part.signature))
        for start, end in cut_windows(lines, part.start, part.end):
            begin, stop = starts[start - 1], starts[end]
            found = words.WORD.findall(text, begin, stop)
            term_count = body.add(window_index, found)
            commented = _comment_words(text, starts, comments, start, end)
            row = (part_index, start, end, stop - begin, term_count, len(found), commented)
            for column, value in zip(columns, row, strict=True):
                column.append(value)
            window_index += 1
    return Extraction(
        language=outline.language,
        line_count=len(lines),
        parsed=outline.parsed,
        parts=outline.parts,
        imports=outline.imports,
        window_count=window_index,
        window_columns=b"".join(column.tobytes() for column in columns),
        vocabulary=list(vocabulary.numbers),
        body=body.postings(),
        names=names.postings(),
        signatures=signatures.postings(),
    )


def extract_record(text: str, language: str) -> Extraction:
    """The same as `extract` for a text that is one record, in a third of the time if it is one window.

    `language` is the name of the kind of record; it is only remembered.
    """
    line_count = text.count("\n") + 1
    parts = (Part(Role.RECORD, "", 1, line_count),)
    if line_count > WINDOW_LINES:
        return extract(text, Outline(language, parts))
    found = words.words(text)
    counts = words.count_terms(found)
    size = len(counts)
    window = array("I", (0, 1, line_count, len(text) + 1, sum(counts.values()), len(found), 0))
    tallies = bytes([min(count, _LARGEST_COUNT) for count in counts.values()])
    return Extraction(
        language=language,
        line_count=line_count,
        parsed=True,
        parts=parts,
        imports=(),
        window_count=1,
        window_columns=window.tobytes(),
        vocabulary=list(counts),
        body=Postings(array("I", range(size)).tobytes(), bytes(size * array("I").itemsize), tallies),
        names=_NO_POSTINGS,
        signatures=_NO_POSTINGS,
    )


class _Vocabulary:
    """The terms of one file, numbered; and the numbers of each word's terms, so that a word is analysed once a file."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self.known: dict[str, tuple[int, ...]] = {}

    def learn(self, word: str) -> tuple[int, ...]:
        """Numbers of the terms of a new word."""
        numbers = self.numbers
        terms = tuple([numbers.setdefault(term, len(numbers)) for term in words.terms_of(word)])
        self.known[word] = terms
        return terms


class _Counting:
    """Collects one field's postings against a shared vocabulary."""

    def __init__(self, vocabulary: _Vocabulary) -> None:
        self._vocabulary = vocabulary
        self._terms = array("I")
        self._units = array("I")
        self._counts = array("B")

    def add(self, unit: int, found: Sequence[str]) -> int:
        """Count the terms of these words for one unit; returns how many terms there were, repeats included."""
        counts: dict[int, int] = {}
        known, learn = self._vocabulary.known, self._vocabulary.learn
        for word, occurrences in Counter(found).items():
            for term in known.get(word) or learn(word):
                if term in counts:
                    counts[term] += occurrences
                else:
                    counts[term] = occurrences
        if not counts:
            return 0
        values = counts.values()
        total = sum(values)
        self._terms.extend(counts)
        self._units.extend(array("I", (unit,)) * len(counts))
        self._counts.extend(values if max(values) <= _LARGEST_COUNT else [min(n, _LARGEST_COUNT) for n in values])
        return total

    def postings(self) -> Postings:
        return Postings(self._terms.tobytes(), self._units.tobytes(), self._counts.tobytes())


def _line_starts(lines: Sequence[str]) -> list[int]:
    """Character offset at which each line starts, and one past the end of the last."""
    starts = [0]
    position = 0
    for line in lines:
        position += len(line) + 1
        starts.append(position)
    return starts


def _comment_flags(outline: Outline, line_count: int) -> bytearray:
    """One byte a line: 1 where the line holds only comment or doc string."""
    flags = bytearray(line_count + 1)
    for start, end in outline.comment_lines:
        for line in range(start, min(end, line_count) + 1):
            flags[line] = 1
    return flags


def _comment_words(text: str, starts: Sequence[int], flags: bytearray, start: int, end: int) -> int:
    commented = 0
    line = flags.find(1, start, end + 1)
    while line != -1:
        after = flags.find(0, line, end + 1)
        after = end + 1 if after == -1 else after
        commented += len(words.WORD.findall(text, starts[line - 1], starts[after - 1]))
        line = flags.find(1, after, end + 1)
    return commented


def dump(extraction: Extraction) -> bytes:
    """The extraction as bytes for another process or the cache of the same Python version."""
    row: list[Any] = [getattr(extraction, item.name) for item in fields(extraction)]
    row[3] = [_plain_part(part) for part in extraction.parts]
    row[4] = [(item.target, item.names, item.start, item.end) for item in extraction.imports]
    for index in (8, 9, 10):
        row[index] = (row[index].terms, row[index].units, row[index].counts)
    return marshal.dumps(row, _MARSHAL_VERSION)


def load(data: bytes) -> Extraction:
    """The opposite of `dump`. The data must come from `dump`: callers verify its origin first."""
    row = marshal.loads(data)  # noqa: S302 - the bytes come from our own pipe or carry our keyed hash
    row[3] = tuple(_part(values) for values in row[3])
    row[4] = tuple(Import(*values) for values in row[4])
    for index in (8, 9, 10):
        row[index] = Postings(*row[index])
    return Extraction(*row)


def _plain_part(part: Part) -> tuple[Any, ...]:
    definitions = [(item.name, item.owner, item.line) for item in part.definitions]
    references = [(str(item.type), item.target) for item in part.references]
    return (str(part.role), part.name, part.start, part.end, part.signature, part.summary, definitions, references)


def _part(values: tuple[Any, ...]) -> Part:
    role, name, start, end, signature, summary, definitions, references = values
    return Part(
        Role(role),
        name,
        start,
        end,
        signature,
        summary,
        tuple(Definition(*item) for item in definitions),
        tuple(Reference(EdgeType(kind), target) for kind, target in references),
    )
