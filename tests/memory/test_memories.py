from __future__ import annotations

from hashlib import sha256
from typing import Any

import pytest
from msgspec.structs import replace

from satchel.errors import UsageError
from satchel.memory.memories import Memories
from satchel.memory.model import Memory
from satchel.memory.records import document_of
from satchel.memory.scope import Notebook
from satchel.search import rank_records
from satchel.store.records import Document
from satchel.store.sqlite import SqliteStore
from satchel.types import Kind
from satchel.vocabulary import DAY_SECONDS
from tests.memory.conftest import ELSEWHERE, HERE, START, MakeNotebook

BACKOFF = "Retries back off exponentially because a linear wait hammered the server."


def test_a_memory_is_stored_with_all_that_was_said_about_it(notebook: Notebook) -> None:
    stored = Memories(notebook).add(
        BACKOFF, category="decision", importance=0.9, tags=["retry", " retry ", "http"], provenance="agent"
    )
    memory = Memories(notebook).get(stored.memory.id)
    assert memory == stored.memory
    assert (memory.content, memory.category, memory.importance) == (BACKOFF, "decision", 0.9)
    assert (memory.tags, memory.provenance, memory.origin) == (("retry", "http"), "agent", "agent")
    assert (memory.workspace, memory.created, memory.id) == (HERE, START, "mem_20250615_150640_000001")
    assert Memories(notebook).get(f"memory:{memory.id}") == memory


def test_memories_are_found_by_their_words_their_tags_and_their_category(notebook: Notebook) -> None:
    memories = Memories(notebook)
    expected = memories.add(BACKOFF, category="decision", tags=["resilience"]).memory
    memories.add("The office plant needs water on Mondays")
    for question in ("why do retries back off", "resilience", "which decision"):
        assert [result.memory.id for result in memories.search(question)] == [expected.id], question
    assert memories.search("exponential", category="fact") == []
    assert memories.search("nothing of the kind whatsoever zebra") == []


def test_a_category_of_a_newer_version_is_read_as_a_fact(notebook: Notebook) -> None:
    stored = Memories(notebook).add(BACKOFF, category="decision").memory
    document = document_of(stored)
    with notebook.store.write() as writer:
        writer.put([replace(document, fields={**document.fields, "category": "hunch"})])
    (memory,) = Memories(notebook).listed()
    assert (memory.id, memory.content, memory.category) == (stored.id, BACKOFF, "fact")


def test_what_says_nearly_the_same_is_pointed_out_and_both_are_kept(notebook: Notebook) -> None:
    memories = Memories(notebook)
    first = memories.add(BACKOFF)
    assert first.similar == ()
    memories.add("The office plant needs water on Mondays")
    again = memories.add("Retries back off exponentially: a linear wait hammered the server")
    assert [result.memory.id for result in again.similar] == [first.memory.id]
    assert 0.42 <= again.similar[0].score < 1
    assert len(memories.listed()) == 3


def test_listing_goes_from_new_to_old_and_takes_every_filter(notebook: Notebook) -> None:
    memories = Memories(notebook)
    old = memories.add("alpha", category="event", tags=["x"]).memory
    new = memories.add("beta", provenance="agent", origin="setup").memory
    assert [memory.id for memory in memories.listed()] == [new.id, old.id]
    assert memories.listed(limit=1) == [new]
    assert memories.listed(category="event") == memories.listed(tags=["x"]) == [old]
    assert memories.listed(provenance="agent") == memories.listed(origin="setup") == [new]
    assert memories.listed(since=new.created) == [new]


def test_a_superseded_memory_is_kept_and_linked_and_no_longer_found(notebook: Notebook) -> None:
    memories = Memories(notebook)
    old = memories.add("The port is 8080", importance=0.8, tags=["port"]).memory
    new = memories.supersede(old.id, "The port is 9090").memory
    assert (new.supersedes, new.importance, new.tags) == (old.id, 0.8, ("port",))
    assert memories.get(old.id).superseded_by == new.id
    assert [result.memory.id for result in memories.search("port")] == [new.id]
    assert [memory.id for memory in memories.listed()] == [new.id]
    assert [memory.id for memory in memories.listed(superseded=True)] == [new.id, old.id]
    with pytest.raises(UsageError, match=new.id):
        memories.supersede(old.id, "The port is 7070")
    newest = memories.supersede(new.id, "The port is 443", importance=0.1).memory
    assert notebook.store.hidden_keys(Kind.MEMORY) == {old.id, new.id}
    assert newest.importance == 0.1


