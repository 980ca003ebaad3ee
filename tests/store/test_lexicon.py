"""Where rows of the store are in the words of a kind."""

from __future__ import annotations

from pathlib import Path

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
