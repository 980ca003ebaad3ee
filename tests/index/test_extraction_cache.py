"""What work trees share: only ever the right extraction, and whatever is wrong with the file costs a parse."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import apsw
import pytest

from satchel.index import reading as extraction_cache
from satchel.index.reading import ExtractionCache, Reading
from satchel.store.sqlite.connection import open_cache
from satchel.testing import TinyRepository
from tests.index.indexing import KEY, Index, differences, fresh_contents
from tests.repositories import git

ROW = "UPDATE extractions SET {} WHERE key LIKE '%/a.py'"


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "cache.db"


@pytest.fixture
def second(repository: TinyRepository, cache: Path, tmp_path: Path) -> Iterator[Index]:
    """The index of a second work tree, not yet built; the first one is."""
    first = Index(repository.root, tmp_path / "first.db", cache)
    assert first.run().cached == 0
    first.close()
    git(repository.root, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    index = Index(tmp_path / "other", tmp_path / "second.db", cache)
    yield index
    index.close()


def change(cache: Path, statement: str, *bindings: object) -> None:
    connection = open_cache(cache, extraction_cache.VERSION, extraction_cache.SCHEMA)
    connection.execute(statement, bindings)
    assert connection.changes()
    connection.close()


def is_right(index: Index, folder: Path) -> bool:
    return differences(index.contents(), fresh_contents(index.root, folder, index.options)) == {}


def test_a_second_work_tree_reads_nothing_that_the_first_one_read(second: Index, tmp_path: Path) -> None:
    report = second.run()
    assert (report.added, report.cached) == (2, 2)
    second.options = replace(second.options, reading=replace(second.options.reading, cache=""))
    assert is_right(second, tmp_path)


def test_only_changed_files_are_read(second: Index) -> None:
    (second.root / "src/a.py").write_text("def other(): pass\n")
    report = second.run()
    assert (report.added, report.cached) == (2, 1)


def test_equal_bytes_under_another_name_are_another_file(second: Index, tmp_path: Path) -> None:
    text = "project(x)\n# CMake, or just a text\n"
    (second.root / "notes.txt").write_text(text)
    second.run()
    (second.root / "notes.txt").rename(second.root / "CMakeLists.txt")
    assert second.run().cached == 0
    second.options = replace(second.options, reading=replace(second.options.reading, cache=""))
    assert is_right(second, tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        "kind = 'doc'",
        "text = x'00'",
        "text = CAST(text AS TEXT)",
        "extraction = substr(extraction, 2)",
        "redacted = 7",
        "redacted = 'none'",
        "seal = x'00'",
        "seal = zeroblob(16)",
    ],
)
def test_a_forged_or_damaged_row_is_not_believed(second: Index, cache: Path, damage: str) -> None:
    change(cache, ROW.format(damage))
    assert second.run().cached == 1
    third = Index(second.root, cache.with_name("third.db"), cache)
    assert third.run().cached == 2
    third.close()


def test_a_row_under_another_key_is_not_believed(second: Index, cache: Path) -> None:
    """A row of one file moved to the place of another."""
    connection = open_cache(cache, extraction_cache.VERSION, extraction_cache.SCHEMA)
    (readme,) = (connection.execute("SELECT key FROM extractions WHERE key LIKE '%README.md'").get,)
    connection.execute("DELETE FROM extractions WHERE key = ?", (readme,))
    connection.execute("UPDATE extractions SET key = ?", (readme,))
    connection.close()
    assert second.run().cached == 0


@pytest.mark.parametrize("changed", [{"key": b"another key" * 3}, {"allow": ("x",)}])
def test_what_was_read_otherwise_is_not_used(second: Index, changed: dict[str, object]) -> None:
    second.options = replace(second.options, reading=replace(second.options.reading, **changed))  # type: ignore[arg-type]
    assert second.run().cached == 0


def truncated(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:5000])


def flipped(path: Path) -> None:
    raw = bytearray(path.read_bytes())
    for position in range(100, len(raw), 97):
        raw[position] ^= 0xFF
    path.write_bytes(raw)


def foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE extractions(something)")
    connection.execute("PRAGMA user_version = 2")
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    "harm",
    [
        truncated,
        flipped,
        foreign,
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"not a database at all" * 100),
        lambda path: path.unlink(),
    ],
    ids=["truncated", "flipped", "foreign", "empty", "text", "gone"],
)
def test_a_broken_file_is_replaced(second: Index, cache: Path, tmp_path: Path, harm: Callable[[Path], object]) -> None:
    harm(cache)
    assert second.run().added == 2
    assert is_right(second, tmp_path)
    third = Index(second.root, tmp_path / "third.db", cache)
    third.run()
    fourth = Index(second.root, tmp_path / "fourth.db", cache)
    assert fourth.run().cached == 2
    third.close()
    fourth.close()


def test_a_folder_in_its_place_is_done_without(second: Index, cache: Path) -> None:
    cache.unlink()
    cache.mkdir()
    report = second.run()
    assert (report.added, report.cached, report.notes) == (2, 0, ())


def test_a_locked_file_is_done_without(second: Index, cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    other = open_cache(cache, extraction_cache.VERSION, extraction_cache.SCHEMA)
    monkeypatch.setattr("satchel.store.sqlite.connection.CACHE_TIMEOUT_MS", 0)
    (second.root / "src/a.py").write_text("def other(): pass\n")
    other.execute("BEGIN IMMEDIATE")
    report = second.run()
    assert (report.added, report.cached) == (2, 1)
    other.execute("ROLLBACK")
    assert other.execute("SELECT count(*) FROM extractions").get == 2
    other.close()


def test_a_cache_that_grew_too_large_loses_its_oldest_rows(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extraction_cache, "MOST_BYTES", 200_000)
    kept = ExtractionCache.open(cache, KEY)
    assert kept is not None
    for number in range(100):
        reading = Reading(f"{number}", kind="code", text=number.to_bytes(2) * 5_000, dumped=b"x")
        kept.save([(f"{number:03}", reading)])
    connection = apsw.Connection(str(cache))
    keys = [row[0] for row in connection.execute("SELECT key FROM extractions ORDER BY key")]
    pages = connection.pragma("page_count") * connection.pragma("page_size")
    connection.close()
    kept.close()
    assert keys == [f"{number:03}" for number in range(100 - len(keys), 100)]
    assert 10 < len(keys) < 20
    assert pages < 300_000


def test_a_closed_cache_finds_and_keeps_nothing(cache: Path) -> None:
    kept = ExtractionCache.open(cache, KEY)
    assert kept is not None
    kept.close()
    kept.save([("key", Reading("a"))])
    assert kept.load("key", Reading("a")) is False
