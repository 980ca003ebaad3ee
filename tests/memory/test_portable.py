from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from satchel.errors import StoreError, UsageError
from satchel.memory.journal import Journal
from satchel.memory.memories import Memories
from satchel.memory.model import ImportReport, experience_from
from satchel.memory.model import imported as read_line
from satchel.memory.portable import export_lines, import_lines, put_exchanges
from satchel.memory.scope import EVERYWHERE, Notebook
from satchel.search.query import analyse
from satchel.search.searcher import search_kind
from satchel.sources.conversations import Action, Exchange
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from tests.memory.conftest import ELSEWHERE, HERE, MakeNotebook
from tests.memory.samples import FALSIFIED, STARTED, calm_line


def imported(notebook: Notebook, lines: Iterable[Mapping[str, Any] | str], **options: Any) -> ImportReport:
    """What an import of these lines does; a text is a raw line."""
    raw = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    return import_lines([f"{line}\n".encode() for line in raw], notebook, **options)


def filled(notebook: Notebook) -> list[str]:
    """An export that has everything: a replaced memory, one for all, a resolved and an active experience."""
    memories, journal = Memories(notebook), Journal(notebook)
    old = memories.add("The port is 8080", tags=["port"], category="fact").memory
    memories.supersede(old.id, "The port is 9090")
    memories.add("Prefer short functions \u2014 always", everywhere=True, importance=1)
    journal.start(**STARTED)
    journal.update(hypothesis="The finaliser closes it")
    journal.note("seen twice")
    journal.resolve(**FALSIFIED)
    journal.start(**STARTED, session="night")
    return list(export_lines(notebook.store))


def test_an_export_comes_back_byte_for_byte(make_notebook: MakeNotebook) -> None:
    lines = filled(make_notebook(HERE))
    assert [json.loads(line).get("type") for line in lines] == [None, *["memory"] * 3, *["experience"] * 2]
    again = make_notebook(ELSEWHERE, "other")
    assert imported(again, lines) == ImportReport(added=5)
    assert list(export_lines(again.store)) == lines
    assert imported(again, lines) == ImportReport(unchanged=5)
    back = make_notebook(HERE, "other")
    assert [memory.content for memory in Memories(back).listed()] == [
        "Prefer short functions \u2014 always", "The port is 9090"
    ]  # fmt: skip
    active = Journal(back).active("night")
    assert active is not None
    assert len(Memories(again).listed()) == 1, "the rest belongs to another repository"


def test_conversations_come_back_and_are_found_again(make_notebook: MakeNotebook) -> None:
    here = make_notebook(HERE)
    turns = [
        Exchange("s1", "u1", 1_750_000_000.25, "Who named the server heron?", speaker="Ada", branch="main"),
        Exchange("s1", "u2", 1_750_000_001.5, "Why heron?", ("It stands still.",), (Action("Read", "a.py", "x"),)),
    ]
    put_exchanges(turns, here, origin="test")
    lines = list(export_lines(here.store))
    there = make_notebook(HERE, "other")
    assert imported(there, lines).added == 2
    assert list(export_lines(there.store)) == lines
    assert imported(there, lines).unchanged == 2
    assert put_exchanges(turns, there, origin="test").unchanged == 2, "they are the same exchanges"
    for question in ("who named the heron", "Ada"):
        result = [
            [hit.chunk.id for hit in search_kind(book.store, Kind.CONVERSATION, analyse(question)).hits]
            for book in (here, there)
        ]
        assert result[0] == result[1] != []


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"id": "a b"}, "it must not contain blanks"),
        ({"text": " "}, "text is missing"),
        ({"text": 3}, "text is int"),
        ({"title": "x" * 301}, "title has 301 characters"),
        ({"fields": []}, None),
        ({"fields": [1]}, "fields is list"),
        ({"fields": {"tools": 3}}, "tools is int"),
        ({"fields": {"tools": {"Read": -1}}}, "Read is -1"),
        ({"fields": {"failed_tools": "many"}}, "failed_tools is 'many'"),
        ({"fields": {"sidechain": 1, "failed_tools": 2, "unknown": {}}}, None),
        ({"created_at": None}, "created_at is None"),
    ],
    ids=str,
)
def test_every_field_of_an_exchange_is_checked(notebook: Notebook, change: dict[str, Any], text: str | None) -> None:
    line = {"type": "conversation", "id": "s1/1", "text": "User: hello", "created_at": "2026-05-01T10:00:00Z"}
    problems = imported(notebook, [line | change]).problems
    if text is None:
        assert problems == ()
    else:
        assert text in problems[0].message


