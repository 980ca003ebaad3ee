"""The contract of every store. A new implementation joins by adding its factory to `STORES` and to `--store`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from satchel.errors import LockedError, StoreError
from satchel.store.extract import extract
from satchel.store.protocol import Store
from satchel.store.records import SkippedFile, Stamp
from satchel.store.sqlite import SqliteStore
from satchel.types import Definition, EdgeType, Import, Kind, Outline, Part, Reference, Role
from tests.contracts.documents import SOURCE, file_document, record_document
from tests.postgres import postgres_store

Factory = Callable[..., Store]
STORES: dict[str, Factory] = {
    "sqlite": lambda folder, **options: SqliteStore(folder / "store" / "index.db", **options),
    "postgres": postgres_store,
}


@pytest.fixture
def store(store_kind: str, tmp_path: Path) -> Iterator[Store]:
    opened = STORES[store_kind](tmp_path)
    yield opened
    opened.close()


def units(store: Store, kind: Kind, term: str) -> list[str]:
    """Keys of the documents whose body holds the term, once a span."""
    lexicon = store.lexicon(kind)
    spans, _ = lexicon.postings([term])[0].body
    ids = [int(lexicon.columns.document_id[lexicon.span_document[span]]) for span in spans]
    known = store.documents(ids)
    return [known[identity].key for identity in ids]


def test_what_was_put_is_read_back(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py"), record_document("c1", "Fix the parser\n\nbody", files=("src/a.py",))])
    document = store.document(Kind.CODE, "src/a.py")
    assert document is not None
    assert store.text(document.id) == SOURCE
    assert (document.language, document.line_count, document.content_hash) == ("python", SOURCE.count("\n") + 1, "h1")
    parts = store.chunks(document.rows)
    assert [part.name for part in parts.values()] == ["", "read_config", "parse"]
    commit = store.document(Kind.COMMIT, "c1")
    assert commit is not None
    assert (commit.title, commit.tags, commit.importance) == ("Fix the parser", ("one", "two"), 0.5)
    assert commit.fields == {"author": "Ada"}
    assert store.kinds() == {Kind.CODE: 3, Kind.COMMIT: 1}


def test_every_edge_type_written_is_found_from_both_ends(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py"), record_document("c1", "Fix", files=("src/a.py",))])
    document = store.document(Kind.CODE, "src/a.py")
    assert document is not None
    calls = store.edges_to(["parse"], [EdgeType.CALLS])
    assert [(kind, target) for _, kind, target in calls] == [(EdgeType.CALLS, "parse")]
    assert store.edges_from([calls[0][0]], [EdgeType.CALLS]) == calls
    assert store.edges_from([document.first_chunk], [EdgeType.IMPORTS])[0][2] == "os"
    assert store.edges_to(["src/a.py"], [EdgeType.TOUCHES])


def test_definitions_and_names_are_looked_up_exactly(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py"), file_document("lib/a.py", "x = 1\n")])
    assert [row.name for row in store.definitions(["parse", "PARSE"])] == ["parse"]
    assert [row.name for row in store.definitions(["parse"], most=1)] == ["parse"]
    assert store.definitions(["parse"], most=0) == []
    assert store.files_defining(["parse"], most=0) == []
    (row,) = store.definitions(["parse"])
    assert store.files_defining(["parse", "PARSE"], most=1) == [(row, "src/a.py", "python")]
    assert [path for _, path in store.paths_named(["a.py"], [])] == ["src/a.py", "lib/a.py"]
    assert [path for _, path in store.paths_named([], ["a"])] == ["src/a.py", "lib/a.py"]


def test_a_document_put_again_replaces_the_old_one_everywhere(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
    with store.write() as writer:
        writer.put([file_document("src/a.py", "zebra = 1\n", content_hash="h2")])
    assert store.kinds() == {Kind.CODE: 1}
    assert store.definitions(["parse"]) == []
    assert store.edges_to(["parse"], [EdgeType.CALLS]) == []
    assert units(store, Kind.CODE, "pars") == []
    assert units(store, Kind.CODE, "zebra") == ["src/a.py"]


def test_removal_leaves_nothing_behind(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py"), file_document("src/b.py", "zebra = 1\n")])
    with store.write() as writer:
        writer.remove(Kind.CODE, ["src/a.py", "unknown"])
    assert store.keys(Kind.CODE) == {"src/b.py"}
    assert store.lexicon(Kind.CODE).document_count == 1
    assert units(store, Kind.CODE, "pars") == []
    with store.write() as writer:
        writer.put([file_document("src/c.py")])
        writer.merge(lambda: False)
    assert units(store, Kind.CODE, "pars") == ["src/c.py"] * 2


def test_a_null_character_in_a_question_finds_nothing(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
    assert store.document(Kind.CODE, "src/a.py\0") is None
    assert store.definitions(["parse\0"]) == []
    assert [row.name for row in store.definitions(["parse", "\0"])] == ["parse"]


def test_a_name_of_any_length_is_no_fault(store: Store) -> None:
    name = "".join(chr(0x4E00 + number * 7919 % 20_000) for number in range(3_000))  # which no index can shorten
    text = f"def {name}():\n    pass\n"
    part = Part(Role.FUNCTION, name, 1, 2, text, "", (Definition(name, "", 1),), (Reference(EdgeType.CALLS, name),))
    document = file_document("src/a.py", text)
    outline = Outline("python", (part,), (Import(name, (), 1, 1),))
    with store.write() as writer:
        writer.put([replace(document, extraction=extract(text, outline))])
        writer.relate({1: [(EdgeType.FIELD, name), (EdgeType.FIELD, "short")]})
    assert store.chunks([1])[1].name == name
    assert store.definitions([name]) == []
    assert store.edges_to([name], list(EdgeType)) == []
    assert len(store.edges_to(["short"], list(EdgeType))) == 1


def test_edges_of_chunks_are_replaced_and_found_from_both_ends(store: Store) -> None:
    with store.write() as writer:
        writer.put([record_document("c1", "alpha"), record_document("c2", "beta")])
    rows = {key: row.first_chunk for key in ("c1", "c2") if (row := store.document(Kind.COMMIT, key)) is not None}
    with store.write() as writer:
        relations = [(EdgeType.CHILD, "x"), (EdgeType.FIELD, "y"), (EdgeType.FIELD, "y")]
        writer.relate(dict.fromkeys(rows.values(), relations))
    assert len(store.edges_from(list(rows.values()), list(EdgeType))) == 4
    with store.write() as writer:
        writer.relate({rows["c1"]: [(EdgeType.REFERENCE, "z")], rows["c2"]: []})
    assert store.edges_from(list(rows.values()), list(EdgeType)) == [(rows["c1"], EdgeType.REFERENCE, "z")]
    assert store.edges_to(["x", "y", "z"], list(EdgeType)) == [(rows["c1"], EdgeType.REFERENCE, "z")]


def test_a_walk_learns_names_tags_and_texts_of_many_chunks_at_once(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py"), record_document("c1", "Fix"), record_document("c2", "Hide")])
    firsts = store.first_rows(Kind.COMMIT, ["c1", "c2", "nobody"])
    assert set(firsts) == {"c1", "c2"}
    with store.write() as writer:
        writer.hide(Kind.COMMIT, ["c2"])
    (place,) = store.places([*firsts.values(), 999]).values()
    assert (place.kind, place.key, place.tags, place.natural_key) == (Kind.COMMIT, "c1", ("one", "two"), "c1")
    assert (place.updated, place.is_first) == (1_700_000_000.0, True)
    file = store.document(Kind.CODE, "src/a.py")
    assert file is not None
    places = store.places(file.rows)
    assert [place.natural_key for place in places.values()] == [
        "src/a.py", "src/a.py::read_config", "src/a.py::parse",
    ]  # fmt: skip
    assert [place.is_first for place in places.values()] == [True, False, False]
    assert store.texts([file.id, place.document, 999]) == {file.id: SOURCE, place.document: "Fix"}


def test_hidden_documents_are_out_of_sight_until_they_are_shown_again(store: Store) -> None:
    with store.write() as writer:
        writer.put([record_document("c1", "alpha"), record_document("c2", "alpha beta")])
        writer.hide(Kind.COMMIT, ["c2"])
    assert units(store, Kind.COMMIT, "alpha") == ["c1"]
    assert store.kinds() == {Kind.COMMIT: 1}
    assert store.keys(Kind.COMMIT) == {"c1", "c2"}
    with store.write() as writer:
        writer.hide(Kind.COMMIT, [])
    assert units(store, Kind.COMMIT, "alpha") == ["c1", "c2"]


def test_where_the_shown_ones_are_named_no_other_hidden_document_is_touched(store: Store) -> None:
    with store.write() as writer:
        writer.put([record_document(f"c{number}", "alpha") for number in range(4)])
        writer.hide(Kind.COMMIT, ["c1", "c2"])
    with store.write() as writer:
        writer.hide(Kind.COMMIT, ["c3"], shown=["c2"])
    assert (units(store, Kind.COMMIT, "alpha"), store.hidden_keys(Kind.COMMIT)) == (["c0", "c2"], {"c1", "c3"})


def test_the_newest_records_of_a_kind_come_newest_first_without_the_hidden(store: Store) -> None:
    made = {"c1": 10.0, "c2": 30.0, "c3": 20.0, "c4": 30.0, "c5": 40.0}
    with store.write() as writer:
        writer.put([replace(record_document(key, f"about {key}"), created=at) for key, at in made.items()])
        writer.hide(Kind.COMMIT, ["c5"])
    newest = store.newest(Kind.COMMIT, 3)
    assert [store.documents(newest)[identity].key for identity in newest] == ["c2", "c4", "c3"]
    assert store.newest(Kind.MEMORY, 3) == []


def test_merging_segments_changes_no_posting_and_keeps_the_hidden_hidden(store: Store) -> None:
    for number in range(12):
        with store.write() as writer:
            writer.put([record_document(f"c{number:02}", f"alpha beta{number}\n" + "gamma\n" * number)])
    with store.write() as writer:
        writer.hide(Kind.COMMIT, ["c03"])
    before = store.lexicon(Kind.COMMIT)
    expected = sorted(units(store, Kind.COMMIT, "alpha"))
    with store.write() as writer:
        writer.remove(Kind.COMMIT, ["c05"])
        writer.merge(lambda: False)
    after = store.lexicon(Kind.COMMIT)
    assert sorted(units(store, Kind.COMMIT, "alpha")) == [key for key in expected if key != "c05"]
    assert after.document_count == before.document_count - 1
    assert units(store, Kind.COMMIT, "beta3") == []
    with store.write() as writer:
        writer.hide(Kind.COMMIT, [])
    spans, counts = store.lexicon(Kind.COMMIT).postings(["gamma"])[0].body
    assert sorted(counts.tolist()) == [1, 2, 3, 4, 6, 7, 8, 9, 10, 11]
    assert np.all(np.diff(spans) > 0)


def test_kinds_are_counted_anew_after_a_write_whether_words_were_read_or_not(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py"), record_document("c1", "Fix", files=("src/a.py",))])
    assert store.kinds() == {Kind.CODE: 3, Kind.COMMIT: 1}
    before = store.lexicon(Kind.CODE)
    with store.write() as writer:
        writer.put([record_document("c2", "Fix more", files=("src/a.py",)), record_document("c3", "Hide")])
        writer.hide(Kind.COMMIT, ["c3"])
    assert store.kinds() == {Kind.CODE: 3, Kind.COMMIT: 2}
    assert store.lexicon(Kind.CODE).cache is before.cache
    with store.write() as writer:
        writer.remove(Kind.CODE, ["src/a.py"])
    assert store.kinds() == {Kind.COMMIT: 2}
    assert store.lexicon(Kind.CODE).cache is not before.cache


def test_a_term_that_is_asked_for_twice_has_its_postings_twice(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
    one, nothing, other = (row.body[0].tolist() for row in store.lexicon(Kind.CODE).postings(["pars", "zzz", "pars"]))
    assert one == other != nothing == []


def test_a_failed_write_publishes_nothing(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
    revision = store.revision
    with pytest.raises(RuntimeError, match="stop"):
        _remove_and_fail(store)
    assert store.revision == revision
    assert store.keys(Kind.CODE) == {"src/a.py"}


def test_who_writes_sees_what_was_written_and_nobody_else_does(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
        assert store.keys(Kind.CODE) == {"src/a.py"}
        seen: list[set[str]] = []
        thread = threading.Thread(target=lambda: seen.append(store.keys(Kind.CODE)))
        thread.start()
        thread.join()
        assert seen == [set()]


def _remove_and_fail(store: Store) -> None:
    with store.write() as writer:
        writer.remove(Kind.CODE, ["src/a.py"])
        raise RuntimeError("stop")


def test_stamps_and_skipped_files_are_remembered(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
        writer.skip([SkippedFile("x.bin", "binary", 1, 2, 3)])
    stamp = store.stamps(Kind.CODE)["src/a.py"]
    with store.write() as writer:
        writer.restamp([Stamp(stamp.document, stamp.content_hash, 9, 8, 7)])
    assert store.stamps(Kind.CODE)["src/a.py"] == Stamp(stamp.document, "h1", 9, 8, 7)
    assert store.skipped_stamps() == {"x.bin": (1, 2, 3)}
    assert store.skipped_reasons() == {"binary": 1}
    with store.write() as writer:
        writer.unskip(["x.bin"])
    assert store.skipped_stamps() == {}


def test_every_thread_reads_what_was_published(store: Store) -> None:
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
    seen: list[set[str]] = []
    thread = threading.Thread(target=lambda: seen.append(store.keys(Kind.CODE)))
    thread.start()
    thread.join()
    assert seen == [{"src/a.py"}]


texts = st.text(alphabet="ab \n", max_size=60).map(lambda text: text + "alpha")


@given(steps=st.lists(st.tuples(st.sampled_from("uvwxyz"), texts), max_size=12))
def test_incremental_writes_give_the_words_of_a_fresh_store(
    store_kind: str, tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str]]
) -> None:
    folder = tmp_path_factory.mktemp("stores")
    grown, fresh = (STORES[store_kind](folder / name) for name in ("grown", "fresh"))
    for key, text in steps:
        with grown.write() as writer:
            writer.put([record_document(key, text)])
            writer.merge(lambda: False)
    with fresh.write() as writer:
        writer.put([record_document(key, text) for key, text in dict(steps).items()])
    for term in ("alpha", "a", "b", "ab"):
        assert sorted(units(grown, Kind.COMMIT, term)) == sorted(units(fresh, Kind.COMMIT, term))
    assert grown.lexicon(Kind.COMMIT).span_count == fresh.lexicon(Kind.COMMIT).span_count
    grown.close()
    fresh.close()


def test_a_second_writer_is_told_that_the_store_is_locked(store_kind: str, tmp_path: Path) -> None:
    first, second = STORES[store_kind](tmp_path), STORES[store_kind](tmp_path, timeout_ms=0)
    with first.write(), pytest.raises(LockedError, match="another process"), second.write():
        pass
    first.close()
    second.close()


@pytest.mark.files("a server keeps its own files; tests/store/test_postgres_faults.py harms rows")
def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(StoreError, match=r"index\.db"):
        SqliteStore(path)


@pytest.mark.files("of a server: test_a_store_of_a_newer_satchel")
def test_a_store_of_a_newer_version_is_refused_untouched(tmp_path: Path) -> None:
    path = tmp_path / "index.db"
    store = SqliteStore(path)
    with store.write() as writer:
        writer.put([file_document("src/a.py")])
    store._connection().pragma("user_version", 99)
    store.close()
    with pytest.raises(StoreError, match="upgrade satchel"):
        SqliteStore(path)
