"""Keeping the number of segments small: several are rewritten as one, without their dead bundles."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import apsw
import numpy as np

from satchel.store.segments import (
    HEADER_BYTES,
    NO_POSTINGS,
    Columns,
    IntArray,
    bundle_count,
    decode_columns,
    decode_many,
    encode_columns,
    encode_postings,
)
from satchel.store.sqlite.connection import rows

MOST_SEGMENTS = 8
"""More segments of one kind than this are merged: each costs a posting look-up and a decode for every query term."""

LARGEST_GONE_SHARE = 0.5
"""A segment of which more bundles than this are gone is rewritten."""

_FIELD_LEVEL = (0, 1, 1, 2)
_IN = "IN (SELECT value FROM json_each(?))"
_RANGE = "term > ? AND term <= ?"

RANGE_TERMS = 1_000
"""Terms of one segment that are merged at once: together 10 to 50 ms of work, and some megabytes."""


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
    parts: list[list[Any]] = [[] for _ in Columns.__slots__]
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
    if renumber:
        _merge_postings(connection, renumber, target, should_stop)
    marks = ", ".join("?" * len(ids))
    connection.execute(f"DELETE FROM postings WHERE segment IN ({marks})", tuple(ids))
    connection.execute(f"DELETE FROM segments WHERE id IN ({marks})", tuple(ids))
    if not len(merged.bundle_id):
        return
    hidden = rows(connection, f"SELECT id FROM bundles WHERE hidden AND segment IN ({marks})", tuple(ids))
    dead_positions = np.flatnonzero(np.isin(merged.bundle_id, [row[0] for row in hidden]))
    connection.execute(
        "INSERT INTO segments VALUES (?, ?, ?, ?, ?)",
        (target, kind, len(merged.window_document), encode_columns(merged), dead_positions.astype("<i8").tobytes()),
    )
    connection.executemany(
        "UPDATE bundles SET segment = ?, position = ? WHERE id = ?",
        ((target, position, bundle) for position, bundle in enumerate(merged.bundle_id.tolist())),
    )


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


def _merge_postings(
    connection: apsw.Connection,
    renumber: Mapping[int, tuple[IntArray, IntArray, IntArray]],
    target: int,
    should_stop: Callable[[], bool],
) -> None:
    """Move the postings of these segments under the new numbers, a range of terms after the other.

    Memory holds one range at a time, and the pages that it leaves take in what is written next.
    """
    segments = sorted(renumber)
    flat = [np.concatenate([renumber[segment][level] for segment in segments]) for level in range(3)]
    sizes = [[len(renumber[segment][level]) for segment in segments] for level in range(3)]
    bases = np.array([np.cumsum(level) - level for level in sizes], dtype=np.int64)
    place = {segment: number for number, segment in enumerate(segments)}
    listed = json.dumps(segments)
    after = ""
    while True:
        if should_stop():
            raise _Stopped
        last = _range_end(connection, segments, after)
        within, bounds = ("term > ?", (listed, after)) if last is None else (_RANGE, (listed, after, last))
        found = rows(connection, f"SELECT term, segment, body FROM postings WHERE segment {_IN} AND {within}", bounds)
        connection.execute(f"DELETE FROM postings WHERE segment {_IN} AND {within}", bounds)
        found.sort(key=itemgetter(0, 1))
        vocabulary: dict[str, int] = {}
        numbers = np.array([vocabulary.setdefault(row[0], len(vocabulary)) for row in found], dtype=np.int64)
        places = np.array([place[row[1]] for row in found], dtype=np.int64)
        posted = []
        for level, (owners, units, counts) in zip(_FIELD_LEVEL, decode_many([row[2] for row in found]), strict=True):
            moved = flat[level][units + bases[level][places[owners]]]
            kept = moved >= 0
            posted.append((numbers[owners[kept]], moved[kept], counts[kept]))
        connection.executemany(
            "INSERT INTO postings VALUES (?, ?, ?)",
            ((term, target, blob) for term, blob in encode_postings(list(vocabulary), posted) if blob != NO_POSTINGS),
        )
        if last is None:
            return
        after = last


def _range_end(connection: apsw.Connection, segments: Sequence[int], after: str) -> str | None:
    """The last term of the next range, None where it takes in all that is left."""
    step = "SELECT term FROM postings WHERE segment = ? AND term > ? ORDER BY term LIMIT 1 OFFSET ?"
    found = [row[0] for segment in segments for row in rows(connection, step, (segment, after, RANGE_TERMS))]
    return min(found, default=None)
