"""Where rows of the store are in the words of a kind."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.contracts.documents import file_document, record_document


def test_rows_and_ids_are_found_also_where_merging_put_them_out_of_order(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "index.db")
    for first in (0, 10):
        with store.write() as writer:
            writer.put([file_document(f"src/file{number}.py") for number in range(first, first + 10)])
            writer.put([record_document(f"c{first}", "alpha")])
    with store.write() as writer:
        writer.remove(Kind.CODE, [f"src/file{number}.py" for number in range(8)])
        writer.merge(lambda: False)
    moved = store.lexicon(Kind.CODE).columns.chunk_row.tolist()
    assert moved != sorted(moved)
    for kind in (Kind.CODE, Kind.COMMIT):
        lexicon = store.lexicon(kind)
        rows, documents = lexicon.columns.chunk_row.tolist(), lexicon.columns.document_id.tolist()
        assert lexicon.chunk_positions(rows).tolist() == list(range(len(rows)))
        assert lexicon.document_positions(documents).tolist() == list(range(len(documents)))
        assert lexicon.chunk_positions([-1, 10_000]).tolist() == [-1, -1]
    assert store.lexicon(Kind.NOTE).document_positions([1]).tolist() == [-1]
    store.close()


def test_values_of_a_chunk_are_kept_until_it_is_deleted(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "index.db")
    with store.write() as writer:
        writer.put([file_document("a.py"), file_document("b.py")])
        writer.put([record_document("c1", "alpha")])
    asked: list[int] = []

    def keys(rows: list[int]) -> dict[int, str]:
        asked.extend(rows)
        documents = store.documents(part.document for part in store.chunks(rows).values())
        return {row: documents[part.document].key for row, part in store.chunks(rows).items()}

    def stored(kind: Kind) -> list[str]:
        lexicon = store.lexicon(kind)
        return list(lexicon.stored("keys", np.flatnonzero(lexicon.live_chunk).tolist(), keys).values())

    assert set(stored(Kind.CODE)) == {"a.py", "b.py"} == set(stored(Kind.CODE))
    words = store.lexicon(Kind.COMMIT).derived("words", object)
    revision = store.lexicon(Kind.COMMIT).fetched("keys", ["c1"], lambda new: dict.fromkeys(new, 1))
    count = len(asked)
    with store.write() as writer:
        writer.put([file_document("b.py")])
    assert set(stored(Kind.CODE)) == {"a.py", "b.py"}
    assert count < len(asked) < 2 * count
    assert store.lexicon(Kind.COMMIT).derived("words", object) is words
    assert revision != store.lexicon(Kind.COMMIT).fetched("keys", ["c1"], lambda new: dict.fromkeys(new, 2))
    store.close()


def _named(name: str, rows: list[int]) -> dict[int, str]:
    return dict.fromkeys(rows, name)


def test_a_segment_never_has_the_id_of_an_earlier_one(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "index.db")
    with store.write() as writer:
        writer.put([file_document("a.py")])
    seen: list[int] = []
    for name in ("b.py", "c.py", "d.py"):
        with store.write() as writer:
            writer.put([file_document(name)])
        lexicon = store.lexicon(Kind.CODE)
        newest = int(np.flatnonzero(lexicon.live_chunk)[-1])
        rows = lexicon.stored("key", [newest], partial(_named, name))
        assert list(rows.values()) == [name]
        seen += rows
        with store.write() as writer:
            writer.remove(Kind.CODE, [name])
            writer.merge(lambda: False)
    assert len(set(seen)) == 1  # rows are given again, so the id of the segment tells
    store.close()
