"""Merging segments range by range: nothing that can be seen changes, and a merge that is stopped left nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from satchel.store import writer as writer_module
from satchel.store.records import DamagedStoreError
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.contracts.documents import file_document, record_document
from tests.soundness import contents, faults


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    """A store of many segments of two kinds: documents are gone, hidden, or gone with their segment."""
    opened = SqliteStore(tmp_path / "index.db")
    for number in range(writer_module.MAX_SEGMENTS + 4):
        with opened.write() as writer:
            words = " ".join(f"word{number * 7 + step}" for step in range(20))
            writer.put([record_document(f"c{number}", f"alpha {words}"), record_document(f"d{number}", "alpha beta")])
            writer.put([file_document(f"src/file{number}.py")])
    with opened.write() as writer:
        writer.remove(Kind.COMMIT, ["c2", "d2", "d5"])
        writer.hide(Kind.COMMIT, ["c7"])
    yield opened
    opened.close()


def look(store: SqliteStore) -> tuple[list[str], dict[str, Any], int]:
    """Faults, contents and number of segments of a store file."""
    connection = apsw.Connection(str(store.path), flags=apsw.SQLITE_OPEN_READONLY)
    ((segments,),) = connection.execute("SELECT count(*) FROM segments")
    found = faults(connection), contents(connection), segments
    connection.close()
    return found


@pytest.mark.parametrize("step", [0, 1, 7, 1_000])
def test_merging_in_ranges_of_any_size_changes_nothing_that_can_be_seen(
    store: SqliteStore, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "RANGE_TERMS", step)
    _, before, _ = look(store)
    with store.write() as writer:
        writer.merge(lambda: False)
    found, after, segments = look(store)
    assert not found
    assert after == before
    assert segments == 2
    with store.write() as writer:
        writer.hide(Kind.COMMIT, [])
    ((holders, _),) = [found.body for found in store.lexicon(Kind.COMMIT).postings(["=word66"])]
    assert len(holders) == 3, "what was hidden was kept"


def test_a_merge_that_is_stopped_midway_leaves_the_store_as_it_was(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer_module, "RANGE_TERMS", 3)
    before = look(store)
    asked = iter([False] * 4)
    with store.write() as writer:
        writer.merge(lambda: next(asked, True))
    assert look(store) == before


def test_segments_of_which_nothing_is_left_disappear(store: SqliteStore) -> None:
    with store.write() as writer:
        writer.remove(Kind.COMMIT, store.keys(Kind.COMMIT))
        writer.merge(lambda: False)
    found, after, segments = look(store)
    assert not found
    assert segments == 1
    assert all(kind == Kind.CODE for kind, _, _ in after["words"])


def test_words_that_are_not_as_they_were_written_are_damage_and_no_crash(store: SqliteStore) -> None:
    connection = apsw.Connection(str(store.path))
    connection.execute("UPDATE segments SET columns = zeroblob(length(columns))")
    connection.close()
    with pytest.raises(DamagedStoreError, match="not as it was written"), store.write() as writer:
        writer.merge(lambda: False)
