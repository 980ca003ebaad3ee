"""The embedder of a root: chosen late, filled at once or in a thread, through the real engine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from satchel import Satchel
from satchel.embed import fingerprint
from satchel.embed.static import StaticTable
from satchel.index import vectors
from satchel.index.run import Progress, VectorReport
from satchel.sources.conversations import Exchange
from satchel.testing import HashEmbedder, TinyRepository
from satchel.types import Kind, ShouldStop

CHUNKS = {"docs/guide.md": "# Guide\n\nOrders are sent again.\n\n## Retrying\n\nAttempts wait longer and longer.\n"}
PATIENCE_SECONDS = 300.0


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SATCHEL_HOME", str(tmp_path / "home"))
    repository = TinyRepository(tmp_path / "shop")
    repository.commit("Guide", CHUNKS)
    return repository.root


@pytest.fixture
def satchel(root: Path) -> Iterator[Satchel]:
    with Satchel.open(root, embedder=HashEmbedder()) as opened:
        yield opened


def test_both_files_of_a_root_are_filled(satchel: Satchel) -> None:
    satchel.index()
    report = satchel.embed()
    assert report.made == report.counts.total == report.counts.done > 0
    assert set(report.counts.kinds) == {Kind.DOC}
    satchel.memories.add("The port is 8080")
    assert satchel.embed().counts.kinds[Kind.MEMORY] == (1, 1)


def test_what_is_remembered_gets_its_vector_at_once_where_that_is_quick(satchel: Satchel) -> None:
    satchel.memories.add("The port is 8080")
    context = satchel.assemble("which port", types=["memories"])
    assert context.meta["vectors"] == {"memories": "1/1"}
    assert context.meta["embedder"] == "hash@1"


def test_a_slow_embedder_is_left_to_the_next_index_run(root: Path) -> None:
    embedder = HashEmbedder()
    embedder.is_quick = False
    with Satchel.open(root, embedder=embedder) as satchel:
        satchel.memories.add("The port is 8080")
        assert embedder.texts == 0
        assert satchel.assemble("which port", types=["memories"]).meta["vectors"] == {}
        satchel.embed()
        assert satchel.assemble("which port", types=["memories"]).meta["vectors"] == {"memories": "1/1"}


def test_lessons_have_a_vector_of_the_table_beside_that_of_a_model_for_the_hooks(root: Path) -> None:
    embedder = HashEmbedder()
    embedder.is_quick = False
    with Satchel.open(root, embedder=embedder) as satchel:
        satchel.memories.add("The port is 8080")
        satchel.embed()
        satchel.embed()
        of_table, of_model = (
            satchel.memory_store.vector_counts([Kind.MEMORY], fingerprint(one)) for one in (StaticTable(), embedder)
        )
        assert of_table == of_model == {Kind.MEMORY: (1, 1)}


def test_a_thread_fills_behind_a_process_that_stays_and_ends_with_it(satchel: Satchel) -> None:
    satchel.index()
    satchel.start_embedding()
    satchel.start_embedding()
    assert satchel.vectors.wait(PATIENCE_SECONDS)
    satchel.memories.add("The port is 8080")
    assert satchel.vectors.wait(PATIENCE_SECONDS)
    thread = satchel.vectors._thread
    assert thread is not None
    assert thread.is_alive()
    assert satchel.embed().made == 0
    satchel.close()
    assert not thread.is_alive()


def test_a_table_makes_its_vectors_without_a_thread(root: Path) -> None:
    with Satchel.open(root, embedder=StaticTable()) as satchel:
        satchel.index()
        satchel.start_embedding()
        satchel.memories.add("The port is 8080")
        assert satchel.vectors._thread is None
        assert satchel.vectors.state().counts.is_complete


def test_a_failure_in_the_thread_is_logged_and_the_next_round_goes_on(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    embedder = HashEmbedder()
    embedder.fails = True
    with Satchel.open(root, embedder=embedder) as satchel:
        satchel.index()
        satchel.start_embedding()
        assert satchel.vectors.wait(PATIENCE_SECONDS)
        assert "the hash embedder was told to fail" in capsys.readouterr().err
        embedder.fails = False
        satchel.vectors.wake()
        assert satchel.vectors.wait(PATIENCE_SECONDS)
        assert satchel.embed().counts.is_complete


def test_a_failing_embedder_stops_no_answer_and_no_memory(root: Path) -> None:
    embedder = HashEmbedder()
    with Satchel.open(root, embedder=embedder) as satchel:
        satchel.memories.add("The port of the shop is 8080")
        embedder.fails = True
        satchel.memories.add("The port of the bank is 9090")
        report = satchel.embed()
        assert report.failure is not None
        assert "told to fail" in report.failure.message
        assert report.counts.kinds == {Kind.MEMORY: (1, 2)}
        context = satchel.assemble("which port has the bank", types=["memories"])
    assert "9090" in context.text
    assert [failure.source for failure in context.failures] == ["vectors"]
    assert "told to fail" in context.text, "the answer itself says so"


def test_without_an_embedder_words_answer_and_only_the_meta_says_so(root: Path) -> None:
    with Satchel.open(root) as satchel:
        satchel.memories.add("The port is 8080")
        satchel.start_embedding()
        context = satchel.assemble("which port", types=["memories"])
        assert satchel.embed().counts.total == 0
    assert "8080" in context.text
    assert context.failures == ()
    assert (context.meta["embedder"], context.meta["vectors"]) == (None, {})


def test_an_embedder_that_was_configured_and_cannot_be_had_is_a_failure(root: Path) -> None:
    with Satchel.open(root, settings={"embed.provider": "endpoint"}) as satchel:
        satchel.memories.add("The port is 8080")
        context = satchel.assemble("which port", types=["memories"])
        report = satchel.embed()
    assert "8080" in context.text
    assert "embed.endpoint is not set" in context.failures[0].message
    assert report.failure == context.failures[0]


def exchanges(session: str, count: int) -> list[Exchange]:
    return [Exchange(session, f"{number:08d}", float(number), f"turn {number} of {session}") for number in range(count)]


def test_what_is_imported_gets_its_vector_at_once_too(satchel: Satchel) -> None:
    satchel.memory.remember_exchanges(exchanges("a", 3), origin="meeting")
    assert satchel.vectors.state().counts.kinds == {Kind.CONVERSATION: (3, 3)}
    lines = [line.encode() for line in satchel.export_memory()]
    satchel.conversations.forget([remark.id for remark in satchel.conversations.listed()])
    assert satchel.vectors.state().counts.total == 0
    satchel.import_memory(lines)
    assert satchel.vectors.state().counts.kinds == {Kind.CONVERSATION: (3, 3)}


def test_an_import_that_vectors_cannot_keep_up_with_leaves_them_for_later(
    satchel: Satchel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vectors, "QUICK_SECONDS", -1.0)
    satchel.memory.remember_exchanges(exchanges("a", 2), origin="meeting")
    monkeypatch.setattr(vectors, "QUICK_SECONDS", PATIENCE_SECONDS)
    satchel.memory.remember_exchanges(exchanges("b", 2), origin="meeting")
    assert satchel.vectors.state().counts.done == 0, "once it did not keep up, the next write does not wait again"
    assert satchel.embed().counts.is_complete
    satchel.memory.remember_exchanges(exchanges("c", 2), origin="meeting")
    assert satchel.vectors.state().counts.kinds == {Kind.CONVERSATION: (6, 6)}


def test_a_store_that_cannot_be_read_is_named_in_the_state(satchel: Satchel) -> None:
    satchel.memories.add("The port is 8080")
    satchel.memory_store.close()
    path = satchel.places.memory
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    path.write_bytes(b"this is not a database" * 300)
    state = satchel.vectors.state()
    assert state.failure is not None
    assert "memory.db" in state.failure.message
    report = satchel.embed()
    assert report.failure is not None
    assert path.read_bytes().startswith(b"this is not a database")


def test_memories_are_searched_by_meaning_too(root: Path) -> None:
    embedder = HashEmbedder(synonyms={"automobile": "car", "fast": "quick"}, dimension=256)
    with Satchel.open(root, embedder=embedder) as satchel:
        satchel.memories.add("quick car")
        for number in range(10):
            satchel.memories.add(f"unrelated note number {number} about gardening and tea")
        found = satchel.memories.search("fast automobile", limit=1)
    assert [row.memory.content for row in found] == ["quick car"]
    assert found[0].score > 0.4


def test_vectors_of_a_table_are_looked_for_again_only_after_a_write(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    with Satchel.open(root, embedder=StaticTable()) as satchel:
        fill = satchel.vectors.fill

        def counted(progress: Progress | None, should_stop: ShouldStop) -> VectorReport:
            looks.append(1)
            return fill(progress, should_stop)

        monkeypatch.setattr(satchel.vectors, "fill", counted)
        satchel.index()
        satchel.index()
        before = len(looks)
        satchel.index()
        assert len(looks) == before
        with satchel.store.write() as writer:
            writer.keep_vectors()
        satchel.index()
        assert len(looks) == before + 1
        assert satchel.vectors.state().counts.kinds == {Kind.DOC: (2, 2)}
