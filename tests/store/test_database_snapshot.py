"""One published state of a store: what is written meanwhile does not show, to no thread."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.errors import StoreError
from satchel.store.sqlite import SqliteStore
from satchel.store.sqlite.connection import open_connection
from satchel.types import Kind
from tests.contracts.documents import file_document


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "index.db")
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
    yield store
    store.close()


def replace_everything(path: Path) -> None:
    """What another process does: other files, in other segments, under numbers that were used before."""
    other = SqliteStore(path)
    with other.write() as writer:
        writer.remove(Kind.CODE, ["src/a.py"])
        writer.put([file_document("src/b.py", "zebra = 1\n")])
        writer.merge(lambda: False)
    other.close()


def test_a_snapshot_stays_as_it_was_while_the_store_moves_on(store: SqliteStore) -> None:
    with store.snapshot() as state:
        before = state.lexicon(Kind.CODE)
        replace_everything(store.path)
        assert state.keys(Kind.CODE) == {"src/a.py"}
        assert state.revision == "1"
        document = state.document(Kind.CODE, "src/a.py")
        assert document is not None
        assert "def parse" in state.text(document.id)
        for lexicon in (before, state.lexicon(Kind.CODE)):
            assert len(lexicon.postings(["pars"])[0].body[0]) == 2
        assert store.keys(Kind.CODE) == {"src/b.py"}
        assert len(store.lexicon(Kind.CODE).postings(["pars"])[0].body[0]) == 0
        assert len(state.lexicon(Kind.CODE).postings(["pars"])[0].body[0]) == 2
    with store.snapshot() as state:
        assert (state.keys(Kind.CODE), state.revision) == ({"src/b.py"}, "2")


def test_threads_share_one_state(store: SqliteStore) -> None:
    seen: list[set[str]] = []
    with store.snapshot() as state:
        replace_everything(store.path)
        threads = [threading.Thread(target=lambda: seen.append(state.keys(Kind.CODE))) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == [{"src/a.py"}] * 4


def test_one_snapshot_after_the_other_uses_the_same_connection(store: SqliteStore) -> None:
    for _ in range(5):
        with store.snapshot() as one, store.snapshot() as other:
            assert one.keys(Kind.CODE) == other.keys(Kind.CODE)
    assert len(store._connections) == 3


def test_a_snapshot_ends_with_its_block(store: SqliteStore) -> None:
    with store.snapshot() as state:
        assert state.kinds() == {Kind.CODE: 3}
    with pytest.raises(StoreError, match="this answer is over"):
        state.keys(Kind.CODE)


def test_a_snapshot_cannot_be_written(store: SqliteStore) -> None:
    with store.snapshot() as state, pytest.raises(StoreError, match="cannot be written"):
        state.write()


def test_a_store_that_is_closed_meanwhile_is_no_obstacle_to_the_end(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "index.db")
    with store.snapshot():
        store.close()


def test_a_thread_takes_over_the_connection_of_one_that_has_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[Path] = []

    def counted(path: Path, **options: Any) -> apsw.Connection:
        opened.append(path)
        return open_connection(path, **options)

    monkeypatch.setattr("satchel.store.sqlite.connection.open_connection", counted)
    store = SqliteStore(tmp_path / "memory.db", durable=True)
    for _ in range(5):
        thread = threading.Thread(target=store.kinds)
        thread.start()
        thread.join()
    store.close()
    assert len(opened) == 2