def test_an_export_holds_every_repository(make_notebook: MakeNotebook) -> None:
    Memories(make_notebook(HERE)).add("alpha")
    Memories(make_notebook(ELSEWHERE)).add("beta")
    assert len(list(export_lines(make_notebook(HERE).store))) == 3


def test_records_can_be_given_to_this_repository_or_to_all(make_notebook: MakeNotebook) -> None:
    lines = filled(make_notebook(HERE))
    there = make_notebook(ELSEWHERE, "other")
    imported(there, lines, workspace=there.workspace)
    assert len(Memories(there).listed()) == 2
    everywhere = make_notebook(ELSEWHERE, "third")
    imported(everywhere, lines, workspace=EVERYWHERE)
    assert {memory.workspace for memory in Memories(everywhere).listed()} == {EVERYWHERE}


def test_a_broken_line_is_named_and_the_rest_is_imported(notebook: Notebook) -> None:
    report = imported(
        notebook,
        [
            {"format": "satchel-memory", "version": 1},
            "{not json",
            "",
            "[1]",
            {"type": "memory", "id": "m1", "content": "kept", "created_at": "2026-05-01T10:00:00Z"},
            {"type": "memory", "id": "m2", "content": " ", "created_at": "2026-05-01T10:00:00Z"},
            {"type": "dream"},
            "x" * 1_000_001,
        ],
    )
    assert report.added == 1
    assert [(problem.line, problem.message[:16]) for problem in report.problems] == [
        (2, "not JSON: Expect"),
        (4, "not a JSON objec"),
        (6, "content is missi"),
        (7, "type is 'dream':"),
        (8, "the line has 1,0"),
    ]
    assert Memories(notebook).get("m1").provenance == "import"


def test_another_version_of_the_format_is_refused(notebook: Notebook) -> None:
    report = imported(notebook, [{"format": "satchel-memory", "version": 2}])
    assert "version 2: this satchel reads" in report.problems[0].message
    with pytest.raises(UsageError, match="choose from satchel, calm-ghap"):
        imported(notebook, [], form="diary")


def test_only_a_later_state_replaces_what_is_here(notebook: Notebook) -> None:
    stored = Memories(notebook).add("present").memory
    line = json.loads(list(export_lines(notebook.store))[1])
    assert imported(notebook, [line | {"content": "older", "updated_at": "2020-01-01T00:00:00Z"}]).unchanged == 1
    assert Memories(notebook).get(stored.id).content == "present"
    assert imported(notebook, [line | {"content": "newer", "updated_at": "2030-01-01T00:00:00Z"}]).updated == 1
    assert Memories(notebook).get(stored.id).content == "newer"


def test_a_link_to_nothing_does_not_hide_a_memory(notebook: Notebook) -> None:
    line = {"type": "memory", "id": "m1", "content": "x y", "created_at": "2026-05-01", "superseded_by": "gone"}
    imported(notebook, [line])
    assert [memory.superseded_by for memory in Memories(notebook).listed()] == [""]


def test_an_active_experience_does_not_displace_another(notebook: Notebook) -> None:
    journal = Journal(notebook)
    mine = journal.start(**STARTED).experience
    line = json.loads(list(export_lines(notebook.store))[1])
    report = imported(notebook, [line | {"id": "ghap_other"}])
    assert [problem.message for problem in report.problems] == ["session 'default' has another active experience"]
    journal.resolve(**FALSIFIED)
    assert imported(notebook, [line]).unchanged == 1, "it has ended here meanwhile"
    assert journal.listed() == [journal.get(mine.id)]
    ended = json.loads(list(export_lines(notebook.store))[1])
    assert imported(notebook, [ended]).unchanged == 1


def test_an_experience_that_is_active_here_is_ended_by_its_later_state(make_notebook: MakeNotebook) -> None:
    there, here = make_notebook(HERE, "other"), make_notebook(HERE)
    Journal(there).start(**STARTED)
    imported(here, list(export_lines(there.store)))
    Journal(there).resolve(**FALSIFIED)
    assert imported(here, list(export_lines(there.store))) == ImportReport(updated=1)
    assert Journal(here).active() is None