def test_forgetting_takes_the_replaced_ones_along_and_unlinks_the_rest(notebook: Notebook) -> None:
    memories = Memories(notebook)
    first = memories.add("The port is 8080").memory
    second = memories.supersede(first.id, "The port is 9090").memory
    third = memories.supersede(second.id, "The port is 443").memory
    other = memories.add("Deploy on Mondays").memory
    assert [memory.id for memory in memories.forget([second.id])] == [second.id, first.id]
    assert memories.get(third.id).supersedes == ""
    assert {memory.id for memory in memories.listed(superseded=True)} == {third.id, other.id}
    assert [memory.id for memory in memories.forget([third.id, third.id])] == [third.id]
    with pytest.raises(UsageError, match="there is no memory"):
        memories.forget([third.id])


def test_a_memory_belongs_to_its_repository_or_to_all(make_notebook: MakeNotebook) -> None:
    here, elsewhere = Memories(make_notebook(HERE)), Memories(make_notebook(ELSEWHERE))
    mine = here.add("The staging server is called heron").memory
    everyones = here.add("The author prefers short functions", everywhere=True).memory
    old = here.add("The staging port is 1").memory
    here.supersede(old.id, "The staging port is 2")
    theirs = elsewhere.add("The staging server is called stork").memory
    assert {memory.id for memory in elsewhere.listed(superseded=True)} == {everyones.id, theirs.id}
    assert [result.memory.id for result in elsewhere.search("staging server called")] == [theirs.id]
    assert [result.memory.id for result in here.search("server called")] == [mine.id]
    assert elsewhere.add("The staging server is called heron").contradicts[0].id != mine.id
    assert elsewhere.get(mine.id) == mine, "what is asked for by its id is found"


def test_another_workspace_does_not_change_the_weight_of_words(make_notebook: MakeNotebook) -> None:
    here, elsewhere = Memories(make_notebook(HERE)), Memories(make_notebook(ELSEWHERE))
    here.add("The server is slow in winter")
    before = here.search("slow server")[0].score
    for number in range(5):
        elsewhere.add(f"The server number {number} is slow")
    assert here.search("slow server")[0].score == before


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"content": "  "}, "a memory is empty"),
        ({"content": "\u200b"}, "a memory is empty"),
        ({"content": "x" * 10_001}, "10,001 characters, at most 10,000"),
        ({"category": "fcat"}, "did you mean fact.*preference, fact, event, workflow, context, error, decision"),
        ({"provenance": "bot"}, "choose from user, agent, import"),
        ({"importance": 7}, "importance is 7: give 0"),
        ({"importance": float("nan")}, "importance is nan"),
        ({"importance": True}, "importance is True"),
        ({"tags": ["a" * 51]}, "51 characters: at most 50"),
        ({"tags": [""]}, "a tag is empty"),
        ({"tags": [f"t{number}" for number in range(21)]}, "21 tags: at most 20"),
    ],
    ids=lambda value: "" if isinstance(value, dict) else value[:20],
)
def test_an_impossible_memory_is_refused_with_the_limit(
    notebook: Notebook, change: dict[str, object], text: str
) -> None:
    with pytest.raises(UsageError, match=text):
        Memories(notebook).add(**{"content": "fine", **change})  # type: ignore[arg-type]
    assert Memories(notebook).listed() == []


def test_limits_and_questions_are_checked(notebook: Notebook) -> None:
    memories = Memories(notebook)
    with pytest.raises(UsageError, match="limit is 0"):
        memories.listed(limit=0)
    with pytest.raises(UsageError, match="question is empty"):
        memories.search(" ")


def test_an_unknown_id_names_those_that_look_like_it(notebook: Notebook) -> None:
    memories = Memories(notebook)
    stored = memories.add("alpha").memory
    with pytest.raises(UsageError, match=f"did you mean {stored.id}"):
        memories.get(stored.id[:-1])
    with pytest.raises(UsageError, match="the list shows"):
        memories.get("zzz")


def test_secrets_and_hidden_characters_never_reach_the_file(notebook: Notebook) -> None:
    secret = "ghp_" + sha256(b"a token").hexdigest()[:36]
    stored = Memories(notebook).add(f"the token is {secret}\u202e really", tags=[secret]).memory
    assert secret not in stored.content + "".join(stored.tags)
    assert "\u202e" not in stored.content
    assert "[REDACTED:" in stored.content


