"""Turn chunks into rows, postings and spans."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Sequence
from itertools import accumulate, chain, islice, pairwise, repeat
from operator import add
from typing import TYPE_CHECKING, TypeAlias

from msgspec import Struct

from satchel import lazy_numpy as np
from satchel import text as words
from satchel.store.licence import licence_lines
from satchel.store.protocol import Store
from satchel.store.records import SPAN_COLUMNS, Extraction, Postings
from satchel.types import Kind, Outline, Part, Role

if TYPE_CHECKING:
    import numpy.typing as npt

SPAN_LINES = 24
"""Longest span. Measured with 14, 24 and 40 lines: 24 keeps whole functions readable (docs/decisions/0002)."""

SHORTEST_CUT = 10
"""A cut is never made before this many lines, so that spans stay worth their header."""

_NEVER = 10_000


def cut_spans(lines: Sequence[str], start: int, end: int) -> list[tuple[int, int]]:
    """Return spans of `SPAN_LINES` of lines from 1, without a gap, cut late and before the least indented line.

    More than `SPAN_LINES` of blank lines at the end, the outputs of a notebook, belong to the last span.
    """
    spans: list[tuple[int, int]] = []
    last = end
    while last > start and not lines[last - 1].strip():
        last -= 1
    last = last if end - last > SPAN_LINES else end
    while last - start + 1 > SPAN_LINES:
        cut = _best_cut(lines, start, last)
        spans.append((start, cut))
        start = cut + 1
    spans.append((start, end))
    return spans


def _best_cut(lines: Sequence[str], start: int, end: int) -> int:
    best, best_columns = start + SPAN_LINES - 1, _NEVER
    for last in range(start + SHORTEST_CUT - 1, min(start + SPAN_LINES, end)):
        columns = _indentation(lines[last])
        if not lines[last - 1].strip():
            columns -= 6  # a blank line before the cut counts as this many columns of indentation less
        if columns <= best_columns:
            best, best_columns = last, columns
    return best


def _indentation(line: str) -> int:
    text = line.lstrip(" \t")
    if not text:
        return _NEVER
    margin = line[: len(line) - len(text)]
    return len(margin) + margin.count("\t") * 3  # a tab is 4 columns


MAX_RUNS = 200_000
"""Runs that one table stores, about 40 MB; more of them begin a new table."""

LARGEST_COUNT = 255

Numbers: TypeAlias = "npt.NDArray[np.uint32]"


class _Table(dict[bytes, int]):
    """Numbers of runs in UTF-8, 0 for the end of a piece; those of `_new` are analysed together.

    `_spans` has of each run the first term, the terms, the words, and the terms without those that a word with accents
    has besides: by these a text is measured, so that one in French is no longer than one in English.
    """

    def __init__(self) -> None:
        super().__init__({words.PIECE_END: 0})
        self.vocabulary: list[str] = []
        self._numbers: dict[str, int] = {}
        self._terms = array("I")
        self._spans = array("I", (0, 0, 0, 0))
        self._new: list[bytes] = []
        self._guard = threading.Lock()

    def __missing__(self, run: bytes) -> int:
        with self._guard:
            number = self.setdefault(run, len(self))
            if number == len(self._new) + len(self._spans) // 4:
                self._new.append(run)
            return number

    def arrays(self) -> tuple[Numbers, Numbers]:
        """Return the terms of all runs, and a row of spans per run: copies, since another thread may add runs."""
        with self._guard:
            every, spans, numbers = self._terms, self._spans, self._numbers
            found: list[str] = []
            rows: list[int] = []
            first = len(every)
            for run in map(bytes.decode, self._new):
                if run.isascii() and run.isidentifier():
                    terms: Sequence[str] = words.analysed(run)
                    count, written = 1, len(terms)
                else:
                    pieces = words.words(run)
                    terms = [term for word in pieces for term in words.analysed(word)]
                    count, written = len(pieces), sum(len(words.written_terms(word)) for word in pieces)
                rows += (first + len(found), len(terms), count, written)
                found += terms
            spans.extend(rows)
            every.extend([numbers.setdefault(term, len(numbers)) for term in found])
            self._new.clear()
            self.vocabulary += [*islice(reversed(numbers), len(numbers) - len(self.vocabulary))][::-1]
            return np.array(every, dtype=np.uint32), np.array(spans, dtype=np.uint32).reshape(-1, 4)


_table = _Table()


def _current() -> _Table:
    """Return the table in use, a new one if it is full."""
    global _table
    if len(_table) > MAX_RUNS:
        _table = _Table()
    return _table


def forget() -> None:
    """Begin a new table; it is made again by the texts that come."""
    global _table
    _table = _Table()


class TermCounts(Struct, frozen=True):
    """Terms of some pieces: parallel columns ordered by piece, and of each piece its length in terms and in words."""

    terms: npt.NDArray[np.int64]
    pieces: npt.NDArray[np.int64]
    counts: npt.NDArray[np.uint8]
    vocabulary: list[str]
    term_totals: npt.NDArray[np.int64]
    word_totals: npt.NDArray[np.int64]


def count(pieces: Sequence[str], measured: Sequence[str] = ()) -> TermCounts:
    """Count the terms of each piece. The `measured` pieces, numbered after them, only get totals."""
    table = _current()
    size = len(pieces) + len(measured)
    runs = words.runs_of(chain(pieces, measured))
    numbers = np.fromiter(map(table.__getitem__, runs), np.int64, len(runs))
    terms, spans = table.arrays()
    owners = np.cumsum(numbers == 0)
    begins, lengths, worth, written = spans[numbers].T.astype(np.int64)
    term_totals, word_totals = _totals(owners, written, size), _totals(owners, worth, size)
    listed = int(np.searchsorted(owners, len(pieces)))
    begins, lengths, owners = begins[:listed], lengths[:listed], owners[:listed]
    ends = np.cumsum(lengths)
    occurring = terms[np.repeat(begins - (ends - lengths), lengths) + np.arange(int(lengths.sum()))]
    place = np.full(len(table.vocabulary), -1)
    place[occurring[::-1]] = np.arange(len(occurring))[::-1]  # of the first occurrence, which is written last
    used = np.flatnonzero(place >= 0)
    used = used[np.argsort(place[used])]  # the numbers of the table differ from process to process
    place[used] = np.arange(len(used))
    keys, counts = np.unique(np.repeat(owners, lengths) * len(used) + place[occurring], return_counts=True)
    return TermCounts(
        terms=keys % max(len(used), 1),
        pieces=keys // max(len(used), 1),
        counts=np.minimum(counts, LARGEST_COUNT).astype(np.uint8),
        vocabulary=[table.vocabulary[number] for number in used.tolist()],
        term_totals=term_totals,
        word_totals=word_totals,
    )


def _totals(owners: npt.NDArray[np.int64], values: npt.NDArray[np.int64], size: int) -> npt.NDArray[np.int64]:
    return np.bincount(owners, values, size).astype(np.int64)


CODE_CHARACTERS = 900
"""Characters of a definition that are embedded, about 250 tokens at most: 480 are a third faster, and questions saw .02
fewer of their deciding lines."""


class ChunkText(Struct, frozen=True):
    """The text of a chunk with its row number."""

    row: int
    text: str


def chunk_texts(store: Store, rows: Sequence[int], max_tokens: int) -> list[ChunkText]:
    """Return the texts of chunks that exist. With this rule vectors change, and so does `embed.TEXT_RECIPE`."""
    parts = store.chunks(rows)
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
        # Characters per token of the embedder at which a text is cut: the rest has no influence.
        text, most = f"{named}\n{body}", max_tokens * 8
        if documents[part.document].kind is Kind.CODE:
            text, most = f"{documents[part.document].key}\n{part.name}\n{body}", min(most, CODE_CHARACTERS)
        texts.append(ChunkText(row, text.strip()[:most] or documents[part.document].title))
    return texts


_NO_POSTINGS = Postings(b"", b"", b"")


def extract(text: str, outline: Outline) -> Extraction:
    """Cut the parts of a file into spans and count their terms. `outline` must tile `text`."""
    return extract_files([(text, outline)])[0]


def extract_files(files: Sequence[tuple[str, Outline]]) -> list[Extraction]:
    """Extract several files, which share one vocabulary: they are counted at once, in less time."""
    cuts = [_Cut(text, outline) for text, outline in files]
    pieces = [cut.pieces for cut in cuts]
    counted = count(list(chain.from_iterable(pieces)), [line for cut in cuts for line in cut.comments.values()])
    bases = list(accumulate(map(len, pieces), initial=0))
    comment_words = iter(counted.word_totals[bases[-1] :].tolist())
    bounds = [start for base, cut in zip(bases, cuts, strict=False) for start in cut.bounds(base)]
    fields = iter(_fields(counted, [*bounds, bases[-1]]))
    extractions = []
    for base, cut, (_, outline) in zip(bases, cuts, files, strict=False):
        spans = slice(base, base + len(cut.rows))
        columns = np.zeros((SPAN_COLUMNS, len(cut.rows)), dtype=np.uint32)
        columns[:4] = np.array(cut.rows, dtype=np.uint32).reshape(-1, 4).T
        columns[4] = counted.term_totals[spans]
        columns[5] = counted.word_totals[spans]
        columns[6, list(cut.comments)] = list(islice(comment_words, len(cut.comments)))
        extractions.append(
            Extraction(
                language=outline.language,
                line_count=cut.line_count,
                parsed=outline.parsed,
                parts=outline.parts,
                imports=outline.imports,
                span_count=len(cut.rows),
                span_columns=columns.tobytes(),
                vocabulary=counted.vocabulary,
                body=next(fields),
                names=next(fields),
                signatures=next(fields),
                functions=outline.functions,
                classes=outline.classes,
                statements=outline.statements,
            )
        )
    return extractions


class _Cut:
    """The spans of a file as rows of part, first line, last line and characters, and the pieces of text to count."""

    def __init__(self, text: str, outline: Outline) -> None:
        lines = text.split("\n")
        starts = _line_starts(lines)
        spans = [
            (number, start, end)
            for number, part in enumerate(outline.parts)
            for start, end in cut_spans(lines, part.start, part.end)
        ]
        self.line_count = len(lines)
        self.part_count = len(outline.parts)
        self.rows = [(number, start, end, starts[end] - starts[start - 1]) for number, start, end in spans]
        licence = licence_lines(lines) if outline.comment_lines else range(0)
        self.comments = _comments(text, starts, outline, spans, licence)
        self.pieces = [
            *(_without(licence, text, starts, start, end) for _, start, end in spans),
            *(part.name for part in outline.parts),
            *(part.signature for part in outline.parts),
        ]

    def bounds(self, base: int) -> tuple[int, int, int]:
        """Return where the spans, names and signatures begin if the pieces are numbered from `base`."""
        names = base + len(self.rows)
        return base, names, names + self.part_count


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


def _fields(counted: TermCounts, bounds: Sequence[int]) -> list[Postings]:
    """Return postings of the fields between these bounds of pieces; units are numbered from 0 in each."""
    places = np.searchsorted(counted.pieces, bounds).tolist()
    terms = counted.terms.astype(np.uint32)
    fields = []
    for base, (begin, end) in zip(bounds, pairwise(places), strict=False):
        units = (counted.pieces[begin:end] - base).astype(np.uint32)
        fields.append(Postings(terms[begin:end].tobytes(), units.tobytes(), counted.counts[begin:end].tobytes()))
    return fields


def _line_starts(lines: Sequence[str]) -> list[int]:
    """Return the character offset of each line, and one past the end of the last."""
    return list(accumulate(map(add, map(len, lines), repeat(1)), initial=0))


def _without(licence: range, text: str, starts: Sequence[int], start: int, end: int) -> str:
    """Return the text of lines without those of the licence."""
    if start >= licence.stop:
        return text[starts[start - 1] : starts[end]]
    before = text[starts[start - 1] : starts[min(max(licence.start, start) - 1, end)]]
    return before + text[starts[min(licence.stop - 1, end)] : starts[end]]


def _comments(
    text: str, starts: Sequence[int], outline: Outline, spans: Sequence[tuple[int, int, int]], licence: range
) -> dict[int, str]:
    """Return the lines of comment and doc string of each span that has any, without those of the licence."""
    flags = bytearray(len(starts))  # 1 for a line of only comment or doc string
    for start, end in outline.comment_lines:
        for line in range(start, min(end + 1, len(starts))):
            flags[line] = line not in licence
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