def test_a_calm_journal_is_taken_over(notebook: Notebook) -> None:
    report = imported(
        notebook,
        [
            calm_line(),
            calm_line(id="g2", surprise=None),
            calm_line(id="g3", root_cause=None),
            calm_line(id="g4", surprise=None, root_cause=None, lesson=None, confidence_tier=None),
            calm_line(id="g5", outcome=None),
        ],
        form="calm-ghap",
    )
    assert report.added == 4
    assert [(problem.line, problem.message) for problem in report.problems] == [
        (5, "g5 has no outcome yet: only what was resolved is imported")
    ]
    journal = Journal(notebook)
    bare = journal.get("g4")
    assert (bare.workspace, bare.origin, bare.confidence_tier) == (HERE, "calm-ghap", "silver")
    assert (bare.surprise, bare.root_cause, bare.lesson) == ("", None, None)
    documents = [notebook.store.document(Kind.EXPERIENCE, key) for key in (calm_line()["id"], "g2", "g3", "g4")]
    assert [row.last_chunk - row.first_chunk + 1 for row in documents if row is not None] == [4, 3, 3, 2]


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"id": "a b"}, "id is 'a b'"),
        ({"domain": "cooking"}, "unknown domain 'cooking'"),
        ({"strategy": 3}, "strategy is int: it must be a text"),
        ({"goal": ""}, "goal is missing or empty"),
        ({"action": "x" * 1001}, "action has 1,001 characters"),
        ({"created_at": "soon"}, "created_at is 'soon'"),
        ({"created_at": 5}, "created_at is 5"),
        ({"created_at": "9999-12-31T23:59:59-23:59"}, "created_at is"),
        ({"history": {}}, None),
        ({"history": [1]}, "history is int: it must be an object"),
        ({"history": [{}] * 1001}, "history has 1,001 entries"),
        ({"notes": "n"}, "notes is str: it must be a list"),
        ({"notes": ["n"] * 1001}, "notes has 1,001 entries"),
        ({"iteration_count": 0}, "iteration_count is 0"),
        ({"outcome": "good"}, "outcome is str: it must be an object"),
        ({"outcome": {"status": "won"}}, "unknown status 'won'"),
        ({"outcome": {"status": "confirmed", "auto_captured": 1}}, "auto_captured is 1"),
        ({"root_cause": {"category": "luck"}}, "unknown root cause 'luck'"),
        ({"lesson": {}}, None),
        ({"confidence_tier": "tin"}, None),
        ({"unknown_key": 1}, None),
    ],
    ids=str,
)
def test_every_field_of_an_experience_is_checked(change: dict[str, Any], text: str | None) -> None:
    line = calm_line() | change
    if text is None:
        assert experience_from(line).confidence_tier == "silver"
    else:
        with pytest.raises(UsageError, match=text):
            experience_from(line)


@pytest.mark.parametrize("importance", [2, "high", True, None])
def test_the_importance_of_an_imported_memory_is_checked(importance: object) -> None:
    line = {"type": "memory", "id": "m", "content": "c", "created_at": "2026-05-01", "importance": importance}
    with pytest.raises(UsageError, match="importance is"):
        read_line(line)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
CHANGES = st.dictionaries(st.sampled_from([*calm_line(), "type", "content", "tags", "importance"]), JSON, max_size=4)


@given(CHANGES, st.sampled_from(["memory", "experience"]))
def test_no_line_is_worse_than_refused(change: dict[str, Any], kind: str) -> None:
    line = {"type": kind, "content": "c", **calm_line(), **change}
    with suppress(UsageError):
        assert read_line(line).id


def test_nothing_is_stored_where_the_file_cannot_be_written(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    Memories(notebook).add("before")

    def fail(*_: object, **__: object) -> None:
        raise StoreError("cannot write: disk full")

    with monkeypatch.context() as patch:
        patch.setattr("satchel.memory.portable.write_active", fail)
        with pytest.raises(StoreError, match="disk full"):
            imported(notebook, [calm_line()], form="calm-ghap")
    assert isinstance(notebook.store, SqliteStore)
    assert notebook.store.keys(Kind.EXPERIENCE) == set()
    assert len(list(export_lines(notebook.store))) == 2


def test_globs_of_files_are_exported_and_imported(make_notebook: MakeNotebook) -> None:
    here, other = make_notebook(HERE), make_notebook(HERE, "other")
    Memories(here).add("Prices are in cents", files=["src/prices/**"])
    Journal(here).start(**STARTED, files=["src/http/pool.py"])
    Journal(here).resolve(**FALSIFIED, files=["tests/"])
    lines = list(export_lines(here.store))
    assert [json.loads(line).get("files") for line in lines] == [
        None,
        ["src/prices/**"],
        ["src/http/pool.py", "tests/"],
    ]
    assert imported(other, lines) == ImportReport(added=2)
    assert list(export_lines(other.store)) == lines
