"""The nearest of many vectors, found by an index: the same values as if all were compared, and few are missed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from msgspec.structs import replace

from satchel import Satchel
from satchel.embed import normalised
from satchel.errors import StoreError
from satchel.store import vectors
from satchel.store.database import DatabaseStore
from satchel.store.postgres import PostgresStore
from satchel.store.sqlite import SqliteStore
from satchel.store.vectors import NearVectors, VectorTable, decode, encode
from satchel.types import Kind
from tests.contracts.documents import record_document
from tests.postgres import environment, postgres_store, server_url

MODEL = "model?@1/16/body'/1"
COUNT, SIZE = 300, 16

Store = DatabaseStore


def filled(store: DatabaseStore, count: int = COUNT) -> npt.NDArray[np.float32]:
    """Write memories with vectors into a store, and fewer commits with others; returns those of the memories."""
    made = normalised(np.random.default_rng(3).normal(0.4, 1, size=(count + 9, SIZE)).astype(np.float32))
    with store.write() as writer:
        writer.put([record_document(f"m{number}", "a", kind=Kind.MEMORY) for number in range(count)])
        writer.put([record_document(f"c{number}", "b", kind=Kind.COMMIT) for number in range(9)])
        writer.put_vectors(MODEL, list(enumerate(encode(made), 1)))
    return made[:count]


def same_values(store: DatabaseStore, questions: npt.NDArray[np.float32]) -> None:
    """Compare what an index finds with all vectors."""
    table = store.vectors(Kind.MEMORY, MODEL)
    exact = decode(table.rows.tolist(), encode(table.matrix.astype(np.float32)), of_many=True)
    for question in questions:
        with store.snapshot() as state:
            near = state.nearness(Kind.MEMORY, MODEL)
            assert isinstance(near, NearVectors)
            values, true = near.products(question), exact.products(question)
        assert near.rows.tolist() == table.rows.tolist()
        found = values != np.median(values)
        assert found.sum() == vectors.NEAREST
        assert np.allclose(values[found], true[found], atol=1e-6)
        assert len(set(np.argsort(-true)[:20]) & set(np.flatnonzero(found))) >= 19
        assert abs(values.mean() - true.mean()) < 0.01


@pytest.fixture(autouse=True)
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vectors, "EXACT_VECTORS", 100)
    monkeypatch.setattr(vectors, "NEAREST", 40)
    monkeypatch.setattr(vectors, "SAMPLED", COUNT)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PostgresStore]:
    import psycopg

    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    with closing(postgres_store(tmp_path)) as store:
        with psycopg.connect(server_url(), autocommit=True) as connection:
            connection.execute("DELETE FROM satchel.vectors")  # of other tests: indexes are counted over all roots
        yield store
        store.remove()
    with psycopg.connect(server_url(), autocommit=True) as connection:
        connection.execute("DROP EXTENSION vector CASCADE")


def test_an_index_on_the_server_finds_the_nearest_of_many(server: PostgresStore) -> None:
    made = filled(server)
    assert isinstance(server.nearness(Kind.MEMORY, MODEL), VectorTable)
    assert server.index_vectors() == 1
    with server.write() as writer:
        writer.hide(Kind.MEMORY, ["m7"])
    same_values(server, made[:10])
    assert "Index Scan using nearest_" in plan(server, made[0])
    assert isinstance(server.nearness(Kind.COMMIT, MODEL), VectorTable), "nine are compared one by one"


def plan(server: PostgresStore, question: npt.NDArray[np.float32]) -> str:
    """How the server finds the nearest."""
    asked: list[str] = []
    with server.snapshot() as state:
        run = state._run
        assert run is not None

        def explained(sql: str, bindings: object) -> list[tuple[object, ...]]:
            if sql.startswith("SELECT v.chunk FROM satchel.vectors"):
                asked.extend(str(row[0]) for row in run(f"EXPLAIN {sql}", bindings))  # type: ignore[arg-type]
            return run(sql, bindings)  # type: ignore[arg-type]

        state._run = explained
        state.nearness(Kind.MEMORY, MODEL).products(question)
    return "\n".join(asked)


def test_the_index_follows_what_is_written_and_goes_with_its_vectors(server: PostgresStore) -> None:
    filled(server)
    assert server.index_vectors() == 1
    new = normalised(np.eye(1, SIZE, dtype=np.float32))
    with server.write() as writer:
        writer.put([record_document("new", "c", kind=Kind.MEMORY)])
        row = COUNT + 10
        writer.put_vectors(MODEL, [(row, encode(new)[0])])
        writer.remove(Kind.MEMORY, ["m0"])
    near = server.nearness(Kind.MEMORY, MODEL)
    values = near.products(new[0])
    assert near.rows[int(np.argmax(values))] == row
    assert 1 not in near.rows
    with server.write() as writer:
        writer.keep_vectors("another")
    assert server.index_vectors() == 0


def test_own_and_shared_vectors_are_both_found(server: PostgresStore, tmp_path: Path) -> None:
    made = normalised(np.random.default_rng(5).normal(size=(COUNT, SIZE)).astype(np.float32))
    keys = [f"m{number}" for number in range(COUNT)]
    with closing(postgres_store(tmp_path / "shared", is_shared=True)) as memory:
        with memory.write() as writer:
            records = [record_document(key, "a", kind=Kind.MEMORY) for key in keys]
            shared = [replace(record, fields={"visibility": "team"}) for record in records[::2]]
            writer.put([*shared, *records[1::2]])
        rows = memory.first_rows(Kind.MEMORY, keys)
        with memory.write() as writer:
            writer.put_vectors(MODEL, [(rows[key], one) for key, one in zip(keys, encode(made), strict=True)])
        assert server.index_vectors() == 2
        near = memory.nearness(Kind.MEMORY, MODEL)
        assert isinstance(near, NearVectors)
        for place in (0, 1):
            assert near.rows[int(np.argmax(near.products(made[place])))] == rows[keys[place]]
        memory.remove()


def test_the_store_says_whether_the_server_has_the_extension(server: PostgresStore) -> None:
    assert ", pgvector 0." in server.server_version


def test_without_the_extension_all_vectors_are_compared(tmp_path: Path) -> None:
    with closing(postgres_store(tmp_path)) as store:
        filled(store)
        assert store.index_vectors() == 0
        assert isinstance(store.nearness(Kind.MEMORY, MODEL), VectorTable)
        assert "no pgvector: all vectors are compared" in store.server_version


@pytest.fixture(params=["sqlite", "postgres"])
def copied(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DatabaseStore]:
    pytest.importorskip("qdrant_client", reason="the extra 'qdrant' is not installed")
    from satchel.store.qdrant import QdrantIndex

    is_file = request.param == "sqlite"
    store: DatabaseStore = SqliteStore(tmp_path / "index.db") if is_file else postgres_store(tmp_path)
    with closing(store):
        store.vector_index = QdrantIndex(str(tmp_path / "qdrant"), store.name)
        yield store


def test_qdrant_finds_the_nearest_of_many(copied: DatabaseStore) -> None:
    same_values(copied, filled(copied)[:10])
    assert isinstance(copied.nearness(Kind.COMMIT, MODEL), VectorTable), "nine are compared one by one"


def test_qdrant_follows_what_is_written(copied: DatabaseStore) -> None:
    made = filled(copied)
    last = np.argmax(copied.nearness(Kind.MEMORY, MODEL).products(made[-1]))
    assert last == COUNT - 1
    with copied.snapshot() as state:
        with copied.write() as writer:
            writer.remove(Kind.COMMIT, [f"c{number}" for number in range(9)])
            writer.remove(Kind.MEMORY, ["m0", f"m{COUNT - 1}"])
            writer.put([record_document("new", "c", kind=Kind.MEMORY)])  # its row is the one that is free again
            writer.put_vectors(MODEL, [(COUNT, encode(-made[-1:])[0])])
        near = copied.nearness(Kind.MEMORY, MODEL)
        assert near.rows.tolist() == list(range(2, COUNT + 1))
        assert near.rows[np.argmax(near.products(-made[-1]))] == COUNT
        old = state.nearness(Kind.MEMORY, MODEL)
        assert len(old.rows) == COUNT


def test_qdrant_that_cannot_be_used_is_said(copied: DatabaseStore, tmp_path: Path) -> None:
    from satchel.store.qdrant import QdrantIndex

    filled(copied)
    (tmp_path / "file").write_text("")
    copied.vector_index = QdrantIndex(str(tmp_path / "file"), copied.name)
    with pytest.raises(StoreError, match="Qdrant cannot be used at store"):
        copied.nearness(Kind.MEMORY, MODEL).products(np.ones(SIZE, dtype=np.float32))


def test_a_user_chooses_qdrant_and_a_repository_does_not(tmp_path: Path) -> None:
    pytest.importorskip("qdrant_client", reason="the extra 'qdrant' is not installed")
    (tmp_path / ".satchel.toml").write_text('[store]\nvectors = ":memory:"\n', encoding="utf-8")
    for environ, is_chosen in (({}, False), ({"SATCHEL_STORE_VECTORS": ":memory:"}, True)):
        with Satchel.open(tmp_path, root=tmp_path, environ={**environment(tmp_path), **environ}) as engine:
            assert (engine.store.vector_index is not None) == is_chosen
