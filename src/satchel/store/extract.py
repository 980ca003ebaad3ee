"""From the text of one file to everything the store keeps of it: parts, windows and postings.

The result depends on the text and its language only, never on the path or the store, so it can be computed in
another process and shared by every work tree of a repository that holds the same bytes.
"""

from __future__ import annotations

import marshal
from array import array
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from satchel.store.counting import Counted, count
from satchel.store.records import WINDOW_COLUMNS, Extraction, Postings
from satchel.store.windows import WINDOW_LINES, cut_windows
from satchel.types import Definition, EdgeType, Import, Outline, Part, Reference, Role

_NO_POSTINGS = Postings(b"", b"", b"")
_MARSHAL_VERSION = 4


def extract(text: str, outline: Outline) -> Extraction:
    """Cut the parts of a file into windows and count their terms. `outline` must tile `text`."""
    lines = text.split("\n")
    starts = _line_starts(lines)
    spans = [
        (number, start, end)
        for number, part in enumerate(outline.parts)
        for start, end in cut_windows(lines, part.start, part.end)
    ]
    window_count, part_count = len(spans), len(outline.parts)
    windows = [text[starts[start - 1] : starts[end]] for _, start, end in spans]
    commented = _comments(text, starts, outline, spans)
    counted = count(
        [*windows, *(part.name for part in outline.parts), *(part.signature for part in outline.parts)],
        list(commented.values()),
    )
    columns = np.zeros((WINDOW_COLUMNS, window_count), dtype=np.uint32)
    columns[:3] = np.array(spans, dtype=np.uint32).reshape(-1, 3).T
    columns[3] = [starts[end] - starts[start - 1] for _, start, end in spans]
    columns[4] = counted.term_totals[:window_count]
    columns[5] = counted.word_totals[:window_count]
    columns[6, list(commented)] = counted.word_totals[window_count + 2 * part_count :]
    body, names, signatures = _fields(counted, [0, window_count, window_count + part_count])
    return Extraction(
        language=outline.language,
        line_count=len(lines),
        parsed=outline.parsed,
        parts=outline.parts,
        imports=outline.imports,
        window_count=window_count,
        window_columns=columns.tobytes(),
        vocabulary=counted.vocabulary,
        body=body,
        names=names,
        signatures=signatures,
    )


def extract_record(text: str, language: str) -> Extraction:
    """The same as `extract` for a text that is one record. `language` is the name of the kind; it is remembered."""
    return extract_records([text], language)[0]


def extract_records(texts: Sequence[str], language: str) -> list[Extraction]:
    """`extract_record` for many texts, in a fifth of the time: they share one vocabulary, and are counted at once."""
    line_counts = [text.count("\n") + 1 for text in texts]
    outlines = [Outline(language, (Part(Role.RECORD, "", 1, count),)) for count in line_counts]
    short = [number for number, line_count in enumerate(line_counts) if line_count <= WINDOW_LINES]
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
            window_count=1,
            window_columns=array("I", (0, 1, line_count, len(text) + 1, term_total, word_total, 0)).tobytes(),
            vocabulary=counted.vocabulary,
            body=Postings(terms[4 * begin : 4 * end], bytes(4 * (end - begin)), tallies[begin:end]),
            names=_NO_POSTINGS,
            signatures=_NO_POSTINGS,
        )
        begin = end
    return [made.get(number) or extract(text, outlines[number]) for number, text in enumerate(texts)]


def _fields(counted: Counted, bases: Sequence[int]) -> list[Postings]:
    """Postings of the fields whose pieces begin at `bases`; units are numbered from 0 in each."""
    begins = np.searchsorted(counted.pieces, [*bases, len(counted.term_totals)]).tolist()
    fields = []
    for base, begin, end in zip(bases, begins, begins[1:], strict=False):
        terms, units = counted.terms[begin:end], counted.pieces[begin:end] - base
        fields.append(
            Postings(
                terms.astype(np.uint32).tobytes(),
                units.astype(np.uint32).tobytes(),
                counted.counts[begin:end].tobytes(),
            )
        )
    return fields


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


def _comments(
    text: str, starts: Sequence[int], outline: Outline, spans: Sequence[tuple[int, int, int]]
) -> dict[int, str]:
    """The lines of comment and doc string of each window that has any."""
    flags = _comment_flags(outline, len(starts) - 1)
    found: dict[int, str] = {}
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
        found[number] = "".join(stretches)
    return found


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
