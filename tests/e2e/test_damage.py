"""An index file that was harmed is put aside and built again; the memory file is never touched."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from satchel import Satchel
from satchel.errors import StoreError
from satchel.store.sqlite import SqliteStore
from tests.contracts.documents import record_document
from tests.e2e.sample import sample_repository
from tests.index.indexing import look
from tests.soundness import faults

QUESTION = "where does the client wait with exponential backoff"
ANSWER = "return 0.1 * 2**attempt"
Harm = Callable[[Path], object]

pytestmark = pytest.mark.files("harms them byte by byte; damaged rows of a server: tests/store/test_postgres_faults.py")


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    return sample_repository(tmp_path / "shop").root


@pytest.fixture
def database(root: Path) -> Path:
    """The index file, built and closed."""
    with Satchel.open(root) as satchel:
        satchel.index()
        return satchel.places.index / "index.db"


def foreign(path: Path) -> None:
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE documents(whatever)")
    connection.execute("INSERT INTO documents VALUES ('the data of somebody else')")
    connection.commit()
    connection.close()


def zeroed_pages(path: Path) -> None:
    """The first page, which has the schema, stays as it is."""
    raw = path.read_bytes()
    path.write_bytes(raw[:4096] + bytes(len(raw) - 4096))


HARMS: dict[str, Harm] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:50_000]),
    "cut in the header": lambda path: path.write_bytes(path.read_bytes()[:50]),
    "text": lambda path: path.write_bytes(b"not a database at all" * 100),
    "foreign": foreign,
    "zeroed pages": zeroed_pages,
}


@pytest.mark.parametrize("harm", HARMS)
def test_a_harmed_index_is_put_aside_and_built_again(root: Path, database: Path, harm: str) -> None:
    HARMS[harm](database)
    harmed = database.read_bytes()
    with Satchel.open(root) as satchel:
        context = satchel.assemble(QUESTION)
        assert ANSWER in context.text
        assert [f.message for f in context.failures] == [
            "the index was damaged: it was put aside as index.db.damaged and built again"
        ]
        assert database.with_name("index.db.damaged").read_bytes() == harmed
        assert look(database, faults) == []
        assert ANSWER in satchel.assemble(QUESTION, refresh=False).text
    with Satchel.open(root) as satchel:
        context = satchel.assemble(QUESTION)
        assert (ANSWER in context.text, context.failures) == (True, ())


@pytest.mark.parametrize(
    "harm", [lambda path: path.write_bytes(b""), lambda path: path.unlink()], ids=["empty", "gone"]
)
def test_an_index_that_is_empty_or_gone_is_built_without_a_word(root: Path, database: Path, harm: Harm) -> None:
    harm(database)
    with Satchel.open(root) as satchel:
        context = satchel.assemble(QUESTION)
        assert (ANSWER in context.text, context.failures) == (True, ())
        assert not database.with_name("index.db.damaged").exists()


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_journals_full_of_garbage_are_ignored(root: Path, database: Path, suffix: str) -> None:
    database.with_name(database.name + suffix).write_bytes(random.Random(1).randbytes(40_000))
    with Satchel.open(root) as satchel:
        assert ANSWER in satchel.assemble(QUESTION).text
        assert look(database, faults) == []


def test_a_file_that_is_harmed_while_it_is_open(root: Path, database: Path) -> None:
    with Satchel.open(root) as satchel:
        satchel.assemble(QUESTION)
        with database.open("r+b") as file:  # what a failing disk does: the same file, other bytes
            file.seek(4096)
            file.write(random.Random(2).randbytes(database.stat().st_size - 4096))
        satchel.store.close()
        context = satchel.assemble(QUESTION, refresh=False)
        assert ANSWER in context.text
        assert "put aside as index.db.damaged" in context.failures[0].message
        assert ANSWER in satchel.search(QUESTION)[0].chunk.title or satchel.search(QUESTION)
    assert look(database, faults) == []


def test_one_flipped_byte_anywhere_never_stops_an_answer(root: Path, database: Path) -> None:
    """Not every flip can be noticed: in the middle of a word it only makes another word. None is a crash."""
    sound = database.read_bytes()
    chosen = random.Random(3)
    noticed = 0
    for _ in range(60):
        raw = bytearray(sound)
        raw[chosen.randrange(len(raw))] ^= 1 << chosen.randrange(8)
        for path in database.parent.glob("index.db*"):
            path.unlink()
        database.write_bytes(raw)
        with Satchel.open(root) as satchel:
            context = satchel.assemble(QUESTION)
            satchel.search("discount")
            satchel.index()
        assert context.text
        noticed += any("put aside" in failure.message for failure in context.failures)
        assert not [f for f in context.failures if "put aside" not in f.message], context.failures
    assert noticed


def test_a_second_damaged_file_takes_the_place_of_the_first_that_was_put_aside(root: Path, database: Path) -> None:
    for text in (b"first" * 100, b"second" * 100):
        database.write_bytes(text)
        with Satchel.open(root) as satchel:
            satchel.index()
    assert database.with_name("index.db.damaged").read_bytes() == b"second" * 100
    assert sorted(path.name for path in database.parent.glob("*.damaged*")) == ["index.db.damaged"]


def test_an_index_of_a_newer_version_is_refused_and_left_alone(root: Path, database: Path) -> None:
    connection = apsw.Connection(str(database))
    connection.pragma("user_version", 99)
    connection.close()
    before = database.read_bytes()
    for use in (Satchel.index, lambda satchel: satchel.assemble(QUESTION)):
        with Satchel.open(root) as satchel, pytest.raises(StoreError, match="upgrade satchel"):
            use(satchel)
    assert database.read_bytes() == before


def test_an_index_that_is_replaced_while_it_is_open_is_opened_anew(root: Path, database: Path) -> None:
    with Satchel.open(root) as satchel, Satchel.open(root) as other:
        satchel.assemble(QUESTION)
        database.write_bytes(b"damaged" * 100)
        for suffix in ("-wal", "-shm"):
            database.with_name(database.name + suffix).unlink(missing_ok=True)
        with Satchel.open(root) as third:
            third.index()
        for engine in (satchel, other):
            engine.index()
            assert ANSWER in engine.assemble(QUESTION).text
            assert engine.store.revision != "0"
    assert look(database, faults) == []


def test_what_is_written_to_an_index_that_was_built_again_meanwhile_is_not_lost(root: Path, database: Path) -> None:
    with Satchel.open(root) as satchel:
        satchel.assemble(QUESTION)
        for path in database.parent.glob("index.db*"):
            path.unlink()
        with Satchel.open(root) as other:
            other.index()
        (root / "late.py").write_text("def latecomer():\n    return 1\n")
        satchel.index()
    with Satchel.open(root) as third:
        assert "def latecomer" in third.assemble("latecomer", refresh=False).text


@pytest.mark.parametrize("harm", ["truncated", "cut in the header", "text", "foreign"])
def test_a_harmed_memory_file_is_never_touched(tmp_path: Path, harm: str) -> None:
    path = tmp_path / "memory.db"
    store = SqliteStore(path, durable=True)
    with store.write() as writer:
        writer.put([record_document(f"m{number}", "something to remember " * 50) for number in range(30)])
    store.close()
    HARMS[harm](path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"memory\.db"):
        read_all(path)
    assert path.read_bytes() == before
    assert [found.name for found in tmp_path.iterdir() if "damaged" in found.name] == []


def read_all(path: Path) -> None:
    store = SqliteStore(path, durable=True)
    try:
        store.statistics()
        for kind in store.kinds():
            store.documents(range(1, 100))
            store.lexicon(kind).postings(["rememb"])
        store.settle()
        for document in range(1, 31):
            store.text(document)
    finally:
        store.close()
