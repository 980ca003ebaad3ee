"""Keeping the number of segments small: several are rewritten as one, without their dead bundles."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

import apsw
import numpy as np

from satchel.store.segments import (
    FIELDS,
    HEADER_BYTES,
    Columns,
    IntArray,
    bundle_count,
    decode_columns,
    decode_postings,
    encode_columns,
    encode_postings,
)
from satchel.store.sqlite.connection import rows

Value = TypeVar("Value")

MOST_SEGMENTS = 8
"""More segments of one kind than this are merged: each costs a posting look-up and a decode for every query term."""

LARGEST_GONE_SHARE = 0.5
"""A segment of which more bundles than this are gone is rewritten."""

_FIELD_LEVEL = (0, 1, 1, 2)
_STOP_EVERY = 2_000  # terms between two questions whether to stop; they take about 30 ms


class _Stopped(Exception):  # noqa: N818 - not a fault: the merge is left for another run
    """Somebody wants to stop while segments are merged."""


def merge_segments(connection: apsw.Connection, should_stop: Callable[[], bool]) -> None:
    """Merge segments where that is due, kind by kind, inside the caller's transaction.

    A kind whose merge is stopped midway stays as it was.
    """
    for (kind,) in rows(connection, "SELECT DISTINCT kind FROM segments ORDER BY kind"):
        chosen = _due(connection, kind)
        if not chosen or should_stop():
            continue
        connection.execute("SAVEPOINT merging")
        try:
            _merge(connection, kind, chosen, should_stop)
        except _Stopped:
            connection.execute("ROLLBACK TO merging")
        connection.execute("RELEASE merging")


def _due(connection: apsw.Connection, kind: str) -> list[int]:
    """Ids of the segments to rewrite: half-gone ones, and when there are too many, all but a much larger first."""
    found = rows(
        connection,
        f"SELECT id, windows, substr(columns, 1, {HEADER_BYTES}), length(dead) FROM segments WHERE kind = ? "
        "ORDER BY windows DESC, id",
        (kind,),
    )
    chosen = {segment for segment, _, head, dead in found if dead and _is_mostly_gone(connection, segment, head)}
    if len(found) > MOST_SEGMENTS:
        rest = sum(row[1] for row in found[1:])
        keep_first = found[0][1] > 2 * rest
        chosen.update(row[0] for row in found[1 if keep_first else 0 :])
    return sorted(chosen)


def _is_mostly_gone(connection: apsw.Connection, segment: int, head: bytes) -> bool:
    """Whether most bundles of a segment were deleted. Hidden ones are not: rewriting would keep them."""
    ((left,),) = rows(connection, "SELECT count(*) FROM bundles WHERE segment = ?", (segment,))
    return bundle_count(head) - int(left) > LARGEST_GONE_SHARE * bundle_count(head)


def _merge(connection: apsw.Connection, kind: str, ids: Sequence[int], should_stop: Callable[[], bool]) -> None:
    parts: list[list[IntArray]] = [[] for _ in Columns.__slots__]
    renumber: dict[int, tuple[IntArray, IntArray, IntArray]] = {}
    bases = (0, 0, 0)
    for segment in ids:
        ((blob,),) = rows(connection, "SELECT columns FROM segments WHERE id = ?", (segment,))
        kept, numbers, bases = _living(connection, segment, decode_columns(blob), bases)
        if len(kept.bundle_id):
            renumber[segment] = numbers
        for store, name in zip(parts, Columns.__slots__, strict=True):
            store.append(getattr(kept, name))
    merged = Columns(*(np.concatenate(part) for part in parts))
    ((target,),) = rows(connection, "SELECT max(id) + 1 FROM segments")
    vocabulary, posted = _joined_postings(connection, renumber, should_stop)
    marks = ", ".join("?" * len(ids))
    connection.execute(f"DELETE FROM postings WHERE segment IN ({marks})", tuple(ids))
    connection.execute(f"DELETE FROM segments WHERE id IN ({marks})", tuple(ids))
    if not len(merged.bundle_id):
        return
    hidden = rows(
        connection,
        "SELECT id FROM bundles WHERE hidden AND id IN (SELECT value FROM json_each(?))",
        (json.dumps(merged.bundle_id.tolist()),),
    )
    dead_positions = np.flatnonzero(np.isin(merged.bundle_id, [row[0] for row in hidden]))
    connection.execute(
        "INSERT INTO segments VALUES (?, ?, ?, ?, ?)",
        (target, kind, len(merged.window_document), encode_columns(merged), dead_positions.astype("<i8").tobytes()),
    )
    connection.executemany(
        "UPDATE bundles SET segment = ?, position = ? WHERE id = ?",
        ((target, position, bundle) for position, bundle in enumerate(merged.bundle_id.tolist())),
    )
    entries = sorted((term, target, blob) for term, blob in encode_postings(vocabulary, posted))
    connection.executemany("INSERT INTO postings VALUES (?, ?, ?)", _until_stopped(entries, should_stop))


def _until_stopped(values: Iterable[Value], should_stop: Callable[[], bool]) -> Iterator[Value]:
    """The values, one after the other. Raises _Stopped when somebody wants to stop."""
    for number, value in enumerate(values):
        if number % _STOP_EVERY == 0 and should_stop():
            raise _Stopped
        yield value


def _living(
    connection: apsw.Connection, segment: int, columns: Columns, bases: tuple[int, int, int]
) -> tuple[Columns, tuple[IntArray, IntArray, IntArray], tuple[int, int, int]]:
    """The columns without bundles that no longer exist; hidden ones stay.

    Also the new number of every old window, document and bundle (-1 for the gone), and the next free numbers.
    """
    alive = rows(connection, "SELECT position FROM bundles WHERE segment = ?", (segment,))
    bundle_kept = np.zeros(len(columns.bundle_id), dtype=bool)
    bundle_kept[[row[0] for row in alive]] = True
    document_kept = bundle_kept[columns.document_bundle]
    window_kept = document_kept[columns.window_document]
    windows, documents, bundles = (
        np.where(kept, np.cumsum(kept) - 1 + base, -1)
        for kept, base in zip((window_kept, document_kept, bundle_kept), bases, strict=True)
    )
    arrays = {name: getattr(columns, name)[window_kept] for name in Columns.__slots__[:7]}
    arrays["window_document"] = documents[arrays["window_document"]]
    arrays["document_row"] = columns.document_row[document_kept]
    arrays["document_bundle"] = bundles[columns.document_bundle[document_kept]]
    arrays["bundle_id"] = columns.bundle_id[bundle_kept]
    arrays["bundle_secondary"] = columns.bundle_secondary[bundle_kept]
    following = (
        bases[0] + int(window_kept.sum()), bases[1] + int(document_kept.sum()), bases[2] + int(bundle_kept.sum())
    )  # fmt: skip
    return Columns(**arrays), (windows, documents, bundles), following


def _joined_postings(
    connection: apsw.Connection,
    renumber: dict[int, tuple[IntArray, IntArray, IntArray]],
    should_stop: Callable[[], bool],
) -> tuple[list[str], list[tuple[IntArray, IntArray, IntArray]]]:
    """The postings of these segments under the new numbers, in the shape that `encode_postings` takes."""
    vocabulary: dict[str, int] = {}
    collected: list[list[tuple[int, IntArray, IntArray]]] = [[] for _ in FIELDS]
    for segment, numbers in sorted(renumber.items()):
        listed = connection.execute("SELECT term, body FROM postings WHERE segment = ?", (segment,))
        for term, body in _until_stopped(listed, should_stop):
            for index, field in enumerate(decode_postings(body)):
                if field is None:
                    continue
                units = numbers[_FIELD_LEVEL[index]][field[0]]
                kept = units >= 0
                if kept.any():
                    number = vocabulary.setdefault(term, len(vocabulary))
                    collected[index].append((number, units[kept], field[1][kept]))
    return list(vocabulary), [_columns_of(field_rows) for field_rows in collected]


def _columns_of(field_rows: Sequence[tuple[int, IntArray, IntArray]]) -> tuple[IntArray, IntArray, IntArray]:
    if not field_rows:
        empty = np.zeros(0, dtype=np.int64)
        return empty, empty, empty
    numbers = np.array([number for number, _, _ in field_rows], dtype=np.int64)
    sizes = [len(units) for _, units, _ in field_rows]
    return (
        np.repeat(numbers, sizes),
        np.concatenate([units for _, units, _ in field_rows]),
        np.concatenate([counts for _, _, counts in field_rows]),
    )