def test_a_memory_that_is_forgotten_meanwhile_fails_no_search_and_no_addition(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = Memories(notebook)
    monkeypatch.setattr(SqliteStore, "_back_up", lambda *_, **__: None)  # it waits for this reader to end
    real = rank_records._pick

    def forgetting(*arguments: Any) -> None:
        monkeypatch.setattr(rank_records, "_pick", real)
        memories.forget([first.id])
        real(*arguments)

    for ask in (memories.search, memories.add):
        first = memories.add(BACKOFF).memory
        monkeypatch.setattr(rank_records, "_pick", forgetting)
        ask(f"{BACKOFF} Really.")
    assert BACKOFF not in [memory.content for memory in memories.listed()]


def test_each_memory_is_read_once_to_find_what_may_be_cleaned_up(
    notebook: Notebook, monkeypatch: pytest.MonkeyPatch
) -> None:
    memories = Memories(notebook)
    for size in range(5, 15):
        memories.add(f"The upload quota is {size} GB")
    read, real = list[str](), Memories._shown

    def reading(self: Memories, document: Document, text: str) -> Memory:
        read.append(document.key)
        return real(self, document, text)

    monkeypatch.setattr(Memories, "_shown", reading)
    assert len(memories.untidy({})) == 9
    assert len(read) == len(set(read)) == 10


def test_what_may_be_cleaned_up_is_told_with_its_reasons(notebook: Notebook) -> None:
    memories, year = Memories(notebook), 400 * DAY_SECONDS
    old = Memories(replace(notebook, clock=lambda: START - year))
    said = {
        "sale": old.add("The summer sale ends soon", until="2025-01-01").memory,
        "quota": memories.add("The upload quota is 5 GB").memory,
        "backoff": memories.add(BACKOFF).memory,
    }
    kept = memories.add("The upload quota is 50 GB").memory
    twin = memories.add(f"{BACKOFF} Really.").memory
    month = Memories(replace(notebook, clock=lambda: START + 31 * DAY_SECONDS))
    shown = {one.id: 3 for one in (*said.values(), kept, twin)}
    assert {row.memory.id: [*row.reasons] for row in month.untidy(shown)} == {
        said["backoff"].id: [f"the newer {twin.id} says nearly the same"],
        said["quota"].id: [f"newer: {kept.id} differs (if it replaces this one, supersede it)"],
        said["sale"].id: ["expired on 2025-01-01", "last changed 14 months ago"],
    }
    unused = {row.memory.id for row in month.untidy({}) if "no recent answer showed it" in row.reasons}
    assert unused == {*shown}
    assert all(
        "no recent answer showed it" not in row.reasons for row in memories.untidy({}) if row.memory != said["sale"]
    )


def test_a_clock_far_in_the_future_gives_the_last_second_that_a_date_can_have(notebook: Notebook) -> None:
    ahead = Memories(replace(notebook, clock=lambda: 506_781_000_000.0))
    stored = ahead.add(BACKOFF).memory
    assert stored.created == 253_402_300_799.0
    assert stored.id.startswith("mem_99991231_235959_")
    assert [found.memory.id for found in ahead.search("linear wait hammered")] == [stored.id]


def test_a_memory_keeps_the_globs_of_its_files_also_in_its_successor(notebook: Notebook) -> None:
    memories = Memories(notebook)
    old = memories.add(BACKOFF, files=["./src/http/*.py", " docs/ ", "src/http/*.py"]).memory
    assert old.files == ("src/http/*.py", "docs/")
    new = memories.supersede(old.id, "Retries are linear").memory
    assert Memories(notebook).get(new.id).files == old.files
    assert memories.add("Nothing to do with a file").memory.files == ()


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (["/etc/*"], "'/etc/\\*' leads outside its folder"),
        ([" "], "is empty"),
        (["a" * 401], "has 401 characters"),
        ([f"{number}.py" for number in range(51)], "there are 51 globs: at most 50"),
        ("src/*.py", "give a list of texts"),
    ],
)
def test_globs_that_cannot_be_used_are_refused_and_nothing_is_stored(
    notebook: Notebook, files: Any, message: str
) -> None:
    with pytest.raises(UsageError, match=message):
        Memories(notebook).add(BACKOFF, files=files)
    assert Memories(notebook).listed() == []
