"""Turn chunks into rows, postings and spans."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from satchel import text as words
from satchel.dataclass import dataclass
from satchel.store.protocol import Store
from satchel.store.records import SPAN_COLUMNS, Extraction, Postings
from satchel.types import Outline, Part, Role

SPAN_LINES = 24
"""Longest span. Measured with 14, 24 and 40 lines: 24 keeps whole functions readable (docs/decisions/0002)."""

SHORTEST_CUT = 10
"""A cut is never made before this many lines, so that spans stay worth their header."""

BLANK_LINE_COLUMNS = 6
"""A blank line before the cut counts as this many columns of indentation less."""

_TAB_COLUMNS = 4
_NEVER = 10_000


def cut_spans(lines: Sequence[str], start: int, end: int) -> list[tuple[int, int]]:
    """Return spans of lines `start`..`end` (1-based, inclusive) of a file, in order and without a gap.

    A stretch longer than `SPAN_LINES` is cut where the next line is indented least, as late as possible.
    """
    spans: list[tuple[int, int]] = []
    while end - start + 1 > SPAN_LINES:
        cut = _best_cut(lines, start, end)
        spans.append((start, cut))
        start = cut + 1
    spans.append((start, end))
    return spans


def _best_cut(lines: Sequence[str], start: int, end: int) -> int:
    best, best_columns = start + SPAN_LINES - 1, _NEVER
    for last in range(start + SHORTEST_CUT - 1, min(start + SPAN_LINES, end)):
        columns = _indentation(lines[last])
        if not lines[last - 1].strip():
            columns -= BLANK_LINE_COLUMNS
        if columns <= best_columns:
            best, best_columns = last, columns
    return best


def _indentation(line: str) -> int:
    text = line.lstrip(" \t")
    if not text:
        return _NEVER
    margin = line[: len(line) - len(text)]
    return len(margin) + margin.count("\t") * (_TAB_COLUMNS - 1)


MOST_RUNS = 200_000
"""Runs that one table stores, about 40 MB; more of them begin a new table."""

LARGEST_COUNT = 255

Numbers = npt.NDArray[np.uint32]


class _Table(dict[str, int]):
    """Numbers of runs. `_spans` has, per run, the index of its first term in `_terms`, and its terms and words."""

    def __init__(self) -> None:
        super().__init__()
        self.vocabulary: list[str] = []
        self._numbers: dict[str, int] = {}
        self._terms = array("I")
        self._spans = array("I")
        self._guard = threading.Lock()

    def __missing__(self, run: str) -> int:
        with self._guard:
            number = self.get(run)
            if number is not None:
                return number
            pieces = [run] if run.isidentifier() else words.words(run)
            terms = [term for word in pieces for term in words.terms_of(word)]
            self._spans.extend((len(self._terms), len(terms), len(pieces)))
            for term in terms:
                number = self._numbers.setdefault(term, len(self._numbers))
                if number == len(self.vocabulary):
                    self.vocabulary.append(term)
                self._terms.append(number)
            number = len(self)
            self[run] = number
            return number

    def arrays(self) -> tuple[Numbers, Numbers]:
        """Return the terms of all runs, and a row of spans per run: copies, since another thread may add runs."""
        with self._guard:
            return np.array(self._terms, dtype=np.uint32), np.array(self._spans, dtype=np.uint32).reshape(-1, 3)


_table = _Table()


def _current() -> _Table:
    """Return the table in use, a new one if it is full."""
    global _table
    if len(_table) > MOST_RUNS:
        _table = _Table()
    return _table


@dataclass(frozen=True, slots=True)
class TermCounts:
    """Terms of some pieces: parallel columns ordered by piece, and the total of terms and words of each piece."""

    terms: npt.NDArray[np.int64]
    pieces: npt.NDArray[np.int64]
    counts: npt.NDArray[np.uint8]
    vocabulary: list[str]
    term_totals: npt.NDArray[np.int64]
    word_totals: npt.NDArray[np.int64]


def count(pieces: Sequence[str], measured: Sequence[str] = ()) -> TermCounts:
    """Count the terms of each piece. The `measured` pieces, numbered after them, only get totals."""
    table = _current()
    numbers = array("I")
    sizes = array("I")
    number_of = table.__getitem__
    for piece in (*pieces, *measured):
        piece_runs = words.runs(piece)
        numbers.extend(map(number_of, piece_runs))
        sizes.append(len(piece_runs))
    terms, spans = table.arrays()
    runs = np.frombuffer(numbers, dtype=np.uint32).astype(np.int64)
    owners = np.repeat(np.arange(len(sizes)), np.frombuffer(sizes, dtype=np.uint32))
    begins, lengths, worth = (spans[:, column][runs].astype(np.int64) for column in range(3))
    term_totals, word_totals = _totals(owners, lengths, len(sizes)), _totals(owners, worth, len(sizes))
    listed = int(np.searchsorted(owners, len(pieces)))
    begins, lengths, owners = begins[:listed], lengths[:listed], owners[:listed]
    ends = np.cumsum(lengths)
    places = np.repeat(begins - (ends - lengths), lengths) + np.arange(int(lengths.sum()))
    used, first, local = np.unique(terms[places], return_index=True, return_inverse=True)
    order = np.argsort(first)  # of first occurrence: the numbers of the table differ from process to process
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    keys, counts = np.unique(np.repeat(owners, lengths) * len(used) + rank[local], return_counts=True)
    return TermCounts(
        terms=keys % max(len(used), 1),
        pieces=keys // max(len(used), 1),
        counts=np.minimum(counts, LARGEST_COUNT).astype(np.uint8),
        vocabulary=[table.vocabulary[number] for number in used[order].tolist()],
        term_totals=term_totals,
        word_totals=word_totals,
    )


def _totals(owners: npt.NDArray[np.int64], values: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    return np.bincount(owners, values, size).astype(np.int64)


CHARACTERS_A_TOKEN = 8
"""Characters per token of the embedder at which a text is cut: the rest has no influence."""


@dataclass(frozen=True, slots=True)
class ChunkText:
    """The text of a chunk with its row number."""

    row: int
    text: str


def chunk_texts(store: Store, rows: Sequence[int], max_tokens: int) -> list[ChunkText]:
    """Return the name of a section and its lines, or the lines of a record; rows that are gone are left out.

    A change of this rule changes vectors: `satchel.embed.TEXT_RECIPE` has to change with it.
    """
    parts = store.parts(rows)
    documents = store.documents({part.document for part in parts.values()})
    lines = {identity: store.text(identity).split("\n") for identity in documents}
    texts = []
    for row in rows:
        part = parts.get(row)
        if part is None or part.document not in lines:
            continue
        body = "\n".join(lines[part.document][part.start - 1 : part.end])
        # The name of a record's part ("full", "strategy") is not the author's; that of a section is a heading.
        named = part.name if part.role != Role.RECORD and part.name not in body else ""
        text = f"{named}\n{body}".strip()[: max_tokens * CHARACTERS_A_TOKEN]
        texts.append(ChunkText(row, text or documents[part.document].title))
    return texts


_NO_POSTINGS = Postings(b"", b"", b"")


def extract(text: str, outline: Outline) -> Extraction:
    """Cut the parts of a file into spans and count their terms. `outline` must tile `text`."""
    lines = text.split("\n")
    starts = _line_starts(lines)
    rows = [
        (number, start, end)
        for number, part in enumerate(outline.parts)
        for start, end in cut_spans(lines, part.start, part.end)
    ]
    span_count, part_count = len(rows), len(outline.parts)
    texts = [text[starts[start - 1] : starts[end]] for _, start, end in rows]
    commented = _comments(text, starts, outline, rows)
    counted = count(
        [*texts, *(part.name for part in outline.parts), *(part.signature for part in outline.parts)],
        list(commented.values()),
    )
    columns = np.zeros((SPAN_COLUMNS, span_count), dtype=np.uint32)
    columns[:3] = np.array(rows, dtype=np.uint32).reshape(-1, 3).T
    columns[3] = [starts[end] - starts[start - 1] for _, start, end in rows]
    columns[4] = counted.term_totals[:span_count]
    columns[5] = counted.word_totals[:span_count]
    columns[6, list(commented)] = counted.word_totals[span_count + 2 * part_count :]
    body, names, signatures = _fields(counted, [0, span_count, span_count + part_count])
    return Extraction(
        language=outline.language,
        line_count=len(lines),
        parsed=outline.parsed,
        parts=outline.parts,
        imports=outline.imports,
        span_count=span_count,
        span_columns=columns.tobytes(),
        vocabulary=counted.vocabulary,
        body=body,
        names=names,
        signatures=signatures,
    )


def extract_record(text: str, language: str) -> Extraction:
    """Extract a text that is one record. `language` is the name of its kind."""
    return extract_records([text], language)[0]


def extract_records(texts: Sequence[str], language: str) -> list[Extraction]:
    """Extract many records in a fifth of the time: they are counted at once and share one vocabulary."""
    line_counts = [text.count("\n") + 1 for text in texts]
    outlines = [Outline(language, (Part(Role.RECORD, "", 1, count),)) for count in line_counts]
    short = [number for number, line_count in enumerate(line_counts) if line_count <= SPAN_LINES]
    counted = count([texts[number] for number in short])
    ends = np.searchsorted(counted.pieces, np.arange(len(short)), side="right").tolist()
    terms, tallies = counted.terms.astype(np.uint32).tobytes(), counted.counts.tobytes()
    made: dict[int, Extraction] = {}
    begin = 0
    for number, end, term_total, word_total in zip(
        short, ends, counted.term_totals.tolist(), counted.word_totals.tolist(), strict=True
    ):
        text, line_count = texts[number], line_counts[number]
        made[number] = Extraction(
            language=language,
            line_count=line_count,
            parsed=True,
            parts=outlines[number].parts,
            imports=(),
            span_count=1,
            span_columns=array("I", (0, 1, line_count, len(text) + 1, term_total, word_total, 0)).tobytes(),
            vocabulary=counted.vocabulary,
            body=Postings(terms[4 * begin : 4 * end], bytes(4 * (end - begin)), tallies[begin:end]),
            names=_NO_POSTINGS,
            signatures=_NO_POSTINGS,
        )
        begin = end
    return [made.get(number) or extract(text, outlines[number]) for number, text in enumerate(texts)]


def _fields(counted: TermCounts, bases: Sequence[int]) -> list[Postings]:
    """Return postings of the fields whose pieces begin at `bases`; units are numbered from 0 in each."""
    begins = np.searchsorted(counted.pieces, [*bases, len(counted.term_totals)]).tolist()
    fields = []
    for base, begin, end in zip(bases, begins, begins[1:], strict=False):
        terms, units = counted.terms[begin:end], counted.pieces[begin:end] - base
        columns = (terms.astype(np.uint32), units.astype(np.uint32), counted.counts[begin:end])
        fields.append(Postings(*(column.tobytes() for column in columns)))
    return fields


def _line_starts(lines: Sequence[str]) -> list[int]:
    """Return the character offset of each line, and one past the end of the last."""
    return list(accumulate((len(line) + 1 for line in lines), initial=0))


def _comments(
    text: str, starts: Sequence[int], outline: Outline, spans: Sequence[tuple[int, int, int]]
) -> dict[int, str]:
    """Return the lines of comment and doc string of each span that has any."""
    flags = bytearray(len(starts))  # 1 for a line of only comment or doc string
    for start, end in outline.comment_lines:
        for line in range(start, min(end + 1, len(starts))):
            flags[line] = 1
    comments: dict[int, str] = {}
    for number, (_, start, end) in enumerate(spans):
        line = flags.find(1, start, end + 1)
        if line == -1:
            continue
        stretches = []
        while line != -1:
            after = flags.find(0, line, end + 1)
            after = end + 1 if after == -1 else after
            stretches.append(text[starts[line - 1] : starts[after - 1]])
            line = flags.find(1, after, end + 1)
        comments[number] = "".join(stretches)
    return comments
